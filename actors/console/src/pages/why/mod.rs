//! The side panel "Why?": reasons of the planner in words, for files and hosts.

mod file_panel;
mod reasons;

pub use file_panel::{DestinationAnswer, HeldCopy, SourceAnswer, WhyFile, why_file};
pub use reasons::{HostObstacle, PassedReason, WhyAnswer};
