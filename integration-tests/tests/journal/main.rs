//! The journal: alone, on three nodes, on full disks and after power loss.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alone;
mod events_fit;
mod full_disk;
mod growing;
mod owner_restarts;
mod power_loss;
mod sample_events;
mod stored_bytes;
mod survives_kill;
mod three_nodes;
