//! The piece: the recorded versions of the settings. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use reelyard_core::clock::Millis;

use super::settings_text::SettingsText;

/// One version of the settings of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsVersion {
    /// Its number, from 1.
    pub number: u64,
    /// A configuration file that sets only settings of the cluster. It may hold secrets.
    pub text: SettingsText,
    /// When it was recorded, by the clock of the leader.
    pub at: Millis,
    /// The caller who recorded it.
    pub by: String,
    /// The reason. It may be empty.
    pub why: String,
}

/// The parts of the next version that have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster_settings) struct IncompleteVersion {
    pub(in crate::cluster_settings) version: u64,
    pub(in crate::cluster_settings) parts: Vec<SettingsText>,
}

/// The recorded versions, the newest one last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsBook {
    pub(in crate::cluster_settings) versions: VecDeque<Arc<SettingsVersion>>,
    pub(in crate::cluster_settings) incomplete: Option<IncompleteVersion>,
}

impl SettingsBook {
    /// The version in force. None before the first one.
    pub fn newest(&self) -> Option<&Arc<SettingsVersion>> {
        self.versions.back()
    }

    /// The number of the version in force; 0 before the first one.
    pub fn newest_number(&self) -> u64 {
        self.newest().map_or(0, |version| version.number)
    }

    /// The version with this number, if it is still kept.
    pub fn version(&self, number: u64) -> Option<&Arc<SettingsVersion>> {
        self.versions.iter().find(|version| version.number == number)
    }

    /// The kept versions, the newest one first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Arc<SettingsVersion>> {
        self.versions.iter().rev()
    }
}
