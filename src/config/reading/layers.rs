//! The layers of settings. Later layers override earlier ones.

use std::ffi::OsString;
use std::path::PathBuf;

use reelyard_core::settings::{ConfigFaults, Gathered, RawSetting, RawValue, SettingOrigin};
use toml::Value;

use super::{file, renamed};
use crate::config::known_keys::KnownKeys;
use crate::config::values::table_entry;

/// Prefix of the environment variables that are settings.
pub const ENVIRONMENT_PREFIX: &str = "REELYARD_";

/// Variables with the prefix that are command-line arguments and not settings.
const NOT_SETTINGS: [&str; 5] = [
    "REELYARD_CONFIG",
    "REELYARD_URL",
    "REELYARD_CONTEXT",
    "REELYARD_CONTEXTS",
    "REELYARD_CA_FILE",
];

/// The sources of settings.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Path of the configuration file, if there is one.
    pub file: Option<PathBuf>,
    /// The environment. Variables without the prefix `REELYARD_` are ignored.
    pub environment: Vec<(OsString, OsString)>,
    /// The `--set` arguments, `key=value`; the last one of a key counts.
    pub set: Vec<String>,
}

impl Layers {
    /// The layers of this process: `file`, its environment, and `set`.
    pub fn of_process(file: Option<PathBuf>, set: Vec<String>) -> Self {
        Layers { file, environment: std::env::vars_os().collect(), set }
    }

    /// Combines the layers. Fails if the file is not TOML, because other faults could then only be
    /// guessed.
    pub fn gather(&self, keys: &KnownKeys) -> Result<Gathered, ConfigFaults> {
        let mut gathered = Gathered::default();
        if let Some(path) = &self.file {
            file::read(path, keys, &mut gathered)?;
        }
        self.gather_environment(keys, &mut gathered);
        self.gather_arguments(keys, &mut gathered);
        Ok(gathered)
    }

    fn gather_environment(&self, keys: &KnownKeys, gathered: &mut Gathered) {
        let mut variables: Vec<_> = self.environment.iter().collect();
        variables.sort();
        for (variable, value) in variables {
            let variable = variable.to_string_lossy();
            let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            if NOT_SETTINGS.contains(&variable.as_ref()) {
                continue;
            }
            let key = name.to_lowercase().replace("__", ".");
            let origin = SettingOrigin::Environment { variable: variable.clone().into_owned() };
            match value.to_str() {
                Some(text) => add(gathered, keys, key, RawValue::Text(text.to_owned()), origin),
                None => gathered.refuse(key, origin, "the value is not UTF-8"),
            }
        }
    }

    fn gather_arguments(&self, keys: &KnownKeys, gathered: &mut Gathered) {
        for argument in &self.set {
            let (key, value) = match argument.split_once('=') {
                Some((key, value)) if !key.trim().is_empty() => {
                    (key.trim().to_owned(), Some(value.trim()))
                }
                _ => (argument.trim().to_owned(), None),
            };
            let origin = SettingOrigin::Argument { key: key.clone() };
            match value {
                Some(value) => add(gathered, keys, key, RawValue::Text(value.to_owned()), origin),
                None => gathered.refuse(key, origin, "expected key=value such as log.level=debug"),
            }
        }
    }
}

/// Adds a setting, which overrides earlier layers.
fn add(
    gathered: &mut Gathered,
    keys: &KnownKeys,
    key: String,
    raw: RawValue,
    origin: SettingOrigin,
) {
    let new_key = renamed::new_key(&key);
    let old_key = new_key.is_some().then(|| key.clone());
    let key = new_key.unwrap_or(key);
    if let (Some((table, unset, entry)), RawValue::Text(text)) = (keys.table_of(&key), &raw) {
        return add_entry(gathered, (table, unset), entry, text, origin, old_key);
    }
    match keys.refuse(&key) {
        Some(why) => gathered.refuse(key, origin, &why),
        None => {
            gathered
                .given
                .insert(key, RawSetting { raw, origin, entry_lines: Vec::new(), old_key });
        }
    }
}

/// Sets one entry of a table, over the table of earlier layers or its default.
fn add_entry(
    gathered: &mut Gathered,
    (key, unset): (&str, &str),
    entry: &str,
    text: &str,
    origin: SettingOrigin,
    old_key: Option<String>,
) {
    let so_far = match gathered.given.get(key).map(|given| &given.raw) {
        Some(RawValue::Toml(value)) => Some(value.clone()),
        Some(RawValue::Text(text)) => text.parse().ok(),
        None => unset.parse().ok(),
    };
    let Some(Value::Table(mut table)) = so_far else {
        return gathered.refuse(
            key.to_owned(),
            origin,
            "an earlier layer sets it to a value that is not a table",
        );
    };
    if !table_entry::set(&mut table, entry, text) {
        let what = format!("{key}.{entry} cannot be set: a part of this path is not a table");
        return gathered.refuse(key.to_owned(), origin, &what);
    }
    let raw = RawValue::Toml(Value::Table(table));
    let given = RawSetting { raw, origin, entry_lines: Vec::new(), old_key };
    gathered.given.insert(key.to_owned(), given);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NodeConfig, WorkerConfig, load, load_node};

    /// Layers with a temporary file.
    struct Laid {
        layers: Layers,
        _file: Option<tempfile::TempPath>,
    }

    impl std::ops::Deref for Laid {
        type Target = Layers;

        fn deref(&self) -> &Layers {
            &self.layers
        }
    }

    fn layers(file: Option<&str>, environment: &[(&str, &str)], set: &[&str]) -> Laid {
        let file = file.map(|text| {
            let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
            std::fs::write(&file, text).unwrap();
            file
        });
        let path = file.as_ref().map(|file| file.to_path_buf());
        let environment = environment.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        Laid { layers: Layers { file: path, environment, set }, _file: file }
    }

    fn faults(layers: &Layers) -> Vec<String> {
        let ConfigFaults(faults) = load_node(layers).unwrap_err();
        let file = layers.file.as_ref().map(|path| path.display().to_string());
        let file = file.unwrap_or_else(|| "-".to_owned());
        faults.iter().map(|fault| fault.to_string().replace(&file, "FILE")).collect()
    }

    #[test]
    fn later_layers_win_and_each_setting_knows_where_it_came_from() {
        let layers = layers(
            Some("[heartbeat]\ninterval = \"1s\"\ntimeout = \"1s\"\njitter = 0.2\n"),
            &[("REELYARD_HEARTBEAT__TIMEOUT", "3s"), ("REELYARD_HEARTBEAT__JITTER", "0.3")],
            &["heartbeat.jitter=0.4"],
        );
        let (config, effective) = load::<NodeConfig>(&layers).unwrap();
        assert_eq!(config.yard.heartbeat.interval.as_secs(), 1);
        assert_eq!(config.yard.heartbeat.timeout.as_secs(), 3);
        assert_eq!(config.yard.heartbeat.jitter.get(), 0.4);
        let origin = |key: &str| {
            let one = effective.iter().find(|effective| effective.key == key).unwrap();
            one.origin.to_string()
        };
        assert!(origin("heartbeat.interval").ends_with(":2"));
        assert_eq!(origin("heartbeat.timeout"), "REELYARD_HEARTBEAT__TIMEOUT");
        assert_eq!(origin("heartbeat.jitter"), "--set heartbeat.jitter");
        assert_eq!(origin("heartbeat.down_after"), "default");
    }

    #[test]
    fn without_any_layer_a_node_has_its_defaults() {
        let config = load_node(&Layers::default()).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.yard.storage.limit_percent.get(), 90);
    }

    #[test]
    fn a_list_is_toml_or_separated_by_commas() {
        for text in ["127.0.0.1:9001, 127.0.0.1:9002", "[\"127.0.0.1:9001\", \"127.0.0.1:9002\"]"] {
            let config =
                load_node(&layers(None, &[], &[&format!("hosts.sources={text}")])).unwrap();
            assert_eq!(config.yard.hosts.sources.len(), 2, "{text}");
        }
        let config = load_node(&layers(None, &[("REELYARD_HOSTS__SOURCES", "")], &[])).unwrap();
        assert!(config.yard.hosts.sources.is_empty());
    }

    #[test]
    fn limits_of_hosts_are_a_table_and_name_hosts_of_the_yard() {
        let file = concat!(
            "[hosts]\nsources = [\"10.0.0.1:1\"]\n[bandwidth.sources]\ndefault = \"1Gbit/s\"\n",
            "\"10.0.0.1:1\" = \"08:00,10M 23:00,off\"\n",
        );
        let config = load_node(&layers(Some(file), &[], &[])).unwrap();
        assert_eq!(config.yard.bandwidth.sources.by_host.len(), 1);
        let unknown_host = r#"bandwidth.destinations={ "10.0.0.1:1" = "1M" }"#;
        let result = faults(&layers(Some(file), &[], &[unknown_host]));
        let what = "--set bandwidth.destinations: 10.0.0.1:1 is not in hosts.destinations";
        assert_eq!(result, [what]);
    }

    #[test]
    fn unknown_keys_are_refused_in_every_layer_with_a_guess() {
        let layers = layers(
            Some("lissten = \"127.0.0.1:1\"\n\n[heartbeat]\nintervall = \"1s\"\n"),
            &[("REELYARD_TASK__TIMOUT", "1s"), ("HOME", "/"), ("REELYARD_URL", "x")],
            &["storage_limit=3", "base_dir=/x", "hosts=1", "nonsense"],
        );
        assert_eq!(
            faults(&layers),
            [
                "FILE:1: lissten: is not a setting; did you mean listen?",
                "FILE:4: heartbeat.intervall: is not a setting; did you mean heartbeat.interval?",
                "REELYARD_TASK__TIMOUT: task.timout: is not a setting; did you mean task.timeout?",
                "--set storage_limit: is not a setting; did you mean storage.limit_percent?",
                "--set base_dir: is a setting of a worker: this role does not have it",
                "--set hosts: is a group of settings: set one of its keys",
                "--set nonsense: expected key=value such as log.level=debug",
            ]
        );
    }

    #[test]
    fn all_faults_are_reported_together_with_their_lines() {
        let layers = layers(
            Some(concat!(
                "listen = \"localhost\"\n[hosts]\nsources = [\n  \"10.0.0.1:1\",\n  \"10.0.0.1\",\n]\n",
                "destinations = [\"10.0.0.2:1\", \"10.0.0.2:1\"]\n[heartbeat]\ninterval = \"0s\"\n",
                "suspect_after = 4\n[storage]\nlimit_percent = 101\n[event_log]\ntime_zone = \"Asia/Soul\"\n",
                "[ignore]\nprefixes = [\"MN1\", \"\"]\n",
            )),
            &[("REELYARD_JOURNAL__HEARTBEAT", "fast")],
            &["node_id=0", "task.copy_speed=fast"],
        );
        let message = faults(&layers).join("\n");
        for wanted in [
            "FILE:1: listen:",
            "FILE:5: hosts.sources: entry 2:",
            "FILE:7: hosts.destinations: entry 2: 10.0.0.2:1 is already entry 1",
            "FILE:9: heartbeat.interval:",
            "FILE:10: heartbeat.suspect_after:",
            "FILE:12: storage.limit_percent:",
            "FILE:14: event_log.time_zone:",
            "FILE:16: ignore.prefixes: entry 2:",
            "REELYARD_JOURNAL__HEARTBEAT: journal.heartbeat:",
            "--set node_id:",
            "--set task.copy_speed:",
        ] {
            assert!(message.contains(wanted), "{wanted} is not reported:\n{message}");
        }
        assert_eq!(faults(&layers).len(), 11, "{message}");
    }

    #[test]
    fn invalid_toml_is_reported_with_its_line_only() {
        let result = faults(&layers(Some("listen = \"127.0.0.1:1\"\nnode_id = = 3\n"), &[], &[]));
        assert!(result.iter().all(|fault| fault.starts_with("FILE:2: ")), "{result:?}");
    }

    #[test]
    fn a_secret_is_never_shown() {
        let set = ["token=sesame-open-now-please", "token_file=/nowhere"];
        let message = faults(&layers(None, &[], &set)).join("\n");
        assert!(message.contains("token_file") && !message.contains("sesame"), "{message}");
        let (config, effective) = load::<NodeConfig>(&layers(None, &[], &set[..1])).unwrap();
        assert!(!format!("{config:?} {effective:?}").contains("sesame"));
        assert_eq!(config.token.unwrap().reveal(), "sesame-open-now-please");
    }

    #[test]
    fn a_worker_needs_an_address_and_something_to_serve() {
        let ConfigFaults(faults) = load::<WorkerConfig>(&Layers::default()).unwrap_err();
        let message: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert!(message[0].starts_with("listen: is required, as in listen = \""), "{message:?}");
        assert!(message[1].contains("base_dir, source_dirs or box.hooks"), "{message:?}");
    }
}
