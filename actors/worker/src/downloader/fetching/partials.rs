//! Interrupted copies: their temporary files and their progress. Also the removal of useless ones, and
//! of all other leftovers in the directory of temporary files.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;

use crate::downloader::disk::base_dir::BaseDir;
use crate::downloader::settings::DownloaderConfig;
use crate::kept_state::partial::Partial;
use crate::kept_state::state_store::StateStore;
use crate::kept_state::state_store_error::StateStoreError;

/// How long leftovers of copies are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepFor {
    /// A copy that can be resumed.
    pub partial: Duration,
    /// A temporary file without a record, from cfw or from a program that died.
    pub unknown: Duration,
}

impl KeepFor {
    /// The settings of an operator.
    pub fn of(config: &DownloaderConfig) -> Self {
        KeepFor { partial: config.resume_within, unknown: config.stale_after }
    }
}

impl Default for KeepFor {
    fn default() -> Self {
        KeepFor::of(&DownloaderConfig::default())
    }
}

/// The interrupted copies of one destination.
pub struct Partials {
    base: Arc<BaseDir>,
    store: Arc<StateStore>,
    clock: Clock,
    keep_for: LiveSetting<KeepFor>,
    claimed: Mutex<BTreeSet<FileName>>,
    /// Notified when a claim ends.
    freed: Condvar,
}

/// The exclusive right to start or resume the copy of one name.
pub struct PartialClaim {
    partials: Arc<Partials>,
    name: FileName,
}

/// The numbers of removed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Interrupted copies that were not resumed in time.
    pub partials: usize,
    /// Temporary files without a record.
    pub unknown: usize,
}

/// Why a collection stopped early.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The directory of temporary files fails.
    #[error("the directory of temporary files cannot be read or changed: {0}")]
    Io(#[from] io::Error),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StateStoreError),
}

impl Partials {
    /// The interrupted copies in `base` that `store` has.
    pub fn new(
        base: Arc<BaseDir>,
        store: Arc<StateStore>,
        clock: Clock,
        keep_for: impl Into<LiveSetting<KeepFor>>,
    ) -> Arc<Self> {
        let keep_for = keep_for.into();
        let (claimed, freed) = (Mutex::default(), Condvar::new());
        Arc::new(Partials { base, store, clock, keep_for, claimed, freed })
    }

    /// Claims the copies of `name`. None while another claim on them exists.
    pub fn claim(self: &Arc<Self>, name: &FileName) -> Option<PartialClaim> {
        let is_free = self.claimed().insert(name.clone());
        is_free.then(|| PartialClaim { partials: Arc::clone(self), name: name.clone() })
    }

    /// The same, but waits until another claim ends. None if `patience` has passed before. Blocks.
    pub fn claim_within(
        self: &Arc<Self>,
        name: &FileName,
        patience: Duration,
    ) -> Option<PartialClaim> {
        let waited = self
            .freed
            .wait_timeout_while(self.claimed(), patience, |claimed| claimed.contains(name));
        let (mut claimed, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_free = claimed.insert(name.clone());
        is_free.then(|| PartialClaim { partials: Arc::clone(self), name: name.clone() })
    }

    /// Removes interrupted copies that were not resumed in time, and temporary files without a record.
    /// A file of this worker is removed if its task does not run, any other file if it was not changed
    /// for a long time. Files of running copies, and everything outside the directory of temporary
    /// files, are kept.
    pub fn collect(self: &Arc<Self>) -> Result<Collected, CollectError> {
        let now = self.clock.now();
        let mut collected = Collected::default();
        // The tasks at work are read before the stored copies, because an interrupted copy is stored
        // before its work ends.
        let entries = self.base.temp_entries()?.into_iter().map(|entry| {
            let task = task_of(&entry.name);
            let is_at_work = task.is_some_and(|task| self.base.is_at_work(task));
            (entry, task, is_at_work)
        });
        let entries: Vec<_> = entries.collect();
        let mut wanted = BTreeSet::new();
        for partial in self.store.partials()? {
            let expired = now >= partial.at.after(self.keep_for.now().partial);
            if expired && self.remove(&partial) {
                tracing::info!(
                    file = partial.name.to_string(),
                    "interrupted copy removed: it was not resumed in time"
                );
                collected.partials += 1;
            } else {
                wanted.insert(partial.began);
            }
        }
        for (entry, task, is_at_work) in entries {
            let stays = match task {
                Some(task) => is_at_work || wanted.contains(&task),
                None => now < entry.modified.after(self.keep_for.now().unknown),
            };
            if !stays && self.base.remove_temp_named(entry.name.as_bytes())? {
                tracing::info!(
                    file = entry.name.to_string(),
                    size = entry.size,
                    "stale temporary file removed"
                );
                collected.unknown += 1;
            }
        }
        Ok(collected)
    }

    /// Collects. Failures are only logged.
    pub fn collect_or_warn(self: &Arc<Self>) {
        if let Err(error) = self.collect() {
            tracing::warn!(%error, "stale temporary files cannot be removed");
        }
    }

    /// Removes the oldest interrupted copy that is not being resumed, to free its room. Answers whether
    /// there was one.
    pub fn give_up_oldest(self: &Arc<Self>) -> bool {
        let mut partials = self.store.partials().unwrap_or_else(|error| {
            tracing::warn!(%error, "interrupted copies cannot be read");
            Vec::new()
        });
        partials.sort_by_key(|partial| partial.at);
        let gone = partials.iter().find(|partial| self.remove(partial));
        if let Some(partial) = gone {
            tracing::info!(
                file = partial.name.to_string(),
                "interrupted copy removed to free disk space"
            );
        }
        gone.is_some()
    }

    /// Removes an interrupted copy, unless it is being resumed.
    fn remove(self: &Arc<Self>, partial: &Partial) -> bool {
        self.claim(&partial.name).is_some_and(|claim| claim.forget(partial.began))
    }

    fn claimed(&self) -> MutexGuard<'_, BTreeSet<FileName>> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialClaim {
    /// The stored part of the copy, if it can be resumed.
    pub fn kept(&self) -> Option<Partial> {
        let kept = self.partials.store.partial(&self.name).unwrap_or_else(|error| {
            tracing::warn!(file = self.name.to_string(), %error, "an interrupted copy cannot be resumed");
            None
        })?;
        // A hash is resumed only if at least one more byte follows.
        let is_sound = kept.trunk.is_sound() && kept.trunk.length() < kept.size;
        if !is_sound {
            self.forget(kept.began);
        }
        is_sound.then_some(kept)
    }

    /// Stores the position of the copy. The record is durable when this returns.
    pub fn keep(&self, partial: &Partial) -> Result<(), StateStoreError> {
        self.partials.store.keep_partial(partial)
    }

    /// Removes the record and the file of the copy that the task `began` started. Answers whether both
    /// were removed.
    pub fn forget(&self, began: TaskId) -> bool {
        let removed = self.partials.base.remove_temp(began).map_err(CollectError::from);
        let forgotten =
            removed.and_then(|()| Ok(self.partials.store.forget_partial(&self.name)?));
        forgotten
            .inspect_err(|error| {
                tracing::warn!(file = self.name.to_string(), %error, "an interrupted copy cannot be removed");
            })
            .is_ok()
    }

    /// Removes the record, because the file has its final name.
    pub fn is_in_place(&self) {
        if let Err(error) = self.partials.store.forget_partial(&self.name) {
            // The next copy of that name finds the record without its file.
            tracing::warn!(file = self.name.to_string(), %error, "the record of an ended copy cannot be \
                removed");
        }
    }
}

impl Drop for PartialClaim {
    fn drop(&mut self) {
        self.partials.claimed().remove(&self.name);
        self.partials.freed.notify_all();
    }
}

/// The task of a temporary file with this name: workers name them by task numbers.
fn task_of(temp: &FileName) -> Option<TaskId> {
    std::str::from_utf8(temp.as_bytes()).ok()?.parse().ok().map(TaskId)
}

#[cfg(test)]
mod tests {
    use reelyard_file_server::tree_hash::Trunk;

    use super::*;
    use crate::downloader::disk::base_dir::TEMP_DIR;
    use crate::kept_state::partial::MasterOrigin;

    struct PartialsFixture {
        place: tempfile::TempDir,
        clock: Clock,
        base: Arc<BaseDir>,
        partials: Arc<Partials>,
    }

    const HOUR: Duration = Duration::from_secs(3600);

    impl PartialsFixture {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            std::fs::create_dir(place.path().join("copies")).unwrap();
            let base = Arc::new(BaseDir::open(&place.path().join("copies")).unwrap());
            let store = Arc::new(StateStore::open(&place.path().join("state")).unwrap());
            let clock = Clock::manual(Clock::system().now());
            let keep_for = KeepFor { partial: 24 * HOUR, unknown: HOUR };
            let partials = Partials::new(Arc::clone(&base), store, clock.clone(), keep_for);
            PartialsFixture { place, clock, base, partials }
        }

        fn write(&self, temp: &str) {
            let dir = self.place.path().join("copies").join(TEMP_DIR);
            std::fs::write(dir.join(temp), b"part").unwrap();
        }

        fn interrupted(&self, name: &str, began: i64) -> Partial {
            self.write(&began.to_string());
            let origin = MasterOrigin {
                source: "127.0.0.1:8888".parse().unwrap(),
                dir: "/data".into(),
                etag: Some("\"x\"".into()),
            };
            let (began, at) = (TaskId(began), self.clock.now());
            let name = FileName::new(name).unwrap();
            let trunk = Trunk::default();
            let partial = Partial { name, began, inode: 1, size: 9, origin, trunk, at };
            self.partials.claim(&partial.name).unwrap().keep(&partial).unwrap();
            partial
        }

        fn temps(&self) -> Vec<String> {
            let names = self.base.temp_entries().unwrap();
            names.iter().map(|entry| entry.name.to_string()).collect()
        }
    }

    #[test]
    fn a_claim_is_waited_for() {
        let fixture = PartialsFixture::new();
        let partial = fixture.interrupted("a.mpg", 1);
        let claim = fixture.partials.claim(&partial.name).unwrap();
        assert!(fixture.partials.claim_within(&partial.name, Duration::ZERO).is_none());
        let (partials, name) = (Arc::clone(&fixture.partials), partial.name.clone());
        let waiting = std::thread::spawn(move || {
            partials.claim_within(&name, Duration::from_secs(60)).unwrap().kept()
        });
        std::thread::yield_now();
        drop(claim);
        assert_eq!(waiting.join().unwrap(), Some(partial));
    }

    #[test]
    fn a_kept_partial_is_claimed_by_one_fetch_at_a_time() {
        let fixture = PartialsFixture::new();
        let partial = fixture.interrupted("a.mpg", 1);
        let claim = fixture.partials.claim(&partial.name).unwrap();
        assert_eq!(claim.kept().as_ref(), Some(&partial));
        assert!(fixture.partials.claim(&partial.name).is_none());
        assert!(!fixture.partials.give_up_oldest(), "it is being gone on with");
        drop(claim);
        assert!(fixture.partials.give_up_oldest());
        assert_eq!(fixture.temps(), [""; 0]);
        assert_eq!(fixture.partials.claim(&partial.name).unwrap().kept(), None);
    }

    #[test]
    fn only_useless_partials_are_removed_and_nothing_outside() {
        let fixture = PartialsFixture::new();
        std::fs::write(fixture.place.path().join("copies/old.mpg"), b"copy").unwrap();
        fixture.interrupted("a.mpg", 1);
        fixture.write("2");
        fixture.write("3");
        fixture.write("movie.mpg.1700000000000000000");
        let _at_work = fixture.base.begin_work(TaskId(3)).unwrap();

        let collected = fixture.partials.collect().unwrap();
        assert_eq!(collected, Collected { partials: 0, unknown: 1 });
        assert_eq!(fixture.temps(), ["1", "3", "movie.mpg.1700000000000000000"]);

        fixture.clock.advance(2 * HOUR);
        fixture.partials.collect().unwrap();
        assert_eq!(fixture.temps(), ["1", "3"], "cfw has left its file long ago");

        fixture.clock.advance(24 * HOUR);
        let collected = fixture.partials.collect().unwrap();
        assert_eq!(collected, Collected { partials: 1, unknown: 0 });
        assert_eq!(fixture.temps(), ["3"]);
        assert_eq!(fixture.base.names().unwrap().len(), 1, "copies are never collected");
    }

    #[test]
    fn the_oldest_is_given_up_first() {
        let fixture = PartialsFixture::new();
        fixture.interrupted("new.mpg", 1);
        fixture.clock.advance(HOUR);
        fixture.interrupted("newer.mpg", 2);
        assert!(fixture.partials.give_up_oldest());
        assert_eq!(fixture.temps(), ["2"]);
    }
}
