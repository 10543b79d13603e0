//! The read view of the ShareFilesActor.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::clock::Millis;

use crate::share_expiry::{PendingMove, RootName};

/// The read view of the actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareFilesView {
    /// The roots that cannot be reached, and why. No shares of these roots end as removed.
    pub unreachable: BTreeMap<RootName, String>,
    /// Roots of a cluster without an id, and why it cannot be written; on the leader.
    pub unidentified: BTreeMap<RootName, String>,
    /// How many shares had no file at the last check.
    pub missing: u64,
    /// How many passes over all shares were completed.
    pub sweeps: u64,
    /// How many shares were checked in passes.
    pub looked: u64,
    /// How many were checked once more because their files were missing.
    pub looked_again: u64,
    /// Moves in progress, and those whose outcome only the disk knows, by number; on the leader.
    pub unsettled: BTreeMap<u64, UnsettledMove>,
}

/// A recorded move whose outcome is not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsettledMove {
    /// The move that is not settled.
    pub moving: Arc<PendingMove>,
    /// When this node learned of it.
    pub since: Millis,
    /// Why its outcome is unknown; none while it is being carried out or checked.
    pub why: Option<String>,
}
