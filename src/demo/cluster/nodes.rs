//! The nodes of the demo: their processes, and the proxies between them.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use super::fault_proxy::CutLinks;
use crate::demo::process::Process;

/// A process with the role node, and the faults that it has now.
pub struct DemoNode {
    /// Its number in the cluster. The first node has 1.
    pub number: u64,
    /// Its address for the other nodes: that of its proxy. None for a node that runs alone.
    pub cluster_address: Option<SocketAddr>,
    process: Process,
    is_paused: bool,
    is_cut: bool,
}

/// The state of a node, for the status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoNodeState {
    /// Number of the node.
    pub number: u64,
    /// Whether its process runs.
    pub is_running: bool,
    /// Whether its process is paused by SIGSTOP.
    pub is_paused: bool,
    /// Whether no byte passes between it and the other nodes.
    pub is_cut: bool,
}

/// All nodes of the demo. Clones share them.
#[derive(Clone)]
pub struct DemoNodes {
    nodes: Arc<Mutex<Vec<DemoNode>>>,
    links: CutLinks,
}

/// Place of a node in the list of nodes.
pub fn place_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1)
}

impl DemoNode {
    /// A node before its start.
    pub fn new(number: u64, cluster_address: Option<SocketAddr>, process: Process) -> Self {
        DemoNode { number, cluster_address, process, is_paused: false, is_cut: false }
    }

    fn state(&self) -> DemoNodeState {
        DemoNodeState {
            number: self.number,
            is_running: self.process.is_running(),
            is_paused: self.is_paused,
            is_cut: self.is_cut,
        }
    }

    fn pause(&mut self, is_paused: bool) -> Result<()> {
        self.process.pause(is_paused)?;
        self.is_paused = is_paused;
        Ok(())
    }
}

impl DemoNodes {
    /// These nodes. The proxies before them obey `links`.
    pub fn new(nodes: Vec<DemoNode>, links: CutLinks) -> Self {
        DemoNodes { nodes: Arc::new(Mutex::new(nodes)), links }
    }

    /// The states of all nodes, by number.
    pub async fn states(&self) -> Vec<DemoNodeState> {
        self.nodes.lock().await.iter().map(DemoNode::state).collect()
    }

    /// Address of a node for other nodes.
    pub async fn cluster_address(&self, number: u64) -> Result<SocketAddr> {
        self.node(number).await?.cluster_address.context("the node runs alone")
    }

    /// Runs `reelyard <arguments>` with the settings of a node.
    pub async fn run(&self, number: u64, arguments: &[&str]) -> Result<()> {
        self.node(number).await?.process.run(arguments).await
    }

    /// Starts a node, for the first time or again.
    pub async fn start(&self, number: u64) -> Result<()> {
        self.node(number).await?.process.start()
    }

    /// Kills a node by SIGKILL, also a paused one.
    pub async fn kill(&self, number: u64) -> Result<()> {
        let mut node = self.node(number).await?;
        node.is_paused = false;
        node.process.kill().await
    }

    /// Pauses a running node, or wakes a paused one.
    pub async fn pause_or_wake(&self, number: u64) -> Result<DemoNodeState> {
        let mut node = self.node(number).await?;
        let is_paused = node.process.is_running() && !node.is_paused;
        node.pause(is_paused)?;
        Ok(node.state())
    }

    /// Cuts a node off from the other nodes, or joins it again.
    pub async fn cut_or_join(&self, number: u64) -> Result<DemoNodeState> {
        let mut node = self.node(number).await?;
        node.is_cut = !node.is_cut;
        let state = node.state();
        drop(node);
        let states = self.states().await;
        self.links.set(cut_pairs(&states));
        Ok(state)
    }

    /// Fails if the process of a node has ended unexpectedly.
    pub async fn check(&self) -> Result<()> {
        self.nodes.lock().await.iter_mut().try_for_each(|node| node.process.check())
    }

    /// Stops all nodes, one after the other, so that each can hand over.
    pub async fn stop(&self) -> Result<()> {
        self.links.set([]);
        let mut stopped = Ok(());
        let mut nodes = self.nodes.lock().await;
        for node in nodes.iter_mut() {
            stopped = stopped.and(node.pause(false));
        }
        for node in nodes.iter_mut() {
            stopped = stopped.and(node.process.stop().await);
        }
        stopped
    }

    async fn node(&self, number: u64) -> Result<MappedMutexGuard<'_, DemoNode>> {
        let nodes = self.nodes.lock().await;
        MutexGuard::try_map(nodes, |nodes| nodes.iter_mut().find(|node| node.number == number))
            .map_err(|_| anyhow!("there is no node {number}"))
    }
}

/// All directions from and to the nodes that are cut off.
fn cut_pairs(states: &[DemoNodeState]) -> Vec<(u64, u64)> {
    let pairs = states.iter().flat_map(|from| states.iter().map(move |to| (from, to)));
    let cut = pairs.filter(|(from, to)| from.is_cut || to.is_cut);
    cut.map(|(from, to)| (from.number, to.number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_node_neither_sends_nor_receives() {
        let state =
            |number, is_cut| DemoNodeState { number, is_running: true, is_paused: false, is_cut };
        let pairs = cut_pairs(&[state(1, false), state(2, true), state(3, false)]);
        for pair in [(1, 2), (3, 2), (2, 1), (2, 3)] {
            assert!(pairs.contains(&pair), "{pair:?}");
        }
        assert!(!pairs.contains(&(1, 3)) && !pairs.contains(&(3, 1)));
    }
}
