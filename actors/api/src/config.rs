//! Changes of the configuration, as the API shows them.

use serde::{Deserialize, Serialize};

/// Result of a reload of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReloadView {
    /// Whether the reload only reported the changes and applied none.
    pub dry_run: bool,
    /// Settings that a reload applies at once.
    pub applied: Vec<SettingChange>,
    /// Settings that keep their values until the node restarts.
    pub needs_restart: Vec<SettingChange>,
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
