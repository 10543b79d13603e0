//! Faults drawn from a seed, each with its end.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use reelyard::demo::cluster::fault_proxy::CutLinks;

use crate::rigs::node_cluster::NodeCluster;

/// The nodes that stay members. They have these numbers.
const NODES: [u64; 3] = [1, 2, 3];

/// One fault. Nodes are given by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChaosFault {
    /// SIGKILL, and a start after this time.
    Kill(u64, Duration),
    /// SIGSTOP for this time.
    Pause(u64, Duration),
    /// No byte from and to this node for this time.
    CutOff(u64, Duration),
    /// No byte from this node to others for this time. It still hears them.
    Mute(u64, Duration),
    /// No byte to this node from others for this time. They still hear it.
    Deaf(u64, Duration),
    /// The links of this node are cut and open by turns.
    Flap(u64, Duration),
    /// A fourth node joins while this node is killed, and is removed after its start.
    Grow(u64),
}

impl fmt::Display for ChaosFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChaosFault::Kill(node, time) => write!(f, "kill node {node}, start it after {time:?}"),
            ChaosFault::Pause(node, time) => write!(f, "stop node {node} for {time:?}"),
            ChaosFault::CutOff(node, time) => write!(f, "cut node {node} off for {time:?}"),
            ChaosFault::Mute(node, time) => write!(f, "nobody hears node {node} for {time:?}"),
            ChaosFault::Deaf(node, time) => write!(f, "node {node} hears nobody for {time:?}"),
            ChaosFault::Flap(node, time) => write!(f, "the links of node {node} flap for {time:?}"),
            ChaosFault::Grow(node) => write!(f, "a fourth node joins while node {node} is killed"),
        }
    }
}

impl ChaosFault {
    /// The next fault, of at most `longest`. Half of them hit the leader.
    pub fn draw(rng: &mut Rng, leader: Option<u64>, longest: Duration) -> Self {
        let any = NODES[rng.usize(..NODES.len())];
        let node = match leader {
            Some(leader) if NODES.contains(&leader) && rng.bool() => leader,
            _ => any,
        };
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX).max(200);
        let time = Duration::from_millis(rng.u64(100..longest));
        match rng.u8(..8) {
            0 | 1 => ChaosFault::Kill(node, time.min(Duration::from_secs(2))),
            2 => ChaosFault::Pause(node, time),
            3 => ChaosFault::CutOff(node, time),
            4 => ChaosFault::Mute(node, time),
            5 => ChaosFault::Deaf(node, time),
            6 => ChaosFault::Flap(node, time),
            _ => ChaosFault::Grow(node),
        }
    }

    /// Causes the fault, and ends it.
    ///
    /// # Errors
    /// A process or a command of the round failed.
    pub fn happen(&self, cluster: &mut NodeCluster, links: &CutLinks) -> Result<()> {
        let others = |node: u64| NODES.into_iter().filter(move |other| *other != node);
        let from = |node: u64| others(node).map(move |other| (node, other));
        let to = |node: u64| others(node).map(move |other| (other, node));
        match *self {
            ChaosFault::Kill(node, time) => {
                kill(cluster, node)?;
                sleep(time);
                cluster.start(index(node)?)?;
            }
            ChaosFault::Pause(node, time) => {
                pause(cluster, node, true)?;
                sleep(time);
                pause(cluster, node, false)?;
            }
            ChaosFault::CutOff(node, time) => hold(links, from(node).chain(to(node)), time),
            ChaosFault::Mute(node, time) => hold(links, from(node), time),
            ChaosFault::Deaf(node, time) => hold(links, to(node), time),
            ChaosFault::Flap(node, time) => {
                let turn = Duration::from_millis(100);
                let turns = time.as_millis() / (2 * turn.as_millis()) + 1;
                for _ in 0..turns {
                    hold(links, from(node).chain(to(node)), turn);
                    sleep(turn);
                }
            }
            ChaosFault::Grow(node) => grow(cluster, node)?,
        }
        Ok(())
    }
}

/// The place of a node in the cluster of the round.
fn index(node: u64) -> Result<usize> {
    Ok(usize::try_from(node)? - 1)
}

fn hold(links: &CutLinks, pairs: impl IntoIterator<Item = (u64, u64)>, time: Duration) {
    links.set(pairs);
    sleep(time);
    links.set([]);
}

fn kill(cluster: &mut NodeCluster, node: u64) -> Result<()> {
    let process = cluster.nodes[index(node)?].process.as_mut();
    process.context("the node does not run")?.kill();
    Ok(())
}

fn pause(cluster: &NodeCluster, node: u64, is_paused: bool) -> Result<()> {
    let process = cluster.nodes[index(node)?].process.as_ref();
    let process = process.context("the node does not run")?;
    if is_paused { process.pause() } else { process.wake() }
}

/// A node joins by the leader that follows `killed`, as `alive` knows it.
fn join(cluster: &mut NodeCluster, fourth: usize, alive: usize, killed: u64) -> Result<()> {
    let leader = cluster.wait(alive, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != killed)
    })?;
    let secret = cluster.invite_by(alive)?;
    let at = cluster.nodes[index(leader)?].peers.to_string();
    let joined = cluster.prepare(fourth, &["join", "--at", &at, "--secret", &secret]);
    anyhow::ensure!(joined.code == Some(0), "{}", joined.err);
    cluster.start(fourth)
}

/// A fourth node joins while `killed` is gone. A refused change of the members is no fault.
fn grow(cluster: &mut NodeCluster, killed: u64) -> Result<()> {
    let alive = index(NODES.into_iter().find(|node| *node != killed).unwrap_or(1))?;
    let fourth = cluster.add(true)?;
    kill(cluster, killed)?;
    let joined = join(cluster, fourth, alive, killed);
    cluster.start(index(killed)?)?;
    let members = cluster.view(alive).map(|view| view["members"].clone());
    let members = members.as_ref().and_then(|members| members.as_array()).into_iter().flatten();
    let extra = members.filter_map(|member| member["number"].as_u64());
    for extra in extra.filter(|number| !NODES.contains(number)) {
        let number = extra.to_string();
        cluster.call(alive, &["cluster", "promote", &number]);
        cluster.wait(alive, "the fourth node is no member", |view| {
            cluster.call(alive, &["cluster", "remove", &number]);
            let members = view["members"].as_array()?;
            let is_there = members.iter().any(|member| member["number"] == extra);
            (!is_there).then_some(())
        })?;
    }
    if let Some(process) = cluster.nodes[fourth].process.as_mut() {
        process.kill();
    }
    // The next fourth node begins with an empty disk.
    if cluster.nodes[fourth].data_dir.exists() {
        std::fs::remove_dir_all(&cluster.nodes[fourth].data_dir)?;
    }
    cluster.nodes.truncate(fourth);
    if let Err(error) = joined {
        println!("  the fourth node did not join: {error:#}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_faults() {
        let draw = |seed| {
            let mut rng = Rng::with_seed(seed);
            let longest = Duration::from_secs(3);
            (0..20).map(|_| ChaosFault::draw(&mut rng, Some(2), longest)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
