//! The side panel "Why?": reasons of the planner in words, for files and hosts.

mod file_panel;
mod host_checks;
mod reasons;

pub use file_panel::{DestinationAnswer, HeldCopy, SourceAnswer, WhyFile, why_file};
pub use host_checks::not_in_the_way;
pub use reasons::{HostObstacle, PassedReason, WhyAnswer};
