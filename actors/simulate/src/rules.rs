//! The rules of a simulation: those of a node with its configuration.

use std::time::Duration;

use reelyard_yard::remover::RemoverSettings;
use reelyard_yard::settings::popularity::{HalfLife, PopularityMode};
use reelyard_yard::task_manager::TaskSettings;

/// The settings of a node for planning and removal.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Settings of planning and tasks.
    pub tasks: TaskSettings,
    /// Settings of removal.
    pub remover: RemoverSettings,
    /// How long a request that no destination could serve counts.
    pub window: Duration,
    /// Number of such requests that make a file hot.
    pub hit_base: u32,
    /// The use of remembered demand.
    pub popularity: PopularityMode,
    /// The half-life of requests.
    pub half_life: HalfLife,
}
