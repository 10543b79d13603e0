//! A full disk: a small one under the data directory of one node, which is filled and freed.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

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

/// Fills the disk for `time`.
pub fn happen(cluster: &ChaosCluster, time: Duration) -> FaultOutcome {
    let Some(FillableDisk(disk)) = &cluster.disk else {
        return FaultOutcome::Skipped("the right to mount a small disk: run it as root");
    };
    disk.fill();
    sleep(time);
    disk.clear();
    FaultOutcome::Ended
}
