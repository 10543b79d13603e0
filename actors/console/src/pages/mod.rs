//! The pages: a model, and a function that renders it for a viewer.

pub mod access;
pub mod audit;
pub mod boxes;
pub mod cluster;
pub mod ended_troubles;
pub mod files;
pub mod find;
pub mod guide;
pub mod history;
pub mod host;
pub mod hosts;
pub mod map;
pub mod plan;
pub mod settings;
pub mod shares;
pub mod tasks;
pub mod why;
pub mod yard;
