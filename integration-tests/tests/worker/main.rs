//! A worker as a process: its wire, copies and restarts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batches;
mod copy;
mod data_port;
mod data_port_tls;
mod downloader;
mod faults;
mod full_disk;
mod managers;
mod old_programs;
mod reload;
mod restart;
mod resume;
mod room;
