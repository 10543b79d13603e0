//! Decisions. Pure.

pub(in crate::cluster_settings) mod record;
