//! Changes of the configuration, as the API shows them.

use serde::{Deserialize, Serialize};

use crate::instant::Rfc3339;

/// Result of a reload of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReloadView {
    /// Whether the reload only reported the changes and applied none.
    pub dry_run: bool,
    /// Settings that a reload applies at once.
    pub applied: Vec<SettingChange>,
    /// Settings that keep their values until the node restarts.
    pub needs_restart: Vec<SettingChange>,
    /// Settings of the cluster that the configuration sets to other values than those on record. They have no
    /// effect.
    #[serde(default)]
    pub not_as_recorded: Vec<SettingChange>,
}

/// A setting with a new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingChange {
    /// Dotted key of the setting.
    pub key: String,
    /// Old value as TOML. Missing if it was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// New value as TOML. Missing if it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether the value is secret. Both values are then missing.
    #[serde(default)]
    pub secret: bool,
}

/// A version of the settings that the cluster has on record, without the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingsVersionInfo {
    /// Its number, from 1. The highest one is in force.
    pub version: u64,
    /// When it was recorded.
    pub at: Rfc3339,
    /// The caller who recorded it.
    pub by: String,
    /// The reason. Missing if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A version of the settings that the cluster has on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingsVersionView {
    /// The version without its settings.
    #[serde(flatten)]
    pub info: SettingsVersionInfo,
    /// The settings that it sets. All others have their defaults.
    pub values: Vec<RecordedSetting>,
}

/// One setting on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RecordedSetting {
    /// Dotted key of the setting.
    pub key: String,
    /// The value as TOML. Missing if it is secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Other settings for the cluster. Exactly one of `text` and `version` is needed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedSettings {
    /// A configuration file. Its settings of the cluster come on record, and its other settings are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The version whose settings come on record again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The version that the caller saw as the newest one, so that a newer one is not overwritten. Needed unless
    /// `dry_run` is set. A repeated request records nothing twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<u64>,
    /// Only report the changes, and record nothing.
    #[serde(default)]
    pub dry_run: bool,
}

impl std::fmt::Debug for WantedSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The text may hold secrets.
        let bytes = self.text.as_ref().map(String::len);
        let WantedSettings { version, follows, dry_run, .. } = self;
        let mut shown = f.debug_struct("WantedSettings");
        shown.field("text_bytes", &bytes).field("version", version).field("follows", follows);
        shown.field("dry_run", dry_run).finish()
    }
}

/// The changes by other settings for the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingsRecorded {
    /// Whether they are on record now as a version of their own.
    pub is_recorded: bool,
    /// The newest version now.
    pub version: u64,
    /// Settings that change at once.
    pub applied: Vec<SettingChange>,
    /// Settings that change on each node when it restarts.
    pub needs_restart: Vec<SettingChange>,
    /// Settings of the text that are of one node. They are not on record.
    pub left_out: Vec<String>,
}
