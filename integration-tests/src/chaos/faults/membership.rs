//! A change of the members while one of them is impaired.

use std::fmt;

use anyhow::{Result, ensure};
use fastrand::Rng;

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};

/// The state of one node while the members change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impairment {
    /// Its process is killed.
    Killed,
    /// Its process is stopped.
    Stopped,
    /// It is cut off from the others.
    CutOff,
}

impl fmt::Display for Impairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Impairment::Killed => "killed",
            Impairment::Stopped => "stopped",
            Impairment::CutOff => "cut off",
        })
    }
}

impl Impairment {
    /// One of the states.
    pub fn draw(rng: &mut Rng) -> Self {
        match rng.u8(..3) {
            0 => Impairment::Killed,
            1 => Impairment::Stopped,
            _ => Impairment::CutOff,
        }
    }

    /// A fourth node joins while the node at `place` is impaired. It votes and is removed afterwards.
    ///
    /// # Errors
    /// A process failed, or the fourth node is not removed. A refused change of the members is no error.
    pub fn happen(self, cluster: &mut ChaosCluster, place: NodePlace) -> Result<()> {
        let by = place.others()[0];
        let fourth = cluster.nodes.add(true)?;
        self.begin(cluster, place)?;
        let joined = join(cluster, fourth, by, place);
        self.end(cluster, place)?;
        remove_others(cluster, by)?;
        if let Some(process) = cluster.nodes.nodes[fourth].process.as_mut() {
            process.kill();
        }
        // The next fourth node begins with an empty disk.
        if cluster.nodes.nodes[fourth].data_dir.exists() {
            std::fs::remove_dir_all(&cluster.nodes.nodes[fourth].data_dir)?;
        }
        cluster.nodes.nodes.truncate(fourth);
        if let Err(error) = joined {
            println!("  the fourth node did not join: {error:#}");
        }
        Ok(())
    }

    fn begin(self, cluster: &mut ChaosCluster, place: NodePlace) -> Result<()> {
        match self {
            Impairment::Killed => cluster.kill(place),
            Impairment::Stopped => cluster.pause(place, true),
            Impairment::CutOff => {
                let node = cluster.number(place);
                let others = place.others().map(|other| cluster.number(other));
                let pairs = others.into_iter().flat_map(|other| [(node, other), (other, node)]);
                cluster.cut_links.set(pairs);
                Ok(())
            }
        }
    }

    fn end(self, cluster: &mut ChaosCluster, place: NodePlace) -> Result<()> {
        match self {
            Impairment::Killed => cluster.start(place),
            Impairment::Stopped => cluster.pause(place, false),
            Impairment::CutOff => {
                cluster.cut_links.set([]);
                Ok(())
            }
        }
    }
}

/// A node joins by the leader that follows `impaired`, as `by` knows it.
fn join(
    cluster: &mut ChaosCluster,
    fourth: usize,
    by: NodePlace,
    impaired: NodePlace,
) -> Result<()> {
    let gone = cluster.number(impaired);
    cluster.nodes.wait(by.0, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != gone)
    })?;
    let (at, secret) = (cluster.join_address(by)?, cluster.nodes.invite_by(by.0)?);
    let joined = cluster.nodes.prepare(fourth, &["join", "--at", &at, "--secret", &secret]);
    ensure!(joined.code == Some(0), "{}", joined.err);
    cluster.nodes.start(fourth)
}

/// Gives each further member a vote if it can have one, and removes it.
fn remove_others(cluster: &ChaosCluster, by: NodePlace) -> Result<()> {
    let view = cluster.nodes.view(by.0);
    let members = view.as_ref().and_then(|view| view["members"].as_array()).into_iter().flatten();
    let numbers = members.filter_map(|member| member["number"].as_u64());
    for extra in numbers.filter(|number| !cluster.numbers().contains(number)) {
        let number = extra.to_string();
        cluster.nodes.call(by.0, &["cluster", "promote", &number]);
        cluster.nodes.wait(by.0, "the fourth node is no member", |view| {
            cluster.nodes.call(by.0, &["cluster", "remove", &number]);
            let members = view["members"].as_array()?;
            let is_there = members.iter().any(|member| member["number"] == extra);
            (!is_there).then_some(())
        })?;
    }
    Ok(())
}
