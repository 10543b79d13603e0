//! The settings that the nodes of a cluster have on record.

pub mod cluster_settings;
