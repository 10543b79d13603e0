//! The current rate of each copy. Pure.
//!
//! A copy between two Reelyard workers gets a new rate whenever its share changes. Any other copy gets its
//! rate once, when it is planned. An old cfw cannot change it later, and neither can the program that
//! fetches from one.

use std::collections::BTreeMap;

use reelyard_core::host::{BitsPerSecond, HostAddr, OLD_COPY_SPEED};
use reelyard_protocol::worker::TaskId;

use super::hosts::HostTable;
use crate::bandwidth::{BandwidthInForce, Flow, LEAST, split};
use crate::task_manager::state::task::Task;
use crate::task_manager::state::task_book::TasksById;

/// The hosts of every copy, and the limits in force there.
#[derive(Clone, Copy)]
pub struct CopyRateContext<'a> {
    /// The hosts as last seen.
    pub hosts: &'a HostTable,
    /// The rates and limits of this moment.
    pub in_force: BandwidthInForce<'a>,
}

impl CopyRateContext<'_> {
    /// The rate of each open task. Tasks without a limit are left out.
    pub fn rates(&self, open: &TasksById) -> BTreeMap<TaskId, BitsPerSecond> {
        let flows: Vec<Flow> = open.values().map(|task| self.flow_of(task)).collect();
        let (from, to) = (self.in_force, self.in_force);
        let rates = split(&flows, |host| from.source(host), |host| to.destination(host));
        open.keys().copied().zip(rates).filter_map(|(id, rate)| Some((id, rate?))).collect()
    }

    /// The rate of a new copy. If the rate can be changed later, the copy gets its share later, and now
    /// only the limit for each copy. Otherwise it gets a share that stays valid. At the source, that is
    /// the share of a source that serves its maximum number of copies (`slots`). At the destination, it is
    /// shared with the `others` that go there. An old cfw makes one copy after the other, so its copies do
    /// not share their rate.
    ///
    /// Old programs have no word for "unlimited": they always get a rate.
    pub fn rate_of_new(
        &self,
        (source, destination): (HostAddr, HostAddr),
        slots: usize,
        others: usize,
    ) -> Option<BitsPerSecond> {
        let copy = self.in_force.copy();
        if self.is_rate_adjustable(source, destination) {
            return copy;
        }
        let others = if self.is_ours(destination) { others } else { 0 };
        let share = |limit: BitsPerSecond, of: usize| {
            BitsPerSecond(limit.0 / u64::try_from(of).unwrap_or(u64::MAX).max(1)).max(LEAST)
        };
        let sends = self.in_force.source(source).map(|limit| share(limit, slots));
        let receives = self.in_force.destination(destination).map(|limit| share(limit, others + 1));
        [copy, sends, receives].into_iter().flatten().min().or(Some(OLD_COPY_SPEED))
    }

    /// Whether the rate of a copy between these two hosts can be changed while it runs.
    pub fn is_rate_adjustable(&self, source: HostAddr, destination: HostAddr) -> bool {
        self.is_ours(source) && self.is_ours(destination)
    }

    fn is_ours(&self, host: HostAddr) -> bool {
        self.hosts.get(host).is_some_and(|host| host.is_ours())
    }

    fn flow_of(&self, task: &Task) -> Flow {
        let (source, destination) = (task.source, task.destination);
        let is_fixed = !self.is_rate_adjustable(source, destination);
        let most = if is_fixed { task.copy_speed } else { self.in_force.copy() };
        Flow { source, destination, most, is_fixed }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reelyard_core::clock::Millis;
    use reelyard_core::host::{HostKind, HostRole};

    use super::*;
    use crate::bandwidth::Bandwidth;
    use crate::cfw_worker::HostObserved;
    use crate::task_manager::samples::{host, task};
    use crate::task_manager::settings::HostSetting;

    /// Sources 1 and 2 and destinations 21 and 22; 2 and 22 are old.
    fn hosts() -> HostTable {
        let role = |number| if number < 20 { HostRole::Source } else { HostRole::Destination };
        let settings =
            [1, 2, 21, 22].map(|number| HostSetting { addr: host(number), role: role(number) });
        let mut hosts = HostTable::new(&settings);
        for number in [1, 2, 21, 22] {
            let data_addr = host(number).socket();
            let ours = HostKind::Reelyard { data_addr, fetches_from_old: true, data_tls: false };
            let kind = if number % 20 == 1 { ours } else { HostKind::Cfw };
            let (inventory, disk, traffic, at) = (None, None, None, Millis(0));
            hosts.observe(&HostObserved { host: host(number), kind, inventory, disk, traffic, at });
        }
        hosts
    }

    fn bandwidth(copy: &str, sources: &str, destinations: &str) -> Bandwidth {
        let mut bandwidth = Bandwidth { copy: copy.parse().unwrap(), ..Bandwidth::default() };
        bandwidth.sources.default = sources.parse().unwrap();
        bandwidth.destinations.default = destinations.parse().unwrap();
        bandwidth
    }

    fn open(pairs: &[(u8, u8)]) -> TasksById {
        let of = |(id, (source, destination)): (i64, &(u8, u8))| {
            let mut task = task(id, &format!("{id}.mpg"));
            (task.source, task.destination) = (host(*source), host(*destination));
            task.copy_speed = Some(BitsPerSecond(1_000_000));
            (TaskId(id), Arc::new(task))
        };
        (1..).zip(pairs).map(of).collect()
    }

    #[test]
    fn own_copies_share_the_rate_that_fixed_copies_leave() {
        let (hosts, bandwidth) = (hosts(), bandwidth("off", "9Mbit/s", "off"));
        let rate_context = CopyRateContext { hosts: &hosts, in_force: bandwidth.at(Millis(0)) };
        let rates = rate_context.rates(&open(&[(1, 21), (1, 21), (1, 22), (2, 21)]));
        let rates: Vec<u64> = rates.values().map(|rate| rate.0).collect();
        assert_eq!(rates, [4_000_000, 4_000_000, 1_000_000, 1_000_000]);
    }

    #[test]
    fn own_copies_get_no_rate_without_any_limit() {
        let (hosts, bandwidth) = (hosts(), Bandwidth::default());
        let rate_context = CopyRateContext { hosts: &hosts, in_force: bandwidth.at(Millis(0)) };
        assert!(rate_context.rates(&open(&[(1, 21)])).is_empty());
        assert_eq!(rate_context.rate_of_new((host(1), host(21)), 1, 0), None);
        for pair in [(1, 22), (2, 21), (2, 22)] {
            let pair = (host(pair.0), host(pair.1));
            assert_eq!(rate_context.rate_of_new(pair, 1, 0), Some(OLD_COPY_SPEED));
        }
    }

    #[test]
    fn a_fixed_copy_gets_a_rate_that_it_can_keep() {
        let (hosts, bandwidth) = (hosts(), bandwidth("8Mbit/s", "12Mbit/s", "15Mbit/s"));
        let rate_context = CopyRateContext { hosts: &hosts, in_force: bandwidth.at(Millis(0)) };
        let rate = |source, destination, slots, others| {
            rate_context.rate_of_new((host(source), host(destination)), slots, others).unwrap().0
        };
        assert_eq!(rate(1, 21, 3, 5), 8_000_000, "our workers get later rates");
        assert_eq!(rate(1, 22, 1, 0), 8_000_000);
        assert_eq!(rate(1, 22, 3, 5), 4_000_000, "one after the other at an old cfw");
        assert_eq!(rate(2, 21, 1, 2), 5_000_000);
        assert_eq!(rate(2, 21, 1, 1_000_000_000), LEAST.0);
    }
}
