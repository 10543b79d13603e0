//! Subjects of the process around the actors: journal, access, audit, console, and a whole node.

pub mod access;
pub mod audit;
pub mod console;
pub mod journal;
pub mod whole_node;
