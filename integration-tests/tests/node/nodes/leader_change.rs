//! Changes of the leader of three nodes, while clients change something through the others.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::node_cluster::NodeCluster;
use reelyard_integration_tests::rigs::writing_clients::WritingClients;
use reelyard_integration_tests::rigs::yard::{RoleProcess, bearer_in};

/// Longest time without a success while the lead is handed over. It takes less than 300 ms on a machine without other work.
const HAND_OVER_GAP: Duration = Duration::from_secs(1);

/// The same with an election. Without other work it takes 2 s at most.
const ELECTION_GAP: Duration = Duration::from_secs(4);

/// The clients of most changes of the leader.
const FEW: usize = 4;

/// Three nodes, of which each change of the leader ends one.
struct ChangingCluster {
    cluster: NodeCluster,
    bearer: String,
    /// The place of a node that answers.
    answers: usize,
}

impl ChangingCluster {
    fn form() -> Result<Self> {
        let cluster = NodeCluster::three()?;
        let bearer = bearer_in(&cluster.nodes[0].data_dir);
        Ok(ChangingCluster { cluster, bearer, answers: 0 })
    }

    /// Ends the leader by `end`, while this number of clients changes something at the other nodes. None of them may
    /// hear of it. Answers the place of the former leader, and by how much the epoch rose.
    fn change(
        &mut self,
        (name, clients, longest_gap): (&str, usize, Duration),
        end: impl Fn(&mut NodeCluster, usize) -> Result<()>,
    ) -> Result<(usize, u64)> {
        let (leader, epoch) = self.cluster.leader(self.answers)?;
        let others = self.cluster.nodes.iter().enumerate().filter(|(place, _)| *place != leader);
        let others: Vec<SocketAddr> = others.map(|(_, node)| node.api).collect();
        let nodes: Vec<SocketAddr> = others.iter().copied().cycle().take(clients).collect();
        let clients = WritingClients::start(&nodes, &self.bearer, name);
        clients.wait_for(40)?;
        end(&mut self.cluster, leader)?;
        clients.wait_for(40)?;
        let answers = clients.stop();
        assert_eq!(answers.failures, [], "{name}: {answers:?}");
        let (slowest, gap) = (answers.slowest, answers.longest_gap);
        println!("{name}: the slowest answer took {slowest:?}, the longest gap {gap:?}");
        assert!(gap <= longest_gap, "{name}: no change was acknowledged for {gap:?}");
        self.answers = (leader + 1) % 3;
        let (next, now) = self.cluster.leader(self.answers)?;
        assert_ne!(next, leader, "{name}");
        Ok((leader, now - epoch))
    }
}

fn process_of(cluster: &mut NodeCluster, place: usize) -> Result<&mut RoleProcess> {
    cluster.nodes[place].process.as_mut().context("the node does not run")
}

#[test]
fn no_request_at_another_node_fails_when_the_leader_changes() -> Result<()> {
    let mut changing = ChangingCluster::form()?;
    // A graceful stop hands over, and needs no election: the epoch rises by one.
    let (stopped, epochs) =
        changing.change(("stopped", 64, HAND_OVER_GAP), |cluster, leader| {
            let ended = process_of(cluster, leader)?.terminate()?;
            anyhow::ensure!(ended.success(), "{ended}");
            Ok(())
        })?;
    assert_eq!(epochs, 1);
    changing.cluster.start(stopped)?;
    let (_, epochs) = changing.change(("transferred", FEW, HAND_OVER_GAP), |cluster, leader| {
        let moved = cluster.call(leader, &["cluster", "transfer"]);
        anyhow::ensure!(moved.code == Some(0), "{}", moved.err);
        Ok(())
    })?;
    assert_eq!(epochs, 1);
    let (paused, _) = changing.change(("paused", FEW, ELECTION_GAP), |cluster, leader| {
        process_of(cluster, leader)?.pause()?;
        // An old worker at another node waits until there is a new leader.
        let tasks = cluster.fetch((leader + 1) % 3, "/tasks");
        anyhow::ensure!(tasks.as_ref().is_some_and(|(status, _)| *status == 200), "{tasks:?}");
        Ok(())
    })?;
    process_of(&mut changing.cluster, paused)?.wake()?;
    let (leads, _) = changing.cluster.leader(changing.answers)?;
    changing.cluster.wait(paused, "the node that was paused follows", |view| {
        (view["leader"].as_u64()? == leads as u64 + 1).then_some(())
    })?;
    changing.change(("killed", FEW, ELECTION_GAP), |cluster, leader| {
        process_of(cluster, leader)?.kill();
        Ok(())
    })?;
    Ok(())
}
