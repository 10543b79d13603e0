//! When each other node last answered a call of this one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The last answer of each node. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerContacts(Arc<Mutex<BTreeMap<u64, Instant>>>);

impl PeerContacts {
    /// The node has answered now.
    pub(super) fn answered(&self, node: u64) {
        let mut contacts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        contacts.insert(node, Instant::now());
    }

    /// Whether the node answered within this time.
    pub(super) fn is_live(&self, node: u64, patience: Duration) -> bool {
        let contacts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        contacts.get(&node).is_some_and(|answered| answered.elapsed() <= patience)
    }
}
