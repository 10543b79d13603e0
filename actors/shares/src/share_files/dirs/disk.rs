//! Changes of directories: renaming without losing the file that is there, on every file system.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fsync, linkat, openat, renameat, renameat_with,
    unlinkat,
};
use rustix::io::{Errno, Result};

use super::dir_entry::{entry, entry_now};
use crate::share_expiry::MoveRefused;

/// A name in an open directory.
#[derive(Clone, Copy, Debug)]
pub struct NameInDirectory<'a> {
    /// The open parent directory.
    pub dir: BorrowedFd<'a>,
    /// The name in the directory.
    pub name: &'a str,
}

/// The operations of a file system, so that tests can replace them.
pub trait ShareFileSystem: fmt::Debug + Send + Sync {
    /// Renames a file, and replaces an existing one.
    fn rename(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()>;

    /// Renames a file to a free name. Some file systems cannot do this.
    fn rename_to_free(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()>;

    /// Gives a file one more name, which must be free.
    fn link(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()>;

    /// Takes a name from a file.
    fn unlink(&self, at: NameInDirectory<'_>) -> Result<()>;

    /// Entries of a directory survive a power loss, too.
    fn sync(&self, dir: BorrowedFd<'_>) -> Result<()>;
}

/// The system's file operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFileSystem;

impl ShareFileSystem for SystemFileSystem {
    fn rename(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()> {
        renameat(from.dir, from.name, to.dir, to.name)
    }

    fn rename_to_free(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()> {
        renameat_with(from.dir, from.name, to.dir, to.name, RenameFlags::NOREPLACE)
    }

    fn link(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> Result<()> {
        linkat(from.dir, from.name, to.dir, to.name, AtFlags::empty())
    }

    fn unlink(&self, at: NameInDirectory<'_>) -> Result<()> {
        unlinkat(at.dir, at.name, AtFlags::empty())
    }

    fn sync(&self, dir: BorrowedFd<'_>) -> Result<()> {
        fsync(dir)
    }
}

/// Why something was not renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRenamed {
    /// The error of the system.
    By(Errno),
    /// The operation was not done, for this reason.
    Refused(MoveRefused),
    /// The file may have both names, or only the new one.
    Halfway(Errno),
}

/// Renames a file, and replaces an existing one only on request.
pub(super) fn rename(
    disk: &dyn ShareFileSystem,
    from: NameInDirectory<'_>,
    to: NameInDirectory<'_>,
    kind: FileType,
    overwrite: bool,
) -> std::result::Result<(), NotRenamed> {
    let renamed = if overwrite { disk.rename(from, to) } else { disk.rename_to_free(from, to) };
    match renamed {
        Ok(()) => Ok(()),
        // The paths do not show a root inside another one.
        Err(Errno::INVAL) if kind == FileType::Directory && is_within(to.dir, from) => {
            Err(NotRenamed::Refused(MoveRefused::IntoItself))
        }
        // NFS and others do not support it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if !overwrite => {
            if kind == FileType::RegularFile {
                link_and_unlink(disk, from, to)
            } else {
                Err(NotRenamed::Refused(MoveRefused::NoSafeRename))
            }
        }
        Err(errno) => Err(NotRenamed::By(errno)),
    }
}

/// Whether a directory is the one named `of`, or lies in it, if that can be checked.
fn is_within(dir: BorrowedFd<'_>, of: NameInDirectory<'_>) -> bool {
    let up = |from: BorrowedFd<'_>, way: &str| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(from, way, flags, Mode::empty())?;
        let identity = entry(&opened, "")?.identity;
        Ok((opened, identity))
    };
    let climb = || -> Result<bool> {
        let of = entry(of.dir, of.name)?.identity;
        let (mut at, mut here) = up(dir, ".")?;
        while here != of {
            let (above, next) = up(at.as_fd(), "..")?;
            if next == here {
                return Ok(false);
            }
            (at, here) = (above, next);
        }
        Ok(true)
    };
    climb().unwrap_or(false)
}

/// A link fails if the name is taken, so that nothing is overwritten.
fn link_and_unlink(
    disk: &dyn ShareFileSystem,
    from: NameInDirectory<'_>,
    to: NameInDirectory<'_>,
) -> std::result::Result<(), NotRenamed> {
    disk.link(from, to).map_err(|errno| match errno {
        Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::MLINK => {
            NotRenamed::Refused(MoveRefused::NoSafeRename)
        }
        errno => NotRenamed::By(errno),
    })?;
    // The new name is durable before the old one is removed.
    disk.sync(to.dir).map_err(NotRenamed::Halfway)?;
    match disk.unlink(from) {
        // If a server gets the request twice, it answers the second time that the name is
        // missing.
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) if has_both_names(from, to) && disk.unlink(to).is_ok() => {
            Err(NotRenamed::By(errno))
        }
        Err(errno) => Err(NotRenamed::Halfway(errno)),
    }
}

/// Whether a file surely has both names, so that it is not lost with one of them.
fn has_both_names(from: NameInDirectory<'_>, to: NameInDirectory<'_>) -> bool {
    match (entry_now(from.dir, from.name), entry_now(to.dir, to.name)) {
        (Ok(old), Ok(new)) => old.identity == new.identity && old.names > 1,
        _ => false,
    }
}
