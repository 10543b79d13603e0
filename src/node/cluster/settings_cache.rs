//! The newest settings on record that worked, in a file of this node. A node reads its configuration before its
//! journal. With this file it starts with the settings that it had.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::cluster_id::ClusterId;

use crate::config::reading::recorded::RecordedSettings;

/// The name of the file in the data directory.
pub const SETTINGS_CACHE: &str = "settings-on-record";

/// The beginning of the first line. The number is the version of the format.
const HEAD: &str = "# reelyard settings on record 1, cluster ";

/// The settings on record that this node of `cluster` had. None if it had none, or if the file is not readable or
/// from another cluster. The node then makes no decisions before it gets them from its journal.
pub fn read(data_dir: &Path, cluster: ClusterId) -> Option<RecordedSettings> {
    let path = data_dir.join(SETTINGS_CACHE);
    let bytes = match bounded_read::read(&path, InputSource::File) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the settings on record cannot be read");
            return None;
        }
    };
    let settings = parse(&bytes, cluster);
    if settings.is_none() {
        tracing::warn!(
            path = %path.display(),
            "the file with settings on record is of another cluster or version: it is not used"
        );
    }
    settings
}

fn parse(bytes: &[u8], cluster: ClusterId) -> Option<RecordedSettings> {
    let whole = str::from_utf8(bytes).ok()?;
    let (head, text) = whole.strip_prefix(HEAD)?.split_once('\n')?;
    let (of, version) = head.split_once(", version ")?;
    if of != cluster.to_string() {
        return None;
    }
    Some(RecordedSettings { version: version.parse().ok()?, text: text.into() })
}

/// Replaces the file, or removes it. Only the user of the node can read it, because the settings may hold secrets.
///
/// # Errors
/// Those of writing, syncing, renaming and removing. The former file stays then.
pub fn write(
    data_dir: &Path,
    cluster: ClusterId,
    settings: Option<&RecordedSettings>,
) -> io::Result<()> {
    let path = data_dir.join(SETTINGS_CACHE);
    let Some(RecordedSettings { version, text }) = settings else {
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    let new = data_dir.join(format!("{SETTINGS_CACHE}.new"));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    write!(file, "{HEAD}{cluster}, version {version}\n{}", &**text)?;
    file.sync_all()?;
    std::fs::rename(&new, &path)?;
    File::open(data_dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_in_their_cluster_and_the_stored_form_stays() {
        let (dir, cluster) = (tempfile::tempdir().unwrap(), ClusterId::from(1));
        assert_eq!(read(dir.path(), cluster), None);
        let settings = RecordedSettings { version: 12, text: "task.timeout = \"1h\"\n".into() };
        write(dir.path(), cluster, Some(&settings)).unwrap();
        assert_eq!(read(dir.path(), cluster), Some(settings));
        assert_eq!(read(dir.path(), ClusterId::from(2)), None);
        let stored = std::fs::read_to_string(dir.path().join(SETTINGS_CACHE)).unwrap();
        let head = format!("# reelyard settings on record 1, cluster {cluster}, version 12\n");
        assert_eq!(stored, format!("{head}task.timeout = \"1h\"\n"));
        write(dir.path(), cluster, None).unwrap();
        assert_eq!(read(dir.path(), cluster), None);
    }

    #[test]
    fn a_file_of_another_version_is_not_used() {
        let (dir, cluster) = (tempfile::tempdir().unwrap(), ClusterId::from(1));
        std::fs::write(dir.path().join(SETTINGS_CACHE), "# reelyard settings on record 2\n")
            .unwrap();
        assert_eq!(read(dir.path(), cluster), None);
    }
}
