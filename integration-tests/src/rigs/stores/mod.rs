//! The stores of nodes, filled before a node starts.

pub mod share_store;
pub mod written_events;
