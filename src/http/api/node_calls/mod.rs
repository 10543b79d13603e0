//! Calls about the node itself: its state, configuration, events, and the document of the API.

pub mod config;
pub mod config_versions;
pub mod document;
pub mod events;
pub mod overview;
pub mod status;
