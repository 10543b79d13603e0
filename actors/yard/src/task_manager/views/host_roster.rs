//! The recorded hosts, for the actors that call them.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::host::HostAddr;

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

impl HostRoster {
    /// The incarnation after that of the published roster.
    pub(in crate::task_manager) fn next_incarnation(published: &ViewHandle<Option<Self>>) -> u64 {
        published.load().as_ref().as_ref().map_or(0, |roster| roster.incarnation) + 1
    }

    /// Publishes these hosts, if that is news.
    pub(in crate::task_manager) fn publish(
        to: &ViewHandle<Option<Self>>,
        hosts: &Arc<BTreeMap<HostAddr, HostRecord>>,
        incarnation: u64,
    ) {
        let is_published = to.load().as_ref().as_ref().is_some_and(|published| {
            published.incarnation == incarnation
                && (Arc::ptr_eq(&published.hosts, hosts) || published.hosts == *hosts)
        });
        if !is_published {
            to.publish_news(Some(HostRoster { hosts: Arc::clone(hosts), incarnation }));
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::HostRole;

    use super::*;
    use crate::task_manager::samples::host;

    #[test]
    fn only_other_hosts_or_another_incarnation_are_news() {
        let handle = ViewHandle::default();
        let mut news = handle.news();
        let yard = |hosts: &[u8]| {
            let record = HostRecord::new(HostRole::Both, true);
            Arc::new(hosts.iter().map(|last| (host(*last), record)).collect())
        };
        let mut is_news_of = |hosts: &[u8], incarnation| {
            HostRoster::publish(&handle, &yard(hosts), incarnation);
            let is_news = news.has_changed().unwrap();
            news.mark_unchanged();
            is_news
        };
        let first = HostRoster::next_incarnation(&handle);
        assert_eq!(
            [is_news_of(&[1], first), is_news_of(&[1], first), is_news_of(&[], first)],
            [true, false, true]
        );
        assert!(is_news_of(&[], HostRoster::next_incarnation(&handle)));
    }
}
