//! Hooks of the boxes that a worker hosts.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::settings::toml::{self, Table, Value};
use reelyard_core::settings::{Read, SettingValue, SettingsReader, Wrong, quoted, text, wrong};
use reelyard_protocol::boxes::HooksName;

use super::hooks::{HookProgram, HookSet, HookSets, LONGEST_GRACE, LONGEST_TIMEOUT};
use super::inspection::checks::{CleanBoxChecks, Uid};
use super::template::{Template, TemplateBlank};

/// Hooks by name, from the setting box.hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxHooks {
    /// The table as the operator wrote it.
    written: Table,
    /// The parsed hooks, after the named files were read.
    sets: HookSets,
}

/// The allowed keys of a hook table.
const KNOWN: [&str; 15] = [
    "init",
    "cleanup",
    "init_timeout",
    "cleanup_timeout",
    "stop_grace",
    "env",
    "done",
    "cleanup_again_on",
    "first_uid",
    "boxes",
    "no_directory",
    "no_cgroup",
    "kill_left",
    "system_users",
    FILE,
];

/// The key with the name of a file that has the other keys.
const FILE: &str = "file";

/// Default number of boxes with a user.
const USUAL_BOXES: u32 = 1000;

/// The first ordinary user on Debian and most other systems; lower ids belong to the system.
const FIRST_ORDINARY_USER: u32 = 1000;

/// Default time limit of a program, and default time between SIGTERM and SIGKILL.
const USUAL_TIMEOUT: Duration = Duration::from_secs(60);
const USUAL_GRACE: Duration = Duration::from_secs(5);

impl SettingValue for BoxHooks {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(written) = value else {
            return wrong(format!(
                "expected a table such as {{ isolate = {{ file = \"config/pools/isolate.toml\" }} }}, \
                 not {}",
                quoted(value)
            ));
        };
        let mut wrongs = Vec::new();
        for (name, hooks) in written {
            let named = HooksName::new(name).or_else(|bad| wrong(bad.to_string()));
            let table = match hooks {
                Value::Table(_) => Ok(()),
                other => wrong(format!("expected a table, not {}", quoted(other))),
            };
            wrongs.extend(about(name, named.and(table).err()));
        }
        let sets = HookSets::default();
        if wrongs.is_empty() {
            Ok(BoxHooks { written: written.clone(), sets })
        } else {
            Err(wrongs)
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let redacted = self.written.iter().map(|(name, hooks)| (name.clone(), redacted(hooks)));
        Some(Value::Table(redacted.collect()))
    }
}

/// The hooks for display. Values of the environment are hidden, because they may be secrets.
fn redacted(hooks: &Value) -> Value {
    let mut redacted = hooks.clone();
    if let Some(Value::Table(variables)) = redacted.get_mut("env") {
        variables.iter_mut().for_each(|(_, value)| *value = Value::String("***".to_owned()));
    }
    redacted
}

/// Prefixes faults with the name of their key.
fn about(name: &str, wrongs: Option<Vec<Wrong>>) -> impl Iterator<Item = Wrong> + '_ {
    let named = move |wrong: Wrong| Wrong { entry: None, what: format!("{name}: {}", wrong.what) };
    wrongs.into_iter().flatten().map(named)
}

impl BoxHooks {
    /// The parsed hooks by name.
    pub fn sets(&self) -> &HookSets {
        &self.sets
    }

    /// Whether no hook is configured.
    pub fn are_none(&self) -> bool {
        self.written.is_empty()
    }

    /// Reads the named files, merges them with the tables, and parses the result.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        let mut sets = BTreeMap::new();
        for (name, written) in &self.written {
            let Value::Table(written) = written else { continue };
            let named = HooksName::new(name).or_else(|bad| wrong(bad.to_string()));
            match named.and_then(|name| Ok((name, hook_set(&whole(written)?)?))) {
                Ok((name, hooks)) => {
                    sets.insert(name, Arc::new(hooks));
                }
                Err(wrongs) => about(name, Some(wrongs))
                    .for_each(|wrong| reader.fault("box.hooks", wrong.what)),
            }
        }
        self.sets = HookSets(sets);
    }
}

/// A table merged with the file that it names.
fn whole(written: &Table) -> Read<Table> {
    let Some(file) = written.get(FILE) else { return Ok(written.clone()) };
    let file = PathBuf::from_toml(file)?;
    let display = file.display();
    let text = bounded_read::read_text(&file, InputSource::File)
        .or_else(|error| wrong(format!("{FILE}: {display} cannot be read: {error}")))?;
    let mut all: Table = text.parse().or_else(|error: toml::de::Error| {
        wrong(format!("{FILE}: {display} is not TOML: {}", error.message().replace('\n', ", ")))
    })?;
    if all.contains_key(FILE) {
        return wrong(format!("{FILE}: {display} names another file, which is not allowed"));
    }
    all.extend(written.iter().filter(|(key, _)| *key != FILE).map(|(k, v)| (k.clone(), v.clone())));
    Ok(all)
}

fn hook_set(table: &Table) -> Read<HookSet> {
    if let Some(other) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return wrong(format!("unknown key {other}: expected {}", KNOWN.join(", ")));
    }
    let first_uid = of_key(table, "first_uid", uid)?;
    let boxes = of_key(table, "boxes", count)?;
    let hooks = HookSet {
        init: program(table, "init", "init_timeout")?,
        cleanup: program(table, "cleanup", "cleanup_timeout")?,
        grace: bounded(table, "stop_grace", USUAL_GRACE, LONGEST_GRACE)?,
        environment: environment(table)?,
        done: codes(table, "done")?.unwrap_or_else(|| vec![0]),
        cleanup_again_on: codes(table, "cleanup_again_on")?.unwrap_or_default(),
        checks: CleanBoxChecks {
            first_uid,
            // Users above this number probably belong to other programs.
            boxes: boxes.or(first_uid.map(|_| USUAL_BOXES)),
            no_directory: paths(table, "no_directory")?,
            no_cgroup: paths(table, "no_cgroup")?,
            kill_left: of_key(table, "kill_left", bool::from_toml)?.unwrap_or(false),
        },
    };
    if hooks.cleanup.is_none() && hooks.checks.are_none() {
        return wrong(
            "expected cleanup, or one of first_uid, no_directory and no_cgroup: otherwise every box \
             would count as clean without a check",
        );
    }
    if hooks.checks.kill_left
        && hooks.checks.first_uid.is_none()
        && hooks.checks.no_cgroup.is_empty()
    {
        return wrong(
            "kill_left: requires first_uid or no_cgroup, which name the processes to kill",
        );
    }
    let may_be_system = of_key(table, "system_users", bool::from_toml)?.unwrap_or(false);
    if let Some(first) = hooks.checks.first_uid.filter(|first| first.get() < FIRST_ORDINARY_USER)
        && hooks.checks.kill_left
        && !may_be_system
    {
        return wrong(format!(
            "kill_left: this would kill the processes of user {first} and the following users. Users below \
             {FIRST_ORDINARY_USER} belong to the system: choose another first_uid, or set \
             system_users = true if these users belong to boxes"
        ));
    }
    Ok(hooks)
}

/// Reads the value of a key, if it is set; faults name the key.
fn of_key<T>(table: &Table, key: &str, read: impl FnOnce(&Value) -> Read<T>) -> Read<Option<T>> {
    let value = table.get(key).map(read).transpose();
    value.map_err(|wrongs| about(key, Some(wrongs)).collect())
}

fn program(table: &Table, key: &str, timeout: &str) -> Read<Option<HookProgram>> {
    let timeout = bounded(table, timeout, USUAL_TIMEOUT, LONGEST_TIMEOUT)?;
    let read = |value: &Value| {
        let templates = templates(value, TemplateBlank::IN_ARGUMENTS)?;
        let Some((path, arguments)) = templates.split_first() else {
            return wrong("expected the path of a program, then its arguments");
        };
        if !path.is_plain() {
            return wrong(format!("the program {path} contains a placeholder: only arguments can"));
        }
        // Without placeholders, only escaped braces are left.
        let path = PathBuf::from(path.to_string().replace("{{", "{").replace("}}", "}"));
        check_program(&path)?;
        Ok(HookProgram { path, arguments: arguments.to_vec(), timeout })
    };
    of_key(table, key, read)
}

fn check_program(path: &Path) -> Read<()> {
    let display = path.display();
    if !path.is_absolute() {
        return wrong(format!("{display} is not an absolute path"));
    }
    match std::fs::metadata(path) {
        Ok(file) if !file.is_file() => wrong(format!("{display} is not a file")),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => {
            wrong(format!("{display} is not executable"))
        }
        Ok(_) => Ok(()),
        Err(error) => wrong(format!("{display} cannot be used: {error}")),
    }
}

fn templates(value: &Value, known: &[TemplateBlank]) -> Read<Vec<Template>> {
    let Value::Array(texts) = value else {
        return wrong(format!("expected a list of texts, not {}", quoted(value)));
    };
    let template = |value: &Value| {
        let text = text(value, "a text")?;
        Template::parse(text, known).or_else(|bad| wrong(format!("{}: {bad}", quoted(value))))
    };
    texts.iter().map(template).collect()
}

fn paths(table: &Table, key: &str) -> Read<Vec<Template>> {
    let read = |value: &Value| {
        let paths = templates(value, TemplateBlank::IN_PATHS)?;
        match paths.iter().find(|path| !path.to_string().starts_with('/')) {
            Some(path) => wrong(format!("{path} is not an absolute path")),
            None => Ok(paths),
        }
    };
    Ok(of_key(table, key, read)?.unwrap_or_default())
}

fn bounded(table: &Table, key: &str, usual: Duration, most: Duration) -> Read<Duration> {
    let read = |value: &Value| match Duration::from_toml(value)? {
        long if long > most => wrong(format!(
            "expected at most {}, not {}",
            humantime::format_duration(most),
            quoted(value)
        )),
        duration => Ok(duration),
    };
    Ok(of_key(table, key, read)?.unwrap_or(usual))
}

fn codes(table: &Table, key: &str) -> Read<Option<Vec<u8>>> {
    let code = |value: &Value| value.as_integer().and_then(|code| u8::try_from(code).ok());
    let read = |value: &Value| {
        let codes = value.as_array().and_then(|codes| codes.iter().map(code).collect());
        let none =
            || wrong(format!("expected a list of exit codes such as [0], not {}", quoted(value)));
        codes.map_or_else(none, Ok)
    };
    of_key(table, key, read)
}

fn uid(value: &Value) -> Read<Uid> {
    let uid = value.as_integer().and_then(|uid| u32::try_from(uid).ok()).and_then(Uid::new);
    let none = || wrong(format!("expected a user id other than root's, not {}", quoted(value)));
    uid.map_or_else(none, Ok)
}

fn count(value: &Value) -> Read<u32> {
    let count = value.as_integer().and_then(|count| u32::try_from(count).ok());
    let none = || wrong(format!("expected a number of boxes, not {}", quoted(value)));
    count.filter(|count| *count > 0).map_or_else(none, Ok)
}

fn environment(table: &Table) -> Read<BTreeMap<String, String>> {
    let read = |value: &Value| {
        let Value::Table(variables) = value else {
            return wrong(format!(
                "expected a table such as {{ NAME = \"value\" }}, not {}",
                quoted(value)
            ));
        };
        let variable = |(name, value): (&String, &Value)| {
            let value = text(value, "a text")?;
            let is_bad = |text: &str| text.contains('\0');
            if name.is_empty() || name.contains('=') || is_bad(name) || is_bad(value) {
                return wrong(format!(
                    "{name:?} is not valid: the name is empty or has '=', or a NUL byte is in it or its value"
                ));
            }
            Ok((name.clone(), value.to_owned()))
        };
        variables.iter().map(variable).collect()
    };
    Ok(of_key(table, "env", read)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reelyard_core::settings::{Gathered, RawSetting, RawValue, SettingOrigin, SettingsGroup};

    use super::*;
    use crate::box_host::settings::BoxHostConfig;

    fn load_set(set: &[(&str, &str)]) -> Result<BoxHostConfig, String> {
        let mut gathered = Gathered::default();
        for (key, text) in set {
            let setting = RawSetting {
                raw: RawValue::Text((*text).to_owned()),
                origin: SettingOrigin::Argument { key: (*key).to_owned() },
                entry_lines: Vec::new(),
                old_key: None,
            };
            gathered.given.insert((*key).to_owned(), setting);
        }
        let mut reader = SettingsReader::new(gathered);
        let mut config = BoxHostConfig::read(&mut reader, "box");
        config.resolve(&mut reader);
        match reader.finish() {
            Ok(_) => Ok(config),
            Err(faults) => Err(faults.to_string()),
        }
    }

    fn load(hooks: &str) -> Result<BoxHostConfig, String> {
        load_set(&[("box.hooks", hooks)])
    }

    fn find(config: &BoxHostConfig, name: &str) -> Arc<HookSet> {
        Arc::clone(&config.hooks.sets().0[&HooksName::new(name).unwrap()])
    }

    #[test]
    fn hooks_are_read_with_placeholders_and_checks_of_a_clean_box() {
        let config = load(
            "{ a = { init = [\"/bin/sh\", \"-c\", \"x\", \"{box}\"], cleanup = [\"/bin/true\"], \
             cleanup_timeout = \"2s\", stop_grace = \"1s\", env = { A = \"b\" }, done = [0, 3], \
             cleanup_again_on = [2], first_uid = 60000, no_directory = [\"/x/{box}\"], \
             no_cgroup = [\"/cg/{box}\"], kill_left = true } }",
        )
        .unwrap();
        let hooks = find(&config, "a");
        let init = hooks.init.as_ref().unwrap();
        assert_eq!((init.path.as_path(), init.arguments.len()), (Path::new("/bin/sh"), 3));
        assert_eq!((init.timeout, hooks.grace), (USUAL_TIMEOUT, Duration::from_secs(1)));
        assert_eq!(hooks.cleanup.as_ref().unwrap().timeout, Duration::from_secs(2));
        assert_eq!((&hooks.done[..], &hooks.cleanup_again_on[..]), (&[0, 3][..], &[2][..]));
        assert_eq!(hooks.environment["A"], "b");
        let redacted = config.hooks.to_toml().unwrap().to_string();
        assert!(redacted.contains("A = \"***\"") && !redacted.contains("\"b\""), "{redacted}");
        assert!(hooks.checks.kill_left && hooks.checks.first_uid == Uid::new(60_000));
        assert_eq!(hooks.checks.boxes, Some(USUAL_BOXES));
        let many = load_set(&[("box.hooks_at_once", "257")]).unwrap_err();
        assert!(many.contains("at most 256"), "{many}");
    }

    #[test]
    fn faults_of_hooks_name_the_hooks() {
        let plain = std::env::current_exe().unwrap().with_file_name("");
        for (bad, why) in [
            ("[]", "expected a table"),
            ("{ a = 1 }", "a: expected a table, not 1"),
            ("{ \"-\" = {} }", "-: the name of hooks is 1 to 64"),
            ("{ a = {} }", "would count as clean"),
            ("{ a = { clean = [] } }", "unknown key clean: expected init,"),
            ("{ a = { cleanup = [] } }", "a: cleanup: expected the path of a program"),
            ("{ a = { cleanup = \"/bin/true\" } }", "expected a list of texts"),
            ("{ a = { cleanup = [\"true\"] } }", "true is not an absolute path"),
            ("{ a = { cleanup = [\"/gone\"] } }", "/gone cannot be used"),
            ("{ a = { cleanup = [\"/etc/passwd\"] } }", "is not executable"),
            ("{ a = { cleanup = [\"/bin/{pool}\"] } }", "contains a placeholder"),
            ("{ a = { cleanup = [\"/bin/true\", \"{boxid}\"] } }", "{boxid} is not a placeholder"),
            ("{ a = { first_uid = 0 } }", "first_uid: expected a user id other than root's"),
            ("{ a = { first_uid = 1, boxes = 0 } }", "boxes: expected a number of boxes"),
            ("{ a = { no_directory = [\"/x/{token}\"] } }", "are {box}, {pool}"),
            ("{ a = { no_directory = [\"{pool}\"] } }", "is not an absolute path"),
            (
                "{ a = { no_directory = [\"/x\"], kill_left = true } }",
                "kill_left: requires first_uid",
            ),
            (
                "{ a = { first_uid = 999, kill_left = true } }",
                "kill_left: this would kill the processes of user 999",
            ),
            ("{ a = { first_uid = 1, done = [256] } }", "expected a list of exit codes"),
            (
                "{ a = { first_uid = 1, init_timeout = \"11m\" } }",
                "init_timeout: expected at most 10m",
            ),
            ("{ a = { first_uid = 1, env = { \"A=\" = \"\" } } }", "is not valid: the name"),
            ("{ a = { file = \"/gone\" } }", "a: file: /gone cannot be read"),
        ] {
            let written = load(bad).unwrap_err();
            assert!(written.contains(why) && written.contains("box.hooks"), "{bad}: {written}");
        }
        assert!(check_program(&plain).is_err(), "a directory");
    }

    #[test]
    fn settings_beside_a_hook_file_override_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("hooks.toml");
        let text = "first_uid = 60000\nno_directory = [\"/x/{box}\"]\n";
        std::fs::write(&file, text).unwrap();
        let display = file.display();
        let with_file = format!("{{ a = {{ file = \"{display}\", first_uid = 70000 }} }}");
        let before = load(&with_file).unwrap();
        let checks = &find(&before, "a").checks;
        assert_eq!((checks.first_uid, checks.no_directory.len()), (Uid::new(70_000), 1));
        // A changed file is a changed configuration, although the setting is the same.
        std::fs::write(&file, "kill_left = true\n").unwrap();
        let after = load(&with_file).unwrap();
        assert_ne!(before.hooks, after.hooks);
        std::fs::write(&file, "kill_left = \n").unwrap();
        assert!(load(&with_file).unwrap_err().contains("is not TOML"));
        std::fs::write(&file, "file = \"/x\"\n").unwrap();
        assert!(load(&with_file).unwrap_err().contains("names another file"));
    }
}
