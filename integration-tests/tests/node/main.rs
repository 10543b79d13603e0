//! A node from outside: its API, command line, settings and demo.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod api;
mod audit;
mod commands;
mod configuration;
mod console;
mod guide;
mod house;
mod nodes;
mod plain_words;
mod stored;
