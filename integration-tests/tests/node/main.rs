//! A node from outside: its API, command line, settings and demo.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod api;
mod audit;
mod chaos;
mod cluster;
mod commands;
mod configuration;
mod console;
mod demand_checkpoint;
mod earlier_store;
mod full_disk;
mod guide;
mod house;
mod leader_change;
mod leader_inputs;
mod links_without_leader;
mod passed_downloads;
mod plain_words;
mod private_files;
mod promised_reads;
mod recorded_settings;
mod slow_links;
