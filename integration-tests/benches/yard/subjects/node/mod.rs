//! Subjects of the process around the actors: journal, access, audit, cluster, console, and a whole node.

pub mod access;
pub mod audit;
pub mod cluster_speed;
pub mod console;
mod joined_journals;
pub mod journal;
pub mod whole_node;
