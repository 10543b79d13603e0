//! A new leader whose ranking is empty or older than that of the last leader plans and removes nothing. It says why, and
//! goes on by itself.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::catalog::catalog_input::{grade_info, replace};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::yard::{ProcessYard, wait_for};

/// How the log names the refusal and its end.
const REFUSED: &str = "no copies are planned and none are removed";
const USED: &str = "the inputs can be used again";

/// Twenty graded files, and one more.
fn names(more: &str) -> Vec<String> {
    let files = (0..20).map(|number| format!("film-{number:02}.mpg"));
    files.chain([more.to_owned()]).collect()
}

/// Puts a ranking in place that was written this long ago.
fn put(path: &Path, names: &[String], age: Duration) -> Result<()> {
    replace(path, &grade_info(names))?;
    let written = SystemTime::now().checked_sub(age).context("a time")?;
    Ok(std::fs::File::options().write(true).open(path)?.set_modified(written)?)
}

/// Waits until `/readyz` of a node has this text, or has it no more.
fn readyz(cluster: &NodeCluster, index: usize, text: &str, is_there: bool) -> Result<()> {
    let process = cluster.process(index)?;
    wait_for(&format!("/readyz says {text}: {is_there}"), &[process], || {
        let (_, body) = cluster.fetch(index, "/readyz")?;
        (body.contains(text) == is_there).then_some(())
    })
}

fn copied(yard: &ProcessYard, cluster: &NodeCluster, index: usize, name: &str) -> Result<()> {
    let copy = yard.copies(0).join(name);
    wait_for(&format!("{name} is copied"), &[cluster.process(index)?], || {
        copy.exists().then_some(())
    })
}

/// How often the log of a node has this text.
fn logged(cluster: &NodeCluster, index: usize, text: &str) -> Result<usize> {
    Ok(cluster.process(index)?.log_text().matches(text).count())
}

#[test]
fn a_new_leader_with_a_worse_ranking_waits_for_a_good_one() -> Result<()> {
    let yard = ProcessYard::new(1, 1)?;
    for name in names("old.mpg").iter().chain([&"first.mpg".to_owned(), &"fresh.mpg".to_owned()]) {
        yard.master(name.as_bytes(), 1000)?;
    }
    yard.grade(&[])?;
    let grades: PathBuf = yard.path("input/.grade.info");
    put(&grades, &names("first.mpg"), Duration::from_secs(3600))?;
    let mut cluster = NodeCluster::three_with(&yard.node_file())?;
    let nodes: Vec<String> = cluster.nodes.iter().map(|node| format!("\"{}\"", node.api)).collect();
    let nodes = format!("[{}]", nodes.join(","));
    let _source = yard.start_source(0, &[("node", &nodes)])?;
    let _destination = yard.start_destination(0, &[("node", &nodes)])?;
    cluster.make_lead(0)?;
    copied(&yard, &cluster, 0, "first.mpg")?;

    // The third node has files of its own.
    let own = yard.path("input/of-the-third");
    put(&own, &[], Duration::ZERO)?;
    cluster.nodes[2].more = yard.node_file().replace("input/.grade.info", "input/of-the-third");
    cluster.write(2, true)?;
    let reloaded = cluster.call(2, &["config", "reload"]);
    ensure!(reloaded.code == Some(0), "{}", reloaded.err);
    wait_for("the third node has read its own file", &[cluster.process(2)?], || {
        (logged(&cluster, 2, "ranking read graded=0").ok()? > 0).then_some(())
    })?;
    cluster.make_lead(2)?;
    readyz(&cluster, 2, "grade.info has 0 rows here, and node 1 planned by 21 rows", true)?;
    let status = cluster.call(2, &["status"]);
    ensure!(status.out.contains("No copies are planned"), "{}", status.out);

    put(&own, &names("old.mpg"), Duration::from_secs(7200))?;
    readyz(&cluster, 2, "grade.info is of ", true)?;
    ensure!(logged(&cluster, 2, REFUSED)? == 2, "one line for each change");
    ensure!(logged(&cluster, 2, USED)? == 0);

    // The right file is used by itself, and a file that only the older one had is never copied.
    put(&own, &names("fresh.mpg"), Duration::from_secs(60))?;
    copied(&yard, &cluster, 2, "fresh.mpg")?;
    readyz(&cluster, 2, "No copies are planned", false)?;
    ensure!((logged(&cluster, 2, REFUSED)?, logged(&cluster, 2, USED)?) == (2, 1));
    ensure!(!yard.copies(0).join("old.mpg").exists());
    let copies = std::fs::read_dir(yard.copies(0))?.count();
    ensure!(copies >= 22, "{copies} copies: none was removed");

    // Now the file of the first node is the older one. It records nothing, and the third node leads again: it is compared
    // as well, although the record is its own.
    cluster.make_lead(0)?;
    readyz(&cluster, 0, "grade.info is of ", true)?;
    put(&own, &[], Duration::ZERO)?;
    wait_for("the third node has read its file again", &[cluster.process(2)?], || {
        (logged(&cluster, 2, "ranking read graded=0").ok()? > 1).then_some(())
    })?;
    cluster.make_lead(2)?;
    readyz(&cluster, 2, "grade.info has 0 rows here, and node 3 planned by 21 rows", true)?;
    // An operator may let the first one plan all the same.
    cluster.make_lead(0)?;
    readyz(&cluster, 0, "grade.info is of ", true)?;
    let settings = cluster.path().join("unchecked.toml");
    std::fs::write(&settings, format!("{}task.check_inputs = false\n", yard.node_file()))?;
    let settings = settings.display().to_string();
    let applied = cluster.call(0, &["config", "apply", &settings]);
    ensure!(applied.code == Some(0), "{}", applied.err);
    readyz(&cluster, 0, "No copies are planned", false)
}
