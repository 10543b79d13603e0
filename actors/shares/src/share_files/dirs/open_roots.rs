//! Open directories of the share roots: each is kept until another directory has its path, which is then
//! opened instead.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat};
use rustix::io::Errno;

use super::dir_entry::{beneath, entry};
use crate::share_expiry::{RootName, SharedFileIdentity};
use tokio::time::Instant;

/// One root with its directory.
#[derive(Debug)]
pub struct SharedDir {
    /// The configured name.
    pub name: RootName,
    /// The configured directory.
    pub path: PathBuf,
    /// None if it was never there.
    held: ArcSwapOption<OpenRoot>,
}

/// A directory, as opened. A path handle (`O_PATH`) is enough.
#[derive(Debug)]
struct OpenRoot {
    handle: OwnedFd,
    /// When it was opened, if that was after the start, and another directory or none was open before.
    reopened: Option<Instant>,
    /// Whether any shared file was found in it.
    has_shared: AtomicBool,
}

impl OpenRoot {
    fn new(handle: OwnedFd, reopened: Option<Instant>) -> Arc<Self> {
        Arc::new(OpenRoot { handle, reopened, has_shared: AtomicBool::new(false) })
    }
}

/// Why nothing is searched below a root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootUnreachable {
    /// No root has this name.
    #[error("no share root has this name")]
    NoRoot,
    /// It was never opened.
    #[error("the directory of its root does not exist: {0}")]
    Away(String),
}

/// A root that can be read. All files that are found with one value are of one directory, even if another
/// directory is opened in its place meanwhile.
#[derive(Clone, Debug)]
pub struct ReachableRoot {
    dir: Arc<SharedDir>,
    held: Arc<OpenRoot>,
}

fn open(dir: &SharedDir) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, &dir.path, flags, Mode::empty())
}

impl SharedDir {
    /// The directory of this name, opened if it exists.
    pub fn new(name: RootName, path: PathBuf) -> Self {
        let dir = SharedDir { name, path, held: ArcSwapOption::empty() };
        dir.held.store(open(&dir).ok().map(|handle| OpenRoot::new(handle, None)));
        dir
    }

    /// The directory, if it ever existed.
    pub fn reached(self: &Arc<Self>) -> Result<ReachableRoot, RootUnreachable> {
        match self.held.load_full() {
            Some(held) => Ok(ReachableRoot { dir: Arc::clone(self), held }),
            None => Err(RootUnreachable::Away(match open(self) {
                Ok(_) => "it came just now, and is opened in a moment".to_owned(),
                Err(error) => error.to_string(),
            })),
        }
    }

    /// Opens the directory at its path, if it differs from the open one.
    pub(super) fn reopen(self: &Arc<Self>) -> bool {
        let Ok(handle) = open(self) else { return false };
        let is_held = self.reached().is_ok_and(|reached| reached.is(&handle).unwrap_or(false));
        if !is_held {
            self.held.store(Some(OpenRoot::new(handle, Some(Instant::now()))));
        }
        !is_held
    }
}

impl ReachableRoot {
    fn is(&self, other: impl AsFd) -> Result<bool, Errno> {
        let which = |SharedFileIdentity { device, inode, .. }| (device, inode);
        let (held, other) = (entry(&self.held.handle, "")?, entry(other, "")?);
        Ok(which(held.identity) == which(other.identity))
    }

    /// Why this is not the configured directory; none if it is.
    pub fn displaced(&self) -> Option<String> {
        match open(&self.dir).and_then(|now| self.is(now)) {
            Ok(true) => None,
            Ok(false) => Some("it is no longer the directory that was opened".to_owned()),
            Err(error) => Some(format!("it cannot be read: {error}")),
        }
    }

    /// Whether it became another directory less than this long ago, or no shared file was found in it
    /// since then.
    pub(super) fn is_new(&self, since: Duration) -> bool {
        let has_shared = self.held.has_shared.load(Ordering::Relaxed);
        self.held.reopened.is_some_and(|at| at.elapsed() < since || !has_shared)
    }

    /// A shared file was found in it.
    pub(super) fn record_shared(&self) {
        self.held.has_shared.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_empty(&self) -> Result<bool, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut entries = Dir::new(beneath(self, ".", flags, ResolveFlags::empty())?)?;
        // The directory itself and its parent always exist.
        let other = entries.find(|entry| match entry {
            Ok(entry) => !matches!(entry.file_name().to_bytes(), b"." | b".."),
            Err(_) => true,
        });
        Ok(other.transpose()?.is_none())
    }
}

impl AsFd for ReachableRoot {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.handle.as_fd()
    }
}
