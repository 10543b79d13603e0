//! Converts configurations of the old programs, for `reelyard config import`.
//!
//! No key is dropped silently: every key that is not copied unchanged gets an [`ImportNote`].

mod cfm;
mod cfw;
mod config_import;
mod hosts;
mod note;
mod runs;
mod yaml;

use super::{NodeConfig, WorkerConfig};
use config_import::ConfigImport;
pub use note::{ImportNote, ImportNoteKind};
use reelyard_core::settings::{SettingsGroup, sections};
pub use yaml::NotYaml;

/// The old program of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyProgram {
    /// cfm, the centre: becomes a node.
    Cfm,
    /// cfw, one per host: becomes a worker.
    Cfw,
}

/// A converted configuration.
#[derive(Clone, Debug)]
pub struct ImportedConfig {
    /// The new configuration as TOML.
    pub toml: String,
    /// Notes, sorted by line of the old file.
    pub notes: Vec<ImportNote>,
}

impl ImportedConfig {
    /// An incomplete configuration without the option --accept-loss: all lines are comments, so
    /// that no role starts with it. The first line says why.
    pub fn unusable(&self, file: &str) -> String {
        let lost = self.notes.iter().filter(|note| note.kind == ImportNoteKind::Bad).count();
        let import = self.toml.lines().map(|line| format!("# {line}\n"));
        let why = format!(
            "This import is not complete: {lost} values of {file} are lost. Correct them and import \
             again, or accept the loss with --accept-loss.\n\n"
        );
        std::iter::once(why).chain(import).collect()
    }

    /// Whether every meaningful value was kept.
    pub fn is_whole(&self) -> bool {
        self.notes.iter().all(|note| note.kind != ImportNoteKind::Bad)
    }
}

/// Converts the configuration `text` of `program`.
pub fn import(program: LegacyProgram, text: &str) -> Result<ImportedConfig, NotYaml> {
    let entries = yaml::entries(text)?;
    let mut import = ConfigImport::default();
    match program {
        LegacyProgram::Cfm => cfm::translate(&entries, &mut import),
        LegacyProgram::Cfw => cfw::translate(&entries, &mut import),
    }
    let toml = match program {
        LegacyProgram::Cfm => written::<NodeConfig>(&import),
        LegacyProgram::Cfw => written::<WorkerConfig>(&import),
    };
    import.notes.sort_by_key(|note| note.line.unwrap_or(usize::MAX));
    Ok(ImportedConfig { toml, notes: import.notes })
}

/// The converted settings as TOML, in the order of declaration.
fn written<R: SettingsGroup>(import: &ConfigImport) -> String {
    let mut tables = Vec::new();
    for section in sections::<R>() {
        let line = |key: &String| {
            let name = key.rsplit('.').next().unwrap_or(key);
            import.values.get(key.as_str()).map(|value| format!("{name} = {value}\n"))
        };
        let lines: String = section.settings.iter().filter_map(|one| line(&one.key)).collect();
        if lines.is_empty() {
            continue;
        }
        let header =
            if section.name.is_empty() { String::new() } else { format!("[{}]\n", section.name) };
        tables.push(header + &lines);
    }
    tables.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(program: LegacyProgram, text: &str) -> Vec<(Option<usize>, ImportNoteKind, String)> {
        let imported = import(program, text).unwrap();
        imported.notes.into_iter().map(|note| (note.line, note.kind, note.key)).collect()
    }

    #[test]
    fn keys_are_read_in_any_case_and_older_ones_are_translated() {
        let text =
            "Servers:\n  Heartbeat_Sleep_Sec: 7\nADV_prefixes: [MN1]\ntask_timeout_sec: 60\n";
        let imported = import(LegacyProgram::Cfm, text).unwrap();
        assert!(imported.toml.contains("interval = \"7s\""), "{}", imported.toml);
        assert!(imported.toml.contains("prefixes = [\"MN1\"]"), "{}", imported.toml);
        assert!(imported.toml.contains("timeout = \"1m\""), "{}", imported.toml);
        let translated =
            |note: &&ImportNote| note.kind == ImportNoteKind::Translated && note.line.is_some();
        assert_eq!(imported.notes.iter().filter(translated).count(), 3, "{:?}", imported.notes);
    }

    #[test]
    fn bad_and_repeated_servers_are_reported_and_left_out() {
        let text =
            "servers:\n  destinations:\n    - 10.0.0.1:8888\n    - das2\n    - 10.0.0.1:8888\n";
        let imported = import(LegacyProgram::Cfm, text).unwrap();
        assert!(imported.toml.contains("destinations = [\"10.0.0.1:8888\"]"), "{}", imported.toml);
        let message: Vec<_> = notes(LegacyProgram::Cfm, text).into_iter().take(2).collect();
        assert_eq!(
            message[0],
            (Some(4), ImportNoteKind::LeftOut, "servers.destinations".to_owned())
        );
        assert_eq!(
            message[1],
            (Some(5), ImportNoteKind::LeftOut, "servers.destinations".to_owned())
        );
    }

    #[test]
    fn unusable_values_are_reported() {
        let text = concat!(
            "remover:\n  storage_usage_limit_percent: 120\nwatch_dir: /log\n",
            "watch_ip_string: 'Server 1'\nlog_level: loud\nnonsense: 1\nsource_dirs: [data]\n",
        );
        let message = notes(LegacyProgram::Cfm, text);
        let bad = |line, key: &str| (Some(line), ImportNoteKind::Bad, key.to_owned());
        assert_eq!(message[0], bad(2, "remover.storage_usage_limit_percent"));
        assert_eq!(message[1], bad(4, "watch_ip_string"));
        assert_eq!(message[2], bad(5, "log_level"));
        assert_eq!(message[3], (Some(6), ImportNoteKind::Unknown, "nonsense".to_owned()));
        assert_eq!(message[4], bad(7, "source_dirs"));
    }

    #[test]
    fn values_that_cfm_replaced_are_imported_as_replaced() {
        let text = "watch_dir: /log\nwatch_term_min: 0\nwatch_hit_base: -1\nwatch_ip_string: '125\\.159\\.40\\.3'\ntasker: {task_timeout_sec: -1}\nlisten_addr: ':7888'\n";
        let imported = import(LegacyProgram::Cfm, text).unwrap();
        for line in [
            "window = \"10m\"",
            "hit_base = 3",
            "watch_address = \"125.159.40.3\"",
            "timeout = \"30m\"",
            "listen = \"0.0.0.0:7888\"",
            "insecure = true",
            "copy_speed = \"10Mbit/s\"",
        ] {
            assert!(imported.toml.contains(line), "{line} is not in:\n{}", imported.toml);
        }
    }

    #[test]
    fn deep_nesting_is_refused_with_a_reason() {
        for open in ["- ", "[", "{a: "] {
            let error = import(LegacyProgram::Cfm, &open.repeat(20_000)).unwrap_err();
            // The parser itself refuses deeply nested brackets.
            let words = ["nested", "recursion limit"];
            assert!(words.iter().any(|word| error.what.contains(word)), "{error}");
        }
        let deep = (0..40).map(|depth| format!("{}a:\n", " ".repeat(depth)));
        assert!(import(LegacyProgram::Cfm, &deep.collect::<String>()).is_ok());
    }

    #[test]
    fn invalid_yaml_is_reported_with_its_line() {
        let error =
            import(LegacyProgram::Cfm, "listen_addr: x\nservers: [a\nb: c: d\n").unwrap_err();
        assert!(error.line >= 2, "{error}");
        assert!(import(LegacyProgram::Cfm, "- a\n- b\n").is_err());
        assert!(import(LegacyProgram::Cfm, "").unwrap().is_whole());
    }
}
