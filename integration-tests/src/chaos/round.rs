//! One round: three nodes, load, faults, and the check of the final state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use reelyard::demo::cluster::fault_proxy::{self, CutLinks};
use reqwest::Method;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::chaos_client::ChaosClient;
use super::faults::ChaosFault;
use super::history::{ChaosHistory, ShareEnd};
use super::load::{self, POOL};
use crate::rigs::node_cluster::{NodeCluster, voters};

/// Clients of each kind.
const CLIENTS: usize = 6;

/// Time without a fault between two of them.
const QUIET: Duration = Duration::from_millis(700);

/// A cluster without faults takes a change again within this time.
const RECOVERY: Duration = Duration::from_secs(30);

/// The length and the seed of a round.
#[derive(Clone, Copy, Debug)]
pub struct ChaosOptions {
    /// How long faults happen.
    pub time: Duration,
    /// Gives the faults.
    pub seed: u64,
    /// Shows that the check finds something: forgets acknowledged shares on purpose.
    pub lose_on_purpose: bool,
}

/// Runs a round. Returns the first violation.
///
/// # Errors
/// The round itself could not go on.
pub fn run(options: ChaosOptions) -> Result<Option<String>> {
    let runtime = Runtime::new()?;
    let links = CutLinks::default();
    let mut cluster = form(&runtime, &links)?;
    let urls = cluster.nodes.iter().map(|node| format!("http://{}", node.api)).collect();
    let token = std::fs::read_to_string(cluster.nodes[0].data_dir.join("admin.token"))?;
    let client = ChaosClient::new(urls, token.trim().to_owned())?;
    let history = Arc::new(ChaosHistory::default());
    let mut load = Vec::new();
    for number in 0..CLIENTS {
        load.push(runtime.spawn(load::share(client.clone(), Arc::clone(&history), number)));
        load.push(runtime.spawn(load::lease(client.clone(), Arc::clone(&history), number)));
    }
    let mut rng = Rng::with_seed(options.seed);
    let until = Instant::now() + options.time;
    while Instant::now() < until {
        sleep(QUIET);
        let longest = (options.time / 6).min(Duration::from_secs(10));
        let leader = cluster.view(0).and_then(|view| view["leader"].as_u64());
        let fault = ChaosFault::draw(&mut rng, leader, longest);
        let (begin, before) = (Instant::now(), history.acknowledged());
        println!("{fault}");
        fault.happen(&mut cluster, &links)?;
        let healed = Instant::now();
        let after = history.acknowledged();
        while history.acknowledged() <= after && healed.elapsed() < RECOVERY {
            sleep(Duration::from_millis(10));
        }
        if history.acknowledged() <= after {
            let text = format!("no change was acknowledged for {RECOVERY:?} after: {fault}");
            return Ok(Some(text));
        }
        println!(
            "  {} changes meanwhile, the longest pause {:?}, the next one {:?} after its end",
            history.acknowledged() - before,
            history.pause_since(begin),
            healed.elapsed()
        );
        if let Some(violation) = history.violation() {
            return Ok(Some(violation));
        }
    }
    client.end();
    // A change that is still under way would differ from the history that the nodes are compared with.
    for ended in runtime.block_on(futures::future::join_all(load)) {
        ended?;
    }
    println!("{} changes were acknowledged", history.acknowledged());
    if options.lose_on_purpose {
        lose(&runtime, &client, &history)?;
    }
    let found = runtime.block_on(compare(&client, &history))?;
    Ok(found.or_else(|| history.violation()))
}

/// Three voters, each behind a proxy, with a pool and a shared file.
fn form(runtime: &Runtime, links: &CutLinks) -> Result<NodeCluster> {
    let mut cluster = NodeCluster::new()?;
    let masters = cluster.path().join("masters");
    std::fs::create_dir_all(&masters)?;
    std::fs::write(masters.join("a.mpg"), b"a master")?;
    for number in 1..=3 {
        let index = cluster.add(true)?;
        let shares = cluster.free_addr()?;
        let node = &mut cluster.nodes[index];
        let started = fault_proxy::start(links.clone(), number, node.peers);
        node.public = Some(runtime.block_on(started)?);
        node.more = format!(
            "[share]\nlisten = \"{shares}\"\nroots = {{ masters = \"{}\" }}\n[box.pools.{POOL}]\nsize = 3\n",
            masters.display()
        );
        cluster.write(index, true)?;
    }
    let begun = cluster.prepare(0, &["init"]);
    anyhow::ensure!(begun.code == Some(0), "{}", begun.err);
    cluster.start(0)?;
    cluster.join(1)?;
    cluster.join(2)?;
    let all_vote = |view: &Value| (voters(view) == [1, 2, 3]).then_some(());
    cluster.wait(0, "all three vote", all_vote)?;
    Ok(cluster)
}

/// Revokes one acknowledged share behind the back of the history.
fn lose(runtime: &Runtime, client: &ChaosClient, history: &ChaosHistory) -> Result<()> {
    let live = history.shares().into_values().find(|(_, end)| *end == ShareEnd::Live);
    let (id, _) = live.context("no share is live")?;
    let path = format!("/shares/{id}");
    runtime.block_on(async {
        for node in 0..3 {
            client.attempt(node, Method::DELETE, &path, None).await;
        }
    });
    Ok(())
}

/// Compares the shares of each node with the history.
async fn compare(client: &ChaosClient, history: &ChaosHistory) -> Result<Option<String>> {
    let expected = history.shares();
    for node in 0..3 {
        let begin = Instant::now();
        loop {
            let found = match live_shares(client, node).await {
                Some(live) => difference(&expected, &live),
                None => Some("it does not answer".to_owned()),
            };
            match found {
                None => break,
                // A follower may be behind for a moment.
                Some(_) if begin.elapsed() < RECOVERY => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Some(why) => return Ok(Some(format!("node {}: {why}", node + 1))),
            }
        }
    }
    Ok(None)
}

/// The live shares of a node: their notes by id.
async fn live_shares(client: &ChaosClient, node: usize) -> Option<BTreeMap<String, String>> {
    let (mut live, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let path = format!("/shares?limit=1000{cursor}");
        let (status, page) = client.attempt(node, Method::GET, &path, None).await?;
        let items = page["items"].as_array().filter(|_| status == 200)?;
        for share in items.iter().filter(|share| share["state"] == "live") {
            let text = |name: &str| share[name].as_str().unwrap_or_default().to_owned();
            live.insert(text("id"), text("note"));
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Some(live),
        }
    }
}

/// The first difference between acknowledged requests and live shares.
fn difference(
    expected: &BTreeMap<String, (String, ShareEnd)>,
    live: &BTreeMap<String, String>,
) -> Option<String> {
    for (request, (id, end)) in expected {
        match (end, live.contains_key(id)) {
            (ShareEnd::Live, false) => {
                return Some(format!("share {id} of {request} was acknowledged and is lost"));
            }
            (ShareEnd::Revoked, true) => {
                return Some(format!("share {id} of {request} was revoked and is back"));
            }
            _ => {}
        }
    }
    let mut requests = BTreeMap::new();
    for (id, note) in live {
        if let Some(other) = requests.insert(note, id) {
            return Some(format!("{note} happened twice: shares {other} and {id}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_a_returned_and_a_double_share_are_found() {
        let expected = |end| BTreeMap::from([("r".to_owned(), ("1".to_owned(), end))]);
        let live = BTreeMap::from([("1".to_owned(), "r".to_owned())]);
        assert_eq!(difference(&expected(ShareEnd::Live), &live), None);
        assert_eq!(difference(&expected(ShareEnd::Open), &BTreeMap::new()), None);
        let lost = difference(&expected(ShareEnd::Live), &BTreeMap::new());
        assert!(lost.is_some_and(|text| text.contains("is lost")));
        let back = difference(&expected(ShareEnd::Revoked), &live);
        assert!(back.is_some_and(|text| text.contains("is back")));
        let twice = BTreeMap::from([("1".to_owned(), "r".into()), ("2".to_owned(), "r".into())]);
        let twice = difference(&expected(ShareEnd::Live), &twice);
        assert!(twice.is_some_and(|text| text.contains("happened twice")));
    }
}
