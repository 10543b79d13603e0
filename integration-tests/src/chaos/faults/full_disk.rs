//! A full disk: a small one under the data directory of one node, which is filled and freed.

use std::fmt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;

use super::FaultOutcome;
use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::rigs::small_disk::SmallDisk;

/// Size of the disk. The reserve of the journal and its files have room for hours.
const MEBIBYTES: u64 = 384;

/// The disk of one node.
pub struct FillableDisk(SmallDisk);

impl FillableDisk {
    /// The node with this disk.
    pub const PLACE: NodePlace = NodePlace(1);

    /// Mounts the disk at a directory. None if this user cannot mount.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn mount(dir: &Path) -> Result<Option<Self>> {
        std::fs::create_dir_all(dir)?;
        Ok(SmallDisk::try_mount(dir, MEBIBYTES).map(FillableDisk))
    }
}

/// The rank of the node whose disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullDisk {
    /// It has the lead when its disk gets full.
    OfLeader,
    /// Any rank.
    OfAny,
}

impl fmt::Display for FullDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = FillableDisk::PLACE;
        match self {
            FullDisk::OfLeader => write!(f, "{place} leads, and its disk is full"),
            FullDisk::OfAny => write!(f, "the disk of {place} is full"),
        }
    }
}

impl FullDisk {
    /// One of the ranks.
    pub fn draw(rng: &mut Rng) -> Self {
        if rng.bool() { FullDisk::OfLeader } else { FullDisk::OfAny }
    }

    /// Fills the disk for `time`.
    ///
    /// # Errors
    /// The node does not lead.
    pub fn happen(self, cluster: &ChaosCluster, time: Duration) -> Result<FaultOutcome> {
        let Some(FillableDisk(disk)) = &cluster.disk else {
            return Ok(FaultOutcome::Skipped("the right to mount a small disk: run it as root"));
        };
        if self == FullDisk::OfLeader {
            cluster.make_lead(FillableDisk::PLACE)?;
        }
        disk.fill();
        sleep(time);
        disk.clear();
        Ok(FaultOutcome::Ended)
    }
}
