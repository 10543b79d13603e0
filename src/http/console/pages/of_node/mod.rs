//! The cluster, settings, access and the manual.

pub mod access;
pub mod access_dialogs;
pub mod cluster;
pub mod guide;
pub mod settings;
