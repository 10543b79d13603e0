//! Settings from the layers, before their values are parsed.

use std::collections::BTreeMap;

use toml::Value;

use super::fault::{ConfigFault, SettingOrigin};

/// An unparsed value.
#[derive(Clone, Debug)]
pub enum RawValue {
    /// From the file: already TOML.
    Toml(Value),
    /// From a variable or an argument: plain text.
    Text(String),
}

/// A setting that a layer sets.
#[derive(Clone, Debug)]
pub struct RawSetting {
    /// Value as written.
    pub raw: RawValue,
    /// Layer and position of the value.
    pub origin: SettingOrigin,
    /// The line of each entry, for a list in the file.
    pub entry_lines: Vec<usize>,
    /// The old name, if the operator used it.
    pub old_key: Option<String>,
}

/// The combined layers, with faults that were found before values are parsed.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The settings that are set, by key.
    pub given: BTreeMap<String, RawSetting>,
    /// Unknown keys and malformed arguments.
    pub faults: Vec<ConfigFault>,
}

impl Gathered {
    /// Records a fault of the setting `key`.
    pub fn refuse(&mut self, key: String, origin: SettingOrigin, what: &str) {
        self.faults.push(ConfigFault { origin, key: Some(key), what: what.to_owned() });
    }
}
