//! The share roots, and opening paths below them.
//!
//! **Invariant:** nothing outside a root is ever opened, even if symlinks and names change at the
//! same time. The kernel resolves each path beneath the open handle of the root.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use reelyard_shares::share_expiry::{
    RootName, ShareKind, ShareLocation, SharePath, SharedFileIdentity,
};
use reelyard_shares::share_files::{RootUnreachable, SharedDir, SharedDirs, is_root_id_file};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// Largest number of attempts to open a path while directories above it are renamed.
const TRIES: usize = 16;

/// The share roots. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Roots(SharedDirs);

/// The file or directory of a share, opened.
#[derive(Debug)]
pub struct OpenedShare {
    /// Whether it is a file or a directory.
    pub kind: ShareKind,
    /// The open file or directory.
    pub file: File,
    /// Metadata at the time of opening.
    pub metadata: Metadata,
}

impl OpenedShare {
    /// Whether the contents are the same as at the time of opening. A rename or a change of
    /// permissions changes only the ctime of the inode, so ctime is ignored.
    pub(crate) fn is_unchanged(&self) -> io::Result<bool> {
        let contents =
            |metadata: &Metadata| (metadata.size(), metadata.mtime(), metadata.mtime_nsec());
        Ok(contents(&self.file.metadata()?) == contents(&self.metadata))
    }
}

/// Why a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// No root has this name.
    #[error("no share root has this name")]
    NoRoot,
    /// Nothing exists at this path.
    #[error("the file or directory does not exist")]
    Absent,
    /// A symlink on the path is absolute or leads out of the root. The kernel reports both in the
    /// same way.
    #[error(
        "a symlink is absolute or leads out of the root: only relative symlinks inside the root are followed"
    )]
    Outside,
    /// It is a device, a socket or a pipe.
    #[error("it is neither a file nor a directory")]
    Special,
    /// The process has no permission to read it.
    #[error("permission denied")]
    Denied,
    /// The directory of its root is not there, or is another one.
    #[error("the directory of its root is not available: {0}")]
    Away(String),
    /// The disk or the system failed.
    #[error("it cannot be opened: {0}")]
    Failed(#[source] io::Error),
}

impl Roots {
    /// Opens these directories. A missing one is opened when it appears.
    pub fn open(named: impl IntoIterator<Item = (RootName, PathBuf)>) -> Self {
        let dirs = named.into_iter().map(|(name, path)| SharedDir::new(name, path));
        Roots(SharedDirs::new(dirs))
    }

    /// Replaces the directories, in all clones. Blocks on the disk.
    pub fn change(&self, named: impl IntoIterator<Item = (RootName, PathBuf)>) {
        self.0.change(named);
    }

    /// The names of all roots, sorted.
    pub fn names(&self) -> Vec<RootName> {
        self.0.names()
    }

    /// The same directories for the actor that moves files, notices missing ones, and opens new
    /// roots.
    pub fn shared_dirs(&self) -> SharedDirs {
        self.0.clone()
    }

    /// Whether this file is at `place`.
    pub(crate) fn is_at(&self, place: &ShareLocation, file: &SharedFileIdentity) -> bool {
        let Ok(root) = self.0.reached(&place.root) else { return false };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = openat2(&root, place.path.as_str(), flags, Mode::empty(), resolve);
        let identity = opened.map_err(io::Error::from).and_then(SharedFileIdentity::of);
        identity.is_ok_and(|there| there.is(file))
    }

    /// Opens `path` below `root`. Symlinks are followed only inside the root. Blocks on the disk.
    pub fn open_at(&self, root: &RootName, path: &SharePath) -> Result<OpenedShare, NotOpened> {
        let root = self.0.reached(root)?;
        if is_root_id_file(path.as_str().as_bytes()) {
            return Err(NotOpened::Absent);
        }
        let path = if path.as_str().is_empty() { "." } else { path.as_str() };
        match open_beneath(&root, path.as_bytes()) {
            // The path may exist in the directory that should be mounted here.
            Err(NotOpened::Absent) => {
                Err(root.displaced().map_or(NotOpened::Absent, NotOpened::Away))
            }
            opened => opened,
        }
    }
}

impl From<RootUnreachable> for NotOpened {
    fn from(why: RootUnreachable) -> Self {
        match why {
            RootUnreachable::NoRoot => NotOpened::NoRoot,
            RootUnreachable::Away(why) | RootUnreachable::Other(why) => NotOpened::Away(why),
        }
    }
}

/// Opens the file or directory at `path`, which cannot lead out of `dir`.
pub(crate) fn open_beneath(dir: impl AsFd, path: &[u8]) -> Result<OpenedShare, NotOpened> {
    // Without NONBLOCK, opening a pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..TRIES {
        opened = openat2(&dir, path, flags, Mode::empty(), resolve);
        if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    let file = File::from(opened.map_err(why_not)?);
    let metadata = file.metadata().map_err(NotOpened::Failed)?;
    let kind = match metadata.file_type() {
        kind if kind.is_file() => ShareKind::File,
        kind if kind.is_dir() => ShareKind::Directory,
        _ => return Err(NotOpened::Special),
    };
    Ok(OpenedShare { kind, file, metadata })
}

fn why_not(errno: Errno) -> NotOpened {
    match errno {
        // A file in place of a directory means that the path does not exist.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => NotOpened::Absent,
        Errno::XDEV | Errno::LOOP => NotOpened::Outside,
        // The kernel returns these for a socket, or for a device without a driver.
        Errno::NXIO | Errno::NODEV => NotOpened::Special,
        Errno::ACCESS | Errno::PERM => NotOpened::Denied,
        errno => NotOpened::Failed(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn roots(dir: &Path) -> Roots {
        Roots::open([("films".parse().unwrap(), dir.to_owned())])
    }

    fn open(roots: &Roots, path: &str) -> Result<ShareKind, NotOpened> {
        let opened = roots.open_at(&"films".parse().unwrap(), &path.parse().unwrap());
        opened.map(|opened| opened.kind)
    }

    #[test]
    fn only_files_below_a_root_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("films");
        std::fs::create_dir_all(dir.join("new/deep")).unwrap();
        std::fs::write(dir.join("new/a.mp4"), b"x").unwrap();
        std::fs::write(place.path().join("secret"), b"x").unwrap();
        symlink("../secret", dir.join("out")).unwrap();
        symlink(place.path().join("secret"), dir.join("absolute")).unwrap();
        symlink("..", dir.join("up")).unwrap();
        symlink("new/a.mp4", dir.join("inside")).unwrap();
        symlink("/proc/self/root", dir.join("magic")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.join("socket")).unwrap();
        let roots = roots(&dir);
        let open = |path: &str| open(&roots, path);
        assert_eq!(open("new/a.mp4").unwrap(), ShareKind::File);
        assert_eq!(open("inside").unwrap(), ShareKind::File);
        assert_eq!(open("new/deep").unwrap(), ShareKind::Directory);
        assert_eq!(open("").unwrap(), ShareKind::Directory);
        for outside in ["out", "absolute", "up/secret", "up", "magic"] {
            assert!(matches!(open(outside), Err(NotOpened::Outside)), "{outside}");
        }
        for absent in ["absent", "new/a.mp4/x", "absent/x"] {
            assert!(matches!(open(absent), Err(NotOpened::Absent)), "{absent}");
        }
        assert!(matches!(open("socket"), Err(NotOpened::Special)));
        let elsewhere = roots.open_at(&"other".parse().unwrap(), &"x".parse().unwrap());
        assert!(matches!(elsewhere, Err(NotOpened::NoRoot)));
    }

    #[test]
    fn a_root_stays_the_directory_that_was_opened() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("films");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("a"), b"x").unwrap();
        let roots = roots(&dir);
        std::fs::rename(&dir, place.path().join("moved")).unwrap();
        symlink("/etc", &dir).unwrap();
        assert!(open(&roots, "a").is_ok());
        let error = open(&roots, "passwd").unwrap_err().to_string();
        assert!(error.contains("no longer the directory"), "{error}");
    }

    #[test]
    fn a_missing_root_is_reported_until_it_appears() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("films");
        let roots = roots(&dir);
        let error = open(&roots, "a").unwrap_err().to_string();
        assert!(
            error.contains("the directory of its root is not available: No such file"),
            "{error}"
        );
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("a"), b"x").unwrap();
        assert!(open(&roots, "a").unwrap_err().to_string().contains("it came just now"));
        assert_eq!(roots.shared_dirs().reopen_changed().len(), 1);
        assert!(open(&roots, "a").is_ok());
        assert!(roots.shared_dirs().reopen_changed().is_empty(), "it is open");
    }
}
