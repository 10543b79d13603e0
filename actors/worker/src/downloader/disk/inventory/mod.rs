//! The files of a destination, as a full list or as the changes since a cursor.
//!
//! The kernel reports every name in the base directory that changes: by the worker's own copies and
//! deletions, and by other programs. Only the changed name is remembered. The file is checked when a
//! caller asks, so an answer is never older than its request.

pub mod changes;
pub mod dir_watch;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use reelyard_core::names::FileName;
use reelyard_protocol::worker::InventoryCursor;

use self::changes::ChangeLog;
use self::dir_watch::DirWatch;
use super::base_dir::{BaseDir, BaseDirEntry};

/// How many changed names are remembered. A node that asks every few seconds never misses this many. A
/// caller that is further behind gets the full list.
const REMEMBERED: usize = 1 << 16;

/// The files of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseDirListing {
    /// All files, because the cursor is missing or too old.
    Whole {
        /// The files, sorted by name.
        files: Vec<BaseDirEntry>,
        /// The cursor for a later request of changes; none while the directory is not watched.
        cursor: Option<InventoryCursor>,
    },
    /// The changes since some cursor.
    Changes {
        /// Each name once.
        changes: Vec<BaseDirChange>,
        /// The cursor for the next request.
        cursor: InventoryCursor,
    },
}

/// The current state of a changed name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseDirChange {
    /// It is a file, perhaps another one than before.
    Held(BaseDirEntry),
    /// There is no such file.
    Gone(FileName),
}

/// Answers requests for the files of a base directory. Every call may block on the disk.
#[derive(Debug)]
pub struct InventoryService {
    base: Arc<BaseDir>,
    /// None while the directory is not watched.
    watched: Mutex<Option<WatchedBaseDir>>,
}

#[derive(Debug)]
struct WatchedBaseDir {
    watch: DirWatch,
    log: ChangeLog,
}

impl InventoryService {
    /// The inventory of `base`, which is watched from now on if possible.
    pub fn new(base: Arc<BaseDir>) -> Self {
        let watched = begin(&base).inspect_err(warn_unwatched).ok();
        InventoryService { base, watched: Mutex::new(watched) }
    }

    /// The changes since `cursor`. With an unknown cursor or none, everything.
    pub fn list(&self, since: Option<InventoryCursor>) -> io::Result<BaseDirListing> {
        let (cursor, names) = self.changed_since(since);
        match (cursor, names) {
            (Some(cursor), Some(names)) => {
                let changes = names.into_iter().map(|name| self.look_at(&name));
                Ok(BaseDirListing::Changes { changes: changes.collect::<io::Result<_>>()?, cursor })
            }
            // A change during the listing has a number after the cursor, so it is reported again.
            (cursor, _) => Ok(BaseDirListing::Whole { files: self.base.entries()?, cursor }),
        }
    }

    fn changed_since(
        &self,
        since: Option<InventoryCursor>,
    ) -> (Option<InventoryCursor>, Option<Vec<Arc<FileName>>>) {
        // A panic under the lock leaves at most an unread change, and no cursor after it.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if !watched.as_mut().is_some_and(WatchedBaseDir::catch_up) {
            let was_watched = watched.is_some();
            let begun = begin(&self.base);
            *watched = begun
                .inspect_err(|error| {
                    if was_watched {
                        warn_unwatched(error)
                    }
                })
                .ok();
        }
        match &*watched {
            Some(WatchedBaseDir { log, .. }) => {
                (Some(log.cursor()), since.and_then(|since| log.since(since)))
            }
            None => (None, None),
        }
    }

    fn look_at(&self, name: &FileName) -> io::Result<BaseDirChange> {
        let found = self.base.entry(name)?;
        Ok(found.map_or_else(|| BaseDirChange::Gone(name.clone()), BaseDirChange::Held))
    }
}

/// Begins a watch with a new number.
fn begin(base: &BaseDir) -> io::Result<WatchedBaseDir> {
    let watch = DirWatch::over(base.as_fd())?;
    Ok(WatchedBaseDir { watch, log: ChangeLog::new(fastrand::u64(..), REMEMBERED) })
}

fn warn_unwatched(error: &io::Error) {
    tracing::warn!(%error, "changes of the base directory cannot be watched: nodes get full lists");
}

impl WatchedBaseDir {
    /// Reads the changes. False if some of them are unknown.
    fn catch_up(&mut self) -> bool {
        let WatchedBaseDir { watch, log } = self;
        let caught_up = watch.drain(|name| {
            // The kernel reports only valid file names.
            if let Ok(name) = FileName::new(name) {
                log.changed(name);
            }
        });
        caught_up.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    use reelyard_protocol::worker::TaskId;

    use super::*;

    struct InventoryFixture {
        dir: tempfile::TempDir,
        base: Arc<BaseDir>,
        inventory: InventoryService,
    }

    impl InventoryFixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("first"), "1").unwrap();
            let base = Arc::new(BaseDir::open(dir.path()).unwrap());
            InventoryFixture { inventory: InventoryService::new(Arc::clone(&base)), base, dir }
        }

        fn path(&self) -> &Path {
            self.dir.path()
        }

        fn whole(&self) -> (Vec<String>, InventoryCursor) {
            match self.inventory.list(None).unwrap() {
                BaseDirListing::Whole { files, cursor } => {
                    (files.iter().map(|file| file.name.to_string()).collect(), cursor.unwrap())
                }
                other => panic!("{other:?}"),
            }
        }

        /// The lines `+` and `-` of the changes since then, sorted.
        fn changes(&self, since: InventoryCursor) -> (Vec<String>, InventoryCursor) {
            match self.inventory.list(Some(since)).unwrap() {
                BaseDirListing::Changes { changes, cursor } => {
                    let mut texts: Vec<String> = changes.iter().map(change_text).collect();
                    texts.sort();
                    (texts, cursor)
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn change_text(change: &BaseDirChange) -> String {
        match change {
            BaseDirChange::Held(entry) => format!("+{} {}", entry.name, entry.size),
            BaseDirChange::Gone(name) => format!("-{name}"),
        }
    }

    fn name(text: &str) -> FileName {
        FileName::new(text).unwrap()
    }

    #[test]
    fn copies_deletions_and_foreign_changes_are_in_the_next_list() {
        let place = InventoryFixture::new();
        let (files, cursor) = place.whole();
        assert_eq!(files, ["first"]);
        assert_eq!(place.changes(cursor), (vec![], cursor));

        let temp = place.base.create_temp(TaskId(1)).unwrap();
        temp.file().write_all(b"copy").unwrap();
        assert_eq!(place.changes(cursor).0, Vec::<String>::new(), "it is under way");
        temp.publish(&name("copied")).unwrap();
        place.base.unlink(&name("first")).unwrap();
        fs::write(place.path().join("by hand"), "22").unwrap();
        fs::create_dir(place.path().join("directory")).unwrap();
        let (changes, later) = place.changes(cursor);
        assert_eq!(changes, ["+by hand 2", "+copied 4", "-directory", "-first"]);

        fs::rename(place.path().join("by hand"), place.path().join("copied")).unwrap();
        assert_eq!(place.changes(later).0, ["+copied 2", "-by hand"]);
        // An answer that was lost is asked for again.
        assert_eq!(place.changes(cursor).0, ["+copied 2", "-by hand", "-directory", "-first"]);
    }

    #[test]
    fn a_cursor_of_another_watch_gets_everything() {
        let place = InventoryFixture::new();
        let (_, cursor) = place.whole();
        for other in [
            InventoryCursor { instance: cursor.instance ^ 1, ..cursor },
            InventoryCursor { change: cursor.change + 1, ..cursor },
        ] {
            assert!(matches!(
                place.inventory.list(Some(other)).unwrap(),
                BaseDirListing::Whole { .. }
            ));
        }
    }

    #[test]
    fn a_lost_watch_restarts_with_a_whole_list() {
        let place = InventoryFixture::new();
        let (_, cursor) = place.whole();
        *place.inventory.watched.lock().unwrap() = None;
        fs::write(place.path().join("unnoticed"), "").unwrap();
        assert!(matches!(
            place.inventory.list(Some(cursor)).unwrap(),
            BaseDirListing::Whole { .. }
        ));
        let (files, cursor) = place.whole();
        assert_eq!(files, ["first", "unnoticed"]);
        fs::write(place.path().join("noticed"), "").unwrap();
        assert_eq!(place.changes(cursor).0, ["+noticed 0"]);
    }

    #[test]
    fn a_directory_that_is_moved_is_watched_on() {
        let outer = tempfile::tempdir().unwrap();
        let (before, after) = (outer.path().join("before"), outer.path().join("after"));
        fs::create_dir(&before).unwrap();
        let inventory = InventoryService::new(Arc::new(BaseDir::open(&before).unwrap()));
        let BaseDirListing::Whole { cursor, .. } = inventory.list(None).unwrap() else {
            panic!("no list")
        };
        fs::rename(&before, &after).unwrap();
        fs::create_dir(&before).unwrap();
        fs::write(before.join("elsewhere"), "").unwrap();
        fs::write(after.join("here"), "").unwrap();
        let BaseDirListing::Changes { changes, .. } = inventory.list(cursor).unwrap() else {
            panic!("a list")
        };
        assert_eq!(changes.iter().map(change_text).collect::<Vec<_>>(), ["+here 0"]);
    }
}
