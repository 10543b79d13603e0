//! The texts of single pages.

pub mod access;
pub mod boxes;
pub mod cluster;
pub mod files;
pub mod find;
pub mod hosts;
pub mod plan;
pub mod shares;
pub mod tasks;
pub mod why;
pub mod yard;
