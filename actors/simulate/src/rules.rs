//! The rules that are tried: those of a node with this configuration.

use std::time::Duration;

use reelyard_yard::remover::RemoverSettings;
use reelyard_yard::task_manager::TaskSettings;

/// What a node goes by when it plans and removes.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How copies are planned and followed.
    pub tasks: TaskSettings,
    /// How copies are removed.
    pub remover: RemoverSettings,
    /// How long a request that nobody could serve counts.
    pub window: Duration,
    /// How many of these make a file hot.
    pub hit_base: u32,
}
