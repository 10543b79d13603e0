//! The state that a worker keeps over a restart, in its own small sled. It has reports that no node has taken
//! yet, the highest epoch, interrupted copies, and hashes.
//!
//! sled's `flush` is not durable on Linux, so each durable write ends with `sync_data` on its file.
//! After an error (a full disk) sled refuses everything until it is opened again. The next call does
//! that.

mod rows;
#[cfg(test)]
mod stored_tests;

use crate::kept_state::state_store_error::StateStoreError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::state_store::rows::{OpenStateStore, decode, encode, unencodable, unreadable};

use crate::kept_state::box_claim::BoxClaim;
use crate::kept_state::known_epochs::KnownEpochs;
use crate::kept_state::partial::Partial;
#[cfg(test)]
use reelyard_core::event::Epoch;
use reelyard_core::names::FileName;
use reelyard_core::private_dir;
use reelyard_file_server::file_fingerprint::FileFingerprint;
use reelyard_file_server::tree_hash::Trunk;
use reelyard_protocol::worker::{ContentHash, Report, TaskId};

/// The first byte of each key. The numbers are on disk, so a number is never reused for another purpose.
#[derive(Clone, Copy)]
#[repr(u8)]
enum StateKeyKind {
    Report = 1,
    Epoch = 2,
    Hash = 3,
    Partial = 4,
    HashBegun = 5,
    BoxClaim = 6,
    KnownEpochs = 7,
    ClusterMembers = 8,
    MembersLearnedWith = 9,
}

/// How long a store that cannot be opened is not tried again.
const REST: Duration = Duration::from_secs(1);

/// The largest number of remembered hashes: about 90 MB of disk.
const MOST_HASHES: usize = 1 << 18;

/// The number of partly hashed files that are remembered at a start.
const MOST_HASHES_BEGUN: usize = 1024;

/// The store of one worker. All calls block on the disk.
pub struct StateStore {
    dir: PathBuf,
    state: RwLock<StateStoreStatus>,
    /// How many hashes there are, about.
    hashes: AtomicUsize,
    most_hashes: usize,
}

enum StateStoreStatus {
    Open(OpenStateStore),
    /// When it was closed, and why.
    Closed(Instant, String),
}

/// The prefixes of this program's names in the directory: of sled's files, and of the directory of box hooks.
const OURS: [&str; 5] = ["db", "conf", "blobs", "snap.", "boxes"];

impl StateStore {
    /// Opens the store in `dir`, and creates the directory if it is missing.
    pub fn open(dir: &Path) -> Result<Self, StateStoreError> {
        private_dir::create(dir)?;
        let opened = OpenStateStore::open(dir)?;
        private_dir::narrow(dir, &OURS);
        // The entries of sled's files in their directory must be durable too.
        File::open(dir)?.sync_all()?;
        let hashes = opened.db.scan_prefix([StateKeyKind::Hash as u8]).count();
        let begun = opened.db.scan_prefix([StateKeyKind::HashBegun as u8]).keys();
        // Most of them belong to deleted files.
        for key in begun.skip(MOST_HASHES_BEGUN) {
            opened.remove(&key?)?;
        }
        let store = StateStore {
            dir: dir.to_owned(),
            state: RwLock::new(StateStoreStatus::Open(opened)),
            hashes: AtomicUsize::new(hashes),
            most_hashes: MOST_HASHES,
        };
        // An unreadable store must fail now, while the caller can report it.
        store.reports()?;
        Ok(store)
    }

    /// Keeps each report until [`StateStore::forget_report`]. All are durable when this returns.
    pub fn keep_reports(&self, reports: &[&Report]) -> Result<(), StateStoreError> {
        if reports.is_empty() {
            return Ok(());
        }
        self.with(|opened| {
            for report in reports {
                // As JSON, the format of the wire: postcard cannot read a tagged enum back.
                let json = serde_json::to_vec(report).map_err(unencodable)?;
                opened.put(&report_key(report.task), &json)?;
            }
            opened.sync()
        })
    }

    /// Forgets the report on `task`. Not synced: if it returns after a crash, it is sent once more, which is
    /// harmless.
    pub fn forget_report(&self, task: TaskId) -> Result<(), StateStoreError> {
        self.with(|opened| opened.remove(&report_key(task)))
    }

    /// All kept reports, by the numbers of their tasks.
    pub fn reports(&self) -> Result<Vec<Report>, StateStoreError> {
        let read = |json: Vec<u8>| serde_json::from_slice(&json).map_err(unreadable);
        self.with(|opened| {
            let rows = opened.db.scan_prefix([StateKeyKind::Report as u8]);
            rows.values().map(|value| read(decode(&value?)?)).collect()
        })
    }

    /// The cluster that this worker obeys, and the highest epochs seen. A store from before epochs belonged
    /// to clusters contains only an epoch.
    pub fn known_epochs(&self) -> Result<KnownEpochs, StateStoreError> {
        self.with(|opened| match opened.get(&[StateKeyKind::KnownEpochs as u8])? {
            Some(known) => Ok(known),
            None => {
                Ok(KnownEpochs::only(opened.get(&[StateKeyKind::Epoch as u8])?.unwrap_or_default()))
            }
        })
    }

    /// Remembers that, durably.
    pub fn keep_known_epochs(&self, known: &KnownEpochs) -> Result<(), StateStoreError> {
        self.with(|opened| {
            opened.put(&[StateKeyKind::KnownEpochs as u8], known)?;
            opened.sync()
        })
    }

    /// The addresses of the members of the cluster, as they were last named to a worker with the nodes `given` in its
    /// settings. With other settings they may belong to another cluster: none then. An earlier version did not
    /// remember these settings.
    pub fn cluster_members(&self, given: &[String]) -> Result<Vec<String>, StateStoreError> {
        self.with(|opened| {
            let with: Option<Vec<String>> =
                opened.get(&[StateKeyKind::MembersLearnedWith as u8])?;
            let members = opened.get(&[StateKeyKind::ClusterMembers as u8])?;
            let are_of_these = with.is_none_or(|with| with == given);
            Ok(members.filter(|_| are_of_these).unwrap_or_default())
        })
    }

    /// Remembers them, durably.
    pub fn keep_cluster_members(
        &self,
        given: &[String],
        members: &[String],
    ) -> Result<(), StateStoreError> {
        self.with(|opened| {
            let mut batch = sled::Batch::default();
            batch.insert(&[StateKeyKind::MembersLearnedWith as u8][..], encode(&given)?);
            batch.insert(&[StateKeyKind::ClusterMembers as u8][..], encode(&members)?);
            opened.db.apply_batch(batch)?;
            opened.sync()
        })
    }

    /// Stores an epoch in the old form, from before epochs belonged to clusters.
    #[cfg(test)]
    pub fn raise_epoch_as_before(&self, epoch: Epoch) -> Result<(), StateStoreError> {
        self.with(|opened| {
            opened.put(&[StateKeyKind::Epoch as u8], &epoch)?;
            opened.sync()
        })
    }

    /// The boxes that pools have here.
    pub fn box_claims(&self) -> Result<Vec<BoxClaim>, StateStoreError> {
        self.with(|opened| {
            let rows = opened.db.scan_prefix([StateKeyKind::BoxClaim as u8]).values();
            rows.map(|row| decode(&row?)).collect()
        })
    }

    /// Stores the boxes of some pools. This replaces the previous record completely or not at all. Durable
    /// when this returns.
    pub fn replace_box_claims(
        &self,
        before: &[&BoxClaim],
        after: &[BoxClaim],
    ) -> Result<(), StateStoreError> {
        self.with(|opened| {
            let mut batch = sled::Batch::default();
            for claim in before {
                batch.remove(&claim_key(claim)[..]);
            }
            for claim in after {
                batch.insert(&claim_key(claim)[..], encode(claim)?);
            }
            opened.db.apply_batch(batch)?;
            opened.sync()
        })
    }

    /// Stores the progress of a copy and replaces the record of that name. Durable when this returns.
    pub fn keep_partial(&self, partial: &Partial) -> Result<(), StateStoreError> {
        self.with(|opened| {
            opened.put(&partial_key(&partial.name), partial)?;
            opened.sync()
        })
    }

    /// The interrupted copy of that name.
    pub fn partial(&self, name: &FileName) -> Result<Option<Partial>, StateStoreError> {
        let found = self.with(|opened| opened.get::<Partial>(&partial_key(name)))?;
        Ok(found.filter(|partial| partial.name == *name))
    }

    /// Forgets the interrupted copy of that name. Not synced: its file was removed too, and a record without
    /// a file is ignored.
    pub fn forget_partial(&self, name: &FileName) -> Result<(), StateStoreError> {
        self.with(|opened| opened.remove(&partial_key(name)))
    }

    /// Every interrupted copy. An unreadable record is logged and left out; its copy starts from the
    /// beginning.
    pub fn partials(&self) -> Result<Vec<Partial>, StateStoreError> {
        self.with(|opened| {
            let rows = opened.db.scan_prefix([StateKeyKind::Partial as u8]).values();
            let mut partials = Vec::new();
            for row in rows {
                match decode(&row?) {
                    Ok(partial) => partials.push(partial),
                    Err(error) => tracing::warn!(%error, "an interrupted copy cannot be resumed"),
                }
            }
            Ok(partials)
        })
    }

    /// The hash of the file with this `identity`, if it was read before.
    pub fn hash(&self, identity: &FileFingerprint) -> Result<Option<ContentHash>, StateStoreError> {
        let found: Option<(FileFingerprint, ContentHash)> =
            self.with(|opened| opened.get(&hash_key(StateKeyKind::Hash, identity)))?;
        Ok(found.filter(|(of, _)| of == identity).map(|(_, hash)| hash))
    }

    /// Stores a hash, and replaces the one of the same inode. Not synced, because a lost hash is computed
    /// again.
    pub fn remember_hash(
        &self,
        identity: &FileFingerprint,
        hash: ContentHash,
    ) -> Result<(), StateStoreError> {
        self.with(|opened| {
            opened.remove(&hash_key(StateKeyKind::HashBegun, identity))?;
            let is_new = opened.put(&hash_key(StateKeyKind::Hash, identity), &(*identity, hash))?;
            let hashes = self.hashes.fetch_add(usize::from(is_new), Ordering::Relaxed);
            if hashes >= self.most_hashes { self.forget_some_hashes(opened) } else { Ok(()) }
        })
    }

    /// Drops one in sixteen of the hashes, from a random position in their order. Hashes of deleted
    /// files are dropped as often as others, and a file that is still requested is read once more.
    fn forget_some_hashes(&self, opened: &OpenStateStore) -> Result<(), StateStoreError> {
        let count = (self.most_hashes / 16).max(1);
        let (first, behind) = ([StateKeyKind::Hash as u8], [StateKeyKind::Hash as u8 + 1]);
        let mut middle = [StateKeyKind::Hash as u8; 17];
        fastrand::fill(&mut middle[1..]);
        let around = opened.db.range(&middle[..]..&behind[..]);
        let around = around.chain(opened.db.range(&first[..]..&middle[..]));
        for row in around.take(count) {
            opened.remove(&row?.0)?;
            self.hashes.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The position up to which the file with this `identity` was hashed.
    pub fn hash_begun(&self, identity: &FileFingerprint) -> Result<Option<Trunk>, StateStoreError> {
        let found: Option<(FileFingerprint, Trunk)> =
            self.with(|opened| opened.get(&hash_key(StateKeyKind::HashBegun, identity)))?;
        Ok(found.filter(|(of, trunk)| of == identity && trunk.is_sound()).map(|(_, trunk)| trunk))
    }

    /// Remembers how far a file was hashed. Durable when this returns.
    pub fn remember_hash_begun(
        &self,
        identity: &FileFingerprint,
        trunk: &Trunk,
    ) -> Result<(), StateStoreError> {
        self.with(|opened| {
            opened.put(&hash_key(StateKeyKind::HashBegun, identity), &(*identity, trunk))?;
            opened.sync()
        })
    }

    /// Makes everything written so far durable.
    pub fn sync(&self) -> Result<(), StateStoreError> {
        self.with(OpenStateStore::sync)
    }

    /// Runs `work` on the open store. If the store fails, it is opened again and `work` runs once more. So
    /// `work` must be able to run twice.
    fn with<T>(
        &self,
        work: impl Fn(&OpenStateStore) -> Result<T, StateStoreError>,
    ) -> Result<T, StateStoreError> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            StateStoreStatus::Open(opened) => match work(opened) {
                Err(StateStoreError::Sled(error)) => {
                    tracing::warn!(%error, "the state store failed and is opened again");
                }
                Err(StateStoreError::Io(error)) => {
                    tracing::warn!(%error, "the state store failed and is opened again");
                }
                done => return done,
            },
            StateStoreStatus::Closed(since, why) if since.elapsed() < REST => {
                return Err(StateStoreError::Resting(why.clone()));
            }
            StateStoreStatus::Closed(..) => {}
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // The old one must be closed first, because sled locks its directory.
        *state = StateStoreStatus::Closed(Instant::now(), "it is being opened".to_owned());
        match OpenStateStore::open(&self.dir) {
            Ok(opened) => {
                let done = work(&opened);
                *state = StateStoreStatus::Open(opened);
                done
            }
            Err(error) => {
                *state = StateStoreStatus::Closed(Instant::now(), error.to_string());
                Err(error)
            }
        }
    }
}

fn report_key(task: TaskId) -> [u8; 9] {
    let mut key = [StateKeyKind::Report as u8; 9];
    key[1..].copy_from_slice(&task.0.cast_unsigned().to_be_bytes());
    key
}

/// The key of an interrupted copy. A name may be too long for a key, so the key has its hash. If two names
/// have the same key, only one copy is kept.
fn partial_key(name: &FileName) -> [u8; 17] {
    let mut key = [StateKeyKind::Partial as u8; 17];
    key[1..].copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..16]);
    key
}

fn claim_key(claim: &BoxClaim) -> [u8; 17] {
    let cluster = claim.cluster.map(|cluster| cluster.0).unwrap_or_default();
    let name = [&cluster.to_be_bytes()[..], claim.pool.as_str().as_bytes()].concat();
    let mut key = [StateKeyKind::BoxClaim as u8; 17];
    key[1..].copy_from_slice(&blake3::hash(&name).as_bytes()[..16]);
    key
}

fn hash_key(kind: StateKeyKind, identity: &FileFingerprint) -> [u8; 17] {
    let mut key = [kind as u8; 17];
    key[1..9].copy_from_slice(&identity.device.to_be_bytes());
    key[9..].copy_from_slice(&identity.inode.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::names::FileName;
    use reelyard_protocol::worker::{Blame, ReportedState};

    use super::*;

    fn failed(task: i64) -> Report {
        Report {
            task: TaskId(task),
            name: FileName::new(b"\xff\n.mpg").unwrap(),
            at: Millis(7),
            state: ReportedState::Failed { blame: Blame::Source, reason: "it broke off".into() },
        }
    }

    #[test]
    fn reports_epoch_and_hashes_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, b"x").unwrap();
        let identity = FileFingerprint::from(&std::fs::metadata(&file).unwrap());
        let done = Report {
            state: ReportedState::Done { size: 1, hash: ContentHash([3; 32]) },
            ..failed(2)
        };
        {
            let store = StateStore::open(&dir.path().join("state")).unwrap();
            store.keep_reports(&[&failed(1), &done]).unwrap();
            store.keep_reports(&[&failed(3)]).unwrap();
            store.forget_report(TaskId(3)).unwrap();
            store.keep_known_epochs(&KnownEpochs::only(Epoch(9))).unwrap();
            store.remember_hash(&identity, ContentHash([5; 32])).unwrap();
            store.sync().unwrap();
        }
        let store = StateStore::open(&dir.path().join("state")).unwrap();
        assert_eq!(store.reports().unwrap(), vec![failed(1), done]);
        assert_eq!(store.known_epochs().unwrap().highest(), Epoch(9));
        assert_eq!(store.hash(&identity).unwrap(), Some(ContentHash([5; 32])));
        let touched = FileFingerprint { changed: (identity.changed.0 + 1, 0), ..identity };
        assert_eq!(store.hash(&touched).unwrap(), None);
    }

    #[test]
    fn a_second_owner_is_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let _first = StateStore::open(dir.path()).unwrap();
        let second = StateStore::open(dir.path()).err().unwrap().to_string();
        assert!(second.contains("in use by another process"), "{second}");
    }

    #[test]
    fn the_number_of_remembered_hashes_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let store = StateStore { most_hashes: 64, ..StateStore::open(dir.path()).unwrap() };
        let identity = |inode| FileFingerprint {
            device: 1,
            inode,
            size: 1,
            modified: (1, 1),
            changed: (1, 1),
        };
        for inode in 0..500 {
            store.remember_hash(&identity(inode), ContentHash([1; 32])).unwrap();
        }
        let known = (0..500).filter(|inode| store.hash(&identity(*inode)).unwrap().is_some());
        assert!((32..=64).contains(&known.count()));
        let newest = identity(1000);
        store.remember_hash(&newest, ContentHash([2; 32])).unwrap();
        store.remember_hash(&newest, ContentHash([3; 32])).unwrap();
    }

    #[test]
    fn the_progress_of_a_hash_is_kept_until_the_hash_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let store = StateStore::open(dir.path()).unwrap();
        let identity =
            FileFingerprint { device: 1, inode: 2, size: 9, modified: (1, 1), changed: (1, 1) };
        store.remember_hash_begun(&identity, &Trunk::default()).unwrap();
        assert_eq!(store.hash_begun(&identity).unwrap(), Some(Trunk::default()));
        let changed = FileFingerprint { size: 8, ..identity };
        assert_eq!(store.hash_begun(&changed).unwrap(), None);
        store.remember_hash(&identity, ContentHash([1; 32])).unwrap();
        assert_eq!(store.hash_begun(&identity).unwrap(), None);
    }
}
