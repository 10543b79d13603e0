//! A worker that acted for a leader acts for no earlier one. It deletes no copy for it, runs no hook, takes no orders and
//! drops no report.

use std::collections::BTreeMap;

use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;

use super::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "fencing";

/// The latest leader for which each worker acted.
#[derive(Clone, Debug, Default)]
pub struct ServedLeaders(BTreeMap<HostAddr, Epoch>);

impl ServedLeaders {
    /// Records that a worker acts for the leader of `epoch`.
    pub fn act(&mut self, host: HostAddr, epoch: Epoch) -> InvariantCheck {
        let latest = self.0.entry(host).or_default();
        if epoch < *latest {
            let what = format!("{host} acts for epoch {epoch}, and acted for epoch {latest}");
            return (NAME, Err(what));
        }
        *latest = epoch;
        (NAME, Ok(()))
    }
}
