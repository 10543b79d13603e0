//! The index of shares between two looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tokio::time::Instant;

use super::share_index::{ShareIndex, UsesNeeded};
use super::share_orders::ShareOrders;
use crate::share_expiry::state::table::shards::Shards;

/// An index that nobody looks at is forgotten after this time. With its orders it takes about 116 bytes a
/// share.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The last index, while somebody looks at lists.
#[derive(Default)]
pub(in crate::share_expiry) struct KeptShareIndex {
    last: Mutex<Option<LastIndex>>,
    /// The orders of its shares.
    pub(in crate::share_expiry) orders: ShareOrders,
}

struct LastIndex {
    index: Arc<ShareIndex>,
    looked_at: Instant,
}

impl KeptShareIndex {
    /// The index with all changes until now. Looks at the same time wait for each other.
    pub(in crate::share_expiry) fn refresh(
        &self,
        shards: &Shards,
        uses_needed: UsesNeeded,
        now: Instant,
    ) -> Arc<ShareIndex> {
        let mut last = self.lock();
        let known = last.as_ref().map(|last| Arc::clone(&last.index)).unwrap_or_default();
        let refreshed = known.refreshed(shards, uses_needed);
        let index = if refreshed.is_same(&known) { known } else { Arc::new(refreshed) };
        *last = Some(LastIndex { index: Arc::clone(&index), looked_at: now });
        index
    }

    /// Forgets an index that nobody has looked at for a while. The actor calls this, so it never waits for a refresh.
    pub(in crate::share_expiry) fn prune(&self, now: Instant) {
        let mut last = match self.last.try_lock() {
            Ok(last) => last,
            // As in `lock`.
            Err(TryLockError::Poisoned(last)) => last.into_inner(),
            // Somebody looks now.
            Err(TryLockError::WouldBlock) => return,
        };
        let is_old =
            |last: &mut LastIndex| now.saturating_duration_since(last.looked_at) >= KEPT_FOR;
        if last.take_if(is_old).is_some() {
            self.orders.forget();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<LastIndex>> {
        // A refresh that panics leaves the last index.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::share;

    #[test]
    fn an_index_is_kept_while_somebody_looks() {
        let (kept, shards, begin) = (KeptShareIndex::default(), Shards::default(), Instant::now());
        shards.insert(share(1, "a", 9));
        let at = |minutes: u64| begin + Duration::from_secs(60 * minutes);
        let first = kept.refresh(&shards, UsesNeeded::Any, at(0));
        kept.prune(at(9));
        let second = kept.refresh(&shards, UsesNeeded::Any, at(9));
        assert!(Arc::ptr_eq(&first, &second));
        kept.prune(at(18));
        assert!(Arc::ptr_eq(&first, &kept.refresh(&shards, UsesNeeded::Any, at(18))));
        kept.prune(at(28));
        assert!(kept.lock().is_none());
        assert!(!Arc::ptr_eq(&first, &kept.refresh(&shards, UsesNeeded::Any, at(28))));
    }

    #[test]
    fn a_prune_does_not_wait_for_a_refresh() {
        let (kept, shards, begin) = (KeptShareIndex::default(), Shards::default(), Instant::now());
        kept.refresh(&shards, UsesNeeded::Any, begin);
        let refreshing = kept.lock();
        // A prune that waited would never return: this thread holds the lock.
        kept.prune(begin + 2 * KEPT_FOR);
        assert!(refreshing.is_some());
        drop(refreshing);
        kept.prune(begin + 2 * KEPT_FOR);
        assert!(kept.lock().is_none());
    }
}
