//! The directories of the share roots: checking paths in them, and moving files.
//!
//! **Invariant:** nothing outside them is ever changed. Every path is resolved beneath the handle of its
//! root, and paths of moves without following any symlink.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat};
use rustix::io::Errno;

use super::dir_entry::{SharedDirEntry, beneath, entry};
use super::disk::{NameInDirectory, NotRenamed, ShareFileSystem, SystemFileSystem, rename};
use super::open_roots::{ReachableRoot, RootUnreachable, SharedDir};
use super::root_id_file::is_root_id_file;
use crate::share_expiry::{
    MoveRefused, NewMove, RootId, RootName, ShareLocation, SharePath, SharedFileIdentity,
};

/// All of them. Cheap to clone; clones see the same, also after [`SharedDirs::change`]. Everything here
/// blocks on the disk.
#[derive(Clone, Debug)]
pub struct SharedDirs {
    pub(super) dirs: Arc<ArcSwap<BTreeMap<RootName, Arc<SharedDir>>>>,
    pub(in crate::share_files) disk: Arc<dyn ShareFileSystem>,
}

impl Default for SharedDirs {
    /// A set without roots.
    fn default() -> Self {
        SharedDirs::new([])
    }
}

/// Why a recorded move was not carried out, or not surely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotMoved {
    /// The file is still at the old path.
    Refused(MoveRefused),
    /// Another node may decide by now: nothing was changed.
    Deposed,
    /// The outcome is unknown: a later check of the disk decides.
    Unsure(String),
}

impl From<MoveRefused> for NotMoved {
    fn from(why: MoveRefused) -> Self {
        NotMoved::Refused(why)
    }
}

/// Roots that got their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentifiedRoots {
    /// The ids in their directories.
    pub found: BTreeMap<RootName, RootId>,
    /// Why a root has no id.
    pub failed: BTreeMap<RootName, String>,
}

/// The state of a path on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPresence {
    /// A file or directory exists.
    There,
    /// The path does not exist.
    Missing,
    /// The system gives no answer.
    Unclear,
}

/// The directory that contains the file, and the file's name in it.
pub(in crate::share_files) struct ParentDirectory<'a> {
    pub(in crate::share_files) dir: OwnedFd,
    name: &'a str,
}

/// A handle of the directory at `name` from `dir`, with its identity.
fn step(dir: impl AsFd, name: &str) -> Result<(OwnedFd, SharedFileIdentity), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(dir, name, flags, Mode::empty())?;
    let identity = entry(&dir, "")?.identity;
    Ok((dir, identity))
}

fn is_absent(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

fn refused(errno: Errno) -> MoveRefused {
    match errno {
        Errno::LOOP => MoveRefused::Symlink,
        Errno::EXIST => MoveRefused::TargetExists,
        Errno::NOTEMPTY => MoveRefused::TargetNotEmpty,
        Errno::ISDIR | Errno::NOTDIR => MoveRefused::OtherKind,
        Errno::XDEV => MoveRefused::OtherFileSystem,
        Errno::NOENT => MoveRefused::NoSource,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => MoveRefused::Denied,
        Errno::NAMETOOLONG => MoveRefused::TooLong,
        errno => MoveRefused::Failed(errno.raw_os_error()),
    }
}

impl ParentDirectory<'_> {
    pub(in crate::share_files) fn slot(&self) -> NameInDirectory<'_> {
        NameInDirectory { dir: self.dir.as_fd(), name: self.name }
    }

    pub(in crate::share_files) fn entry(&self) -> Result<Option<SharedDirEntry>, MoveRefused> {
        match entry(&self.dir, self.name) {
            Ok(entry) => Ok(Some(entry)),
            Err(errno) if is_absent(errno) => Ok(None),
            Err(errno) => Err(refused(errno)),
        }
    }

    pub(in crate::share_files) fn is_at(
        &self,
        file: &SharedFileIdentity,
    ) -> Result<bool, MoveRefused> {
        Ok(self.entry()?.is_some_and(|entry| entry.identity.is(file)))
    }
}

impl From<RootUnreachable> for MoveRefused {
    fn from(why: RootUnreachable) -> Self {
        match why {
            RootUnreachable::NoRoot => MoveRefused::NoRoot,
            RootUnreachable::Away(_) | RootUnreachable::Other(_) => MoveRefused::RootAway,
        }
    }
}

/// The directory that contains a path of a root; none if it does not exist.
pub(in crate::share_files) fn parent<'a>(
    root: &ReachableRoot,
    place: &'a ShareLocation,
) -> Result<Option<ParentDirectory<'a>>, MoveRefused> {
    let path = place.path.as_str();
    if path.is_empty() {
        return Err(MoveRefused::Root);
    }
    if is_root_id_file(path.as_bytes()) {
        return Err(MoveRefused::Special);
    }
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    match beneath(root, dir, flags, ResolveFlags::NO_SYMLINKS) {
        Ok(dir) => Ok(Some(ParentDirectory { dir, name })),
        Err(errno) if is_absent(errno) => Ok(None),
        Err(errno) => Err(refused(errno)),
    }
}

impl SharedDirs {
    /// Opens these directories.
    pub fn new(dirs: impl IntoIterator<Item = SharedDir>) -> Self {
        let dirs: BTreeMap<_, _> =
            dirs.into_iter().map(|dir| (dir.name.clone(), Arc::new(dir))).collect();
        SharedDirs { dirs: Arc::new(ArcSwap::from_pointee(dirs)), disk: Arc::new(SystemFileSystem) }
    }

    /// Replaces the directories by these. A root with the same name and path stays open. Work in a
    /// removed root ends.
    pub fn change(&self, named: impl IntoIterator<Item = (RootName, PathBuf)>) {
        let before = self.dirs.load();
        let opened = named.into_iter().map(|(name, path)| {
            let same = before.get(&name).filter(|dir| dir.path == path).cloned();
            let dir = same.unwrap_or_else(|| Arc::new(SharedDir::new(name.clone(), path)));
            if let Some(former) = before.get(&name) {
                dir.set_expected(former.expected());
            }
            (name, dir)
        });
        self.dirs.store(Arc::new(opened.collect()));
    }

    /// The same on another disk.
    pub fn on(self, disk: Arc<dyn ShareFileSystem>) -> Self {
        SharedDirs { disk, ..self }
    }

    /// The names of all roots.
    pub fn names(&self) -> Vec<RootName> {
        self.dirs.load().keys().cloned().collect()
    }

    /// The state of a path, as a link finds it: symlinks are followed if they stay within the root.
    pub fn presence(&self, root: &RootName, path: &SharePath) -> PathPresence {
        let Ok(dir) = self.reached(root) else { return PathPresence::Unclear };
        match beneath(&dir, path.as_str(), OFlags::PATH, ResolveFlags::empty()) {
            Ok(_) => {
                dir.record_shared();
                PathPresence::There
            }
            Err(errno) if is_absent(errno) => PathPresence::Missing,
            Err(_) => PathPresence::Unclear,
        }
    }

    /// Whether a file can be moved now, by the disk, and its identity.
    pub fn prepare(
        &self,
        from: &ShareLocation,
        to: &ShareLocation,
        overwrite: bool,
    ) -> Result<SharedFileIdentity, MoveRefused> {
        let roots = self.roots_of(from, to)?;
        are_in_place(&roots)?;
        let source = parent(&roots[0], from)?.ok_or(MoveRefused::NoSource)?;
        let file = source.entry()?.ok_or(MoveRefused::NoSource)?;
        match file.kind {
            FileType::RegularFile | FileType::Directory => {}
            FileType::Symlink => return Err(MoveRefused::Symlink),
            _ => return Err(MoveRefused::Special),
        }
        let target = parent(&roots[1], to)?.ok_or(MoveRefused::NoDirectory)?;
        if let Some(there) = target.entry()? {
            if there.identity.is(&file.identity) {
                return Err(MoveRefused::Same);
            }
            if !overwrite {
                return Err(MoveRefused::TargetExists);
            }
            if (there.kind == FileType::Directory) != (file.kind == FileType::Directory) {
                return Err(MoveRefused::OtherKind);
            }
        }
        if file.kind == FileType::Directory {
            let target = target.entry()?.map(|there| there.identity);
            for moved in [Some(file.identity), target].into_iter().flatten() {
                if self.holds_root(&moved) {
                    return Err(MoveRefused::HoldsRoot);
                }
            }
        }
        let device = |dir: &OwnedFd| entry(dir, "").map(|entry| entry.identity.device);
        if device(&source.dir).map_err(refused)? != device(&target.dir).map_err(refused)? {
            return Err(MoveRefused::OtherFileSystem);
        }
        Ok(file.identity)
    }

    /// Whether a root is this directory, or lies below it. A move would then make its configured path
    /// invalid.
    fn holds_root(&self, directory: &SharedFileIdentity) -> bool {
        self.dirs.load().values().filter_map(|dir| dir.opened().ok()).any(|root| {
            // A second handle of it, for going up, because the directories above may not be readable.
            let mut above = step(&root, ".");
            let mut below = None;
            while let Ok((dir, identity)) = above {
                if identity.is(directory) {
                    return true;
                }
                // The top directory is its own parent.
                if below.is_some_and(|below: SharedFileIdentity| below.is(&identity)) {
                    return false;
                }
                below = Some(identity);
                above = step(&dir, "..");
            }
            false
        })
    }

    /// Carries out a recorded move, if this node still `leads` right before it. The result is durable
    /// when this returns.
    ///
    /// # Errors
    /// Why nothing was moved, or why the outcome is unknown.
    pub fn carry_out(
        &self,
        new: &NewMove,
        overwrite: bool,
        leads: impl FnOnce() -> bool,
    ) -> Result<(), NotMoved> {
        let roots = self.roots_of(&new.from, &new.to)?;
        let source = parent(&roots[0], &new.from)?.ok_or(MoveRefused::NoSource)?;
        let target = parent(&roots[1], &new.to)?.ok_or(MoveRefused::NoDirectory)?;
        // If another file replaced it meanwhile, that file is not the recorded one.
        let found = |at: &ParentDirectory<'_>| -> Result<_, MoveRefused> {
            Ok(at.entry()?.filter(|entry| entry.identity.is(&new.file)))
        };
        let (at_source, at_target) = (found(&source)?, found(&target)?);
        if at_source.is_some() {
            are_in_place(&roots)?;
        }
        if !leads() {
            return Err(NotMoved::Deposed);
        }
        match (at_source, at_target) {
            (Some(file), _) => self.rename(new, &source, &target, file.kind, overwrite)?,
            // Another program has moved it there. Then a file with its old name must not replace it.
            (None, Some(_)) => {}
            (None, None) => return Err(MoveRefused::NoSource.into()),
        }
        let synced = self.disk.sync(target.dir.as_fd());
        let synced = synced.and_then(|()| self.disk.sync(source.dir.as_fd()));
        synced.map_err(|errno| NotMoved::Unsure(format!("the disk does not confirm it: {errno}")))
    }

    fn rename(
        &self,
        new: &NewMove,
        source: &ParentDirectory<'_>,
        target: &ParentDirectory<'_>,
        kind: FileType,
        overwrite: bool,
    ) -> Result<(), NotMoved> {
        match rename(&*self.disk, source.slot(), target.slot(), kind, overwrite) {
            Ok(()) => Ok(()),
            Err(NotRenamed::Refused(why)) => Err(why.into()),
            Err(NotRenamed::Halfway(errno)) => {
                Err(NotMoved::Unsure(format!("it may have both names: {errno}")))
            }
            // If a server gets the request twice, it may refuse it although it was executed.
            Err(NotRenamed::By(errno)) => {
                match (target.is_at(&new.file), source.is_at(&new.file)) {
                    (Ok(true), Ok(false)) => Ok(()),
                    (Ok(false), Ok(_)) => Err(refused(errno).into()),
                    _ => Err(NotMoved::Unsure(format!("it may have both names: {errno}"))),
                }
            }
        }
    }

    fn roots_of(
        &self,
        from: &ShareLocation,
        to: &ShareLocation,
    ) -> Result<[ReachableRoot; 2], MoveRefused> {
        Ok([self.reached(&from.root)?, self.reached(&to.root)?])
    }
}

impl SharedDirs {
    /// The open root of this name.
    pub fn reached(&self, root: &RootName) -> Result<ReachableRoot, RootUnreachable> {
        self.dirs.load().get(root).ok_or(RootUnreachable::NoRoot)?.reached()
    }

    /// Uses only directories with these ids from now on. A root without a recorded id is used as it is.
    pub fn set_expected(&self, ids: &BTreeMap<RootName, RootId>) {
        for dir in self.dirs.load().values() {
            dir.set_expected(ids.get(&dir.name).copied());
        }
    }

    /// The ids of the roots that are there and have none in `known`. A root whose file has no id gets a new one.
    /// Answers also why an id cannot be written.
    pub fn identify(&self, known: &BTreeMap<RootName, RootId>) -> IdentifiedRoots {
        let mut identified = IdentifiedRoots::default();
        for dir in self.dirs.load().values().filter(|dir| !known.contains_key(&dir.name)) {
            match dir.identify(RootId(fastrand::u128(..))) {
                Ok(None) => {}
                Ok(Some(id)) => {
                    identified.found.insert(dir.name.clone(), id);
                }
                Err(errno) => {
                    identified.failed.insert(dir.name.clone(), errno.to_string());
                }
            }
        }
        identified
    }

    /// Opens each directory that has appeared, or has replaced the open one; returns their names. Reads the ids of
    /// all roots again.
    pub fn reopen_changed(&self) -> Vec<RootName> {
        let dirs = self.dirs.load();
        dirs.values().for_each(|dir| dir.read_id());
        let came = dirs.values().filter(|dir| dir.reopen());
        came.map(|dir| dir.name.clone()).collect()
    }

    /// Whether a root has become another directory less than this long ago: missing files in it may still
    /// appear. The same is true while no shared file was found in it yet, because it may be the empty
    /// mount point.
    pub fn is_new(&self, root: &RootName, since: Duration) -> bool {
        self.reached(root).is_ok_and(|reached| reached.is_new(since))
    }

    /// The reason why a whole root cannot be reached, so that files below it may seem to be missing. None
    /// if the root is unchanged. An empty root counts as unmounted only if there `was_something` in it.
    pub fn unreachable(&self, root: &RootName, was_something: bool) -> Option<String> {
        let reached = match self.reached(root) {
            Ok(reached) => reached,
            Err(RootUnreachable::NoRoot) => return None,
            Err(RootUnreachable::Away(why)) => return Some(format!("it is not there: {why}")),
            Err(RootUnreachable::Other(why)) => return Some(why),
        };
        reached.displaced().or_else(|| match reached.is_empty() {
            Ok(is_empty) => (is_empty && was_something).then(|| "it is empty".to_owned()),
            Err(error) => Some(format!("it cannot be read: {error}")),
        })
    }
}

/// Refuses if one of these roots has no directory, or another directory, at its path.
fn are_in_place(roots: &[ReachableRoot]) -> Result<(), MoveRefused> {
    let is_away = roots.iter().any(|root| root.displaced().is_some());
    if is_away { Err(MoveRefused::RootAway) } else { Ok(()) }
}
