//! The control plane of copies: it decides which host gets which file, and which copies are
//! removed.
//!
//! **Invariant:** an actor uses only the messages and the published read view of another actor.

pub mod bandwidth;
pub mod catalog;
pub mod cfw_worker;
pub mod changes;
pub mod done_copy;
pub mod heartbeat;
pub mod name_traits;
pub mod node_exporter;
pub mod remover;
pub mod room;
pub mod settings;
pub mod task_manager;
