//! The settings of a cluster on record, and the settings of one node beside them. Pure.

use std::fmt::Write;

use reelyard_core::settings::{
    ConfigFaults, EffectiveSetting, Gathered, RawValue, SettingOrigin, SettingsGroup,
    SettingsReader,
};
use reelyard_settings::cluster_settings::{SettingsText, SettingsVersion};
use toml::Value;

use super::file;
use crate::config::known_keys::KnownKeys;
use crate::config::{Difference, NodeConfig, RoleConfig, differences, resolve};

/// Stands for a secret in a shown value.
const HIDDEN: &str = "***";

/// Settings that a cluster has on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSettings {
    /// The number of the version.
    pub version: u64,
    /// A configuration file that sets only settings of the cluster.
    pub text: SettingsText,
}

impl From<&SettingsVersion> for RecordedSettings {
    fn from(version: &SettingsVersion) -> Self {
        RecordedSettings { version: version.number, text: version.text.clone() }
    }
}

impl RecordedSettings {
    /// The settings as written. Settings that this program does not know are left out: a later or an earlier program
    /// recorded them.
    ///
    /// # Errors
    /// The text is not TOML.
    fn gather(&self, keys: &KnownKeys) -> Result<Gathered, ConfigFaults> {
        let mut gathered = Gathered::default();
        file::read_record(&self.text, self.version, keys, &mut gathered)?;
        for fault in gathered.faults.drain(..) {
            tracing::warn!("a setting on record is not known here: {fault}");
        }
        gathered.given.retain(|key, _| keys.of_cluster.contains(key));
        Ok(gathered)
    }

    /// The settings of a node with this record: its own ones of a single node, and those on record. `own` is not
    /// changed.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn with_node_part(&self, own: &Gathered) -> Result<Gathered, ConfigFaults> {
        let keys = KnownKeys::of::<NodeConfig>();
        let is_shared = |key: &str| keys.of_cluster.contains(key);
        let mut merged = own.clone();
        merged.given.retain(|key, _| !is_shared(key));
        merged.faults.retain(|fault| !fault.key.as_deref().is_some_and(is_shared));
        merged.given.append(&mut self.gather(&keys)?.given);
        Ok(merged)
    }

    /// The settings that it sets. The values of secrets are hidden.
    ///
    /// # Errors
    /// A later version of reelyard recorded them.
    pub fn shown(&self) -> Result<Vec<EffectiveSetting>, ConfigFaults> {
        let mut reader = SettingsReader::new(self.gather(&KnownKeys::of::<NodeConfig>())?);
        // Settings of a node belong to some of them, so they are read and not combined.
        NodeConfig::read(&mut reader, "");
        let is_set =
            |setting: &EffectiveSetting| matches!(setting.origin, SettingOrigin::Record { .. });
        Ok(reader.finish()?.into_iter().filter(is_set).collect())
    }

    /// The settings of the cluster that a node sets to other values. A part with faults has no effect, and differs in
    /// nothing.
    pub fn differing(&self, own: &Gathered) -> Vec<Difference> {
        let Ok(recorded) = self.with_node_part(own) else { return Vec::new() };
        let wished = resolve::<NodeConfig>(with_cluster_part(&recorded, own));
        let (Ok(recorded), Ok(wished)) = (resolve::<NodeConfig>(recorded), wished) else {
            return Vec::new();
        };
        all_differences(&recorded, &wished)
    }

    /// The text of a next version, with the settings of the cluster that a node sets to other values. None if there are
    /// none. Settings that the node does not set stay as they are.
    pub fn changed_by(&self, own: &Gathered) -> Option<SettingsText> {
        if self.differing(own).is_empty() {
            return None;
        }
        let wished = with_cluster_part(&self.with_node_part(own).ok()?, own);
        let (_, effective) = resolve::<NodeConfig>(wished.clone()).ok()?;
        Some(cluster_part(&wished, &effective))
    }
}

/// The settings `recorded`, with the settings of the cluster of a node in their place.
fn with_cluster_part(recorded: &Gathered, own: &Gathered) -> Gathered {
    let keys = KnownKeys::of::<NodeConfig>();
    let mut wished = recorded.clone();
    let shared = own.given.iter().filter(|(key, _)| keys.of_cluster.contains(*key));
    wished.given.extend(shared.map(|(key, given)| (key.clone(), given.clone())));
    wished
}

/// The differences of two configurations, secrets included.
fn all_differences(
    (before, shown_before): &(NodeConfig, Vec<EffectiveSetting>),
    (after, shown_after): &(NodeConfig, Vec<EffectiveSetting>),
) -> Vec<Difference> {
    let mut all = differences(shown_before, shown_after);
    for key in before.differs_unseen(after) {
        if all.iter().all(|difference| difference.key != key) {
            all.push(Difference::of_secret(key));
        }
    }
    all
}

/// The settings of the cluster that a node sets, as the text of a record. `effective` are the settings of the node
/// without a record.
pub fn cluster_part(own: &Gathered, effective: &[EffectiveSetting]) -> SettingsText {
    text_of(own, &KnownKeys::of::<NodeConfig>(), effective)
}

/// The settings of the cluster in the text of a configuration file, as the text of a record, and the keys of its
/// other settings.
///
/// # Errors
/// The text is no configuration.
pub fn of_file(text: &str) -> Result<(SettingsText, Vec<String>), ConfigFaults> {
    let keys = KnownKeys::of::<NodeConfig>();
    let mut gathered = Gathered::default();
    file::read_given(text, &keys, &mut gathered)?;
    if !gathered.faults.is_empty() {
        return Err(ConfigFaults(gathered.faults));
    }
    let others = gathered.given.keys().filter(|key| !keys.of_cluster.contains(*key));
    let others = others.cloned().collect();
    Ok((text_of(&gathered, &keys, &[]), others))
}

/// Each setting of the cluster on a line of its own.
fn text_of(gathered: &Gathered, keys: &KnownKeys, effective: &[EffectiveSetting]) -> SettingsText {
    let mut text = String::new();
    for (key, given) in gathered.given.iter().filter(|(key, _)| keys.of_cluster.contains(*key)) {
        let value = match &given.raw {
            RawValue::Toml(value) => value.clone(),
            RawValue::Text(text) => value_of(key, text, effective),
        };
        // Writing to a text does not fail.
        let _ = writeln!(text, "{key} = {value}");
    }
    text.into()
}

/// The value of a variable or an argument, which need not be TOML. The shown value is, unless it hides a secret.
fn value_of(key: &str, text: &str, effective: &[EffectiveSetting]) -> Value {
    let shown = effective.iter().find(|setting| setting.key == key);
    let shown = shown.and_then(|setting| setting.value.as_deref());
    let shown = shown.filter(|value| !value.contains(HIDDEN)).and_then(|value| value.parse().ok());
    shown.or_else(|| text.parse().ok()).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, gather};

    fn own(set: &[&str]) -> Gathered {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        gather::<NodeConfig>(&Layers { set, ..Layers::default() }).unwrap()
    }

    fn record(text: &str) -> RecordedSettings {
        RecordedSettings { version: 3, text: text.into() }
    }

    fn with_record(set: &[&str], text: &str) -> (NodeConfig, Vec<EffectiveSetting>) {
        resolve(record(text).with_node_part(&own(set)).unwrap()).unwrap()
    }

    const HOOK: &str = "{ b = { url = \"http://a/x\", secret = \"0123456789abcdef\" } }";

    #[test]
    fn a_text_gives_the_settings_of_the_cluster_again() {
        let hooks = format!("share.webhooks={HOOK}");
        let set = [
            "hosts.sources=10.0.0.1:1, 10.0.0.2:1",
            "log.level=debug",
            &hooks,
            "task.timeout=40m",
            "ignore.prefixes=2024",
            "token=0123456789abcdef0123",
        ];
        let (wanted, effective) = resolve::<NodeConfig>(own(&set)).unwrap();
        let text = cluster_part(&own(&set), &effective);
        assert!(text.contains("hosts.sources = [\"10.0.0.1:1\", \"10.0.0.2:1\"]"), "{}", &*text);
        assert!(text.contains("0123456789abcdef\"") && !text.contains("log.level"), "{}", &*text);
        assert!(!text.contains("token"), "{}", &*text);
        let (config, _) = with_record(&[], &text);
        assert_eq!(config.yard.hosts, wanted.yard.hosts);
        assert_eq!(config.share.webhooks, wanted.share.webhooks);
        assert_eq!(config.yard.ignore, wanted.yard.ignore);
    }

    #[test]
    fn the_record_decides_about_the_cluster_and_the_file_about_the_node() {
        let set = ["hosts.sources=10.0.0.1:1", "task.timeout=1s", "log.level=debug"];
        let text = "hosts.sources = [\"10.0.0.9:1\"]\nof.later = 1\n";
        let (config, effective) = with_record(&set, text);
        assert_eq!(config.yard.hosts.sources[0].to_string(), "10.0.0.9:1");
        let shown = |key: &str| effective.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(shown("hosts.sources").origin.to_string(), "version 3 on record");
        assert_eq!(shown("task.timeout").origin.to_string(), "default");
        assert_eq!(shown("log.level").origin.to_string(), "--set log.level");
    }

    #[test]
    fn a_record_is_shown_without_the_settings_of_a_node() {
        let text = format!("event_log.watch_address = \"10.0.0.1\"\nshare.webhooks = {HOOK}\n");
        let shown = record(&text).shown().unwrap();
        let keys: Vec<&str> = shown.iter().map(|setting| setting.key.as_str()).collect();
        assert_eq!(keys, ["event_log.watch_address", "share.webhooks"]);
        assert!(!format!("{shown:?}").contains("0123456789abcdef"));
    }

    #[test]
    fn only_settings_that_a_node_sets_differ_from_the_record() {
        let text = "hosts.sources = [\"10.0.0.9:1\"]\ntask.timeout = \"40m\"\n";
        let differing = |set: &[&str]| -> Vec<String> {
            record(text).differing(&own(set)).iter().map(ToString::to_string).collect()
        };
        assert_eq!(differing(&["log.level=debug"]), Vec::<String>::new());
        assert_eq!(differing(&["task.timeout=40m"]), Vec::<String>::new());
        assert_eq!(differing(&["task.timeout=1h"]), ["task.timeout: \"40m\" -> \"1h\""]);
        let hooks = format!("share.webhooks={HOOK}");
        assert_eq!(differing(&[&hooks]).len(), 1);
    }

    #[test]
    fn a_node_alone_changes_only_the_settings_that_it_sets() {
        let text = "hosts.sources = [\"10.0.0.9:1\"]\ntask.timeout = \"40m\"\n";
        let changed = |set: &[&str]| record(text).changed_by(&own(set));
        assert_eq!(changed(&["log.level=debug", "task.timeout=40m"]), None);
        let text = changed(&["log.level=debug", "task.timeout=1h"]).unwrap();
        assert_eq!(&*text, "hosts.sources = [\"10.0.0.9:1\"]\ntask.timeout = \"1h\"\n");
    }
}
