//! A summary of the whole yard: troubles with their start times, and series of the last hours.
//!
//! The node looks at its views every few seconds. It remembers facts that no view has: start times of troubles,
//! rates of copies, loads of links. The memory is of this process; after a restart it begins again.

mod copy_rates;
mod health_history;
pub mod host_lines;
mod hour_counts;
mod link_traffic;
mod look;
mod memory;
mod name_order;
mod placed_files;
mod share_counts;
mod troubles;
pub mod yard_model;
mod yard_views;

pub use host_lines::DiskMarks;
pub use hour_counts::{HourCounts, KeptHourCounts};
pub use link_traffic::LinkSample;
pub use look::keep;
pub use memory::OverviewMemory;
pub use name_order::KeptNameOrder;
pub use placed_files::{PlacedFiles, down_holders, listed_files, only_here};
pub use share_counts::{KeptShareCounts, ShareCounts, span_of_column};
pub use yard_model::yard_model;
pub use yard_views::YardViews;

/// An hour in milliseconds.
pub const HOUR_MILLIS: i64 = 3_600_000;
