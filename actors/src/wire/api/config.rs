//! What another configuration changes, as the API shows it.

use serde::{Deserialize, Serialize};

/// What came of reading the configuration again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReloadView {
    /// Whether it was only told what would change.
    pub dry_run: bool,
    /// What is in force from now on, or would be.
    pub applied: Vec<SettingChange>,
    /// What stays as it was until the node is started anew.
    pub needs_restart: Vec<SettingChange>,
}

/// A setting that is another one than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingChange {
    /// Its dotted key.
    pub key: String,
    /// Before, as TOML; missing when it was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Now, as TOML; missing when it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether it is a secret: then neither is told.
    #[serde(default)]
    pub secret: bool,
}
