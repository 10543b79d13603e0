//! Checks the master directories, which both roles have.

use std::path::PathBuf;

use reelyard_core::settings::SettingsReader;

/// Source directories have the same paths on every host. A missing one, for example before it is
/// mounted, is not a fault: it is checked again.
pub fn check_source_dirs(dirs: &[PathBuf], reader: &mut SettingsReader) {
    for (entry, dir) in dirs.iter().enumerate() {
        let shown = dir.display();
        if !dir.is_absolute() {
            reader.fault_in("source_dirs", Some(entry), format!("{shown} is not an absolute path"));
        } else if dir.to_str().is_none_or(|text| text.split('/').any(|part| part == "..")) {
            reader.fault_in("source_dirs", Some(entry), format!("{shown} must not contain \"..\""));
        } else if dir.exists() && !dir.is_dir() {
            reader.fault_in("source_dirs", Some(entry), format!("{shown} is not a directory"));
        }
    }
    let shown: Vec<_> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    reader.distinct("source_dirs", &shown);
}
