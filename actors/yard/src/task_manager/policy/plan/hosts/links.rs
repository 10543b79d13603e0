//! How much other traffic the links of hosts carry, and how that affects the choice of hosts for copies.
//!
//! The copies of this yard are left out. They have their own limits (`copies_per_source`, `[bandwidth]`),
//! and a figure that was measured during a copy would delay the next copy. Reelyard workers report the
//! two separately. A node_exporter reports only the total: the rate that was assigned to each running
//! copy is subtracted.
//!
//! An unknown load delays no copy. A figure that oscillates around a mark does no harm: it affects only
//! new copies, and it is an average over some seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::traffic::{Rates, Traffic};

use crate::task_manager::messages::LinkLoad;
use crate::task_manager::policy::plan::PlanningContext;
use crate::task_manager::settings::{LinkRules, Weights};
use crate::task_manager::state::task::{Task, TaskState};

/// Shares are counted in millionths.
const WHOLE: u64 = 1_000_000;

/// The links of a yard with a known load.
pub(in crate::task_manager::policy::plan) struct LinkLoads {
    used: BTreeMap<HostAddr, LinkUse>,
    rules: LinkRules,
}

/// How much of a link others use in each direction, in millionths of its speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LinkUse {
    sends: u64,
    receives: u64,
}

impl LinkLoads {
    /// The loads as last reported. A report that is too old is left out.
    pub fn of(yard: &PlanningContext<'_>) -> Self {
        let rules = yard.settings.links;
        let used = yard.hosts.iter().filter_map(|(addr, host)| {
            let (traffic, at) = host.traffic.as_ref()?;
            // A report from the future was made before the clock was set back.
            let is_fresh = yard.now.since(*at).max(at.since(yard.now)) <= rules.fresh_for;
            let speed = traffic.speed.filter(|speed| is_fresh && speed.0 > 0)?;
            let copies = match traffic.copies {
                Some(copies) => copies,
                None => copy_rates(yard, addr, traffic, *at)?,
            };
            let others = traffic.all.without(copies);
            let used = LinkUse {
                sends: share(others.sends, speed),
                receives: share(others.receives, speed),
            };
            Some((addr, used))
        });
        LinkLoads { used: used.collect(), rules }
    }

    /// The load of a source's link: its sent traffic counts.
    pub fn of_source(&self, addr: HostAddr) -> Option<LinkLoad> {
        let used_percent = percent(self.used.get(&addr)?.sends);
        Some(LinkLoad { used_percent, mark_percent: self.rules.source_mark_percent })
    }

    /// How busy the link of a destination is: a copy has to get there, and is sent from there
    /// afterwards.
    pub fn of_destination(&self, addr: HostAddr) -> Option<LinkLoad> {
        let used_percent = percent(self.used.get(&addr)?.busier());
        Some(LinkLoad { used_percent, mark_percent: self.rules.destination_mark_percent })
    }

    /// How much of the link of a destination is free, in millionths.
    pub fn free(&self, addr: HostAddr) -> Option<u64> {
        Some(WHOLE.saturating_sub(self.used.get(&addr)?.busier()))
    }
}

impl LinkUse {
    fn busier(self) -> u64 {
        self.sends.max(self.receives)
    }
}

impl LinkLoad {
    /// Whether it is above its mark.
    pub fn is_too_busy(self) -> bool {
        self.mark_percent.is_some_and(|mark| self.used_percent > mark)
    }
}

fn share(part: BitsPerSecond, whole: BitsPerSecond) -> u64 {
    let share = u128::from(part.0) * u128::from(WHOLE) / u128::from(whole.0.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Rounded up, so that a load just above a mark is also shown above it.
fn percent(share: u64) -> u32 {
    u32::try_from(share.div_ceil(WHOLE / 100)).unwrap_or(u32::MAX)
}

/// The most that our copies from and to `host` can have moved in the measurement up to `at`. None if
/// that is unknown, because one of them may have run without a rate.
fn copy_rates(
    yard: &PlanningContext<'_>,
    host: HostAddr,
    traffic: &Traffic,
    at: Millis,
) -> Option<Rates> {
    let over = Duration::from_millis(traffic.over_ms.max(1));
    let window = (at.before(over), at);
    let (mut sent, mut received) = (0, 0);
    for task in yard.book.open().values().chain(yard.book.ended().values()) {
        let bits = if task.source == host {
            &mut sent
        } else if task.destination == host {
            &mut received
        } else {
            continue;
        };
        *bits += bits_within(task, window)?;
    }
    let rate = |bits: u128| {
        let rate = bits * 1000 / u128::from(traffic.over_ms.max(1));
        BitsPerSecond(u64::try_from(rate).unwrap_or(u64::MAX))
    };
    Some(Rates { sends: rate(sent), receives: rate(received) })
}

/// The most bits that a copy can have moved between two instants, at its assigned rate. None if it has no
/// rate.
fn bits_within(task: &Task, (from, to): (Millis, Millis)) -> Option<u128> {
    let (began, ended) = match task.state {
        // It waits for its turn.
        TaskState::Ready => return Some(0),
        TaskState::Working => (task.changed, to),
        // The start is no longer recorded, so the latest possible start is used.
        _ => {
            let took = task.copy_speed.map(|rate| rate.time_for(task.size));
            let began = took.map_or(task.created, |took| task.changed.before(took));
            (began.max(task.created), task.changed)
        }
    };
    let within = ended.min(to).since(began.max(from));
    if within.is_zero() {
        return Some(0);
    }
    let bits = u128::from(task.copy_speed?.0) * within.as_millis() / 1000;
    Some(bits.min(u128::from(task.size) * 8))
}

/// The scale for the destinations of one round.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::task_manager::policy::plan) struct Scale {
    weights: Weights,
    /// The room of the roomiest.
    largest_room: u64,
    /// The free part of a link, in millionths: the average of the links with a known load.
    usual_free: u64,
}

impl Scale {
    /// The averages of destinations with this room and these free parts of their links.
    pub fn of(weights: Weights, destinations: impl Iterator<Item = (u64, Option<u64>)>) -> Self {
        let (mut largest_room, mut free, mut known) = (0, 0u64, 0u64);
        for (room, free_link) in destinations {
            largest_room = largest_room.max(room);
            free = free.saturating_add(free_link.unwrap_or(0));
            known += u64::from(free_link.is_some());
        }
        Scale { weights, largest_room, usual_free: free.checked_div(known).unwrap_or(0) }
    }

    /// The quality of a destination for a copy, in millionths: the weighted mean of the free parts of its
    /// room and its link. A link without known figures counts like the average of the others: neither as
    /// idle nor as busy.
    pub fn score(&self, room: u64, free_link: Option<u64>) -> u64 {
        let Weights { room: by_room, traffic: by_traffic } = self.weights;
        if by_traffic == 0 {
            // By room only, compared to the byte.
            return 0;
        }
        let room = u128::from(room) * u128::from(WHOLE) / u128::from(self.largest_room.max(1));
        let free = u128::from(free_link.unwrap_or(self.usual_free));
        let sum = u128::from(by_room) * room + u128::from(by_traffic) * free;
        let weights = u128::from(by_room) + u128::from(by_traffic);
        u64::try_from(sum / weights).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::{HostKind, HostRole};
    use reelyard_protocol::worker::TaskId;
    use reelyard_replication::{InFlight, Piece};

    use super::*;
    use crate::cfw_worker::HostObserved;
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::samples::{host, new_task};
    use crate::task_manager::settings::{HostSetting, TaskSettings};
    use crate::task_manager::state::event::TaskEvent;
    use crate::task_manager::state::task_book::TaskBook;

    /// Half of a gigabit link is used for sending; measured over ten seconds.
    fn traffic(copies: Option<Rates>) -> Traffic {
        let rates = Rates { sends: BitsPerSecond(500_000_000), receives: BitsPerSecond(1_000_001) };
        let (interface, speed) = ("eth0".to_owned(), Some(BitsPerSecond(1_000_000_000)));
        Traffic { interface, speed, all: rates, copies, over_ms: 10_000 }
    }

    /// The load of a host's link at second 100, as source and as destination, for a report of that time
    /// or earlier.
    fn load(book: &TaskBook, entry: Option<(Traffic, Millis)>) -> Option<(u32, u32)> {
        let role = HostRole::Both;
        let mut hosts = HostTable::new(&[1, 21].map(|addr| HostSetting { addr: host(addr), role }));
        let (kind, now) = (HostKind::Cfw, Millis(100_000));
        let (inventory, disk) = (None, None);
        hosts.observe(&HostObserved {
            host: host(1),
            kind,
            inventory,
            disk,
            traffic: entry,
            at: now,
        });
        let (settings, in_flight) = (TaskSettings::default(), InFlight::default());
        let (hosts, settings) = (&hosts, &settings);
        let in_flight = &in_flight;
        let yard =
            PlanningContext { book, in_flight, hosts, settings, leading_since: Millis(0), now };
        let links = LinkLoads::of(&yard);
        assert_eq!(links.of_source(host(21)), None, "nothing is known of that one");
        let source = links.of_source(host(1))?.used_percent;
        let destination = links.of_destination(host(1))?.used_percent;
        assert_eq!(links.free(host(1)).unwrap() / 10_000, u64::from(100 - destination));
        Some((source, destination))
    }

    fn at_100(copies: Option<Rates>) -> Option<(Traffic, Millis)> {
        Some((traffic(copies), Millis(100_000)))
    }

    #[test]
    fn the_traffic_of_own_copies_is_left_out() {
        let book = TaskBook::default();
        assert_eq!(load(&book, at_100(None)), Some((50, 50)));
        let copies = Rates { sends: BitsPerSecond(400_000_000), receives: BitsPerSecond(0) };
        assert_eq!(load(&book, at_100(Some(copies))), Some((10, 10)));
        let all = Rates { sends: BitsPerSecond(600_000_000), receives: BitsPerSecond(0) };
        assert_eq!(load(&book, at_100(Some(all))), Some((0, 1)), "it receives a little");
    }

    #[test]
    fn an_old_figure_or_one_without_speed_is_unknown() {
        let book = TaskBook::default();
        assert_eq!(load(&book, None), None);
        assert_eq!(load(&book, Some((traffic(None), Millis(60_000)))), Some((50, 50)));
        assert_eq!(load(&book, Some((traffic(None), Millis(59_999)))), None);
        assert_eq!(load(&book, Some((traffic(None), Millis(140_001)))), None, "of the future");
        let without = Traffic { speed: None, ..traffic(None) };
        assert_eq!(load(&book, Some((without, Millis(100_000)))), None);
    }

    /// A book with one task from host 1 to host 21, of 250 MB at this rate, begun at second 92.
    fn book(rate: Option<u64>) -> TaskBook {
        let mut book = TaskBook::default();
        let hosts = vec![(host(1), HostRole::Both), (host(21), HostRole::Both)];
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
        let mut task = new_task(1, "a.mpg");
        (task.size, task.copy_speed) = (250_000_000, rate.map(BitsPerSecond));
        book.apply(Millis(80_000), &TaskEvent::Created(task)).unwrap();
        book
    }

    #[test]
    fn unmeasured_copies_are_subtracted_at_their_ordered_rate() {
        let mut under_way = book(Some(400_000_000));
        assert_eq!(load(&under_way, at_100(None)), Some((50, 50)), "it has not begun");
        let began = TaskEvent::Began { id: TaskId(1) };
        under_way.apply(Millis(95_000), &began).unwrap();
        // 400 Mbit/s in half of the window.
        assert_eq!(load(&under_way, at_100(None)), Some((30, 30)));
        // Its end is no news to the figure: that one still has it in it.
        let hash = reelyard_protocol::worker::ContentHash([0; 32]);
        let done =
            TaskEvent::Completed { id: TaskId(1), size: Some(250_000_000), hash: Some(hash) };
        under_way.apply(Millis(100_000), &done).unwrap();
        assert_eq!(load(&under_way, at_100(None)), Some((30, 30)));
        let mut fast = book(None);
        assert_eq!(load(&fast, at_100(None)), Some((50, 50)));
        fast.apply(Millis(95_000), &began).unwrap();
        assert_eq!(load(&fast, at_100(None)), None, "how much of it is a copy nobody knows");
        assert_eq!(load(&fast, at_100(Some(Rates::default()))), Some((50, 50)));
    }

    #[test]
    fn only_a_link_above_its_mark_is_too_busy() {
        let link = |used_percent, mark_percent| LinkLoad { used_percent, mark_percent };
        assert!(!link(100, None).is_too_busy());
        assert!(!link(80, Some(80)).is_too_busy());
        assert!(link(81, Some(80)).is_too_busy());
        assert_eq!([0, 1, 10_000, 10_001, WHOLE].map(percent), [0, 1, 1, 2, 100]);
    }

    #[test]
    fn room_and_links_count_by_their_weights() {
        let (full, empty) = ((10, Some(WHOLE)), (100, Some(0)));
        let better = |room, traffic| {
            let scale = Scale::of(Weights { room, traffic }, [full, empty].into_iter());
            let [full, empty] = [full, empty].map(|(room, free)| scale.score(room, free));
            full.cmp(&empty)
        };
        assert!(better(1, 0).is_eq(), "room decides by itself");
        assert!(better(2, 1).is_lt());
        assert!(better(1, 1).is_gt(), "1.1 against 1");
        assert!(better(0, 1).is_gt());
    }

    #[test]
    fn an_unknown_link_counts_like_the_average_of_the_others() {
        let destinations = [(50, Some(WHOLE)), (50, Some(WHOLE / 2)), (50, None)];
        let scale = Scale::of(Weights { room: 1, traffic: 1 }, destinations.into_iter());
        let [idle, busy, unknown] = destinations.map(|(room, free)| scale.score(room, free));
        assert!(busy < unknown && unknown < idle, "{busy} {unknown} {idle}");
        // If no load is known, room decides.
        let scale = Scale::of(Weights { room: 1, traffic: 5 }, [(5, None), (6, None)].into_iter());
        assert!(scale.score(6, None) > scale.score(5, None));
        assert_eq!(Scale::default().score(0, None), 0);
    }
}
