//! One sync for many callers. A caller that arrives during a sync waits for the next one, which covers
//! all callers up to its start.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One running sync. It ends when this is dropped, also after a panic.
struct GroupSyncGuard<'a> {
    group: &'a GroupSync,
    number: u64,
    succeeded: bool,
}

impl Drop for GroupSyncGuard<'_> {
    fn drop(&mut self) {
        let mut turns = self.group.turns();
        turns.under_way = false;
        if self.succeeded {
            turns.done = self.number;
        }
        self.group.ended(self.number).notify_all();
        // One of the callers must make the next sync.
        self.group.ended(self.number + 1).notify_one();
    }
}

/// Syncs of one object, numbered by their starts.
#[derive(Debug, Default)]
pub struct GroupSync {
    turns: Mutex<GroupSyncState>,
    /// Waiters for the end of a sync, by its number. With two numbers only the waiters of the right sync
    /// are woken.
    ended: [Condvar; 2],
}

#[derive(Debug, Default)]
struct GroupSyncState {
    begun: u64,
    /// The last that succeeded.
    done: u64,
    under_way: bool,
}

impl GroupSync {
    /// Returns when a sync that began after this call has succeeded. `sync` makes one, unless another
    /// caller does.
    pub fn wait_or<E>(&self, sync: impl Fn() -> Result<(), E>) -> Result<(), E> {
        let mut turns = self.turns();
        let wanted = turns.begun + 1;
        while turns.done < wanted {
            if turns.under_way {
                // Any later sync also covers a failed one.
                let awaited = turns.begun.max(wanted);
                turns = self.ended(awaited).wait(turns).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            turns.under_way = true;
            turns.begun += 1;
            let mut turn = GroupSyncGuard { group: self, number: turns.begun, succeeded: false };
            drop(turns);
            let synced = sync();
            turn.succeeded = synced.is_ok();
            drop(turn);
            // A failed sync is tried again by a caller that waited for it.
            synced?;
            turns = self.turns();
        }
        Ok(())
    }

    fn ended(&self, turn: u64) -> &Condvar {
        let [even, odd] = &self.ended;
        if turn.is_multiple_of(2) { even } else { odd }
    }

    fn turns(&self) -> MutexGuard<'_, GroupSyncState> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn each_is_covered_by_a_sync_that_began_after_it_came() {
        let (group, syncs, written) = (GroupSync::default(), AtomicU64::new(0), AtomicU64::new(0));
        let synced = AtomicU64::new(0);
        let sync = || {
            let seen = written.load(Ordering::SeqCst);
            syncs.fetch_add(1, Ordering::SeqCst);
            std::thread::yield_now();
            synced.fetch_max(seen, Ordering::SeqCst);
            Ok::<(), ()>(())
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mine = written.fetch_add(1, Ordering::SeqCst) + 1;
                        group.wait_or(sync).unwrap();
                        // Bytes that others wrote in between are covered, too.
                        assert!(synced.load(Ordering::SeqCst) >= mine);
                    }
                });
            }
        });
        assert!(syncs.load(Ordering::SeqCst) <= 1600);
    }

    #[test]
    fn a_panic_ends_a_sync_like_a_failure() {
        let group = GroupSync::default();
        let panics = || group.wait_or(|| -> Result<(), ()> { panic!("on purpose") });
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(group.wait_or(|| Ok::<(), &str>(())), Ok(()));
    }

    #[test]
    fn a_failed_sync_is_returned_and_does_not_count() {
        let group = GroupSync::default();
        assert_eq!(group.wait_or(|| Err("full")), Err("full"));
        assert_eq!(group.wait_or(|| Ok::<(), &str>(())), Ok(()));
    }
}
