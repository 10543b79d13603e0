//! Converts cfm.yml into the configuration of a node.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::host::{BitsPerSecond, OLD_COPY_SPEED};
use reelyard_yard::bandwidth::Timetable;
use reelyard_yard::settings::remover::KeptBy;
use reelyard_yard::settings::watched_servers::{AddressPattern, WatchedServers};
use reelyard_yard::task_manager::PlacementPolicy;
use toml::Value;

use super::config_import::ConfigImport;
use super::note::{ImportNote, ImportNoteKind};
use super::yaml::YamlEntry;
use super::{hosts, runs};
use reelyard_core::settings::{NamePrefix, Percent};

/// Converts `entries` into `import`.
pub fn translate(entries: &[YamlEntry], import: &mut ConfigImport) {
    for entry in entries {
        translate_one(entry, import);
    }
    runs::translate(entries, import);
    own_rules(import);
    if import.watch_is_lost {
        import.values.remove("event_log.dir");
    }
    if !import.values.contains_key("event_log.dir") {
        // Without a directory this setting is a fault; cfm ignored it.
        import.values.remove("event_log.watch_address");
    }
    check_source_dirs(entries, import);
    if !import.values.contains_key("task.copy_speed") {
        import.keep("task.copy_speed", Timetable::always(Some(OLD_COPY_SPEED)));
        import.notes.push(ImportNote {
            line: None,
            key: "tasker.task_copy_speed_bps".to_owned(),
            kind: ImportNoteKind::Translated,
            what: "is not set; cfm's default of 10 Mbit/s is kept".to_owned(),
        });
    }
}

fn translate_one(entry: &YamlEntry, import: &mut ConfigImport) {
    match entry.key.as_str() {
        "listen_addr" => import.listener(entry),
        "source_dirs" => import.list::<PathBuf>(entry, "source_dirs", ImportNoteKind::Bad),
        "grade_info_file" => import.text::<PathBuf>(entry, "catalog.grade_info_file"),
        "hitcount_history_file" => import.text::<PathBuf>(entry, "catalog.hitcount_history_file"),
        "watch_dir" => import.text::<PathBuf>(entry, "event_log.dir"),
        "watch_ip_string" => watch_address(entry, import),
        "watch_term_min" => watch_term(entry, import),
        "watch_hit_base" => hit_base(entry, import),
        "ignore.prefixes" => {
            import.list::<NamePrefix>(entry, "ignore.prefixes", ImportNoteKind::Bad)
        }
        "adv_prefixes" => {
            import.older(entry, "ignore.prefixes");
            import.list::<NamePrefix>(entry, "ignore.prefixes", ImportNoteKind::Bad);
        }
        "servers.sources" => hosts::keep(entry, "hosts.sources", import),
        "servers.destinations" => hosts::keep(entry, "hosts.destinations", import),
        "servers.heartbeat_timeout_sec" => import.duration(entry, "heartbeat.timeout", 1),
        "servers.heartbeat_interval_sec" => import.duration(entry, "heartbeat.interval", 1),
        "servers.heartbeat_sleep_sec" => {
            import.older(entry, "heartbeat.interval");
            import.duration(entry, "heartbeat.interval", 1);
        }
        "remover.storage_usage_limit_percent" => limit(entry, import),
        "tasker.task_timeout_sec" => task_timeout(entry, import),
        "tasker.task_copy_speed_bps" => copy_speed(entry, import),
        "storage_usage_limit_percent" => {
            import.older(entry, "storage.limit_percent");
            limit(entry, import);
        }
        "task_timeout_sec" => {
            import.older(entry, "task.timeout");
            task_timeout(entry, import);
        }
        "task_copy_speed_bps" => {
            import.older(entry, "task.copy_speed");
            copy_speed(entry, import);
        }
        _ if import.logging(entry) => {}
        _ => meaningless(entry, import),
    }
}

/// Notes obsolete keys, and unknown ones.
fn meaningless(entry: &YamlEntry, import: &mut ConfigImport) {
    let why = match entry.key.as_str() {
        "remover.remover_sleep_sec" | "tasker.tasker_sleep_sec" => {
            "there are no pauses between rounds (cfm ignores it since qr3)"
        }
        "watcher.fire_initial_event" => "a node always plans when it starts",
        "watcher.event_timeout_sec" | "watcher.poll_interval_sec" => {
            "changes are noticed at once; catalog.poll_interval is the interval of the additional check"
        }
        "runner.between_events_run_interval_sec" | "runner.periodic_run_interval_sec" => {
            "planning starts after changes, not at intervals"
        }
        key if key.starts_with(runs::LISTS) => runs::WHY,
        _ => {
            return import.add_note(
                entry,
                ImportNoteKind::Unknown,
                "no version of cfm reads it; left out",
            );
        }
    };
    import.meaningless(entry, why);
}

/// Adds settings for built-in rules of cfm that differ from our defaults.
fn own_rules(import: &mut ConfigImport) {
    import.keep("task.placement", PlacementPolicy::Ring);
    import.keep("remover.keep", KeptBy::Cfm);
    let kept = [
        ("task.placement", "\"ring\": destinations take copies in turn, as with cfm"),
        (
            "remover.keep",
            "\"cfm\": of too many copies, the host with the smallest address keeps its copy, as with cfm",
        ),
    ];
    for (key, what) in kept {
        let (key, what) = (key.to_owned(), what.to_owned());
        import.notes.push(ImportNote { line: None, key, kind: ImportNoteKind::Translated, what });
    }
}

/// cfm searches for its regular expression anywhere in the row. Ours must match whole numbers of
/// the address of the server. An empty expression matches every row, like no address here.
fn watch_address(entry: &YamlEntry, import: &mut ConfigImport) {
    let pattern = entry.text();
    if pattern.is_empty() {
        return;
    }
    let plain = pattern.trim_start_matches('^').trim_end_matches('$').replace("\\.", ".");
    let plain = plain.replace('|', ",");
    if let Ok(servers) = plain.parse::<WatchedServers>() {
        if plain != pattern {
            let what = format!("the pattern {pattern} is kept as {plain}");
            import.add_note(entry, ImportNoteKind::Translated, what);
        }
        return import.keep("event_log.watch_address", servers);
    }
    match AddressPattern::new(pattern) {
        Ok(kept) if !speaks_of_words(pattern) => {
            import.keep("event_log.watch_address", WatchedServers::Matching(kept));
            let what = "is kept as a pattern; it must match whole numbers of the address";
            import.add_note(entry, ImportNoteKind::Translated, what);
        }
        _ => {
            import.watch_is_lost = true;
            let what = "is not a pattern of an address; without it every request would count, so \
                        event_log.dir is not set and no file becomes hot";
            import.add_note(entry, ImportNoteKind::Bad, format!("{pattern} {what}"));
        }
    }
}

/// Whether a pattern matches more of the row than the address.
fn speaks_of_words(pattern: &str) -> bool {
    let mut is_escaped = false;
    pattern.chars().any(|letter| {
        let speaks = !is_escaped
            && (letter == ' ' || letter.is_ascii_alphabetic() && !letter.is_ascii_hexdigit());
        is_escaped = letter == '\\' && !is_escaped;
        speaks
    })
}

fn watch_term(entry: &YamlEntry, import: &mut ConfigImport) {
    match entry.text().parse::<i64>() {
        Ok(..=0) => import.instead(entry, "event_log.window", Duration::from_secs(600)),
        _ => import.duration(entry, "event_log.window", 60),
    }
}

fn hit_base(entry: &YamlEntry, import: &mut ConfigImport) {
    let Some(number) = import.number(entry, "event_log.hit_base") else { return };
    if number <= 0 {
        let default = NonZeroU32::MIN.saturating_add(2);
        return import.instead(entry, "event_log.hit_base", default);
    }
    import.set::<NonZeroU32>(entry, "event_log.hit_base", &Value::Integer(number));
}

fn limit(entry: &YamlEntry, import: &mut ConfigImport) {
    if let Some(number) = import.number(entry, "storage.limit_percent") {
        import.set::<Percent>(entry, "storage.limit_percent", &Value::Integer(number));
    }
}

fn task_timeout(entry: &YamlEntry, import: &mut ConfigImport) {
    match entry.text().parse::<i64>() {
        Ok(..0) => import.instead(entry, "task.timeout", Duration::from_secs(1800)),
        _ => import.duration(entry, "task.timeout", 1),
    }
}

fn copy_speed(entry: &YamlEntry, import: &mut ConfigImport) {
    let Some(number) = import.number(entry, "task.copy_speed") else { return };
    match u64::try_from(number) {
        Ok(bits @ 1..) => {
            import.keep("task.copy_speed", Timetable::always(Some(BitsPerSecond(bits))));
        }
        _ => {
            let what = format!("expected a rate above 0, not {number}; task.copy_speed is not set");
            import.add_note(entry, ImportNoteKind::Bad, what);
        }
    }
}

/// Refuses relative source directories: other hosts use these paths too.
fn check_source_dirs(entries: &[YamlEntry], import: &mut ConfigImport) {
    let Some(entry) = entries.iter().find(|entry| entry.key == "source_dirs") else { return };
    let Some(Value::Array(dirs)) = import.values.get_mut("source_dirs") else { return };
    dirs.retain(|dir| dir.as_str().is_some_and(|dir| dir.starts_with('/')));
    for (text, line) in &entry.values {
        if !text.is_empty() && !text.starts_with('/') {
            let what = format!("\"{text}\" is not an absolute path; left out");
            import.add_note_at(entry, *line, ImportNoteKind::Bad, what);
        }
    }
}
