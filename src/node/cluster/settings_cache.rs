//! The newest settings on record, in a file of this node. A node reads its configuration before its journal, so that
//! it starts with the settings that it had.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use reelyard_core::bounded_read::{self, InputSource};

use crate::config::RecordedSettings;

/// The name of the file in the data directory.
pub const SETTINGS_CACHE: &str = "settings-on-record";

/// The beginning of the first line. The number is the version of the format.
const HEAD: &str = "# reelyard settings on record 1, version ";

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} cannot be read as settings on record: {why}. Remove it: this node then starts with its own file, and \
     gets the settings from the cluster"
)]
pub struct BadSettingsCache {
    path: String,
    why: String,
}

/// The settings on record that this node had. None if it had none.
///
/// # Errors
/// The file cannot be read, or another version of reelyard wrote it.
pub fn read(data_dir: &Path) -> Result<Option<RecordedSettings>, BadSettingsCache> {
    let path = data_dir.join(SETTINGS_CACHE);
    let bad = |why: String| BadSettingsCache { path: path.display().to_string(), why };
    let bytes = match bounded_read::read(&path, InputSource::File) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(bad(error.to_string())),
    };
    let whole = String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8".to_owned()))?;
    let first_line = whole.strip_prefix(HEAD).and_then(|rest| rest.split_once('\n'));
    let Some((version, text)) = first_line else {
        return Err(bad("its first line is not that of this version".to_owned()));
    };
    let version = version.parse().map_err(|_| bad("its version is no number".to_owned()))?;
    Ok(Some(RecordedSettings { version, text: text.into() }))
}

/// Replaces the file. Only the user of the node can read it, because the settings may hold secrets.
///
/// # Errors
/// Those of writing, syncing and renaming. The former file stays then.
pub fn write(data_dir: &Path, settings: &RecordedSettings) -> io::Result<()> {
    let path = data_dir.join(SETTINGS_CACHE);
    let new: PathBuf = data_dir.join(format!("{SETTINGS_CACHE}.new"));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    write!(file, "{HEAD}{}\n{}", settings.version, settings.text)?;
    file.sync_all()?;
    std::fs::rename(&new, &path)?;
    File::open(data_dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_the_stored_form_stays() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
        let settings = RecordedSettings { version: 12, text: "task.timeout = \"1h\"\n".into() };
        write(dir.path(), &settings).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(settings));
        let stored = std::fs::read_to_string(dir.path().join(SETTINGS_CACHE)).unwrap();
        let expected = "# reelyard settings on record 1, version 12\ntask.timeout = \"1h\"\n";
        assert_eq!(stored, expected);
    }

    #[test]
    fn another_file_is_refused_with_advice() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(SETTINGS_CACHE), "# reelyard settings on record 2\n")
            .unwrap();
        let refused = read(dir.path()).unwrap_err().to_string();
        assert!(refused.contains(SETTINGS_CACHE) && refused.contains("Remove it"), "{refused}");
    }
}
