//! Hosts as the node sees them: heartbeats, their CfwWorkers, old and new wires.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cfw_worker;
mod compat_wire;
mod heartbeat_real_hosts;
mod heartbeat_schedule;
mod hostile_host;
mod quiet_hosts;
mod supervision_mailbox;
