//! A node from outside: its API, command line, settings and demo.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api_document;
mod api_node;
mod cli_client;
mod cli_help;
mod cli_roles;
mod cli_store;
mod config_import;
mod config_layers;
mod config_reload;
mod demo;
mod earlier_store;
mod events;
mod full_disk;
mod guide_pages;
mod guide_text;
mod guide_walks;
mod house;
mod metrics;
mod plain_words;
mod private_files;
