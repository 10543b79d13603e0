//! The calls of this node to each other node: the last answer, and the snapshot on its way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::status::SnapshotOnWay;

/// The calls to each node. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerContacts(Arc<Mutex<BTreeMap<u64, PeerCalls>>>);

#[derive(Clone, Copy, Debug, Default)]
struct PeerCalls {
    answered: Option<Instant>,
    snapshot: Option<SnapshotOnWay>,
}

/// A snapshot on its way to one node. It ends when this is dropped.
pub(crate) struct SnapshotSending {
    contacts: PeerContacts,
    node: u64,
}

impl PeerContacts {
    /// The node has answered now.
    pub(crate) fn answered(&self, node: u64) {
        self.calls().entry(node).or_default().answered = Some(Instant::now());
    }

    /// Whether the node answered within this time.
    pub(crate) fn is_live(&self, node: u64, patience: Duration) -> bool {
        self.since_answer(node).is_some_and(|since| since <= patience)
    }

    /// The time since the node last answered. None before its first answer.
    pub(crate) fn since_answer(&self, node: u64) -> Option<Duration> {
        let answered = self.calls().get(&node).and_then(|calls| calls.answered);
        answered.map(|answered| answered.elapsed())
    }

    /// A snapshot begins its way to the node.
    pub(crate) fn sending(&self, node: u64) -> SnapshotSending {
        SnapshotSending { contacts: self.clone(), node }
    }

    /// The snapshots on their way, by number of the receiver.
    pub(crate) fn snapshots_sent(&self) -> BTreeMap<u64, SnapshotOnWay> {
        let calls = self.calls();
        calls.iter().filter_map(|(node, calls)| Some((*node, calls.snapshot?))).collect()
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, PeerCalls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SnapshotSending {
    /// The receiver has this much of it.
    pub(crate) fn reached(&self, on_way: SnapshotOnWay) {
        self.contacts.calls().entry(self.node).or_default().snapshot = Some(on_way);
    }
}

impl Drop for SnapshotSending {
    fn drop(&mut self) {
        self.contacts.calls().entry(self.node).or_default().snapshot = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_shown_while_it_is_on_its_way() {
        let contacts = PeerContacts::default();
        let sending = contacts.sending(2);
        assert!(contacts.snapshots_sent().is_empty());
        let half = SnapshotOnWay { sent: 1, bytes: 2 };
        sending.reached(half);
        assert_eq!(contacts.snapshots_sent(), BTreeMap::from([(2, half)]));
        drop(sending);
        assert!(contacts.snapshots_sent().is_empty());
    }
}
