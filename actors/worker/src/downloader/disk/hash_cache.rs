//! The hashes of the files that this worker serves. A file is hashed while it is sent for the first time, a
//! little behind the sender. So the page cache serves the hasher, and the disk is read once. Later the hash
//! is found by the file's identity, and nothing is read again. Interrupted hashing continues at its last
//! position, even after a restart.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_file_server::data_port::{FileHashes, Hashed, SendProgress};
use reelyard_file_server::file_fingerprint::FileFingerprint;
use reelyard_file_server::tree_hash::{GROUP, TreeHasher};
use reelyard_protocol::worker::ContentHash;

use crate::kept_state::state_store::StateStore;

/// How much is hashed in one step.
const STEP: usize = GROUP;

/// How often the position of a hashed file is stored.
const KEEP_EVERY: Duration = Duration::from_secs(2);

/// How long a caller that got "under way" is expected to ask again. Until then its file is hashed further.
const ASKS_AGAIN_WITHIN: Duration = Duration::from_secs(30);

/// How long a job waits for its last sender to return after a lost connection.
const LINGERS: Duration = Duration::from_secs(3);

/// All hashing of one worker. Cheap to clone.
#[derive(Clone)]
pub struct HashCache {
    store: Arc<StateStore>,
    clock: Clock,
    jobs: Arc<HashJobs>,
}

#[derive(Default)]
struct HashJobs {
    table: Mutex<HashJobTable>,
    /// Notified when a job ends.
    ended: Condvar,
}

#[derive(Default)]
struct HashJobTable {
    under_way: HashMap<FileFingerprint, Arc<HashJob>>,
    stopping: bool,
}

/// One file being hashed, on its own thread. It exists only while a connection sends the file or requests
/// its hash, or did so a moment ago. So the limit on connections limits these threads.
#[derive(Default)]
struct HashJob {
    lead: Mutex<HashJobState>,
    moved: Condvar,
}

/// The connections that drive a job, and the position up to which it may continue.
#[derive(Default)]
struct HashJobState {
    /// The position up to which the furthest connection has sent the file.
    sent: u64,
    senders: usize,
    /// Connections that wait for the hash. If there is one, the job need not stay behind the sender.
    askers: usize,
    /// The time until which a lost sender is expected to return.
    expected_back: Option<Instant>,
    /// When the last caller that needed the hash left.
    deserted: Option<Instant>,
    outcome: Option<Hashed>,
}

/// Held by a connection while it sends a file that is hashed at the same time.
pub struct HashFollower {
    job: Arc<HashJob>,
}

impl HashCache {
    /// A cache that keeps its hashes in `store`.
    pub fn new(store: Arc<StateStore>, clock: Clock) -> Self {
        HashCache { store, clock, jobs: Arc::default() }
    }

    /// Keeps the hash of a file, unless the file was changed just now. Such a file could be changed once
    /// more with the same identity. Then the hash is valid only for the callers that requested it.
    fn remember(&self, identity: &FileFingerprint, hash: ContentHash) {
        if identity.is_stable(self.clock.now())
            && let Err(error) = self.store.remember_hash(identity, hash)
        {
            tracing::warn!(%error, "a hash could not be stored: the file will be read again");
        }
    }

    /// Joins the job on `identity`, or starts one. `enter` runs before the job can check whether a caller
    /// still needs it.
    fn join(
        &self,
        file: &File,
        identity: FileFingerprint,
        enter: impl Fn(&mut HashJobState),
    ) -> Option<Arc<HashJob>> {
        let mut table = self.jobs.table();
        if table.stopping {
            return None;
        }
        if let Some(job) = table.under_way.get(&identity) {
            let mut lead = job.lock_state();
            if lead.outcome.is_none() {
                enter(&mut lead);
                job.moved.notify_all();
                return Some(Arc::clone(job));
            }
        }
        let job = Arc::new(HashJob::default());
        enter(&mut job.lock_state());
        let file = file.try_clone().ok()?;
        let (cache, of_thread) = (self.clone(), Arc::clone(&job));
        let begun = std::thread::Builder::new()
            .name("hash".into())
            .spawn(move || cache.run(&file, identity, &of_thread));
        if let Err(error) = begun {
            tracing::warn!(%error, "no thread for hashing can be started");
            return None;
        }
        table.under_way.insert(identity, Arc::clone(&job));
        Some(job)
    }

    fn run(&self, file: &File, identity: FileFingerprint, job: &Arc<HashJob>) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.hash(file, &identity, job)))
            .unwrap_or_else(|_panic| Hashed::Failed("hashing panicked; see the log".to_owned()));
        let mut table = self.jobs.table();
        // An interrupted job may have been replaced by a new one meanwhile.
        if table.under_way.get(&identity).is_some_and(|current| Arc::ptr_eq(current, job)) {
            table.under_way.remove(&identity);
        }
        job.lock_state().outcome.get_or_insert(outcome);
        job.moved.notify_all();
        self.jobs.ended.notify_all();
    }

    fn hash(&self, file: &File, identity: &FileFingerprint, job: &HashJob) -> Hashed {
        // Before the first byte is read.
        let is_stable = identity.is_stable(self.clock.now());
        let mut hasher = self.hasher_for(identity);
        let keep = |hasher: &TreeHasher| {
            if is_stable {
                self.keep(identity, hasher)
            }
        };
        let outcome = hash_behind(file, identity, job, &mut hasher, keep);
        match outcome {
            Hashed::Known(hash) if is_stable => self.remember(identity, hash),
            Hashed::UnderWay => keep(&hasher),
            _ => {}
        }
        outcome
    }

    /// Continues where hashing of the file was interrupted.
    fn hasher_for(&self, identity: &FileFingerprint) -> TreeHasher {
        let begun = self.store.hash_begun(identity).unwrap_or_else(|error| {
            tracing::warn!(%error, "a file is hashed from its beginning again");
            None
        });
        let begun = begun.filter(|trunk| trunk.length() < identity.size);
        TreeHasher::resume(begun.unwrap_or_default())
    }

    fn keep(&self, identity: &FileFingerprint, hasher: &TreeHasher) {
        let trunk = hasher.trunk(identity.size);
        if trunk.length() > 0
            && let Err(error) = self.store.remember_hash_begun(identity, &trunk)
        {
            tracing::warn!(%error, "the progress of hashing a file could not be stored");
        }
    }
}

/// Hashes the rest of the file, never ahead of the connection that leads. Gives up when no connection is
/// left.
fn hash_behind(
    file: &File,
    identity: &FileFingerprint,
    job: &HashJob,
    hasher: &mut TreeHasher,
    keep: impl Fn(&TreeHasher),
) -> Hashed {
    let mut buffer = vec![0; STEP];
    let mut kept = Instant::now();
    while hasher.position() < identity.size {
        let at = hasher.position();
        let Some(may_reach) = job.wait_for_lead(at, identity.size) else {
            return Hashed::UnderWay;
        };
        let step = usize::try_from(may_reach - at).map_or(STEP, |left| left.min(STEP));
        match file.read_at(&mut buffer[..step], at) {
            Ok(0) => return Hashed::Changed,
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Hashed::Failed(error.to_string()),
        }
        if kept.elapsed() >= KEEP_EVERY {
            keep(hasher);
            kept = Instant::now();
        }
    }
    match file.metadata() {
        Ok(now) if FileFingerprint::from(&now) == *identity => Hashed::Known(hasher.finalize()),
        Ok(_) => Hashed::Changed,
        Err(error) => Hashed::Failed(error.to_string()),
    }
}

impl HashJob {
    fn lock_state(&self) -> MutexGuard<'_, HashJobState> {
        self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the hasher at position `at` may continue, and answers up to which position. None when no
    /// caller needs the hash any more.
    fn wait_for_lead(&self, at: u64, size: u64) -> Option<u64> {
        let mut lead = self.lock_state();
        loop {
            if lead.outcome.is_some() {
                return None;
            }
            let is_expected_back = |until| Instant::now() < until;
            if lead.askers > 0 || lead.expected_back.is_some_and(is_expected_back) {
                return Some(size);
            }
            if lead.sent > at {
                return Some(lead.sent.min(size));
            }
            if lead.senders > 0 {
                lead.deserted = None;
                lead = self.moved.wait(lead).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left =
                LINGERS.saturating_sub(lead.deserted.get_or_insert_with(Instant::now).elapsed());
            if left.is_zero() {
                // Decided under the lock: a caller that arrives later sees it and starts a new job.
                lead.outcome = Some(Hashed::UnderWay);
                return None;
            }
            let waited = self.moved.wait_timeout(lead, left);
            lead = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl HashJobs {
    fn table(&self) -> MutexGuard<'_, HashJobTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileHashes for HashCache {
    fn start_hashing(
        &self,
        file: &File,
        identity: FileFingerprint,
    ) -> Option<Box<dyn SendProgress>> {
        if self.known(&identity).is_some() {
            return None;
        }
        let job = self.join(file, identity, |lead| lead.senders += 1)?;
        Some(Box::new(HashFollower { job }))
    }

    fn hash_of(&self, file: &File, identity: FileFingerprint, patience: Duration) -> Hashed {
        if let Some(hash) = self.known(&identity) {
            return Hashed::Known(hash);
        }
        let Some(job) = self.join(file, identity, |lead| lead.askers += 1) else {
            return Hashed::UnderWay;
        };
        let until = Instant::now() + patience;
        let mut lead = job.lock_state();
        while lead.outcome.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                lead.expected_back = Some(Instant::now() + ASKS_AGAIN_WITHIN);
                break;
            }
            let waited = job.moved.wait_timeout(lead, left);
            lead = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        lead.askers -= 1;
        job.moved.notify_all();
        lead.outcome.clone().unwrap_or(Hashed::UnderWay)
    }

    fn known(&self, identity: &FileFingerprint) -> Option<ContentHash> {
        self.store.hash(identity).unwrap_or_else(|error| {
            tracing::warn!(%error, "a stored hash could not be read: the file is read again");
            None
        })
    }

    fn stop(&self) {
        let mut table = self.jobs.table();
        table.stopping = true;
        for job in table.under_way.values() {
            let mut lead = job.lock_state();
            lead.outcome.get_or_insert(Hashed::UnderWay);
            job.moved.notify_all();
        }
        while !table.under_way.is_empty() {
            table = self.jobs.ended.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl SendProgress for HashFollower {
    fn sent(&self, position: u64) {
        let mut lead = self.job.lock_state();
        lead.sent = lead.sent.max(position);
        self.job.moved.notify_all();
    }
}

impl Drop for HashFollower {
    fn drop(&mut self) {
        self.job.lock_state().senders -= 1;
        self.job.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct HashCacheFixture {
        _dir: tempfile::TempDir,
        path: std::path::PathBuf,
        cache: HashCache,
    }

    impl HashCacheFixture {
        fn new(contents: &[u8]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, contents).unwrap();
            let store = Arc::new(StateStore::open(&dir.path().join("state")).unwrap());
            // Long after the file was written.
            let clock = Clock::manual(Clock::system().now().after(Duration::from_secs(3600)));
            HashCacheFixture { _dir: dir, path, cache: HashCache::new(store, clock) }
        }

        fn open(&self) -> (File, FileFingerprint) {
            let file = File::open(&self.path).unwrap();
            let identity = FileFingerprint::from(&file.metadata().unwrap());
            (file, identity)
        }
    }

    const LONG: Duration = Duration::from_secs(20);

    fn known(contents: &[u8]) -> Hashed {
        Hashed::Known(ContentHash(*blake3::hash(contents).as_bytes()))
    }

    #[test]
    fn a_hash_follows_the_sender_and_is_remembered() {
        let contents = vec![7; 3 * STEP + 5];
        let fixture = HashCacheFixture::new(&contents);
        let (file, identity) = fixture.open();
        let following = fixture.cache.start_hashing(&file, identity).unwrap();
        following.sent(STEP as u64);
        following.sent(contents.len() as u64);
        drop(following);
        assert_eq!(fixture.cache.hash_of(&file, identity, LONG), known(&contents));
        assert!(fixture.cache.start_hashing(&file, identity).is_none(), "it is known now");
        fixture.cache.stop();
    }

    #[test]
    fn a_hash_is_computed_on_request_after_a_sender_broke_off() {
        let contents = vec![1; 2 * STEP];
        let fixture = HashCacheFixture::new(&contents);
        let (file, identity) = fixture.open();
        let following = fixture.cache.start_hashing(&file, identity).unwrap();
        following.sent(5);
        drop(following);
        assert_eq!(fixture.cache.hash_of(&file, identity, LONG), known(&contents));
    }

    #[test]
    fn a_file_that_changes_has_no_hash() {
        let fixture = HashCacheFixture::new(&[1; 100]);
        let (file, identity) = fixture.open();
        let following = fixture.cache.start_hashing(&file, identity).unwrap();
        following.sent(50);
        std::fs::OpenOptions::new().write(true).open(&fixture.path).unwrap().set_len(60).unwrap();
        following.sent(100);
        assert_eq!(fixture.cache.hash_of(&file, identity, LONG), Hashed::Changed);
    }

    #[test]
    fn the_hash_of_a_file_that_changed_just_now_is_not_remembered() {
        let mut fixture = HashCacheFixture::new(&[1; 100]);
        fixture.cache.clock = Clock::system();
        let (file, identity) = fixture.open();
        assert_eq!(fixture.cache.hash_of(&file, identity, LONG), known(&[1; 100]));
        assert_eq!(fixture.cache.known(&identity), None);
        assert!(identity.is_stable(Clock::system().now().after(Duration::from_secs(3))));
    }

    #[test]
    fn hashing_goes_on_for_an_asker_that_will_ask_again() {
        let contents = vec![3; 8 * STEP];
        let fixture = HashCacheFixture::new(&contents);
        let (file, identity) = fixture.open();
        assert_eq!(fixture.cache.hash_of(&file, identity, Duration::ZERO), Hashed::UnderWay);
        let job = Arc::clone(&fixture.cache.jobs.table().under_way[&identity]);
        let mut lead = job.lock_state();
        while lead.outcome.is_none() {
            lead = job.moved.wait_timeout(lead, LONG).unwrap().0;
        }
        assert_eq!(lead.outcome, Some(known(&contents)));
    }

    #[test]
    fn hashing_that_was_given_up_goes_on_where_it_stood() {
        let contents = vec![5; 6 * STEP + 9];
        let fixture = HashCacheFixture::new(&contents);
        let (file, identity) = fixture.open();
        let following = fixture.cache.start_hashing(&file, identity).unwrap();
        following.sent(4 * STEP as u64);
        drop(following);
        // Given up by itself, or by this.
        fixture.cache.stop();
        let cache = HashCache::new(Arc::clone(&fixture.cache.store), fixture.cache.clock.clone());
        let begun = fixture.cache.hasher_for(&identity).trunk(identity.size);
        assert!(begun.length() <= 4 * STEP as u64);
        // The stored state is trusted, and so it shows in the hash.
        let mut others = TreeHasher::resume(reelyard_file_server::tree_hash::Trunk::default());
        others.update(&vec![6; 3 * STEP]);
        let begun = others.trunk(identity.size);
        fixture.cache.store.remember_hash_begun(&identity, &begun).unwrap();
        let mut mixed = vec![6; 3 * STEP];
        mixed.extend_from_slice(&contents[3 * STEP..]);
        assert_eq!(cache.hash_of(&file, identity, LONG), known(&mixed));
    }

    #[test]
    fn stopping_ends_a_job_whose_sender_is_slow() {
        let fixture = HashCacheFixture::new(&[1; 100]);
        let (file, identity) = fixture.open();
        let following = fixture.cache.start_hashing(&file, identity).unwrap();
        fixture.cache.stop();
        drop(following);
        assert!(fixture.cache.start_hashing(&file, identity).is_none());
    }
}
