//! Status of the journal for operators.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reelyard_core::durations::Durations;
use serde::Serialize;

/// A snapshot that is being sent to another node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotOnWay {
    /// Bytes that the receiver has.
    pub sent: u64,
    /// Bytes of the whole snapshot.
    pub bytes: u64,
}

/// The journal of this node at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JournalStatus {
    /// Id of this node in the cluster.
    pub node: u64,
    /// Ids of the voting nodes.
    pub voters: Vec<u64>,
    /// The newest term that this node knows.
    pub term: u64,
    /// Number of the leader that this node knows.
    pub leader: Option<u64>,
    /// The epoch this node decides in; none unless it leads and a quorum has confirmed it.
    pub leading: Option<u64>,
    /// Index of the last entry in this node's log.
    pub last_log: Option<u64>,
    /// Index of the last entry applied here.
    pub applied: Option<u64>,
    /// How many entries each member is behind this node. Empty unless this node leads.
    pub behind: BTreeMap<u64, u64>,
    /// For how many milliseconds each member lacks an entry of this node. Empty unless this node leads.
    pub behind_ms: BTreeMap<u64, u64>,
    /// Snapshots on their way to other nodes, by number of the receiver.
    pub snapshots_sent: BTreeMap<u64, SnapshotOnWay>,
    /// Index of the last entry in the current snapshot.
    pub snapshot: Option<u64>,
    /// Size of the current snapshot in bytes.
    pub snapshot_bytes: u64,
    /// Bytes of the entries applied since it was taken.
    pub bytes_since_snapshot: u64,
    /// Bytes of the whole log that is kept.
    pub log_bytes: u64,
    /// Flushes that reached the disk since the start.
    pub flushes: u64,
    /// Free bytes on the store's disk, at the last check.
    pub disk_free: u64,
    /// Bytes of that disk that are kept in reserve.
    pub disk_reserve: u64,
    /// Error text while the disk is full: cause and remedy. None otherwise.
    pub disk_full: Option<String>,
    /// Commits that wait for an entry.
    pub queued: u64,
    /// Commits answered with outcomes since the start.
    pub commits: u64,
    /// Time of these commits, from the call to the answer.
    pub commit_time: Durations,
    /// Events in answered commits since the start.
    pub events: u64,
    /// Log entries written for answered commits since the start.
    pub entries: u64,
    /// Commits refused because the queue was full.
    pub refused_busy: u64,
    /// Commits refused because this node was not the leader, or the epoch of the decision had ended.
    pub refused_not_leading: u64,
    /// Commits refused because they do not fit an entry.
    pub refused_too_large: u64,
    /// Commits refused because the disk is full.
    pub refused_disk_full: u64,
    /// Commits that ended with an unknown outcome: timed out, or leadership lost.
    pub unknown: u64,
    /// Error text after the journal has failed. None while it works.
    pub failure: Option<String>,
}

/// Counts since the start, kept by the proposer.
#[derive(Default)]
pub(crate) struct JournalCounters {
    pub(crate) queued: AtomicU64,
    pub(crate) queued_bytes: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) commit_time: Mutex<Durations>,
    pub(crate) events: AtomicU64,
    pub(crate) entries: AtomicU64,
    pub(crate) refused_busy: AtomicU64,
    pub(crate) refused_not_leading: AtomicU64,
    pub(crate) refused_too_large: AtomicU64,
    pub(crate) refused_disk_full: AtomicU64,
    pub(crate) unknown: AtomicU64,
}

impl JournalCounters {
    pub(crate) fn committed_after(&self, took: Duration) {
        self.commit_time.lock().unwrap_or_else(PoisonError::into_inner).record(took);
    }

    pub(crate) fn show(&self, status: &mut JournalStatus) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        status.queued = read(&self.queued);
        status.commits = read(&self.commits);
        status.commit_time = *self.commit_time.lock().unwrap_or_else(PoisonError::into_inner);
        status.events = read(&self.events);
        status.entries = read(&self.entries);
        status.refused_busy = read(&self.refused_busy);
        status.refused_not_leading = read(&self.refused_not_leading);
        status.refused_too_large = read(&self.refused_too_large);
        status.refused_disk_full = read(&self.refused_disk_full);
        status.unknown = read(&self.unknown);
    }
}
