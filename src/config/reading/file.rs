//! Reads the configuration file: TOML, split into settings with their lines.

use std::path::Path;
use std::sync::Arc;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::settings::{
    ConfigFault, ConfigFaults, Gathered, RawSetting, RawValue, SettingOrigin, join,
};
use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::renamed;
use crate::config::known_keys::KnownKeys;

/// Largest number of unknown keys that are reported one by one.
const MOST_UNKNOWN: usize = 100;

const MORE_UNKNOWN: &str =
    "is not a setting; the rest of the file was not checked: is this a configuration file?";

/// Reads the file at `path` into `gathered`. Fails if it cannot be read or is not TOML.
pub fn read(path: &Path, keys: &KnownKeys, gathered: &mut Gathered) -> Result<(), ConfigFaults> {
    let shown: Arc<Path> = Arc::from(path);
    let unreadable = |what: String| {
        let origin = SettingOrigin::File { path: shown.clone(), line: 0 };
        ConfigFaults(vec![ConfigFault { origin, key: None, what }])
    };
    let bytes = bounded_read::read(path, InputSource::FileOrPipe)
        .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| unreadable(format!("is not UTF-8: {}", error.utf8_error())))?;

    read_text(&text, TextSource::File(shown), keys, gathered)
}

/// Reads settings of the cluster that are on record into `gathered`, as those of `version`.
pub fn read_record(
    text: &str,
    version: u64,
    keys: &KnownKeys,
    gathered: &mut Gathered,
) -> Result<(), ConfigFaults> {
    read_text(text, TextSource::Record(version), keys, gathered)
}

/// Reads the text of a configuration file that a caller sent.
pub fn read_given(
    text: &str,
    keys: &KnownKeys,
    gathered: &mut Gathered,
) -> Result<(), ConfigFaults> {
    read_text(text, TextSource::Given, keys, gathered)
}

fn read_text(
    text: &str,
    source: TextSource,
    keys: &KnownKeys,
    gathered: &mut Gathered,
) -> Result<(), ConfigFaults> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let line_ends = text.match_indices('\n').map(|(end, _)| end).collect();
    let mut file = ConfigFileReader { source, line_ends, keys, gathered, unknown: 0 };
    if !errors.is_empty() {
        return Err(file.malformed(&errors));
    }
    file.flatten_table("", table.get_ref());
    Ok(())
}

/// The place of a text with settings.
enum TextSource {
    /// The configuration file at this path.
    File(Arc<Path>),
    /// The settings on record, in this version.
    Record(u64),
    /// A request.
    Given,
}

struct ConfigFileReader<'a> {
    source: TextSource,
    /// Ends of all lines but the last, for fast lookups: a list of thousands of hosts needs a line
    /// number for each.
    line_ends: Vec<usize>,
    keys: &'a KnownKeys,
    gathered: &'a mut Gathered,
    /// Number of refused keys.
    unknown: usize,
}

impl ConfigFileReader<'_> {
    fn origin(&self, offset: usize) -> SettingOrigin {
        let line = 1 + self.line_ends.partition_point(|end| *end < offset);
        match &self.source {
            TextSource::File(path) => SettingOrigin::File { path: path.clone(), line },
            TextSource::Record(version) => SettingOrigin::Record { version: *version, line },
            TextSource::Given => SettingOrigin::Given { line },
        }
    }

    fn malformed(&self, errors: &[toml::de::Error]) -> ConfigFaults {
        let fault = |error: &toml::de::Error| ConfigFault {
            origin: self.origin(error.span().map_or(0, |span| span.start)),
            key: None,
            what: format!("is not TOML: {}", error.message().replace('\n', ", ")),
        };
        ConfigFaults(errors.iter().map(fault).collect())
    }

    fn flatten_table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = join(prefix, name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if self.is_group(&key) => self.flatten_table(&key, inner),
                _ => self.setting(key, name.span().start, value),
            }
        }
    }

    /// Whether the key of any setting begins with `key`.
    fn is_group(&self, key: &str) -> bool {
        let (_, elsewhere) = &self.keys.elsewhere;
        let within =
            |known: &String| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
        self.keys.known.iter().chain(elsewhere).any(within)
    }

    fn setting(&mut self, key: String, name_at: usize, value: &Spanned<DeValue<'_>>) {
        if self.unknown > MOST_UNKNOWN {
            return;
        }
        let new_key = renamed::new_key(&key);
        let old_key = new_key.is_some().then(|| key.clone());
        let key = new_key.unwrap_or(key);
        if let Some(other) = self.gathered.given.get(&key) {
            // This happens only with two names of one setting, because TOML itself refuses a
            // repeated key.
            let old = old_key.or(other.old_key.clone()).unwrap_or_default();
            let why = format!("is set twice: {old} is its old name; remove {old}");
            return self.gathered.refuse(key, self.origin(name_at), &why);
        }
        if let Some(why) = self.keys.refuse(&key) {
            let origin = self.origin(name_at);
            self.unknown += 1;
            // The search for a similar key is slow. With this many unknown keys, the file is probably
            // another one.
            let why = if self.unknown > MOST_UNKNOWN { MORE_UNKNOWN } else { &why };
            return self.gathered.refuse(key, origin, why);
        }
        let origin = self.origin(value.span().start);
        let entries = value.get_ref().as_array().into_iter().flatten();
        let entry_lines = entries
            .filter_map(|entry| match self.origin(entry.span().start) {
                SettingOrigin::File { line, .. } => Some(line),
                _ => None,
            })
            .collect();
        match Value::deserialize(ValueDeserializer::from(value.clone())) {
            Ok(value) => {
                self.gathered.given.insert(
                    key,
                    RawSetting { raw: RawValue::Toml(value), origin, entry_lines, old_key },
                );
            }
            Err(error) => self.gathered.refuse(key, origin, error.message()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Layers, load_node};

    #[test]
    fn a_file_of_many_unknown_keys_is_refused_soon() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = |end: &str| (0..200_000).map(|key| format!("k{key} = 1{end}\n")).collect();
        let texts: [String; 2] = [lines(""), "[pools]\n".to_owned() + &lines(" # and a comment")];
        for text in texts {
            std::fs::write(file.path(), text).unwrap();
            let layers = Layers { file: Some(file.path().to_owned()), ..Layers::default() };
            let faults = load_node(&layers).unwrap_err().0;
            assert!((1..=super::MOST_UNKNOWN + 1).contains(&faults.len()), "{}", faults.len());
        }
        std::fs::write(file.path(), "[log]\n\n# one\nlevle = \"info\"\n").unwrap();
        let layers = Layers { file: Some(file.path().to_owned()), ..Layers::default() };
        let error = load_node(&layers).unwrap_err().to_string();
        assert!(error.contains(":4: log.levle") && error.contains("log.level"), "{error}");
    }
}
