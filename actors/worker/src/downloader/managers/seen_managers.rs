//! The managers that called this worker recently: they list its files, delete them, or give it orders.
//! The node compares them with itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::manager::ManagerId;
use reelyard_protocol::worker::{ManagerAction, ManagerSeen};

/// How long a manager is remembered after its last action.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// How many are remembered. The one with the oldest action is dropped first.
const MOST: usize = 32;

type SeenManagerKey = (Option<ManagerId>, String, ManagerAction);

/// The table. Pure.
#[derive(Clone, Debug, Default)]
pub struct SeenManagers {
    by_who: BTreeMap<SeenManagerKey, (Millis, Millis, u64)>,
}

impl SeenManagers {
    /// Records an action of a manager.
    pub fn record(
        &mut self,
        manager: Option<ManagerId>,
        from: String,
        does: ManagerAction,
        now: Millis,
    ) {
        self.by_who.retain(|_, (_, last, _)| now.since(*last) < REMEMBERED);
        let who = (manager, from, does);
        if self.by_who.len() == MOST && !self.by_who.contains_key(&who) {
            let oldest = self.by_who.iter().min_by_key(|(_, (_, last, _))| *last);
            if let Some(oldest) = oldest.map(|(who, _)| who.clone()) {
                self.by_who.remove(&oldest);
            }
        }
        let (_, last, times) = self.by_who.entry(who).or_insert((now, now, 0));
        *last = now;
        *times += 1;
    }

    /// The managers with recent calls.
    pub fn lately(&self, now: Millis) -> Vec<ManagerSeen> {
        let seen = self.by_who.iter().filter(|(_, (_, last, _))| now.since(*last) < REMEMBERED);
        seen.map(|((manager, from, does), &(first, last, times))| ManagerSeen {
            manager: *manager,
            from: from.clone(),
            does: *does,
            first,
            last,
            times,
        })
        .collect()
    }
}

/// The table of one worker. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SeenManagersHandle(Arc<Mutex<SeenManagers>>);

impl SeenManagersHandle {
    /// Records an action of a manager.
    pub fn record(
        &self,
        manager: Option<ManagerId>,
        from: String,
        does: ManagerAction,
        now: Millis,
    ) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record(manager, from, does, now);
    }

    /// The managers with recent calls.
    pub fn lately(&self, now: Millis) -> Vec<ManagerSeen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lately(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inactive_managers_are_forgotten_and_their_number_is_bounded() {
        let mut seen = SeenManagers::default();
        seen.record(None, "10.0.0.1".to_owned(), ManagerAction::Lists, Millis(0));
        seen.record(None, "10.0.0.1".to_owned(), ManagerAction::Lists, Millis(60_000));
        seen.record(None, "10.0.0.1".to_owned(), ManagerAction::Deletes, Millis(60_000));
        let lately = seen.lately(Millis(60_000));
        assert_eq!(lately.len(), 2);
        assert_eq!(
            (lately[0].first, lately[0].last, lately[0].times),
            (Millis(0), Millis(60_000), 2)
        );
        assert!(seen.lately(Millis(660_000)).is_empty());
        for manager in 0..1000 {
            seen.record(None, manager.to_string(), ManagerAction::Lists, Millis(manager));
        }
        let lately = seen.lately(Millis(1000));
        assert_eq!(lately.len(), MOST);
        assert!(lately.iter().any(|seen| seen.from == "999"));
    }
}
