//! Converts `runner.setup_runs` of a cfm.yml: the steps of cfm's rounds. An operator who left out
//! deletions or copies did not want them.

use reelyard_yard::remover::RemovalMode;
use reelyard_yard::task_manager::PlanningMode;

use super::config_import::ConfigImport;
use super::note::{ImportNote, ImportNoteKind};
use super::yaml::YamlEntry;

/// Prefix of the keys of these lists.
pub const LISTS: &str = "runner.setup_runs.";

/// Why the lists themselves are not kept.
pub const WHY: &str = "planning and removing run by themselves, unless no list has them";

/// Lists that default to both steps if they are missing or empty.
const WITH_DEFAULT: [&str; 3] = ["eventruns", "eventtimeoutruns", "betweeneventsruns"];

/// Turns off a step that cfm never ran. Such a step is in no list, and no missing or empty list has
/// it by default.
pub fn translate(entries: &[YamlEntry], import: &mut ConfigImport) {
    let lists: Vec<&YamlEntry> = entries
        .iter()
        .filter(|entry| entry.key.starts_with(LISTS))
        .filter(|entry| entry.values.iter().any(|(run, _)| !run.is_empty()))
        .collect();
    let Some(first) = lists.iter().map(|entry| entry.line).min() else { return };
    let is_written = |name: &&str| {
        lists.iter().any(|entry| entry.key.trim_start_matches(LISTS).eq_ignore_ascii_case(name))
    };
    if !WITH_DEFAULT.iter().all(is_written) {
        return;
    }
    let has = |wanted: &str| {
        let mut runs = lists.iter().flat_map(|entry| &entry.values);
        runs.any(|(run, _)| run.eq_ignore_ascii_case(wanted))
    };
    let mut switched_off = |run: &str, setting: &str| {
        import.notes.push(ImportNote {
            line: Some(first),
            key: LISTS.trim_end_matches('.').to_owned(),
            kind: ImportNoteKind::Translated,
            what: format!("no list has {run}: kept as {setting} = \"off\""),
        });
    };
    let (removes, plans) = (has("runRemover"), has("runTasker"));
    if !removes {
        switched_off("runRemover", "remover.mode");
    }
    if !plans {
        switched_off("runTasker", "task.mode");
    }
    if !removes {
        import.keep("remover.mode", RemovalMode::Off);
    }
    if !plans {
        import.keep("task.mode", PlanningMode::Off);
    }
}
