//! Watches the inputs: the kernel reports changes at once where it can. A report only starts a check of
//! an input; the result of the check counts. Checks also run at their interval.
//!
//! The directories of an input are watched, never the input's inode. This includes every entry on its
//! path, also links. So an input may be replaced, deleted and created again, or appear for the first
//! time, in any directory. A watch that fails is tried again at the next check.

pub mod interest;
pub mod path_entries;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use reelyard_core::mounts;

use self::interest::{Interest, Weight};
use self::path_entries::{PathEntries, resolve_path};
use super::views::NoticedBy;

/// Called when something changed, on a thread of the watcher. It must not block.
pub type ChangeNotifier = Box<dyn Fn() + Send + Sync>;

/// How often paths are followed again because they changed while the watch began.
const ATTEMPTS: usize = 3;

/// After this many quiet looks every directory is watched again. The kernel drops a watch without a report when
/// a file system is unmounted, and the same one may be mounted again.
const QUIET_LOOKS: u32 = 30;

/// Something to be looked out for.
#[derive(Clone, Copy, Debug)]
pub enum WatchTarget<'a> {
    /// A file at this path, of any inode.
    File(&'a Path),
    /// A directory: changes of its names are reported.
    Listing(&'a Path),
    /// A directory in which every change of a file with this prefix is relevant.
    Prefixed(&'a Path, &'static str),
}

impl WatchTarget<'_> {
    fn path(&self) -> &Path {
        match self {
            WatchTarget::File(path)
            | WatchTarget::Listing(path)
            | WatchTarget::Prefixed(path, _) => path,
        }
    }
}

/// The watch over the inputs of one kind.
#[derive(Debug, Default)]
pub struct InputWatch {
    /// None if the configuration switches watching off.
    hub: Option<Arc<InputWatchShared>>,
    /// None before anything is watched, and after the watcher failed.
    watcher: Option<RecommendedWatcher>,
    /// The directories watched, with device and inode of each.
    dirs: BTreeMap<PathBuf, (u64, u64)>,
    /// Looks without a report since every directory was watched again.
    quiet_looks: u32,
}

/// The state that the watcher's thread and the checks share.
struct InputWatchShared {
    notifier: ChangeNotifier,
    /// Whether `notifier` was called since the last look began: once is enough.
    is_notified: AtomicBool,
    interest: Mutex<Interest>,
    /// Entries that were renamed into place, and not written since.
    replaced: Mutex<HashSet<PathBuf>>,
    /// Whether the watcher reported an error of its own. Then it is created again.
    failed: AtomicBool,
    /// How often the kernel's queue overflowed.
    overflows: AtomicU64,
}

impl std::fmt::Debug for InputWatchShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("interest", &self.interest).finish_non_exhaustive()
    }
}

/// The state of the watch after [`InputWatch::set_targets`].
#[derive(Clone, Debug, Default)]
pub struct WatchReport {
    /// How changes of each input are noticed, in the order of the inputs.
    pub noticed_by: Vec<NoticedBy>,
    /// Whether each was renamed into place since the last call.
    pub replaced: Vec<bool>,
}

impl InputWatch {
    /// Begins to watch, and calls `notifier` once for all changes until the next [`InputWatch::set_targets`].
    pub fn with_notifier(notifier: ChangeNotifier) -> Self {
        let hub = InputWatchShared {
            notifier,
            is_notified: AtomicBool::new(false),
            interest: Mutex::default(),
            replaced: Mutex::default(),
            failed: AtomicBool::new(false),
            overflows: AtomicU64::new(0),
        };
        InputWatch { hub: Some(Arc::new(hub)), ..InputWatch::default() }
    }

    /// How often the kernel's queue of changes overflowed since the start. Each time every input is
    /// checked.
    pub fn overflows(&self) -> u64 {
        self.hub.as_ref().map_or(0, |hub| hub.overflows.load(Ordering::Relaxed))
    }

    /// Watches exactly `sought`. Call it at the beginning of a check: any change from then on is
    /// reported.
    pub fn set_targets(&mut self, sought: &[WatchTarget<'_>]) -> WatchReport {
        let Some(hub) = self.hub.clone() else {
            let why = "catalog.watch is \"poll\"".to_owned();
            let noticed_by = vec![NoticedBy::Polling { why }; sought.len()];
            return WatchReport { noticed_by, replaced: vec![false; sought.len()] };
        };
        let had_news = hub.is_notified.swap(false, Ordering::SeqCst);
        self.quiet_looks += 1;
        let mut is_quiet = !had_news && self.quiet_looks <= QUIET_LOOKS;
        if !is_quiet {
            self.quiet_looks = 0;
        }
        if hub.failed.swap(false, Ordering::SeqCst) {
            self.watcher = None;
            self.dirs.clear();
        }
        let mut all = resolve_all(sought);
        let mut unwatched = BTreeMap::new();
        for _ in 0..ATTEMPTS {
            unwatched = self.watch_all(&hub, sought, &all, is_quiet);
            let again = resolve_all(sought);
            if again == all {
                break;
            }
            all = again;
            is_quiet = false;
        }
        let replaced = std::mem::take(&mut *locked(&hub.replaced));
        WatchReport {
            noticed_by: all.iter().map(|followed| noticed_by(followed, &unwatched)).collect(),
            replaced: all
                .iter()
                .map(|followed| followed.entries.iter().any(|entry| replaced.contains(entry)))
                .collect(),
        }
    }

    /// Watches every directory that these paths need. If it is quiet, nothing was reported since the last call,
    /// so the directories watched then still are. Answers which cannot be watched, and why.
    fn watch_all(
        &mut self,
        hub: &Arc<InputWatchShared>,
        sought: &[WatchTarget<'_>],
        all: &[PathEntries],
        is_quiet: bool,
    ) -> BTreeMap<PathBuf, String> {
        let interest = interest_in(sought, all);
        let wanted = interest.dirs();
        *locked(&hub.interest) = interest;
        self.unwatch_surplus(&wanted);
        let mut unwatched = BTreeMap::new();
        for dir in wanted {
            if let Err(why) = self.watch_one(hub, &dir, is_quiet) {
                unwatched.insert(dir, why);
            }
        }
        unwatched
    }

    fn unwatch_surplus(&mut self, wanted: &BTreeSet<PathBuf>) {
        let surplus: Vec<PathBuf> =
            self.dirs.keys().filter(|dir| !wanted.contains(*dir)).cloned().collect();
        surplus.iter().for_each(|dir| self.unwatch(dir));
    }

    fn unwatch(&mut self, dir: &Path) {
        self.dirs.remove(dir);
        if let Some(watcher) = &mut self.watcher {
            // The watcher drops a deleted or moved directory without a call.
            let _ = watcher.unwatch(dir);
        }
    }

    /// Watches `dir`, unless it is quiet also if it should already be watched. The watcher drops a directory that is
    /// moved away, and does not notice its return. The move itself is reported.
    fn watch_one(
        &mut self,
        hub: &Arc<InputWatchShared>,
        dir: &Path,
        is_quiet: bool,
    ) -> Result<(), String> {
        let path = dir.display();
        // It counts as watched only after success.
        let watched = self.dirs.remove(dir);
        let metadata = std::fs::metadata(dir).map_err(|error| format!("{path}: {error}"))?;
        let identity = (metadata.dev(), metadata.ino());
        match watched {
            Some(watched) if watched != identity => self.unwatch(dir),
            Some(_) if is_quiet => {
                self.dirs.insert(dir.to_owned(), identity);
                return Ok(());
            }
            _ => {}
        }
        let figures = rustix::fs::statfs(dir).map_err(|error| format!("{path}: {error}"))?;
        if let Some(kind) = mounts::unwatchable_kind(&figures) {
            self.unwatch(dir);
            return Err(format!(
                "{path} is on {kind}, where changes by other machines are not reported"
            ));
        }
        let message_of = |error: notify::Error| format!("{path} cannot be watched: {error}");
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                self.dirs.clear();
                none.insert(watcher_of(hub).map_err(message_of)?)
            }
        };
        watcher.watch(dir, RecursiveMode::NonRecursive).map_err(message_of)?;
        self.dirs.insert(dir.to_owned(), identity);
        Ok(())
    }
}

fn watcher_of(hub: &Arc<InputWatchShared>) -> notify::Result<RecommendedWatcher> {
    let hub = Arc::clone(hub);
    notify::recommended_watcher(move |event: notify::Result<Event>| hub.on_watcher_event(event))
}

fn resolve_all(sought: &[WatchTarget<'_>]) -> Vec<PathEntries> {
    sought.iter().map(|one| resolve_path(one.path())).collect()
}

fn interest_in(sought: &[WatchTarget<'_>], all: &[PathEntries]) -> Interest {
    let mut interest = Interest::default();
    for (one, followed) in sought.iter().zip(all) {
        followed.entries.iter().for_each(|entry| interest.add_entry(entry.clone()));
        let Some(end) = &followed.end else { continue };
        match one {
            WatchTarget::File(_) => {}
            WatchTarget::Listing(_) => interest.add_listing(end.clone()),
            WatchTarget::Prefixed(_, prefix) => interest.add_prefixed(end.clone(), prefix),
        }
    }
    interest
}

/// How changes of the targets of these paths are noticed.
fn noticed_by(followed: &PathEntries, unwatched: &BTreeMap<PathBuf, String>) -> NoticedBy {
    let parents = followed.entries.iter().filter_map(|entry| entry.parent());
    let dirs = parents.chain(followed.end.as_deref());
    match dirs.filter_map(|dir| unwatched.get(dir)).next() {
        Some(why) => NoticedBy::Polling { why: why.clone() },
        None => NoticedBy::Events,
    }
}

impl InputWatchShared {
    /// Takes a report of the watcher.
    fn on_watcher_event(&self, event: notify::Result<Event>) {
        let is_news = match event {
            Ok(event) if event.need_rescan() => {
                self.overflows.fetch_add(1, Ordering::Relaxed);
                true
            }
            Ok(event) => self.weigh(&event),
            Err(_) => {
                self.failed.store(true, Ordering::SeqCst);
                true
            }
        };
        if is_news && !self.is_notified.swap(true, Ordering::SeqCst) {
            (self.notifier)();
        }
    }

    /// Whether an event is a reason to look.
    fn weigh(&self, event: &Event) -> bool {
        let interest = locked(&self.interest);
        let mut is_news = false;
        for path in &event.paths {
            match interest.weigh(&event.kind, path) {
                Weight::None => continue,
                Weight::Changed => {}
                Weight::Replaced => {
                    locked(&self.replaced).insert(path.clone());
                }
                Weight::Written => {
                    locked(&self.replaced).remove(path);
                }
            }
            is_news = true;
        }
        is_news
    }
}

/// A panic under the lock leaves no inconsistent state.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
