//! A state directory of an earlier worker opens: the kept bytes of each kind of value.

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::manager::YardId;
use reelyard_core::names::FileName;
use reelyard_file_server::file_fingerprint::FileFingerprint;
use reelyard_file_server::tree_hash::{GROUP, TreeHasher, Trunk};
use reelyard_protocol::boxes::{FenceToken, IdRange, PoolName};
use reelyard_protocol::worker::{Blame, ContentHash, Report, ReportedState, TaskId};

use super::*;
use crate::kept_state::partial::MasterOrigin;

/// The key and the value of each row in hex. A row stays: workers hold it on their disks.
const KEPT: &str = include_str!("stored_values.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fingerprint(inode: u64) -> FileFingerprint {
    FileFingerprint { device: 66, inode, size: 9, modified: (1_795_000_000, 5), changed: (1, -1) }
}

/// After one complete group of a file.
fn trunk() -> Trunk {
    let mut hasher = TreeHasher::resume(Trunk::default());
    hasher.update(&vec![7; GROUP + 1]);
    hasher.trunk(3 * GROUP as u64)
}

fn partial() -> Partial {
    Partial {
        name: FileName::new(b"b\xff.mpg").unwrap(),
        began: TaskId(5),
        inode: 12,
        size: 3 * GROUP as u64,
        origin: MasterOrigin {
            source: "10.0.0.1:8888".parse().unwrap(),
            dir: "/masters".to_owned(),
            etag: Some("\"66-12-9\"".to_owned()),
        },
        trunk: trunk(),
        at: Millis(1_795_000_000_000),
    }
}

fn claim() -> BoxClaim {
    BoxClaim {
        cluster: Some(YardId(77)),
        pool: PoolName::new("judges").unwrap(),
        hooks: "isolate".to_owned(),
        ids: vec![IdRange { first: 1, count: 8 }],
        token: FenceToken(1000),
    }
}

fn given() -> Vec<String> {
    vec!["http://10.0.0.1:8080".to_owned()]
}

fn members() -> Vec<String> {
    vec!["http://10.0.0.1:8080".to_owned(), "http://10.0.0.2:8080".to_owned()]
}

fn epochs() -> KnownEpochs {
    let newest = postcard::to_stdvec(&vec![(Some(YardId(77)), Epoch(9)), (None, Epoch(4))]);
    postcard::from_bytes(&newest.unwrap()).unwrap()
}

fn reports() -> Vec<Report> {
    let (size, hash) = (9, ContentHash([7; 32]));
    let state = [
        ReportedState::Done { size, hash },
        ReportedState::Failed { blame: Blame::Pair, reason: "hash differs".to_owned() },
        ReportedState::DoneUnverified { size, hash },
    ];
    let name = FileName::new(b"b\xff.mpg").unwrap();
    let report =
        |(task, state)| Report { task: TaskId(task), name: name.clone(), at: Millis(7), state };
    (1..).zip(state).map(report).collect()
}

fn rows(store: &StateStore) -> Vec<String> {
    let read = |opened: &OpenStateStore| {
        let rows = opened.db.iter().map(|row| row.unwrap());
        Ok(rows.map(|(key, value)| format!("{} {}", hex(&key), hex(&value))).collect())
    };
    store.with(read).unwrap()
}

#[test]
fn stored_bytes_of_a_worker_stay() {
    let dir = tempfile::tempdir().unwrap();
    let store = StateStore::open(dir.path()).unwrap();
    store.keep_reports(&reports().iter().collect::<Vec<_>>()).unwrap();
    store.raise_epoch_as_before(Epoch(4)).unwrap();
    store.keep_known_epochs(&epochs()).unwrap();
    store.keep_cluster_members(&given(), &members()).unwrap();
    store.replace_box_claims(&[], &[claim()]).unwrap();
    store.keep_partial(&partial()).unwrap();
    store.remember_hash(&fingerprint(1), ContentHash([5; 32])).unwrap();
    store.remember_hash_begun(&fingerprint(2), &trunk()).unwrap();
    let now = rows(&store);
    let kept: Vec<&str> = KEPT.lines().collect();
    assert_eq!(
        now,
        kept,
        "raise VERSION in rows.rs, and read the earlier version:\n{}",
        now.join("\n")
    );
}

/// A store with the rows that `is_there` accepts.
fn store_with(is_there: impl Fn(&str) -> bool) -> (tempfile::TempDir, StateStore) {
    let dir = tempfile::tempdir().unwrap();
    let earlier = OpenStateStore::open(dir.path()).unwrap();
    for (key, value) in KEPT.lines().filter_map(|line| line.split_once(' ')) {
        if is_there(key) {
            earlier.db.insert(bytes(key), bytes(value)).unwrap();
        }
    }
    earlier.sync().unwrap();
    drop(earlier);
    let store = StateStore::open(dir.path()).unwrap();
    (dir, store)
}

#[test]
fn a_state_directory_of_an_earlier_worker_opens() {
    let (_dir, store) = store_with(|_| true);
    assert_eq!(store.reports().unwrap(), reports());
    assert_eq!(store.known_epochs().unwrap(), epochs());
    assert_eq!(store.cluster_members(&given()).unwrap(), members());
    // With other nodes in its settings the worker may belong to another cluster.
    assert!(store.cluster_members(&members()).unwrap().is_empty());
    assert_eq!(store.box_claims().unwrap(), [claim()]);
    assert_eq!(store.partials().unwrap(), [partial()]);
    assert_eq!(store.hash(&fingerprint(1)).unwrap(), Some(ContentHash([5; 32])));
    assert_eq!(store.hash_begun(&fingerprint(2)).unwrap(), Some(trunk()));
    let (_dir, store) = store_with(|key| key != "09");
    assert_eq!(store.cluster_members(&given()).unwrap(), members(), "without their settings");
}
