//! Hosts as the node sees them: heartbeats, their CfwWorkers, old and new wires.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cfw_worker_breaker;
mod cfw_worker_changes;
mod cfw_worker_lists;
mod cfw_worker_maintenance;
mod cfw_worker_old_host;
mod cfw_worker_reelyard_host;
mod cfw_worker_traffic;
mod compat_wire;
mod heartbeat_real_hosts;
mod heartbeat_schedule;
mod hostile_host;
mod supervision_mailbox;
