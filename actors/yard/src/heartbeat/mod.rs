//! The HeartbeatSupervisor finds out which hosts answer.
//!
//! Every host has its own schedule and its own open probe, so a slow host delays no other. The
//! supervisor calls no host itself: it asks the CfwWorker of the host to do so.

mod actor;
pub mod health;
mod messages;
mod settings;
mod views;

pub use actor::HeartbeatSupervisor;
pub use health::Health;
pub use messages::*;
pub use settings::{HeartbeatSettings, MOST_PROBES};
pub use views::{HeartbeatView, HostBeats};
