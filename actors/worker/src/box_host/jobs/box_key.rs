//! The key of one of a worker's boxes.

use reelyard_protocol::boxes::{HookTarget, RunHook};

/// A box of this worker: an id of a set of hooks, independent of its pool and cluster. In a pool that
/// draws ids the number of a box changes, and hooks run for the id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HostedBoxKey {
    pub hooks: String,
    pub box_id: u32,
}

impl HostedBoxKey {
    /// The box with this id on a worker.
    pub fn new(place: &HookTarget, box_id: u32) -> Self {
        HostedBoxKey { hooks: place.hooks_name().to_owned(), box_id }
    }

    /// The box for which something is run.
    pub fn of(hook: &RunHook) -> Self {
        HostedBoxKey::new(&hook.place, hook.box_id)
    }
}
