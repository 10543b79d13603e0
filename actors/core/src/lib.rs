//! The common base of all parts of Reelyard: clocks, names, addresses, ids, supervision, the feed of changes.
//!
//! **Invariant:** this crate has no actor, and uses no network and no store.

pub mod actor_parts;
pub mod address_range;
pub mod call_version;
pub mod change_feed;
pub mod cluster_id;
pub mod event;
pub mod history;
pub mod host;
pub mod kept_order;
pub mod live_setting;
pub mod manager;
pub mod names;
pub mod page_order;
pub mod secret_id;
pub mod settings;
pub mod supervision;
mod system;
mod text;
mod time;
pub mod token;
pub mod traffic;

pub use system::{bounded_read, mounts, open_files, private_dir, task_threads};
pub use text::counted;
pub use text::{display_text, rate_text};
pub use time::{backoff, boot, burst_limit, clock, cluster_time, durations, elapsed_time};
