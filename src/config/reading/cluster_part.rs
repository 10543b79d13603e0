//! The settings of the cluster in the layers of one node: as the text of a record, and compared with the record.

use std::fmt::Write;

use reelyard_core::settings::{ConfigFaults, EffectiveSetting, Gathered, RawValue, SettingOrigin};
use toml::Value;

use super::file::read_given;
use super::layers::{Layers, RecordedSettings};
use crate::config::known_keys::KnownKeys;
use crate::config::{Difference, NodeConfig, RoleConfig, differences, load};

/// The settings of the cluster that the file, the environment and the arguments set, as the text of a record.
///
/// # Errors
/// The configuration has faults.
pub fn cluster_part(layers: &Layers) -> Result<String, ConfigFaults> {
    let own = Layers { record: None, ..layers.clone() };
    let (_, effective) = load::<NodeConfig>(&own)?;
    let keys = KnownKeys::of::<NodeConfig>();
    Ok(text_of(&own.gather(&keys)?, &keys, &effective))
}

/// The settings of the cluster in the text of a configuration file, as the text of a record, and the keys of its
/// other settings.
///
/// # Errors
/// The text is no configuration.
pub fn of_text(text: &str) -> Result<(String, Vec<String>), ConfigFaults> {
    let keys = KnownKeys::of::<NodeConfig>();
    let mut gathered = Gathered::default();
    read_given(text, &keys, &mut gathered)?;
    if !gathered.faults.is_empty() {
        return Err(ConfigFaults(gathered.faults));
    }
    let own =
        gathered.given.keys().filter(|key| !keys.of_cluster.contains(*key)).cloned().collect();
    Ok((text_of(&gathered, &keys, &[]), own))
}

/// The settings of a record. The values of secrets are hidden.
///
/// # Errors
/// A later version of reelyard wrote it.
pub fn shown(record: RecordedSettings) -> Result<Vec<EffectiveSetting>, ConfigFaults> {
    let layers = Layers { record: Some(record.into()), ..Layers::default() };
    let (_, effective) = load::<NodeConfig>(&layers)?;
    let is_set =
        |setting: &EffectiveSetting| matches!(setting.origin, SettingOrigin::Record { .. });
    Ok(effective.into_iter().filter(is_set).collect())
}

/// Each setting of the cluster on a line of its own.
fn text_of(gathered: &Gathered, keys: &KnownKeys, effective: &[EffectiveSetting]) -> String {
    let mut text = String::new();
    for (key, given) in gathered.given.iter().filter(|(key, _)| keys.of_cluster.contains(*key)) {
        let value = match &given.raw {
            RawValue::Toml(value) => value.clone(),
            RawValue::Text(text) => value_of(key, text, effective),
        };
        // Writing to a text does not fail.
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}

/// The value of a variable or an argument, which need not be TOML. The shown value is, but secrets in it are hidden.
fn value_of(key: &str, text: &str, effective: &[EffectiveSetting]) -> Value {
    if let Ok(value) = text.parse() {
        return value;
    }
    let shown = effective.iter().find(|setting| setting.key == key && !setting.is_secret);
    let shown = shown.and_then(|setting| setting.value.as_deref()?.parse().ok());
    shown.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// The settings of the cluster that the file, the environment or the arguments set to another value than the
/// record. Nothing differs while no settings are on record.
///
/// # Errors
/// The configuration has faults, with the record or without it.
pub fn not_as_recorded(layers: &Layers) -> Result<Vec<Difference>, ConfigFaults> {
    let Some(record) = &layers.record else { return Ok(Vec::new()) };
    let (recorded, shown) = load::<NodeConfig>(layers)?;
    let (own, own_shown) = load_over(layers, record)?;
    let mut all = differences(&shown, &own_shown);
    for key in recorded.differs_unseen(&own) {
        if all.iter().all(|difference| difference.key != key) {
            all.push(Difference::of_secret(key));
        }
    }
    Ok(all)
}

/// The keys of these settings. A part of a file with faults has no effect anyway.
pub fn keys_not_as_recorded(layers: &Layers) -> Vec<String> {
    let differing = not_as_recorded(layers).unwrap_or_default();
    differing.into_iter().map(|difference| difference.key).collect()
}

/// The settings that the layers of a node ask for: those in force, with the own values of the node for settings of
/// the cluster. Nodes compare them, so that a file with other values is noticed.
pub fn wished(layers: &Layers, in_force: &[EffectiveSetting]) -> Vec<EffectiveSetting> {
    let over = layers.record.as_ref().map(|record| load_over(layers, record));
    match over {
        Some(Ok((_, wished))) => wished,
        // A file with faults asks for nothing.
        Some(Err(_)) | None => in_force.to_vec(),
    }
}

/// The settings as they would be if the own layers of a node changed those on record.
///
/// # Errors
/// The configuration has faults.
pub fn load_over(
    layers: &Layers,
    record: &RecordedSettings,
) -> Result<(NodeConfig, Vec<EffectiveSetting>), ConfigFaults> {
    let text = format!("{}{}", without_keys_of(record, layers)?, cluster_part(layers)?);
    let record = RecordedSettings { version: record.version, text: text.into() };
    load::<NodeConfig>(&Layers { record: Some(record.into()), ..layers.clone() })
}

/// The text of the record without the settings that the own layers set.
fn without_keys_of(record: &RecordedSettings, layers: &Layers) -> Result<String, ConfigFaults> {
    let keys = KnownKeys::of::<NodeConfig>();
    let own = Layers { record: None, ..layers.clone() }.gather(&keys)?;
    let only = Layers { record: Some(record.clone().into()), ..Layers::default() };
    let (_, effective) = load::<NodeConfig>(&only)?;
    let mut recorded = only.gather(&keys)?;
    recorded.given.retain(|key, _| !own.given.contains_key(key));
    Ok(text_of(&recorded, &keys, &effective))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(set: &[&str], record: Option<&str>) -> Layers {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        let record = record.map(|text| RecordedSettings { version: 3, text: text.into() }.into());
        Layers { set, record, ..Layers::default() }
    }

    const HOOK: &str = "{ b = { url = \"http://a/x\", secret = \"0123456789abcdef\" } }";

    #[test]
    fn a_text_gives_the_settings_of_the_cluster_again() {
        let hooks = format!("share.webhooks={HOOK}");
        let own = layers(
            &[
                "hosts.sources=10.0.0.1:1, 10.0.0.2:1",
                "log.level=debug",
                &hooks,
                "task.timeout=40m",
            ],
            None,
        );
        let text = cluster_part(&own).unwrap();
        assert!(text.contains("hosts.sources = [\"10.0.0.1:1\", \"10.0.0.2:1\"]"), "{text}");
        assert!(text.contains("0123456789abcdef") && !text.contains("log.level"), "{text}");
        let (config, _) = load::<NodeConfig>(&layers(&[], Some(&text))).unwrap();
        let (wanted, _) = load::<NodeConfig>(&own).unwrap();
        assert_eq!(config.yard.hosts, wanted.yard.hosts);
        assert_eq!(config.share.webhooks, wanted.share.webhooks);
    }

    #[test]
    fn the_record_decides_about_the_cluster_and_the_file_about_the_node() {
        let set = ["hosts.sources=10.0.0.1:1", "task.timeout=1s", "log.level=debug"];
        let both = layers(&set, Some("hosts.sources = [\"10.0.0.9:1\"]\n"));
        let (config, effective) = load::<NodeConfig>(&both).unwrap();
        assert_eq!(config.yard.hosts.sources[0].to_string(), "10.0.0.9:1");
        let shown = |key: &str| effective.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(shown("hosts.sources").origin.to_string(), "version 3 on record");
        assert_eq!(shown("task.timeout").origin.to_string(), "default");
        assert_eq!(shown("log.level").origin.to_string(), "--set log.level");
        // A fault in a part of the file that decides nothing keeps no node from starting.
        assert!(load::<NodeConfig>(&layers(&["task.timeout=soon"], Some(""))).is_ok());
    }

    #[test]
    fn only_settings_that_a_file_sets_differ_from_the_record() {
        let record = "hosts.sources = [\"10.0.0.9:1\"]\ntask.timeout = \"40m\"\n";
        let differing = |set: &[&str]| -> Vec<String> {
            let all = not_as_recorded(&layers(set, Some(record))).unwrap();
            all.iter().map(ToString::to_string).collect()
        };
        assert_eq!(differing(&["log.level=debug"]), Vec::<String>::new());
        assert_eq!(differing(&["task.timeout=40m"]), Vec::<String>::new());
        assert_eq!(differing(&["task.timeout=1h"]), ["task.timeout: \"40m\" -> \"1h\""]);
        let hooks = format!("share.webhooks={HOOK}");
        assert_eq!(differing(&[&hooks]).len(), 1);
        assert_eq!(not_as_recorded(&layers(&["task.timeout=1h"], None)).unwrap(), []);
    }
}
