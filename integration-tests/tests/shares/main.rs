//! Shares: their actor, links, files and notifications.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod browser;
mod clients;
mod cluster;
mod cuts;
mod expiry_mailbox;
mod expiry_properties;
mod expiry_repeats;
mod expiry_turns;
mod expiry_yard;
mod files_mailbox;
mod files_three_nodes;
mod files_yard;
mod hooks;
mod link_answers;
mod link_edges;
mod links;
mod links_and_clocks;
mod links_of_the_actor;
mod moves_survive_kill;
mod pages;
mod requests;
mod roots;
mod survives_kill;
mod three_nodes;
mod tls;
mod tls_node;
mod webhook_mailbox;
mod zip;
