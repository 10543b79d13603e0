//! Boxes: exclusive leases over messages, HTTP, the command line and workers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod cli;
mod client;
mod history;
mod lease_crowd;
mod lease_full_disk;
mod lease_hosts;
mod lease_mailbox;
mod lease_properties;
mod lease_three_nodes;
mod linearizable;
mod on_a_worker;
mod on_a_worker_isolate;
mod owned_ids;
mod python;
mod run;
mod stub;
