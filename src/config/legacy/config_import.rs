//! The new configuration during the conversion of an old one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use toml::Value;
use tracing::Level;

use super::note::{ImportNote, ImportNoteKind};
use super::yaml::YamlEntry;
use crate::logging::LogFilter;
use reelyard_core::settings::SettingValue;

/// The converted settings so far, with notes.
#[derive(Debug, Default)]
pub struct ConfigImport {
    /// Values by new key.
    pub values: BTreeMap<&'static str, Value>,
    /// Notes for the operator.
    pub notes: Vec<ImportNote>,
    /// Whether the filter of the event log was lost. Then no row may count.
    pub watch_is_lost: bool,
}

impl ConfigImport {
    /// Adds a note about an entry.
    pub fn add_note(&mut self, entry: &YamlEntry, kind: ImportNoteKind, what: impl Into<String>) {
        self.add_note_at(entry, entry.line, kind, what);
    }

    /// Adds a note about one line of an entry.
    pub fn add_note_at(
        &mut self,
        entry: &YamlEntry,
        line: usize,
        kind: ImportNoteKind,
        what: impl Into<String>,
    ) {
        let key = entry.key.clone();
        self.notes.push(ImportNote { line: Some(line), key, kind, what: what.into() });
    }

    /// Adds a note that an entry is obsolete.
    pub fn meaningless(&mut self, entry: &YamlEntry, why: &str) {
        self.add_note(entry, ImportNoteKind::Meaningless, why);
    }

    /// Adds a note that an entry with an older name is kept as `ours`.
    pub fn older(&mut self, entry: &YamlEntry, ours: &str) {
        self.add_note(entry, ImportNoteKind::Translated, format!("an older key, kept as {ours}"));
    }

    /// Sets `ours` to `value` if it is valid. Returns whether it is.
    pub fn set<T: SettingValue>(
        &mut self,
        entry: &YamlEntry,
        ours: &'static str,
        value: &Value,
    ) -> bool {
        match T::from_toml(value) {
            Ok(read) => {
                self.values.extend(read.to_toml().map(|value| (ours, value)));
                true
            }
            Err(wrongs) => {
                for wrong in wrongs {
                    self.add_note(
                        entry,
                        ImportNoteKind::Bad,
                        format!("{}; {ours} is not set", wrong.what),
                    );
                }
                false
            }
        }
    }

    /// Sets `ours` to a text. As in the old programs, an empty text means that it is not set.
    pub fn text<T: SettingValue>(&mut self, entry: &YamlEntry, ours: &'static str) {
        if !entry.text().is_empty() {
            self.set::<T>(entry, ours, &Value::String(entry.text().to_owned()));
        }
    }

    /// Sets `ours` to a duration from a number of `unit` seconds.
    pub fn duration(&mut self, entry: &YamlEntry, ours: &'static str, unit: u64) {
        let Some(number) = self.number(entry, ours) else { return };
        match u64::try_from(number).ok().and_then(|number| number.checked_mul(unit)) {
            Some(seconds @ 1..) => self.keep(ours, Duration::from_secs(seconds)),
            _ => {
                let what = format!("expected a duration above 0, not {number}; {ours} is not set");
                self.add_note(entry, ImportNoteKind::Bad, what);
            }
        }
    }

    /// Sets `ours` to a value that is known to be valid.
    pub fn keep<T: SettingValue>(&mut self, ours: &'static str, value: T) {
        self.values.extend(value.to_toml().map(|value| (ours, value)));
    }

    /// Sets `ours` to the value that the old program used instead of one out of range, and notes
    /// that.
    pub fn instead<T: SettingValue>(&mut self, entry: &YamlEntry, ours: &'static str, value: T) {
        let shown = value.to_toml().map(|value| value.to_string()).unwrap_or_default();
        let what =
            format!("the old program used {shown} instead of {}; {shown} is kept", entry.text());
        self.add_note(entry, ImportNoteKind::Translated, what);
        self.keep(ours, value);
    }

    /// Parses the number of an entry.
    pub fn number(&mut self, entry: &YamlEntry, ours: &str) -> Option<i64> {
        let number = entry.text().trim().parse().ok();
        if number.is_none() {
            let what =
                format!("expected a whole number, not \"{}\"; {ours} is not set", entry.text());
            self.add_note(entry, ImportNoteKind::Bad, what);
        }
        number
    }

    /// Sets `ours` to the valid entries of a list, without duplicates. `bad` is the kind of note
    /// for the others.
    pub fn list<T: SettingValue>(
        &mut self,
        entry: &YamlEntry,
        ours: &'static str,
        bad: ImportNoteKind,
    ) {
        let mut kept = Vec::new();
        for (text, line) in &entry.values {
            match T::from_toml(&Value::String(text.clone())) {
                Ok(value) => {
                    let value = value.to_toml();
                    if value.as_ref().is_some_and(|value| kept.contains(value)) {
                        let what = format!("\"{text}\" is listed twice");
                        self.add_note_at(entry, *line, ImportNoteKind::LeftOut, what);
                    } else {
                        kept.extend(value);
                    }
                }
                Err(wrongs) => {
                    for wrong in wrongs {
                        self.add_note_at(entry, *line, bad, wrong.what);
                    }
                }
            }
        }
        self.values.insert(ours, Value::Array(kept));
    }

    /// Sets the address of a listener: `:8080` means all addresses, and names are not resolved.
    pub fn listener(&mut self, entry: &YamlEntry) {
        let text = entry.text();
        let everywhere = text.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
        let local = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        match everywhere.or(local) {
            Some(address) => {
                if self.set::<SocketAddr>(entry, "listen", &Value::String(address.clone())) {
                    self.add_note(
                        entry,
                        ImportNoteKind::Translated,
                        format!("{text} is kept as {address}"),
                    );
                }
            }
            None => self.text::<SocketAddr>(entry, "listen"),
        }
        let listen = self.values.get("listen").and_then(Value::as_str);
        let listen = listen.and_then(|listen| listen.parse::<SocketAddr>().ok());
        if listen.is_some_and(|listen| !listen.ip().is_loopback()) {
            self.values.insert("insecure", Value::Boolean(true));
            let what = "insecure = true was added, because old programs cannot use TLS";
            self.add_note(entry, ImportNoteKind::Translated, what.to_owned());
        }
    }

    /// Converts the logging keys of both programs. Returns whether `entry` is one of them.
    pub fn logging(&mut self, entry: &YamlEntry) -> bool {
        match entry.key.as_str() {
            "log_dir" => {
                self.meaningless(entry, "logs go to stderr; the service manager stores them")
            }
            "log_level" => self.log_level(entry),
            "enable_coredump" => {
                self.meaningless(
                    entry,
                    "core dumps are left to the system (LimitCORE= of systemd)",
                );
            }
            _ => return false,
        }
        true
    }

    fn log_level(&mut self, entry: &YamlEntry) {
        // In the order of the numeric levels of the first version.
        let levels = [
            ("debug", Level::DEBUG),
            ("report", Level::INFO),
            ("info", Level::INFO),
            ("success", Level::INFO),
            ("warning", Level::WARN),
            ("error", Level::ERROR),
            ("fail", Level::ERROR),
            ("exception", Level::ERROR),
            ("critical", Level::ERROR),
        ];
        let text = entry.text().to_lowercase();
        let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = || levels.iter().find(|(old, _)| *old == text);
        let Some((old, ours)) = number.and_then(|index| levels.get(index)).or_else(named) else {
            let what = format!("\"{text}\" is not a log level; log.level is not set");
            return self.add_note(entry, ImportNoteKind::Bad, what);
        };
        let filter = LogFilter::of_level(*ours);
        let shown = filter.to_toml().map(|value| value.to_string()).unwrap_or_default();
        self.add_note(
            entry,
            ImportNoteKind::Translated,
            format!("{old} is kept as log.level = {shown}"),
        );
        self.keep("log.level", filter);
    }
}
