//! Changes of the members while one of them is impaired.

use std::fmt;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::rigs::node_cluster::voters;

/// All numbers that a cluster gives during a round.
const MEMBERS: std::ops::Range<u64> = 1..100;

/// The state of one node while the members change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impairment {
    /// Its process is killed.
    Killed,
    /// Its process is stopped.
    Stopped,
    /// It is cut off from the others.
    CutOff,
    /// It calls the others, and they cannot call it.
    Uncallable,
}

impl fmt::Display for Impairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Impairment::Killed => "killed",
            Impairment::Stopped => "stopped",
            Impairment::CutOff => "cut off",
            Impairment::Uncallable => "called by nobody",
        })
    }
}

impl Impairment {
    /// One of the states.
    pub fn draw(rng: &mut Rng) -> Self {
        match rng.u8(..4) {
            0 => Impairment::Killed,
            1 => Impairment::Stopped,
            2 => Impairment::CutOff,
            _ => Impairment::Uncallable,
        }
    }

    /// A fourth node joins, votes and is removed, and the lead is transferred, all while the node at `place` is impaired.
    ///
    /// # Errors
    /// A process or a change failed: two of three voters are whole all the time.
    pub fn happen(self, cluster: &mut ChaosCluster, place: NodePlace) -> Result<()> {
        let fourth = cluster.nodes.add(true)?;
        self.begin(cluster, place)?;
        let changed = change_members(cluster, fourth, place);
        self.end(cluster, place)?;
        // A change that failed can leave it.
        remove_others(cluster, place.others()[0])?;
        if let Some(process) = cluster.nodes.nodes[fourth].process.as_mut() {
            process.kill();
        }
        // The next fourth node begins with an empty disk.
        if cluster.nodes.nodes[fourth].data_dir.exists() {
            std::fs::remove_dir_all(&cluster.nodes.nodes[fourth].data_dir)?;
        }
        cluster.nodes.nodes.truncate(fourth);
        changed.with_context(|| format!("the members did not change while {place} was {self}"))
    }

    fn begin(self, cluster: &mut ChaosCluster, place: NodePlace) -> Result<()> {
        match self {
            Impairment::Killed => cluster.kill(place),
            Impairment::Stopped => cluster.pause(place, true),
            Impairment::CutOff => {
                let node = cluster.number(place);
                let others = MEMBERS.filter(|other| *other != node);
                let pairs = others.flat_map(|other| [(node, other), (other, node)]);
                cluster.cut_links.set(pairs);
                Ok(())
            }
            Impairment::Uncallable => {
                // As the leader it would go on, and the others could pass no request on.
                cluster.make_lead(place.others()[0])?;
                cluster.close(place, true);
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
            Impairment::Uncallable => {
                cluster.close(place, false);
                Ok(())
            }
        }
    }
}

/// Makes each change of the members once while the node at `impaired` is impaired.
fn change_members(cluster: &mut ChaosCluster, fourth: usize, impaired: NodePlace) -> Result<()> {
    let ([by, other], gone) = (impaired.others(), cluster.number(impaired));
    cluster.nodes.wait(by.0, "another node leads", |view| {
        view["leader"].as_u64().filter(|leader| *leader != gone)
    })?;
    refuse_to_lose_the_quorum(cluster, impaired)?;
    let number = cluster.join_as(fourth, by)?;
    cluster.nodes.start(fourth)?;
    cluster.changed_members("a fourth node joined");
    cluster.nodes.wait(by.0, "the fourth node votes", |view| {
        cluster.nodes.call(by.0, &["cluster", "promote", &number.to_string()]);
        voters(view).contains(&number).then_some(())
    })?;
    cluster.changed_members("it votes");
    let (leader, wanted) = (cluster.nodes.leader(by.0)?, [by, other]);
    let wanted = wanted.into_iter().find(|place| place.0 != leader.0).unwrap_or(other);
    let next = cluster.number(wanted);
    cluster.nodes.wait(by.0, "the lead is transferred", |view| {
        cluster.nodes.call(by.0, &["cluster", "transfer", &next.to_string()]);
        view["leader"].as_u64().filter(|leader| *leader == next).map(drop)
    })?;
    cluster.changed_members("the lead was transferred");
    remove_others(cluster, by)?;
    cluster.changed_members("it was removed");
    Ok(())
}

/// Of three voters one is impaired, so the cluster needs both others, and must not remove one.
fn refuse_to_lose_the_quorum(cluster: &ChaosCluster, impaired: NodePlace) -> Result<()> {
    let [by, other] = impaired.others();
    let needed = cluster.number(other).to_string();
    let removed = cluster.nodes.call(by.0, &["cluster", "remove", &needed]);
    ensure!(
        removed.code != Some(0),
        "{other} was removed, and {impaired} was impaired: no quorum is left"
    );
    Ok(())
}

/// Removes each further member.
fn remove_others(cluster: &ChaosCluster, by: NodePlace) -> Result<()> {
    let view = cluster.nodes.view(by.0);
    let members = view.as_ref().and_then(|view| view["members"].as_array()).into_iter().flatten();
    let numbers = members.filter_map(|member| member["number"].as_u64());
    for extra in numbers.filter(|number| !cluster.numbers().contains(number)) {
        let number = extra.to_string();
        cluster.nodes.wait(by.0, "the fourth node is no member", |view| {
            cluster.nodes.call(by.0, &["cluster", "remove", &number]);
            let members = view["members"].as_array()?;
            let is_there = members.iter().any(|member| member["number"] == extra);
            (!is_there).then_some(())
        })?;
    }
    Ok(())
}
