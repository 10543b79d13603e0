//! The settings that a cluster has on record: they decide on every node, and no file or change of the leader
//! changes them.

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use serde_json::Value;

/// Where the mode of the host in these settings is changed.
const HOST_MODE: &str = "/api/v1/hosts/127.0.0.1:9/mode";

/// The pool in these settings.
const POOL: &str = "/api/v1/pools/judges";

/// The number of its boxes at a node.
fn pool_size(cluster: &NodeCluster, index: usize) -> Option<u64> {
    let answer = cluster.request(index, "GET", POOL, "")?;
    serde_json::from_str::<Value>(&answer.body).ok()?["spec"]["size"].as_u64()
}

/// Changes the size of the pool by a request, once it has the size of the settings.
fn put_pool(cluster: &NodeCluster, of_settings: u64, size: u64) -> Result<()> {
    cluster.wait(1, "the pool of the settings", |_| {
        pool_size(cluster, 1).filter(|size| *size == of_settings).map(drop)
    })?;
    let put = cluster.request(1, "PUT", POOL, &format!("{{\"size\":{size}}}"));
    let put = put.context("an answer")?;
    ensure!(put.status == 200, "{put:?}");
    Ok(())
}

/// The numbers of the versions that a node knows, newest first.
fn versions(cluster: &NodeCluster, index: usize) -> Option<Vec<u64>> {
    let answer = cluster.request(index, "GET", "/api/v1/config/versions", "")?;
    let page: Value = serde_json::from_str(&answer.body).ok()?;
    page["items"].as_array()?.iter().map(|item| item["version"].as_u64()).collect()
}

/// The hosts of a node.
fn hosts(cluster: &NodeCluster, index: usize) -> Option<Vec<String>> {
    let answer = cluster.request(index, "GET", "/api/v1/hosts", "")?;
    let page: Value = serde_json::from_str(&answer.body).ok()?;
    let hosts = page["items"].as_array()?.iter();
    hosts.map(|host| Some(host["host"].as_str()?.to_owned())).collect()
}

/// Gives a node an address for links in its own file.
fn serve_links(cluster: &mut NodeCluster, index: usize) -> Result<()> {
    let links = cluster.free_addr()?;
    cluster.nodes[index].more = format!("[share]\nlisten = \"{links}\"\n");
    cluster.write(index, true)
}

/// The path of a new share below the root in these settings.
fn new_share(cluster: &NodeCluster) -> Result<String> {
    let wanted = r#"{"path": "films/film", "ttl": "1h"}"#;
    cluster.wait(1, "the root is in force", |_| {
        let made = cluster.request(1, "POST", "/api/v1/shares", wanted)?;
        let share: Value = serde_json::from_str(&made.body).ok()?;
        Some(format!("/api/v1/shares/{}", share["id"].as_str()?))
    })
}

fn is_live(cluster: &NodeCluster, index: usize, share: &str) -> Result<()> {
    let share = cluster.request(index, "GET", share, "").context("an answer")?;
    ensure!(share.body.contains("\"state\":\"live\""), "{share:?}");
    Ok(())
}

fn succeeds(cluster: &NodeCluster, index: usize, arguments: &[&str]) -> Result<String> {
    let ran = cluster.call(index, arguments);
    ensure!(ran.code == Some(0), "{arguments:?}: {}", ran.err);
    Ok(ran.out)
}

/// The page Settings of a node that follows lists the versions and the changes of one. Its form brings one back for a
/// reason, unless another version came on record meanwhile.
fn versions_are_compared_and_reverted_on_a_page(cluster: &NodeCluster) -> Result<()> {
    let page = |query: &str| {
        let path = format!("/console/settings{query}");
        cluster.request(1, "GET", &path, "").map(|answer| answer.body).context("a page")
    };
    let changes = page("?version=2")?;
    for shown in
        ["version 2 is in force", "one more host", "no effect", "<del>&quot;1h&quot;</del>"]
    {
        ensure!(changes.contains(shown), "{shown}: {changes}");
    }
    let asked = page("?version=1&ask=revert")?;
    let follows = "name=\"follows\" value=\"2\"";
    let changes = "&quot;41m&quot; → &quot;1h&quot;";
    for shown in ["data-dialog", changes, "reelyard config revert 1", follows] {
        ensure!(asked.contains(shown), "{shown}: {asked}");
    }
    ensure!(!page("?version=2&ask=revert")?.contains("data-dialog"));

    let revert = |version: u64, follows: &str| -> Result<Option<Vec<u64>>> {
        let path = format!("/console/settings/versions/{version}/revert");
        let fields = [follows, "reason=too many hosts", "back=/console/settings"];
        let answer = cluster.post_form(1, &path, &fields).context("an answer")?;
        ensure!(answer.status == 303, "{answer:?}");
        Ok(versions(cluster, 0))
    };
    ensure!(revert(1, "follows=1")? == Some(vec![2, 1]), "the form showed another version");
    ensure!(revert(1, "follows=2")? == Some(vec![3, 2, 1]));
    let listed = succeeds(cluster, 0, &["config", "versions"])?;
    ensure!(listed.contains("too many hosts"), "{listed}");
    // The rest of the test goes on with the settings of version 2.
    ensure!(revert(2, "follows=3")? == Some(vec![4, 3, 2, 1]));
    cluster.wait(1, "the hosts of version 2", |_| (hosts(cluster, 1)?.len() == 1).then_some(()))?;
    Ok(())
}

#[test]
fn settings_are_changed_for_all_nodes_and_outlive_the_leader() -> Result<()> {
    let mut cluster = NodeCluster::new()?;
    cluster.add(true)?;
    serve_links(&mut cluster, 0)?;
    let alone = cluster.prepare(0, &["init"]);
    ensure!(alone.code == Some(0), "{}", alone.err);
    cluster.start(0)?;
    let file = cluster.path().join("wanted.toml");
    let root = cluster.path().join("films");
    std::fs::create_dir(&root)?;
    std::fs::write(root.join("film"), "a film")?;
    let wanted = "log.level = \"debug\"\n[hosts]\ndestinations = [\"127.0.0.1:9\"]\n[task]\ntimeout = \"41m\"\n[box.pools.judges]\nsize = 4\n\
        [share.webhooks.billing]\nurl = \"http://127.0.0.1:9/x\"\nsecret_file = \"/proc/self/cwd/billing\"\n";
    let wanted = format!("{wanted}[share.roots]\nfilms = \"{}\"\n", root.display());
    std::fs::write(&file, wanted)?;
    let file = file.display().to_string();
    let refused = cluster.call(0, &["config", "apply", &file]);
    ensure!(refused.code != Some(0) && refused.err.contains("runs alone"), "{}", refused.err);

    for _ in 1..3 {
        let index = cluster.add(true)?;
        serve_links(&mut cluster, index)?;
        cluster.join(index)?;
    }
    let all_vote = |view: &Value| {
        let is_voter = |member: &Value| member["rank"] != "learner";
        let members = view["members"].as_array()?;
        (members.len() == 3 && members.iter().all(is_voter)).then_some(())
    };
    cluster.wait(0, "all three vote", all_vote)?;
    for index in 0..3 {
        cluster.wait(index, "the settings of the first node are on record", |_| {
            (versions(&cluster, index)? == [1]).then_some(())
        })?;
    }

    // A version with a webhook is refused where its secret is new and missing.
    let missing = cluster.call(0, &["config", "apply", &file]);
    ensure!(
        missing.code != Some(0) && missing.err.contains("billing: secret_file"),
        "{}",
        missing.err
    );
    for index in 0..2 {
        std::fs::write(cluster.working_dir(index).join("billing"), "opensesame-0123456789")?;
    }

    // A dry run records nothing. The change goes through a node that follows.
    let dry = succeeds(&cluster, 1, &["config", "apply", &file, "--dry-run"])?;
    ensure!(dry.contains("task.timeout: \"1h\" -> \"41m\""), "{dry}");
    ensure!(dry.contains("log.level") && dry.contains("version 1 stays in force"), "{dry}");
    let applied = succeeds(&cluster, 1, &["config", "apply", &file, "--reason", "one more host"])?;
    ensure!(applied.contains("version 2 is on record"), "{applied}");
    let again = succeeds(&cluster, 2, &["config", "apply", &file])?;
    ensure!(again.contains("nothing differs from version 2"), "{again}");
    for index in 0..3 {
        cluster.wait(index, "each node has the version and the host", |_| {
            let is_there =
                versions(&cluster, index)? == [2, 1] && hosts(&cluster, index)? == ["127.0.0.1:9"];
            is_there.then_some(())
        })?;
    }

    // The third node lacks the secret, and warns.
    cluster.wait(2, "the node warns of the webhook", |view| {
        view["warnings"].to_string().contains("so it sends nothing to them").then_some(())
    })?;

    // A request changes a pool of the settings. The next version sets the pool again.
    put_pool(&cluster, 4, 6)?;

    // Another person recorded a version meanwhile.
    let late = serde_json::json!({ "text": "task.timeout = \"5m\"\n", "follows": 1 }).to_string();
    let late = cluster.request(2, "POST", "/api/v1/config/versions", &late).context("an answer")?;
    ensure!(late.status == 409 && late.body.contains("changed-meanwhile"), "{late:?}");
    let faulty =
        serde_json::json!({ "text": "task.timeout = \"soon\"\n", "dry_run": true }).to_string();
    let faulty =
        cluster.request(2, "POST", "/api/v1/config/versions", &faulty).context("an answer")?;
    ensure!(faulty.status == 422 && faulty.body.contains("task.timeout"), "{faulty:?}");

    // The file of a node does not decide about the cluster, and the node warns.
    cluster.nodes[1].more.push_str("[task]\ntimeout = \"7m\"\n");
    cluster.write(1, true)?;
    let reloaded = succeeds(&cluster, 1, &["config", "reload"])?;
    ensure!(
        reloaded.contains("no effect: the settings of the cluster are on record"),
        "{reloaded}"
    );
    cluster.wait(1, "the node warns of its file", |view| {
        view["warnings"].to_string().contains("sets task.timeout to other values").then_some(())
    })?;

    versions_are_compared_and_reverted_on_a_page(&cluster)?;
    // No later leader changes this size back.
    put_pool(&cluster, 4, 7)?;

    let share = new_share(&cluster)?;

    // Another leader, whose own file has neither the host, the root nor the time, keeps all.
    if let Some(leader) = &mut cluster.nodes[0].process {
        leader.kill();
    }
    cluster.wait(1, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != 1).map(|_| ())
    })?;
    let kept = hosts(&cluster, 1).context("hosts")?;
    ensure!(kept == ["127.0.0.1:9"], "{kept:?}");
    let in_force = succeeds(&cluster, 1, &["config", "reload", "--dry-run"])?;
    ensure!(in_force.contains("task.timeout: \"41m\" -> \"7m\""), "{in_force}");
    is_live(&cluster, 1, &share)?;

    // All nodes start again without what they knew of the record. None decides by its own file: a host that was
    // dropped and added again would be active.
    let rest = cluster.request(1, "PUT", HOST_MODE, r#"{"mode":"maintenance"}"#);
    let rest = rest.context("an answer")?;
    ensure!(rest.status == 200, "{rest:?}");
    for node in &mut cluster.nodes {
        if let Some(process) = &mut node.process {
            process.kill();
        }
        std::fs::remove_file(node.data_dir.join("settings-on-record"))?;
    }
    for index in 0..3 {
        cluster.start(index)?;
    }
    for index in 0..3 {
        cluster.wait(index, "the settings on record are in force again", |view| {
            view["leader"].as_u64()?;
            cluster.nodes[index].data_dir.join("settings-on-record").exists().then_some(())
        })?;
    }
    let kept = hosts(&cluster, 0).context("hosts")?;
    ensure!(kept == ["127.0.0.1:9"], "{kept:?}");
    let answer = cluster.request(0, "GET", "/api/v1/hosts", "").context("hosts")?;
    ensure!(answer.body.contains("\"maintenance\""), "{}", answer.body);
    ensure!(pool_size(&cluster, 0) == Some(7), "a leader changed the pool");

    // A node that starts with what it knew of the record leads by it, and not by its own file.
    if let Some(process) = &mut cluster.nodes[0].process {
        process.kill();
    }
    cluster.start(0)?;
    cluster.make_lead(0)?;
    new_share(&cluster)?;
    is_live(&cluster, 0, &share)?;

    // An earlier version comes back. The node that was away gets it too.
    if let Some(process) = &mut cluster.nodes[0].process {
        process.kill();
    }
    cluster.wait(2, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != 1).map(|_| ())
    })?;
    succeeds(&cluster, 2, &["config", "revert", "1"])?;
    cluster.start(0)?;
    cluster.wait(0, "the node that was away has the earlier settings", |_| {
        let is_there = versions(&cluster, 0)? == [5, 4, 3, 2, 1] && hosts(&cluster, 0)?.is_empty();
        is_there.then_some(())
    })?;
    let shown = succeeds(&cluster, 0, &["config", "versions", "2"])?;
    ensure!(
        shown.contains("# one more host") && shown.contains("task.timeout = \"41m\""),
        "{shown}"
    );
    ensure!(!shown.contains("log.level"), "{shown}");
    let cached = std::fs::read_to_string(cluster.nodes[1].data_dir.join("settings-on-record"))?;
    ensure!(
        cached.starts_with("# reelyard settings on record 1, cluster ")
            && cached.contains(", version 5\n"),
        "{cached}"
    );

    // The only node that is left applies its file again when it reloads it. Other settings stay.
    // The third node does not have the secret, so it must not lead here.
    cluster.make_lead(1)?;
    succeeds(&cluster, 1, &["config", "apply", &file])?;
    for gone in ["1", "3"] {
        cluster.make_lead(1)?;
        succeeds(&cluster, 1, &["cluster", "remove", gone])?;
    }
    ensure!(versions(&cluster, 1) == Some(vec![6, 5, 4, 3, 2, 1]), "its file waits for a reload");
    let reloaded = succeeds(&cluster, 1, &["config", "reload"])?;
    ensure!(reloaded.contains("task.timeout: \"41m\" -> \"7m\""), "{reloaded}");
    ensure!(!reloaded.contains("no effect"), "{reloaded}");
    cluster.wait(1, "its file is on record", |view| {
        let is_recorded = versions(&cluster, 1)?.first() == Some(&7);
        (is_recorded && view["warnings"].as_array()?.is_empty()).then_some(())
    })?;
    let shown = succeeds(&cluster, 1, &["config", "versions", "7"])?;
    ensure!(
        shown.contains("the only member") && shown.contains("task.timeout = \"7m\""),
        "{shown}"
    );
    let kept = hosts(&cluster, 1).context("hosts")?;
    ensure!(kept == ["127.0.0.1:9"], "{kept:?}");
    Ok(())
}
