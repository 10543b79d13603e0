//! Open directories of the share roots: each is kept until another directory has its path, which is then
//! opened instead.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat};
use rustix::io::Errno;

use super::dir_entry::{beneath, entry};
use super::root_id_file::{self, ROOT_ID_FILE, is_root_id_file};
use crate::share_expiry::{RootId, RootName, SharedFileIdentity};
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
    /// The id of the root on record. Another directory is not used. None while no id is on record.
    expected: ArcSwapOption<RootId>,
}

/// A directory, as opened. A path handle (`O_PATH`) is enough.
#[derive(Debug)]
struct OpenRoot {
    handle: OwnedFd,
    /// When it was opened, if that was after the start, and another directory or none was open before.
    reopened: Option<Instant>,
    /// Whether any shared file was found in it.
    has_shared: AtomicBool,
    /// The id in its file, at the last look.
    id: ArcSwap<FoundRootId>,
}

/// The id in the file of a root; none without a valid file. Or why it cannot be read.
type FoundRootId = Result<Option<RootId>, Errno>;

impl OpenRoot {
    fn new(handle: OwnedFd, reopened: Option<Instant>) -> Arc<Self> {
        let id = ArcSwap::from_pointee(root_id_file::read(&handle));
        Arc::new(OpenRoot { handle, reopened, has_shared: AtomicBool::new(false), id })
    }

    /// Why it is not the directory with this id; none if it is.
    fn is_other(&self, expected: RootId, path: &Path) -> Option<String> {
        let found = match **self.id.load() {
            Ok(Some(found)) if found == expected => return None,
            Ok(Some(found)) => format!("has the id {found}"),
            Ok(None) => "has no id".to_owned(),
            Err(errno) => {
                return Some(format!("its file {ROOT_ID_FILE} cannot be read: {errno}"));
            }
        };
        let file = path.join(ROOT_ID_FILE);
        let file = file.display();
        Some(format!(
            "it is not the directory on record: its file {ROOT_ID_FILE} {found}. Mount the right directory. To use \
             this one: echo {expected} > {file}"
        ))
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
    /// It is another directory than the one on record.
    #[error("{0}")]
    Other(String),
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
        let (held, expected) = (ArcSwapOption::empty(), ArcSwapOption::empty());
        let dir = SharedDir { name, path, held, expected };
        dir.held.store(open(&dir).ok().map(|handle| OpenRoot::new(handle, None)));
        dir
    }

    /// The id of the root on record, from now on.
    pub(super) fn set_expected(&self, id: Option<RootId>) {
        if self.expected.load().as_deref() != id.as_ref() {
            self.expected.store(id.map(Arc::new));
        }
    }

    /// The id of the root on record.
    pub(super) fn expected(&self) -> Option<RootId> {
        self.expected.load().as_deref().copied()
    }

    /// The directory, if it ever existed, and is the one on record.
    pub fn reached(self: &Arc<Self>) -> Result<ReachableRoot, RootUnreachable> {
        let root = self.opened()?;
        let expected = self.expected.load();
        let other = expected.as_deref().and_then(|id| root.held.is_other(*id, &self.path));
        other.map_or(Ok(root), |why| Err(RootUnreachable::Other(why)))
    }

    /// The directory, if it ever existed.
    pub(super) fn opened(self: &Arc<Self>) -> Result<ReachableRoot, RootUnreachable> {
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
        let is_held = self.opened().is_ok_and(|opened| opened.is(&handle).unwrap_or(false));
        if !is_held {
            self.held.store(Some(OpenRoot::new(handle, Some(Instant::now()))));
        }
        !is_held
    }

    /// Reads the id in its file again. An operator may have written it meanwhile.
    pub(super) fn read_id(&self) {
        let Some(held) = &*self.held.load() else { return };
        let read = root_id_file::read(&held.handle);
        // A disk that fails for a moment is still the same directory.
        let was_known = matches!(**held.id.load(), Ok(Some(_)));
        if read.is_ok() || !was_known {
            held.id.store(Arc::new(read));
        }
    }

    /// The id in its file. Writes `new` if it has none. None while it is not at its path, or is empty: it may be a
    /// directory where nothing is mounted yet.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub(super) fn identify(self: &Arc<Self>, new: RootId) -> Result<Option<RootId>, Errno> {
        let Ok(root) = self.opened() else { return Ok(None) };
        if root.displaced().is_some() || root.is_empty()? {
            return Ok(None);
        }
        // Another root may have the same directory, so the last look is not enough.
        let id = match root_id_file::read(&root)? {
            Some(id) => id,
            None => root_id_file::write(&root, new)?,
        };
        self.read_id();
        Ok(Some(id))
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
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                !matches!(name, b"." | b"..") && !is_root_id_file(name)
            }
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
