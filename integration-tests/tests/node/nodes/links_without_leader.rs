//! Public links at nodes that were paused, or that hear no leader: they serve nothing that may have ended.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::rigs::node_cluster::{NodeCluster, has_waiting_bytes};
use reelyard_integration_tests::rigs::running_download::RunningDownload;
use reelyard_integration_tests::rigs::yard::wait_for;
use serde_json::Value;

/// Larger than all buffers of a connection.
const FILM_BYTES: u64 = 128 << 20;

/// How long after its last contact a node serves links.
const TRUSTED: Duration = Duration::from_secs(1);

/// Three nodes that serve the same root.
struct LinkCluster {
    cluster: NodeCluster,
    links: Vec<SocketAddr>,
}

impl LinkCluster {
    fn form() -> Result<Self> {
        let mut cluster = NodeCluster::three()?;
        let root = cluster.path().join("films");
        std::fs::create_dir(&root)?;
        std::fs::File::create(root.join("film"))?.set_len(FILM_BYTES)?;
        let links = cluster.share_films(&root)?;
        Ok(LinkCluster { cluster, links })
    }

    /// Adds a node that serves the same root. It has no vote for its first ten seconds.
    fn add_learner(&mut self) -> Result<usize> {
        let (listen, root) = (self.cluster.free_addr()?, self.cluster.path().join("films"));
        self.links.push(listen);
        let index = self.cluster.add(true)?;
        self.cluster.nodes[index].more = format!(
            "[share]\nlisten = \"{listen}\"\n[share.roots]\nfilms = \"{}\"\n",
            root.display()
        );
        self.cluster.write(index, true)?;
        self.cluster.join(index)?;
        Ok(index)
    }

    /// The path of a new link, once every node serves it.
    fn share(&self, index: usize) -> Result<String> {
        let created = self.cluster.call(index, &["share", "create", "films/film", "--ttl", "1h"]);
        let url = created.out.trim();
        let path = url.split_once("/s/").map(|(_, id)| format!("/s/{id}/file"));
        let path = path.with_context(|| format!("{url}{}", created.err))?;
        for index in 0..3 {
            self.wait_for_answer(index, &path, "HTTP/1.1 200")?;
        }
        Ok(path)
    }

    /// A client of the events of shares that goes on at another node after each event misses none, and gets none twice.
    fn follow_events_from_node_to_node(&self) -> Result<()> {
        for index in 0..6 {
            let wanted = r#"{"path": "films/film", "ttl": "1h"}"#;
            let created = self.cluster.request(index % 3, "POST", "/api/v1/shares", wanted);
            let created = created.context("no answer")?;
            let share: Value = serde_json::from_str(&created.body)?;
            let path = format!("/api/v1/shares/{}", share["id"].as_str().context(created.body)?);
            let revoked = self.cluster.request(index % 3, "DELETE", &path, "");
            ensure!(revoked.as_ref().is_some_and(|answer| answer.status < 300), "{revoked:?}");
        }
        let (mut path, mut last) = ("/api/v1/shares/events?from=0", String::new());
        for index in 0..6 {
            last = self.cluster.follow(index % 3, path, &last)?.next()?.id;
            ensure!(last == index.to_string(), "{last} after {index} events");
            path = "/api/v1/shares/events";
        }
        Ok(())
    }

    /// Waits until a node answers a link with a head that begins so.
    fn wait_for_answer(&self, index: usize, path: &str, beginning: &str) -> Result<String> {
        wait_for("the node answers the link", &[self.cluster.process(index)?], || {
            let head = RunningDownload::begin(self.links[index], "HEAD", path).ok()?.head().ok()?;
            head.starts_with(beginning).then_some(head)
        })
    }
}

#[test]
fn a_leader_that_was_paused_serves_no_link_that_was_revoked_meanwhile() -> Result<()> {
    let yard = LinkCluster::form()?;
    yard.follow_events_from_node_to_node()?;
    let (leader, _) = yard.cluster.leader(0)?;
    let link = yard.share(leader)?;
    let running = RunningDownload::begin(yard.links[leader], "GET", &link)?;
    ensure!(running.head()?.starts_with("HTTP/1.1 200"));
    yard.cluster.process(leader)?.pause()?;
    let paused = Instant::now();
    let next = (leader + 1) % 3;
    yard.cluster.wait(next, "another node leads", |view| {
        view["leader"].as_u64().filter(|number| *number != leader as u64 + 1).map(drop)
    })?;
    // The others know the new leader, and go on.
    yard.wait_for_answer(next, &link, "HTTP/1.1 200")?;
    let id = link.split('/').nth(2).context("no id")?;
    let path = format!("/api/v1/shares/{id}?hard=true");
    let revoked = yard.cluster.request(next, "DELETE", &path, "").context("no answer")?;
    ensure!(revoked.status < 300, "{revoked:?}");
    // This request waits for the paused process.
    let waiting = RunningDownload::begin(yard.links[leader], "GET", &link)?;
    wait_for("the request waits", &[], || has_waiting_bytes(yard.links[leader]).then_some(()))?;
    // Up to one second after its last contact with a quorum a node may serve what it knows.
    wait_for("it is no longer trusted", &[], || (paused.elapsed() > TRUSTED).then_some(()))?;
    yard.cluster.process(leader)?.wake()?;
    let head = waiting.head()?;
    ensure!(head.starts_with("HTTP/1.1 503") || head.starts_with("HTTP/1.1 410"), "{head}");
    let sent = running.rest();
    ensure!(sent < FILM_BYTES, "the download went on to its end");
    yard.wait_for_answer(leader, &link, "HTTP/1.1 410")?;
    Ok(())
}

#[test]
fn a_node_without_a_leader_answers_links_with_503_and_ends_downloads() -> Result<()> {
    let mut yard = LinkCluster::form()?;
    let (leader, _) = yard.cluster.leader(0)?;
    let link = yard.share(leader)?;
    // A follower without its leader, and a leader without its followers.
    let (one, other) = ((leader + 1) % 3, (leader + 2) % 3);
    for (alone, paused) in [(other, [leader, one]), (leader, [one, other])] {
        let running = RunningDownload::begin(yard.links[alone], "GET", &link)?;
        ensure!(running.head()?.starts_with("HTTP/1.1 200"));
        for index in paused {
            yard.cluster.process(index)?.pause()?;
        }
        let head = yard.wait_for_answer(alone, &link, "HTTP/1.1 503")?;
        ensure!(head.contains("Retry-After: 1\r\n"), "{head}");
        let sent = running.rest();
        ensure!(sent < FILM_BYTES, "the download went on to its end");
        for index in paused {
            yard.cluster.process(index)?.wake()?;
        }
        for index in 0..3 {
            yard.wait_for_answer(index, &link, "HTTP/1.1 200")?;
        }
        yard.cluster.wait(alone, "the first leader leads again", |view| {
            let wanted = leader as u64 + 1;
            let leads = view["leader"].as_u64()? == wanted;
            let moved = || yard.cluster.call(alone, &["cluster", "transfer", &wanted.to_string()]);
            (leads || moved().code == Some(0)).then_some(())
        })?;
    }
    // A learner never looks for another leader, and serves nothing old either.
    let learner = yard.add_learner()?;
    yard.wait_for_answer(learner, &link, "HTTP/1.1 200")?;
    for index in 0..3 {
        yard.cluster.process(index)?.pause()?;
    }
    let head = yard.wait_for_answer(learner, &link, "HTTP/1.1 503")?;
    ensure!(head.contains("Retry-After: 1\r\n"), "{head}");
    let view = yard.cluster.view(learner).context("no view")?;
    ensure!(view["members"][learner]["rank"] == "learner", "{view}");
    Ok(())
}
