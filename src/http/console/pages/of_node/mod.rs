//! The cluster, settings, access and the manual.

pub mod access;
pub mod access_dialogs;
mod change_effects;
pub mod cluster;
pub mod guide;
pub mod settings;
