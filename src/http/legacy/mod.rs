//! cfm's wire protocol: `/tasks` and the three dashboards.
//!
//! Reads use snapshots and never wait. Changes are sent to the TaskManager, with a limit on
//! concurrent ones. A change over the limit is answered with 503 and has no effect.

mod allowed;
mod pages;
pub mod paths;
mod routes;
mod state;
mod tasks;

pub use routes::{not_found, routes};
pub use state::{CHANGES_UNDER_WAY, CompatState, FileRow, FileTable, change_turns};
