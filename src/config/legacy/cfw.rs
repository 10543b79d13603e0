//! Converts cfw.yml into the configuration of a worker.

use std::path::PathBuf;

use reelyard_core::host::HostAddr;
use toml::Value;

use super::config_import::ConfigImport;
use super::note::{ImportNote, ImportNoteKind};
use super::yaml::YamlEntry;
use crate::config::values::address::NodeAddr;
use reelyard_core::settings::Percent;
use reelyard_worker::downloader::settings::Pattern;

/// Converts `entries` into `import`.
pub fn translate(entries: &[YamlEntry], import: &mut ConfigImport) {
    for entry in entries {
        translate_one(entry, import);
    }
    import.notes.push(ImportNote {
        line: None,
        key: "source_dirs".to_owned(),
        kind: ImportNoteKind::Translated,
        what: "cfw did not have it; set it on the worker of a source to the value of the node"
            .to_owned(),
    });
}

fn translate_one(entry: &YamlEntry, import: &mut ConfigImport) {
    match entry.key.as_str() {
        "listen_addr" => import.text::<HostAddr>(entry, "listen"),
        "cfm_addr" => import.text::<NodeAddr>(entry, "node"),
        "base_dir" => import.text::<PathBuf>(entry, "base_dir"),
        "downloader_sleep_sec" => import.duration(entry, "poll_interval", 1),
        "storage_usage_limit_percent" => limit(entry, import),
        "downloader_bin" => downloader(entry, import),
        "downloader_download_success_match_string" => {
            import.text::<Pattern>(entry, "external_downloader.success_pattern");
        }
        "if_name" => import.meaningless(entry, "a worker is identified by listen (since qr2)"),
        _ if import.logging(entry) => {}
        _ => {
            import.add_note(entry, ImportNoteKind::Unknown, "no version of cfw reads it; left out")
        }
    }
}

/// Keeps the path of the program. cfw allowed a relative path, which depends on the working
/// directory.
fn downloader(entry: &YamlEntry, import: &mut ConfigImport) {
    let program = entry.text();
    if program.starts_with('/') || program.is_empty() {
        import.text::<PathBuf>(entry, "external_downloader.program");
    } else {
        let what = format!("expected an absolute path, not \"{program}\"; it is not set");
        import.add_note(entry, ImportNoteKind::Bad, what);
    }
}

fn limit(entry: &YamlEntry, import: &mut ConfigImport) {
    let Some(number) = import.number(entry, "storage.limit_percent") else { return };
    let capped = Value::Integer(number.min(100));
    if import.set::<Percent>(entry, "storage.limit_percent", &capped) && number > 100 {
        import.add_note(
            entry,
            ImportNoteKind::Translated,
            format!("cfw used 100 instead of {number}; 100 is kept"),
        );
    }
}
