//! The actors of Reelyard: all state, all decisions and all work of the system.
//!
//! How it is run and reached (processes, HTTP, configuration) is the business of the package
//! `reelyard`, which depends on this crate and never the other way round.
//!
//! **Invariant:** an actor knows another only by the message types that one exports, never by its
//! state. Inside this crate every actor may use [`wire`], [`clock`], [`event`] and [`journal`]
//! (and [`bandwidth`], which is pure).
//!
//! **Invariant:** everything in a file of pure state (`decide`, `apply`, `plan`) is free of clocks,
//! I/O, actix and tracing, so that it can be tested and simulated by value.

pub mod backoff;
pub mod bandwidth;
pub mod boot;
pub mod box_host;
pub mod box_lease;
pub mod catalog;
pub mod cfw_worker;
pub mod change_feed;
pub mod clock;
pub mod downloader;
pub mod durations;
mod elapsed_time;
pub mod event;
#[cfg(test)]
mod events_fit;
pub mod heartbeat;
pub mod history;
pub mod host;
pub mod http_client;
pub mod http_files;
pub mod journal;
pub mod live_setting;
pub mod manager;
pub mod mounts;
pub mod names;
pub mod open_files;
pub mod private_dir;
pub mod processes;
pub mod remover;
pub mod secret_id;
pub mod share_expiry;
pub mod share_files;
pub mod signed_call;
pub mod supervision;
pub mod task_manager;
pub mod token;
pub mod traffic;
mod turns;
pub mod webhook;
pub mod wire;
pub mod yard_changes;
