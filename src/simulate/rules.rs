//! The rules of a simulation: those of a node with this configuration.

use std::time::Duration;

use reelyard_actors::remover::RemoverSettings;
use reelyard_actors::task_manager::TaskSettings;

use crate::config::NodeConfig;
use crate::node;

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
}

impl Rules {
    /// The rules of a node with this configuration.
    pub fn of(config: &NodeConfig) -> Self {
        Rules {
            tasks: node::task_settings(config),
            remover: node::remover_settings(config),
            window: config.event_log.window,
            hit_base: config.event_log.hit_base.get(),
        }
    }
}
