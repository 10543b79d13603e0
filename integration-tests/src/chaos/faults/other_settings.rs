//! A node that leads although its own file has other settings of the cluster, or its inputs are older.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::rigs::catalog::catalog_input::{grade_info, replace};
use crate::rigs::yard::wait_for;

/// The difference of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherSettings {
    /// No hosts, no roots of shares, no webhook, and no pool.
    Settings,
    /// A ranking without any file.
    Inputs,
}

impl fmt::Display for OtherSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OtherSettings::Settings => "other settings in its file",
            OtherSettings::Inputs => "an empty ranking",
        })
    }
}

impl OtherSettings {
    /// One of the differences.
    pub fn draw(rng: &mut Rng) -> Self {
        if rng.bool() { OtherSettings::Settings } else { OtherSettings::Inputs }
    }

    /// Restarts a node with the difference, lets it lead for `time`, and restarts it as before.
    ///
    /// # Errors
    /// The node does not start.
    pub fn happen(
        self,
        cluster: &mut ChaosCluster,
        place: NodePlace,
        time: Duration,
    ) -> Result<()> {
        let before = cluster.nodes.nodes[place.0].more.clone();
        let other = self.text(cluster, place, &before)?;
        cluster.kill(place)?;
        if self == OtherSettings::Inputs {
            // Its inputs are on record then.
            cluster.wait_for_ready_leader(place)?;
        }
        start_with(cluster, place, other)?;
        cluster.make_lead(place)?;
        match self {
            OtherSettings::Settings => {
                cluster.nodes.wait(place.0, "the node warns of its file", |view| {
                    view["warnings"].to_string().contains("to other values").then_some(())
                })?;
            }
            OtherSettings::Inputs => {
                let process = cluster.nodes.process(place.0)?;
                wait_for("the node plans nothing by its ranking", &[process], || {
                    let (_, text) = cluster.nodes.fetch(place.0, "/readyz")?;
                    text.contains("grade.info has 0 rows here").then_some(())
                })?;
            }
        }
        sleep(time);
        restart(cluster, place, before)
    }

    /// The settings of the node besides its addresses.
    fn text(self, cluster: &ChaosCluster, place: NodePlace, before: &str) -> Result<String> {
        let links = cluster.links[place.0];
        match self {
            OtherSettings::Settings => Ok(format!(
                "task.mode = \"off\"\n[share]\nlisten = \"{links}\"\nunknown_link_burst = 100000\n"
            )),
            OtherSettings::Inputs => {
                replace(&cluster.yard.path("input/.older"), &grade_info::<&str>([]))?;
                Ok(before.replace("input/.grade.info", "input/.older"))
            }
        }
    }
}

fn restart(cluster: &mut ChaosCluster, place: NodePlace, more: String) -> Result<()> {
    cluster.kill(place)?;
    start_with(cluster, place, more)
}

fn start_with(cluster: &mut ChaosCluster, place: NodePlace, more: String) -> Result<()> {
    cluster.nodes.nodes[place.0].more = more;
    cluster.nodes.write(place.0, true)?;
    cluster.start(place)
}
