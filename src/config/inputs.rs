//! Inputs that are configured and not there now: no fault, since they may come later, but worth a
//! warning when a configuration is checked.

use std::fs::{Metadata, metadata};
use std::io::ErrorKind;
use std::path::Path;

/// Why the file that the setting `key` names cannot be read now, in words; none if it can.
pub fn missing_file(key: &str, path: &Path) -> Option<String> {
    missing(key, path, Metadata::is_file, "a file")
}

/// The same of a directory.
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
