//! The control plane of copies: which file stands on which host, and what goes.
//!
//! **Invariant:** an actor knows another one only by its messages and its published read view.

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
