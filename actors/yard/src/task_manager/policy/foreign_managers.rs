//! Signs that another manager works on this yard: an old cfm, or another cluster. In memory only,
//! pure.
//!
//! A sign is **certain** if neither this cluster nor a person can have caused it. All others are hints:
//! a person who deletes a file by hand looks the same as a manager.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::YardId;
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::worker::{ManagerAction, ManagerSeen, Report, TaskId};
use serde::{Deserialize, Serialize};

use super::unsteady_lists::UnsteadyLists;
use crate::cfw_worker::HostCallStatus;
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::task_book::TaskBook;

/// The kinds of signs of another manager.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ForeignManagerSign {
    /// A Reelyard worker of this yard takes its orders from another manager.
    OrdersElsewhere,
    /// Another cluster lists files on one of our workers, or deletes there.
    OtherCluster,
    /// A worker of this yard has seen a leader of a later epoch than this one's.
    LaterEpoch,
    /// A worker works on a task that this cluster never made. After a restore of the store, or an
    /// accepted loss, this cluster may have made the task in the lost time.
    UnknownTask,
    /// A program without an identity deletes files on one of our workers.
    UnnamedDeletes,
    /// A program without an identity keeps listing one of our workers, as an old cfm does.
    UnnamedLists,
    /// A state was set over cfm's protocol for a task that this cluster never made.
    UnknownChange,
    /// A copy appeared that was never planned.
    UnplannedCopy,
    /// A copy vanished that this cluster did not delete.
    VanishedCopy,
}

impl ForeignManagerSign {
    /// Whether it is proof.
    pub fn is_sure(self) -> bool {
        matches!(
            self,
            ForeignManagerSign::OrdersElsewhere
                | ForeignManagerSign::OtherCluster
                | ForeignManagerSign::UnknownTask
        )
    }

    /// Whether our workers report the sign at each read: then it counts while the reports continue.
    fn is_reported_by_workers(self) -> bool {
        matches!(
            self,
            ForeignManagerSign::OrdersElsewhere
                | ForeignManagerSign::OtherCluster
                | ForeignManagerSign::UnnamedDeletes
                | ForeignManagerSign::UnnamedLists
        )
    }

    /// How long it counts after it was last seen.
    fn counts_for(self) -> Duration {
        if self.is_reported_by_workers() { ENDED_AFTER } else { COUNTS_FOR }
    }

    /// How often it must be seen before it counts. Of some signs, a single one proves nothing.
    fn least(self) -> u64 {
        match self {
            ForeignManagerSign::LaterEpoch | ForeignManagerSign::UnnamedLists => 2,
            _ => 1,
        }
    }
}

/// One sign of another manager, with its first and last sighting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ForeignManager {
    /// The host where it was seen; missing if the sign has no host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostAddr>,
    /// The observation that makes it a sign.
    pub sign: ForeignManagerSign,
    /// Whether it is proof. Otherwise a person may have caused it.
    pub sure: bool,
    /// The last observation, in words.
    pub what: String,
    /// When it was seen first.
    pub first: Millis,
    /// When it was seen last.
    pub last: Millis,
    /// How often it was seen.
    pub times: u64,
}

impl ForeignManager {
    /// Keeps the times of an earlier report of the same actions. The worker's clock is not known, so a
    /// report gives only the latest time that they can have by our clock.
    fn keep_earlier_times(&mut self, before: &ForeignManager) {
        if self.times == before.times && self.what == before.what {
            self.first = self.first.min(before.first);
            self.last = self.last.min(before.last);
        }
    }
}

/// How long a worker's report of a manager counts after its last action. Managers act at least once a
/// minute.
const ENDED_AFTER: Duration = Duration::from_secs(120);

/// How long a sign counts that is not seen again.
const COUNTS_FOR: Duration = Duration::from_secs(60 * 60);

/// How long after it was logged the same sign is logged again.
const LOG_AGAIN_AFTER: Duration = Duration::from_secs(60 * 60);

/// How often a program without an identity must list before it counts as a manager, and over how long.
const LISTS: (u64, Duration) = (3, Duration::from_secs(30));

/// The signs of this yard.
#[derive(Clone, Debug, Default)]
pub struct ForeignManagers {
    observed: BTreeMap<(Option<HostAddr>, ForeignManagerSign), (ForeignManager, Option<Millis>)>,
    unsteady_lists: UnsteadyLists,
}

/// The identity of this node as leader, to recognize other managers.
#[derive(Clone, Copy, Debug)]
pub struct OwnLeadership {
    /// The id of this node's cluster.
    pub cluster: YardId,
    /// The epoch that this node leads in.
    pub epoch: Epoch,
}

impl ForeignManagers {
    /// The signs that count at `now`.
    pub fn at(&self, now: Millis) -> impl Iterator<Item = &ForeignManager> {
        let observed = self.observed.values().map(|(manager, _)| manager);
        observed.filter(move |manager| {
            let sign = manager.sign;
            manager.times >= sign.least() && now.since(manager.last) < sign.counts_for()
        })
    }

    /// Records that a sign was seen `times` times.
    pub fn record(
        &mut self,
        host: Option<HostAddr>,
        sign: ForeignManagerSign,
        times: u64,
        what: String,
        now: Millis,
    ) {
        self.observed.retain(|_, (manager, _)| now.since(manager.last) < COUNTS_FOR);
        let fresh = || {
            let (sure, what) = (sign.is_sure(), String::new());
            (ForeignManager { host, sign, sure, what, first: now, last: now, times: 0 }, None)
        };
        let (manager, _) = self.observed.entry((host, sign)).or_insert_with(fresh);
        manager.what = what;
        manager.last = now;
        manager.times = manager.times.saturating_add(times);
    }

    /// The signs to log now: new ones, and those not logged for an hour.
    pub fn due_for_log(&mut self, now: Millis) -> Vec<ForeignManager> {
        let mut due = Vec::new();
        for (manager, logged) in self.observed.values_mut() {
            let is_due =
                logged.is_none_or(|at| manager.last > at && now.since(at) >= LOG_AGAIN_AFTER);
            if is_due && manager.times >= manager.sign.least() {
                *logged = Some(now);
                due.push(manager.clone());
            }
        }
        due
    }

    /// The hosts whose lists lost files and show them again, each with such a file; each host is logged once.
    pub fn unsteady_lists_to_log(&mut self) -> Vec<(HostAddr, FileName)> {
        self.unsteady_lists.due_for_log()
    }

    /// Takes the managers that one of our workers reports. An action is no sign if it has ended, or if
    /// it was before the first action of this cluster.
    pub fn record_worker_managers(&mut self, call_status: &HostCallStatus, us: OwnLeadership) {
        let (host, now) = (Some(call_status.host), call_status.at);
        let table = SeenByWorker::of(&call_status.managers, us.cluster);
        let mut reported = BTreeMap::<ForeignManagerSign, ForeignManager>::new();
        for seen in call_status.managers.iter().filter(|seen| table.goes_on(seen)) {
            let Some((sign, what)) = sign_of(seen, us.cluster) else { continue };
            let (first, last) =
                (table.by_clock_of(now, seen.first), table.by_clock_of(now, seen.last));
            let (sure, times) = (sign.is_sure(), seen.times);
            let manager = ForeignManager { host, sign, sure, what, first, last, times };
            match reported.get_mut(&sign) {
                Some(other) => {
                    let times = other.times.saturating_add(times);
                    let first = first.min(other.first);
                    if last >= other.last {
                        *other = manager;
                    }
                    (other.first, other.times) = (first, times);
                }
                None => drop(reported.insert(sign, manager)),
            }
        }
        // A worker that reports nothing now does not prove that the action has ended.
        if call_status.epoch.is_some() {
            self.observed.retain(|(of, sign), _| {
                *of != host || !sign.is_reported_by_workers() || reported.contains_key(sign)
            });
        }
        for (sign, mut manager) in reported {
            let before = self.observed.get(&(host, sign));
            let logged = before.and_then(|(_, logged)| *logged);
            if let Some((before, _)) = before {
                manager.keep_earlier_times(before);
            }
            self.observed.insert((host, sign), (manager, logged));
        }
        if let Some(known) = call_status.epoch.filter(|known| *known > us.epoch) {
            let what = format!(
                "it knows a leader of epoch {known}, and this node leads in epoch {}. Another cluster \
                 manages it, or the data of this node are older than its own past decisions",
                us.epoch
            );
            self.record(host, ForeignManagerSign::LaterEpoch, 1, what, now);
        }
    }
}

impl ForeignManagers {
    /// Records copies that appeared on a host or disappeared from it without this cluster. This needs
    /// the whole earlier inventory of the host. `removed` are the files that the Remover removed from
    /// the host, or is about to remove. A lost file that comes back shows that the list is wrong: then the
    /// differences of that host are no signs.
    pub fn record_difference(
        &mut self,
        book: &TaskBook,
        event: &TaskEvent,
        removed: &HashSet<FileId>,
        now: Millis,
    ) {
        let TaskEvent::InventoryDiffered { host, added, removed: gone, .. } = event else {
            return;
        };
        if !book.placement(*host).is_some_and(|placement| placement.complete) {
            return;
        }
        // A copy of a cancelled task may arrive late.
        let tasks = || book.open().values().chain(book.ended().values());
        let ours =
            |name: &&FileName| tasks().any(|task| task.destination == *host && task.name == **name);
        let by_us = |name: &&FileName| removed.contains(&book.file(name));
        let vanished: Vec<&FileName> = gone.iter().filter(|name| !by_us(name)).collect();
        let unplanned: Vec<&FileName> = added.iter().filter(|name| !ours(name)).collect();
        if self.unsteady_lists.observe(*host, &unplanned, &vanished, now) {
            for sign in [ForeignManagerSign::UnplannedCopy, ForeignManagerSign::VanishedCopy] {
                self.observed.remove(&(Some(*host), sign));
            }
            return;
        }
        let lists = [
            (
                ForeignManagerSign::UnplannedCopy,
                "was copied here without a plan of this cluster",
                unplanned,
            ),
            (ForeignManagerSign::VanishedCopy, "was removed, but not by this cluster", vanished),
        ];
        for (sign, what, names) in lists {
            if let Some(last) = names.last() {
                let what = format!(
                    "{last} {what}: another manager or a person did it, or the list of the host is wrong"
                );
                self.record(Some(*host), sign, names.len() as u64, what, now);
            }
        }
    }

    /// Records a worker's report on a task that this cluster never made.
    pub fn record_unknown_task(&mut self, host: HostAddr, report: &Report, now: Millis) {
        let what = format!(
            "it works on task {} ({}), which this cluster does not know: another manager created it, or a \
             restore of the store lost it",
            report.task, report.name
        );
        self.record(Some(host), ForeignManagerSign::UnknownTask, 1, what, now);
    }

    /// Records a change over cfm's protocol of a task that this cluster never made.
    pub fn record_unknown_change(&mut self, id: TaskId, now: Millis) {
        let what = format!(
            "a client of the cfm interface set the state of task {id}, which this cluster \
            never created"
        );
        self.record(None, ForeignManagerSign::UnknownChange, 1, what, now);
    }
}

/// The managers that a worker has seen, by its own clock.
struct SeenByWorker {
    /// The time of the last action. This node calls the worker all the time, so that is now.
    newest: Millis,
    /// The first action of this cluster on the worker.
    we_came: Option<Millis>,
    /// When the worker took orders of this cluster last.
    our_orders: Option<Millis>,
}

impl SeenByWorker {
    fn of(managers: &[ManagerSeen], ours: YardId) -> Self {
        let is_ours =
            |seen: &&ManagerSeen| seen.manager.is_some_and(|manager| manager.cluster == ours);
        let of_us = || managers.iter().filter(is_ours);
        let orders = of_us().filter(|seen| seen.does == ManagerAction::Orders);
        SeenByWorker {
            newest: managers.iter().map(|seen| seen.last).max().unwrap_or_default(),
            we_came: of_us().map(|seen| seen.first).min(),
            our_orders: orders.map(|seen| seen.last).max(),
        }
    }

    /// Whether a manager's work continues beside this cluster. It does not if it ended before the first
    /// action of this cluster: then it was the predecessor, perhaps at the same address. A worker obeys
    /// one manager at a time, so later orders of this cluster end those of another.
    fn goes_on(&self, seen: &ManagerSeen) -> bool {
        let is_over = self.newest.since(seen.last) >= ENDED_AFTER
            || self.we_came.is_some_and(|came| seen.last < came)
            || seen.does == ManagerAction::Orders
                && self.our_orders.is_some_and(|ours| ours >= seen.last);
        !is_over
    }

    /// An instant of the worker's clock by ours, which shows `now`.
    fn by_clock_of(&self, now: Millis, at: Millis) -> Millis {
        now.before(self.newest.since(at))
    }
}

/// The sign that an action on a worker gives, if it is one.
fn sign_of(seen: &ManagerSeen, ours: YardId) -> Option<(ForeignManagerSign, String)> {
    let from = &seen.from;
    match (seen.manager, seen.does) {
        (Some(manager), _) if manager.cluster == ours => None,
        (Some(manager), ManagerAction::Orders) => Some((
            ForeignManagerSign::OrdersElsewhere,
            format!("it takes orders from node {} of another cluster at {from}", manager.node),
        )),
        (None, ManagerAction::Orders) => Some((
            ForeignManagerSign::OrdersElsewhere,
            format!("it takes orders from an old cfm at {from}"),
        )),
        (Some(manager), does) => {
            let verb = if does == ManagerAction::Deletes { "deletes here" } else { "lists it" };
            let what = format!("node {} of another cluster, at {from}, {verb}", manager.node);
            Some((ForeignManagerSign::OtherCluster, what))
        }
        (None, ManagerAction::Deletes) => Some((
            ForeignManagerSign::UnnamedDeletes,
            format!("a program at {from} deletes files here: an old cfm or a person"),
        )),
        (None, ManagerAction::Lists) => {
            let (times, over) = LISTS;
            let keeps = seen.times >= times && seen.last.since(seen.first) >= over;
            let what = format!("a program at {from} keeps listing it, as an old cfm does");
            keeps.then_some((ForeignManagerSign::UnnamedLists, what))
        }
    }
}

impl TaskBook {
    /// Whether this cluster never made a task with this number. Then the task is in no list, and newer
    /// than all tasks that were dropped from the lists.
    pub fn never_made(&self, id: TaskId) -> bool {
        self.task(id).is_none() && self.forgotten_to.is_none_or(|forgotten| id > forgotten)
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::manager::ManagerId;

    use super::*;
    use crate::cfw_worker::CircuitState;
    use crate::task_manager::samples::host;

    const US: OwnLeadership = OwnLeadership { cluster: YardId(1), epoch: Epoch(5) };

    fn seen(cluster: Option<u128>, does: ManagerAction) -> ManagerSeen {
        let manager = cluster.map(|cluster| ManagerId { cluster: YardId(cluster), node: 1 });
        let (first, last) = (Millis(0), Millis(60_000));
        ManagerSeen { manager, from: "10.0.0.9".to_owned(), does, first, last, times: 3 }
    }

    fn call_status(managers: Vec<ManagerSeen>, epoch: u64, at: i64) -> HostCallStatus {
        let (epoch, calls) = (Some(Epoch(epoch)), CircuitState::Closed);
        HostCallStatus { host: host(21), calls, epoch, managers, at: Millis(at) }
    }

    fn observed(managers_seen: &ForeignManagers, at: i64) -> Vec<(ForeignManagerSign, bool)> {
        managers_seen.at(Millis(at)).map(|manager| (manager.sign, manager.sure)).collect()
    }

    #[test]
    fn our_own_doings_are_no_sign() {
        let mut managers_seen = ForeignManagers::default();
        let managers = [ManagerAction::Lists, ManagerAction::Deletes, ManagerAction::Orders]
            .map(|does| seen(Some(1), does));
        managers_seen.record_worker_managers(&call_status(managers.into(), 5, 0), US);
        managers_seen.record_worker_managers(&call_status(Vec::new(), 4, 0), US);
        assert_eq!(observed(&managers_seen, 0), []);
    }

    #[test]
    fn another_cluster_is_certain_and_an_unnamed_manager_is_a_hint() {
        let observed_after = |managers: Vec<ManagerSeen>| {
            let mut managers_seen = ForeignManagers::default();
            for at in [0, 60_000] {
                managers_seen.record_worker_managers(&call_status(managers.clone(), 5, at), US);
            }
            observed(&managers_seen, 60_000)
        };
        use ForeignManagerSign::*;
        assert_eq!(
            observed_after(vec![seen(Some(2), ManagerAction::Lists)]),
            [(OtherCluster, true)]
        );
        assert_eq!(
            observed_after(vec![seen(Some(2), ManagerAction::Deletes)]),
            [(OtherCluster, true)]
        );
        assert_eq!(
            observed_after(vec![seen(Some(2), ManagerAction::Orders)]),
            [(OrdersElsewhere, true)]
        );
        assert_eq!(
            observed_after(vec![seen(None, ManagerAction::Orders)]),
            [(OrdersElsewhere, true)]
        );
        assert_eq!(
            observed_after(vec![seen(None, ManagerAction::Deletes)]),
            [(UnnamedDeletes, false)]
        );
        assert_eq!(observed_after(vec![seen(None, ManagerAction::Lists)]), [(UnnamedLists, false)]);
        let once = ManagerSeen { times: 1, ..seen(None, ManagerAction::Lists) };
        assert_eq!(observed_after(vec![once]), [], "anybody may look once");
    }

    #[test]
    fn a_later_epoch_counts_when_it_stays() {
        let mut managers_seen = ForeignManagers::default();
        managers_seen.record_worker_managers(&call_status(Vec::new(), 6, 0), US);
        assert_eq!(observed(&managers_seen, 0), [], "this node may just be losing its lead");
        managers_seen.record_worker_managers(&call_status(Vec::new(), 6, 60_000), US);
        assert_eq!(observed(&managers_seen, 60_000), [(ForeignManagerSign::LaterEpoch, false)]);
    }

    #[test]
    fn a_sign_is_logged_again_only_if_it_is_still_seen_later() {
        let mut managers_seen = ForeignManagers::default();
        let hour = 60 * 60 * 1000;
        let record = |managers_seen: &mut ForeignManagers, at| {
            let what = "a.mpg".to_owned();
            managers_seen.record(
                Some(host(1)),
                ForeignManagerSign::VanishedCopy,
                2,
                what,
                Millis(at),
            );
        };
        record(&mut managers_seen, 0);
        assert_eq!(managers_seen.due_for_log(Millis(0)).len(), 1);
        record(&mut managers_seen, hour / 2);
        assert_eq!(managers_seen.due_for_log(Millis(hour / 2)).len(), 0);
        record(&mut managers_seen, hour);
        let again = managers_seen.due_for_log(Millis(hour));
        assert_eq!((again.len(), again[0].times), (1, 6));
        assert_eq!(managers_seen.at(Millis(2 * hour)).count(), 0, "it is over");
    }

    fn orders(cluster: Option<u128>, from: &str, last: i64) -> ManagerSeen {
        let manager = cluster.map(|cluster| ManagerId { cluster: YardId(cluster), node: 1 });
        let (first, last) = (Millis(last - 5_000), Millis(last));
        let from = from.to_owned();
        ManagerSeen { manager, from, does: ManagerAction::Orders, first, last, times: 6 }
    }

    #[test]
    fn earlier_managers_and_own_orders_are_no_sign() {
        // The node has taken the very address of the cfm whose orders the worker took until then.
        let at = "http://127.0.0.1:8080";
        let cfm_lists = ManagerSeen {
            first: Millis(0),
            last: Millis(60_000),
            ..seen(None, ManagerAction::Lists)
        };
        let ours = ManagerSeen {
            first: Millis(60_500),
            last: Millis(61_000),
            ..seen(Some(1), ManagerAction::Lists)
        };
        let our_orders = |last| ManagerSeen { first: Millis(60_500), ..orders(Some(1), at, last) };
        let mut managers_seen = ForeignManagers::default();
        let table = |more: &[ManagerSeen]| {
            let all = [cfm_lists.clone(), ours.clone(), orders(None, at, 60_600)];
            [&all, more].concat()
        };
        managers_seen
            .record_worker_managers(&call_status(table(&[our_orders(61_000)]), 5, 1_000), US);
        assert_eq!(observed(&managers_seen, 1_000), [], "nobody manages beside us");
        // A manager whose orders are taken after ours is a sign at once.
        let other = orders(Some(2), "http://127.0.0.1:9090", 61_500);
        managers_seen.record_worker_managers(
            &call_status(table(&[our_orders(61_000), other]), 5, 2_000),
            US,
        );
        assert_eq!(observed(&managers_seen, 2_000), [(ForeignManagerSign::OrdersElsewhere, true)]);
        // Once ours are taken again, it is over.
        managers_seen
            .record_worker_managers(&call_status(table(&[our_orders(62_000)]), 5, 3_000), US);
        assert_eq!(observed(&managers_seen, 3_000), []);
    }

    #[test]
    fn a_sign_has_the_time_of_our_clock_and_ends() {
        let lists = |last| ManagerSeen {
            first: Millis(0),
            last: Millis(last),
            ..seen(Some(2), ManagerAction::Lists)
        };
        // The worker's clock is an hour behind; it saw us five seconds after the other one.
        let ours = |last| ManagerSeen {
            first: Millis(0),
            last: Millis(last),
            ..seen(Some(1), ManagerAction::Lists)
        };
        let hour = 60 * 60 * 1000;
        let mut managers_seen = ForeignManagers::default();
        managers_seen
            .record_worker_managers(&call_status(vec![lists(10_000), ours(15_000)], 5, hour), US);
        let last: Vec<_> =
            managers_seen.at(Millis(hour)).map(|one| (one.last, one.times)).collect();
        assert_eq!(last, [(Millis(hour - 5_000), 3)], "as the worker counted");
        // The next look comes before the worker sees this node again.
        managers_seen.record_worker_managers(
            &call_status(vec![lists(10_000), ours(15_000)], 5, hour + 9_000),
            US,
        );
        let last: Vec<_> = managers_seen.at(Millis(hour + 9_000)).map(|one| one.last).collect();
        assert_eq!(last, [Millis(hour - 5_000)], "nothing was seen since");
        // It no longer lists, and the worker still remembers it for ten minutes.
        let later = vec![lists(10_000), ours(135_000)];
        managers_seen.record_worker_managers(&call_status(later, 5, hour + 120_000), US);
        assert_eq!(observed(&managers_seen, hour + 120_000), []);
        // A worker that cannot be called reports nothing, and the sign ends.
        managers_seen.record_worker_managers(
            &call_status(vec![lists(140_000), ours(140_000)], 5, 2 * hour),
            US,
        );
        let silent = HostCallStatus { epoch: None, ..call_status(Vec::new(), 5, 2 * hour + 1) };
        managers_seen.record_worker_managers(&silent, US);
        assert_eq!(observed(&managers_seen, 2 * hour + 1).len(), 1);
        assert_eq!(observed(&managers_seen, 2 * hour + 120_000), []);
    }
}
