//! Processes that are killed, or stopped as a pause of their machine does.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};

/// A fault of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFault {
    /// SIGKILL, and a later start.
    Killed,
    /// SIGSTOP, and SIGCONT.
    Stopped,
}

impl fmt::Display for ProcessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProcessFault::Killed => "is killed, and gone",
            ProcessFault::Stopped => "is stopped",
        })
    }
}

impl ProcessFault {
    /// Causes the fault for `time`.
    ///
    /// # Errors
    /// The process does not run, or does not start again.
    pub fn happen(
        self,
        cluster: &mut ChaosCluster,
        place: NodePlace,
        time: Duration,
    ) -> Result<()> {
        match self {
            ProcessFault::Killed => {
                cluster.kill(place)?;
                sleep(time);
                cluster.start(place)
            }
            ProcessFault::Stopped => {
                cluster.pause(place, true)?;
                sleep(time);
                cluster.pause(place, false)
            }
        }
    }
}
