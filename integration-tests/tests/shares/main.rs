//! Shares: their actor, links, files and notifications.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod clients;
mod cluster;
mod expiry;
mod files;
mod link_server;
mod webhooks;
