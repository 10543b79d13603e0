//! The state that a worker keeps over a restart: one store for its copies, its boxes, and the epochs that it obeys.

pub mod box_claim;
pub mod epoch_guard;
pub mod group_sync;
pub mod known_epochs;
pub(crate) mod partial;
pub mod state_store;
pub mod state_store_error;
