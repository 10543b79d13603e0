//! An emptied disk under an old number: it neither votes nor acknowledges, and joins only as a new member.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::chaos::record::ChaosRecord;
use crate::rigs::yard::{RoleProcess, wait_for};

/// Requests that a node acknowledged before its death are counted after this time.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// How long nothing may be acknowledged with one of three stores.
const WITHOUT_QUORUM: Duration = Duration::from_secs(2);

/// Empties the disk of the node at `place`, and replaces the member.
///
/// # Errors
/// A process or a command failed.
pub fn happen(cluster: &mut ChaosCluster, place: NodePlace, record: &ChaosRecord) -> Result<()> {
    let [one, other] = place.others();
    cluster.kill(place)?;
    empty(cluster.data_dir(place))?;
    does_not_start(cluster, place)?;

    // Even as the founder of another cluster at the old address it is no voter of this one.
    let (api, more) = {
        let free = cluster.nodes.free_addr()?;
        let node = &mut cluster.nodes.nodes[place.0];
        (std::mem::replace(&mut node.api, free), std::mem::take(&mut node.more))
    };
    cluster.nodes.write(place.0, true)?;
    let founded = cluster.nodes.prepare(place.0, &["init"]);
    ensure!(founded.code == Some(0), "{}", founded.err);
    cluster.start(place)?;
    cluster.kill(one)?;
    sleep(LAST_ANSWERS);
    let before = record.acknowledged();
    sleep(WITHOUT_QUORUM);
    let more_answers = record.acknowledged() - before;
    if more_answers > 0 {
        record.violates(format!(
            "{more_answers} changes were acknowledged although only {other} had its store"
        ));
    }
    cluster.kill(place)?;
    cluster.start(one)?;
    empty(cluster.data_dir(place))?;

    let node = &mut cluster.nodes.nodes[place.0];
    (node.api, node.more) = (api, more);
    cluster.nodes.write(place.0, true)?;
    let number = cluster.number(place);
    wait_for("the old number is removed", &[cluster.nodes.process(other.0)?], || {
        let removed = cluster.nodes.call(other.0, &["cluster", "remove", &number.to_string()]);
        let view = cluster.nodes.view(other.0)?;
        let members = view["members"].as_array()?;
        let is_there = members.iter().any(|member| member["number"] == number);
        (removed.code == Some(0) || !is_there).then_some(())
    })?;
    cluster.join(place, other)?;
    cluster.wait_for_voters(other)
}

/// A node without a store that is configured as one of several ends by itself.
fn does_not_start(cluster: &ChaosCluster, place: NodePlace) -> Result<()> {
    let log = cluster.nodes.path().join("emptied.log");
    let process = RoleProcess::start_by_file("node", &cluster.nodes.nodes[place.0].file, log)?;
    wait_for("a node with an emptied disk ends by itself", &[], || {
        process.has_ended().then_some(())
    })?;
    ensure!(process.log_text().contains("reelyard cluster join"), "{}", process.log_text());
    Ok(())
}

/// Removes everything in a directory. The directory can be the root of a disk.
fn empty(dir: &Path) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            std::fs::remove_dir_all(path)?;
        } else {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
