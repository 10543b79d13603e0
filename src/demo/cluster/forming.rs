//! Forms a cluster of the demo's nodes with the commands of an operator.

use std::time::Duration;

use anyhow::Result;
use reelyard_api::{ClusterView, MemberRank};
use tokio::time::{Instant, sleep};

use super::nodes::{DemoNodes, place_of};
use crate::demo::api::DemoApi;

/// Number of the founder.
const FIRST: u64 = 1;

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Time limit of each step. The longest one takes ten seconds and the copying of the journal.
const PATIENCE: Duration = Duration::from_secs(90);

/// Founds the cluster with the first node, and lets the others join it. Returns once all of them vote.
pub async fn form(nodes: &DemoNodes, api: &DemoApi) -> Result<()> {
    println!("forming a cluster: node 1 founds it, nodes 2 and 3 join");
    nodes.run(FIRST, &["cluster", "init"]).await?;
    nodes.start(FIRST).await?;
    let at = nodes.cluster_address(FIRST).await?.to_string();
    // The leader records its own address first. Without it no node finds the cluster.
    let leads = |view: &ClusterView| {
        view.leader == Some(FIRST) && view.members.iter().any(|member| member.cluster_address == at)
    };
    wait_until(nodes, api, FIRST, leads).await?;
    for number in 2..=3 {
        let secret = api.invite().await?;
        nodes.run(number, &["cluster", "join", "--at", &at, "--secret", &secret]).await?;
        nodes.start(number).await?;
        wait_until(nodes, api, number, |_| true).await?;
    }
    println!("all three nodes have started; each gets a vote after ten seconds without a gap");
    let all_vote = |view: &ClusterView| {
        let voters = view.members.iter().filter(|member| member.rank != MemberRank::Learner);
        voters.count() == 3
    };
    wait_until(nodes, api, FIRST, all_vote).await
}

/// Waits until a node shows a cluster that `is_good` accepts.
async fn wait_until(
    nodes: &DemoNodes,
    api: &DemoApi,
    number: u64,
    is_good: impl Fn(&ClusterView) -> bool,
) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        nodes.check().await?;
        let shown: Result<ClusterView> = api.get_from(place_of(number), "cluster").await;
        let reason = match shown {
            Ok(view) if is_good(&view) => return Ok(()),
            Ok(view) => format!("it shows {} members", view.members.len()),
            Err(error) => format!("{error:#}"),
        };
        anyhow::ensure!(
            Instant::now() < until,
            "the cluster was not formed: node {number} is not ready after {PATIENCE:?}: {reason}"
        );
        sleep(LOOK).await;
    }
}
