//! Detects whether a listed directory still has the same entries.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::access::roots::open_beneath;

/// A directory that was listed.
pub(super) struct ListedDirectory {
    /// Path below the top directory, as bytes on disk.
    pub(super) path: Vec<u8>,
    was: DirectoryState,
}

/// Identity of a directory and the time of its last change. Changes within one clock tick of the
/// file system look like one.
#[derive(PartialEq, Eq)]
struct DirectoryState {
    dev: u64,
    ino: u64,
    modified: (i64, i64),
}

impl ListedDirectory {
    /// Records the state before the directory is listed.
    pub(super) fn now(dir: &File, path: &[u8]) -> io::Result<Self> {
        Ok(ListedDirectory { path: path.to_vec(), was: DirectoryState::of(&dir.metadata()?) })
    }

    /// Whether the path below `top` now leads to another directory, or its entries changed.
    pub(super) fn has_changed(&self, top: &File) -> bool {
        let is = state_at(top, &self.path);
        !is.is_ok_and(|is| is == self.was)
    }
}

impl DirectoryState {
    fn of(metadata: &Metadata) -> Self {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        DirectoryState { dev: metadata.dev(), ino: metadata.ino(), modified }
    }
}

/// The state of the directory at `path`. It opens each segment separately, because the whole
/// path may be too long for one system call.
fn state_at(top: &File, path: &[u8]) -> io::Result<DirectoryState> {
    let mut at = top.try_clone()?;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        at = open_beneath(&at, name).map_err(io::Error::other)?.file;
    }
    Ok(DirectoryState::of(&at.metadata()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_directory_has_changed_when_an_entry_comes_or_goes() {
        let place = tempfile::tempdir().unwrap();
        let below = |path: &str| place.path().join(path);
        std::fs::create_dir_all(below("a/b")).unwrap();
        let top = File::open(place.path()).unwrap();
        let dir = File::open(below("a/b")).unwrap();
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(60);
        let listed = || {
            dir.set_modified(long_ago).unwrap();
            ListedDirectory::now(&dir, b"a/b").unwrap()
        };
        let before = listed();
        assert!(!before.has_changed(&top));
        std::fs::write(below("a/b/file"), b"x").unwrap();
        assert!(before.has_changed(&top), "something came");
        let before = listed();
        std::fs::write(below("a/b/file"), b"another").unwrap();
        assert!(!before.has_changed(&top), "the contents of a file do not count");
        std::fs::remove_file(below("a/b/file")).unwrap();
        assert!(before.has_changed(&top), "something went");
        let before = listed();
        std::fs::rename(below("a/b"), below("a/c")).unwrap();
        assert!(before.has_changed(&top), "nothing is there");
        std::fs::create_dir(below("a/b")).unwrap();
        File::open(below("a/b")).unwrap().set_modified(long_ago).unwrap();
        assert!(before.has_changed(&top), "it is another");
    }
}
