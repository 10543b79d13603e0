//! Reads typed settings from the combined layers and collects faults.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::hash::Hash;

use super::declaration::{Applicability, Declaration, Presence};
use super::fault::{ConfigFault, ConfigFaults, SettingOrigin};
use super::raw::{Gathered, RawSetting, RawValue};
use super::value::SettingValue;

/// A setting with its effective value and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Dotted key of the setting.
    pub key: String,
    /// Value as TOML; none if absent. A secret is shown as stars.
    pub value: Option<String>,
    /// Whether the value is a secret.
    pub is_secret: bool,
    /// Origin of the value.
    pub origin: SettingOrigin,
    /// The old name, if the setting was set by it.
    pub old_key: Option<String>,
    /// When and where the value applies.
    pub applies: Applicability,
}

/// Returns settings by key. A faulty setting reads as its default, so that all faults are found.
/// [`SettingsReader::finish`] then refuses the configuration.
#[derive(Debug)]
pub struct SettingsReader {
    given: BTreeMap<String, RawSetting>,
    effective: Vec<EffectiveSetting>,
    faults: Vec<ConfigFault>,
}

impl SettingsReader {
    /// A reader over the combined layers.
    pub fn new(gathered: Gathered) -> Self {
        SettingsReader { given: gathered.given, effective: Vec::new(), faults: gathered.faults }
    }

    /// Reads the setting `key`.
    pub fn read<T: SettingValue>(&mut self, key: String, declaration: Declaration) -> T {
        let Declaration { presence, text, applies } = declaration;
        let (value, origin) = match self.given.get(&key) {
            Some(given) => {
                let read = match &given.raw {
                    RawValue::Toml(value) => T::from_toml(value),
                    RawValue::Text(text) => T::from_text(text),
                };
                let origin = given.origin.clone();
                let value = read.unwrap_or_else(|wrongs| {
                    for wrong in wrongs {
                        self.fault_in(&key, wrong.entry, wrong.what);
                    }
                    unset(&key, presence, text)
                });
                (value, origin)
            }
            None => {
                if presence == Presence::Required {
                    self.fault(
                        &key,
                        format!("is required, as in {key} = {}", normalized::<T>(text)),
                    );
                }
                (unset(&key, presence, text), SettingOrigin::Default)
            }
        };
        self.record(key, &value, origin, applies);
        value
    }

    fn record<T: SettingValue>(
        &mut self,
        key: String,
        value: &T,
        origin: SettingOrigin,
        applies: Applicability,
    ) {
        let hide =
            |value: toml::Value| if T::SECRET { "\"***\"".into() } else { value.to_string() };
        let value = value.to_toml().map(hide);
        let old_key = self.given.get(&key).and_then(|given| given.old_key.clone());
        let is_secret = T::SECRET;
        self.effective.push(EffectiveSetting { key, value, is_secret, origin, old_key, applies });
    }

    /// Records a fault of the setting `key`.
    pub fn fault(&mut self, key: &str, what: impl Into<String>) {
        self.fault_in(key, None, what);
    }

    /// Whether the cluster has the setting `key` on record.
    pub fn is_recorded(&self, key: &str) -> bool {
        self.given
            .get(key)
            .is_some_and(|given| matches!(given.origin, SettingOrigin::Record { .. }))
    }

    /// Records a fault of the entry with index `entry` of the setting `key`.
    pub fn fault_in(&mut self, key: &str, entry: Option<usize>, what: impl Into<String>) {
        let mut origin =
            self.given.get(key).map_or(SettingOrigin::Default, |given| given.origin.clone());
        let mut what = what.into();
        if let Some(entry) = entry {
            what = format!("entry {}: {what}", entry + 1);
            let lines = self.given.get(key).map_or(&[][..], |given| &given.entry_lines);
            if let (SettingOrigin::File { line, .. }, Some(own)) = (&mut origin, lines.get(entry)) {
                *line = *own;
            }
        }
        self.faults.push(ConfigFault { origin, key: Some(key.to_owned()), what });
    }

    /// Records a fault for each repeated entry of the list `key`.
    pub fn distinct<T: Display + Eq + Hash>(&mut self, key: &str, list: &[T]) {
        let mut first = HashMap::new();
        for (entry, value) in list.iter().enumerate() {
            let earlier = *first.entry(value).or_insert(entry);
            if earlier != entry {
                let what = format!("{value} is already entry {}", earlier + 1);
                self.fault_in(key, Some(entry), what);
            }
        }
    }

    /// Every setting that was read, or every fault: sorted by line, then by layer.
    pub fn finish(mut self) -> Result<Vec<EffectiveSetting>, ConfigFaults> {
        self.faults.sort_by_key(|fault| fault.origin.order());
        if self.faults.is_empty() { Ok(self.effective) } else { Err(ConfigFaults(self.faults)) }
    }
}

/// The value of a setting that is not set or was refused.
fn unset<T: SettingValue>(key: &str, presence: Presence, text: &str) -> T {
    let absent = if presence == Presence::Optional { T::absent() } else { None };
    absent.unwrap_or_else(|| declared(key, text))
}

fn normalized<T: SettingValue>(text: &str) -> String {
    T::from_text(text)
        .ok()
        .and_then(|value| value.to_toml())
        .unwrap_or_else(|| text.into())
        .to_string()
}

/// The value of a declaration.
#[allow(clippy::panic)]
pub fn declared<T: SettingValue>(key: &str, text: &str) -> T {
    // Declarations are constants, and a test parses all of them.
    T::from_text(text).unwrap_or_else(|wrongs| panic!("the declaration of {key}: {wrongs:?}"))
}
