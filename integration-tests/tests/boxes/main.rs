//! Boxes: exclusive leases over messages, HTTP, the command line and workers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod cli;
mod client;
mod cluster_clients;
mod history;
mod leases;
mod linearizable;
mod on_a_worker;
mod on_a_worker_isolate;
mod owned_ids;
mod python;
mod run;
mod stub;
