//! The side panel "Why?": reasons of the planner in words, for files and hosts.

mod file_panel;
mod host_checks;
mod host_obstacles;
mod reasons;

pub use file_panel::{DestinationAnswer, HeldCopy, SourceAnswer, WhyFile, why_file};
pub use host_checks::not_in_the_way;
pub use host_obstacles::{HostSilence, ObstacleFact, obstacle_command, obstacle_row};
pub use reasons::{HostObstacle, PassedReason, WhyAnswer};
