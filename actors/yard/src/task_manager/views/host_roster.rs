//! The recorded hosts, for the actors that call them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reelyard_core::host::HostAddr;
use tokio::sync::watch;

use crate::task_manager::state::hosts::host_record::HostRecord;

/// Every recorded host. Unlike the view, it is first published when it has all hosts that this node
/// had recorded at its start. So no host is called that is in maintenance or was removed, only
/// because its record was read a moment later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRoster {
    /// All recorded hosts, by address.
    pub hosts: Arc<BTreeMap<HostAddr, HostRecord>>,
    /// The incarnation of the TaskManager that published it. A new incarnation needs all reports of
    /// its hosts again.
    pub incarnation: u64,
}

/// Publishes the roster. Clones share it, and it outlives a restart of the actor.
#[derive(Clone)]
pub struct HostRosterViewHandle {
    roster: Arc<watch::Sender<Option<HostRoster>>>,
    incarnations: Arc<AtomicU64>,
}

impl Default for HostRosterViewHandle {
    fn default() -> Self {
        HostRosterViewHandle {
            roster: Arc::new(watch::Sender::new(None)),
            incarnations: Arc::default(),
        }
    }
}

impl HostRosterViewHandle {
    /// The roster, as a channel to watch; none until it is complete.
    pub fn watch(&self) -> watch::Receiver<Option<HostRoster>> {
        self.roster.subscribe()
    }

    /// The number of one more incarnation.
    pub(in crate::task_manager) fn new_incarnation(&self) -> u64 {
        self.incarnations.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(in crate::task_manager) fn publish(
        &self,
        hosts: &Arc<BTreeMap<HostAddr, HostRecord>>,
        incarnation: u64,
    ) {
        self.roster.send_if_modified(|shown| {
            let is_shown = shown.as_ref().is_some_and(|shown| {
                shown.incarnation == incarnation
                    && (Arc::ptr_eq(&shown.hosts, hosts) || shown.hosts == *hosts)
            });
            if !is_shown {
                *shown = Some(HostRoster { hosts: Arc::clone(hosts), incarnation });
            }
            !is_shown
        });
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::HostRole;

    use super::*;
    use crate::task_manager::samples::host;

    #[test]
    fn only_another_roll_or_another_incarnation_is_news() {
        let views = HostRosterViewHandle::default();
        let mut watch = views.watch();
        let yard = |hosts: &[u8]| {
            let record = HostRecord::new(HostRole::Both, true);
            Arc::new(hosts.iter().map(|last| (host(*last), record)).collect())
        };
        let mut shows = |hosts: &[u8], incarnation| {
            views.publish(&yard(hosts), incarnation);
            let is_news = watch.has_changed().unwrap();
            watch.mark_unchanged();
            is_news
        };
        let first = views.new_incarnation();
        assert_eq!(
            [shows(&[1], first), shows(&[1], first), shows(&[], first)],
            [true, false, true]
        );
        assert!(shows(&[], views.new_incarnation()));
    }
}
