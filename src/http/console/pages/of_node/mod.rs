//! The cluster, settings, access and the manual.

pub mod access;
pub mod access_dialogs;
mod access_order;
mod change_effects;
pub mod cluster;
pub mod guide;
mod setting_texts;
pub mod settings;
mod settings_record;
