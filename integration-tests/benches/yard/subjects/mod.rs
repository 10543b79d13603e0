//! The subjects of the bench, one per file. Each measures itself in a process of its own.

pub mod boxes;
pub mod node;
pub mod shares;
pub mod yard;
