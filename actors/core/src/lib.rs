//! The common base of all parts of Reelyard: clocks, names, addresses, ids, supervision, the feed of changes.
//!
//! **Invariant:** there is no actor here, and nothing knows the network or a store.

pub mod backoff;
pub mod boot;
pub mod bounded_read;
pub mod change_feed;
pub mod clock;
pub mod durations;
pub mod elapsed_time;
pub mod event;
pub mod history;
pub mod host;
pub mod live_setting;
pub mod manager;
pub mod mounts;
pub mod names;
pub mod open_files;
pub mod private_dir;
pub mod rate_text;
pub mod secret_id;
pub mod settings;
pub mod shown_text;
pub mod supervision;
pub mod token;
pub mod traffic;
