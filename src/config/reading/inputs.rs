//! Warnings about configured inputs that do not exist now. This is not a fault, because they may
//! appear later.

use std::fs::{Metadata, metadata};
use std::io::ErrorKind;
use std::path::Path;

/// Why the file of the setting `key` cannot be read now; none if it can.
pub fn missing_file(key: &str, path: &Path) -> Option<String> {
    missing(key, path, Metadata::is_file, "a file")
}

/// Why the directory of the setting `key` cannot be read now; none if it can.
pub fn missing_dir(key: &str, path: &Path) -> Option<String> {
    missing(key, path, Metadata::is_dir, "a directory")
}

fn missing(key: &str, path: &Path, fits: fn(&Metadata) -> bool, kind: &str) -> Option<String> {
    let shown = path.display();
    match metadata(path) {
        Ok(found) if fits(&found) => None,
        Ok(_) => Some(format!("{key}: {shown} is not {kind}")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Some(format!("{key}: {shown} does not exist; it is read as soon as it exists"))
        }
        Err(error) => Some(format!("{key}: {shown} cannot be read: {error}")),
    }
}
