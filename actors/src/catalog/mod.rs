//! (to come)
pub mod event_row;
pub mod grade_info;
pub mod hitcount_history;
pub mod lines;
pub mod masters;
mod messages;
pub mod ranking;
pub mod rising;
pub mod rows;
pub use messages::*;
