//! The directories that may be shared from, and opening what is below them.
//!
//! **Invariant:** nothing outside a root is ever opened, whatever symlinks and renames happen at
//! the same time: the kernel resolves each path beneath the root's own handle.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use reelyard_actors::share_expiry::{
    RootName, ShareKind, ShareLocation, SharePath, SharedFileIdentity,
};
use reelyard_actors::share_files::{RootUnreachable, SharedDir, SharedDirs};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// How often opening is tried while somebody renames directories above the path.
const TRIES: usize = 16;

/// The directories that may be shared from. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Roots(SharedDirs);

/// What a share stands for, opened.
#[derive(Debug)]
pub struct OpenedShare {
    /// A file, or a directory.
    pub kind: ShareKind,
    /// It.
    pub file: File,
    /// What the system says of it.
    pub metadata: Metadata,
}

impl OpenedShare {
    /// Whether what is in it is what was in it when it was opened. Its name may be another, and who
    /// may read it: with that only the change time of the inode moves.
    pub(super) fn is_unchanged(&self) -> io::Result<bool> {
        let contents =
            |metadata: &Metadata| (metadata.size(), metadata.mtime(), metadata.mtime_nsec());
        Ok(contents(&self.file.metadata()?) == contents(&self.metadata))
    }
}

/// Why something is not opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// No root has this name.
    #[error("no share root has this name")]
    NoRoot,
    /// There is nothing at this path.
    #[error("the file or directory does not exist")]
    Absent,
    /// A symlink on the way leads out of the root, or is absolute, which the kernel does not tell apart.
    #[error(
        "a symlink is absolute or leads out of the root: only relative symlinks inside the root are followed"
    )]
    Outside,
    /// It is a device, a socket or a pipe.
    #[error("it is neither a file nor a directory")]
    Special,
    /// The system does not let this process read it.
    #[error("permission denied")]
    Denied,
    /// The disk, or the system.
    #[error("it cannot be opened: {0}")]
    Failed(#[source] io::Error),
}

impl Roots {
    /// These directories, opened as far as they are there.
    pub fn open(named: impl IntoIterator<Item = (RootName, PathBuf)>) -> Self {
        let dirs = named.into_iter().map(|(name, path)| SharedDir::new(name, path));
        Roots(SharedDirs::new(dirs))
    }

    /// Replaces the directories by these, for every clone. Blocks on the disk.
    pub fn change(&self, named: impl IntoIterator<Item = (RootName, PathBuf)>) {
        self.0.change(named);
    }

    /// The names of all of them, in order.
    pub fn names(&self) -> Vec<RootName> {
        self.0.names()
    }

    /// The same directories, for whoever moves what is in them, notices what is gone, and opens what
    /// has come.
    pub fn shared_dirs(&self) -> SharedDirs {
        self.0.clone()
    }

    /// Whether this file is at `place`.
    pub(super) fn is_at(&self, place: &ShareLocation, file: &SharedFileIdentity) -> bool {
        let Ok(root) = self.0.reached(&place.root) else { return false };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let opened = openat2(&root, place.path.as_str(), flags, Mode::empty(), resolve);
        let identity = opened.map_err(io::Error::from).and_then(SharedFileIdentity::of);
        identity.is_ok_and(|there| there.is(file))
    }

    /// Opens what is at `path` below `root`. Symlinks are followed as long as they stay below it.
    /// Blocks on the disk.
    pub fn open_at(&self, root: &RootName, path: &SharePath) -> Result<OpenedShare, NotOpened> {
        let root = self.0.reached(root)?;
        let path = if path.as_str().is_empty() { "." } else { path.as_str() };
        match open_beneath(&root, path.as_bytes()) {
            // It may be in the directory that is meant.
            Err(NotOpened::Absent) => Err(root.displaced().map_or(NotOpened::Absent, away)),
            opened => opened,
        }
    }
}

fn away(why: String) -> NotOpened {
    NotOpened::Failed(io::Error::other(format!(
        "the directory of its root is not available: {why}"
    )))
}

impl From<RootUnreachable> for NotOpened {
    fn from(why: RootUnreachable) -> Self {
        match why {
            RootUnreachable::NoRoot => NotOpened::NoRoot,
            RootUnreachable::Away(why) => away(why),
        }
    }
}

/// Opens the file or directory at `path`, which never leads out of `dir`.
pub(super) fn open_beneath(dir: impl AsFd, path: &[u8]) -> Result<OpenedShare, NotOpened> {
    // Without NONBLOCK, opening a pipe waits for whoever writes into it.
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
        // A file where a directory is to be is the same as nothing there.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => NotOpened::Absent,
        Errno::XDEV | Errno::LOOP => NotOpened::Outside,
        // What opening a socket or a device without a driver answers.
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
    fn only_what_is_below_a_root_is_opened() {
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
    fn a_root_is_where_it_was_opened_whatever_takes_its_name_later() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("films");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("a"), b"x").unwrap();
        let roots = roots(&dir);
        std::fs::rename(&dir, place.path().join("moved")).unwrap();
        symlink("/etc", &dir).unwrap();
        assert!(open(&roots, "a").is_ok());
        let told = open(&roots, "passwd").unwrap_err().to_string();
        assert!(told.contains("no longer the directory"), "{told}");
    }

    #[test]
    fn a_root_that_is_not_there_is_told_as_such_until_it_comes() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("films");
        let roots = roots(&dir);
        let told = open(&roots, "a").unwrap_err().to_string();
        assert!(
            told.contains("the directory of its root is not available: No such file"),
            "{told}"
        );
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("a"), b"x").unwrap();
        assert!(open(&roots, "a").unwrap_err().to_string().contains("it came just now"));
        assert_eq!(roots.shared_dirs().reopen_changed().len(), 1);
        assert!(open(&roots, "a").is_ok());
        assert!(roots.shared_dirs().reopen_changed().is_empty(), "it is open");
    }
}
