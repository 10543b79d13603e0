//! The schedule of a worker's copies. Pure: the actor passes events and carries out the results.

use std::collections::{BTreeMap, HashSet, VecDeque};

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{Report, ReportedState, TaskId};
use serde::{Deserialize, Serialize};

use crate::downloader::copying::batching::{self, BatchSlot, BatchSlots};
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::managers::outbox::Outbox;

/// How many copies may wait for the disk, in addition to those whose bytes are arriving. Enough that one
/// sync covers many, and few enough for the open files.
const MOST_ARRIVED: usize = 512;

/// How many ended tasks are remembered, so that an answer that was sent before their end does not begin
/// them again. Task numbers are never reused.
const ENDED_REMEMBERED: usize = 4096;

/// An action for the actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferAction {
    /// Begin these copies, one after the other: a batch (`batching`), usually of one copy.
    Begin(Vec<CopyOrder>),
    /// End the running copy of this task.
    GiveUp(TaskId),
}

/// One running copy, for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferView {
    /// Id of the task.
    pub task: TaskId,
    /// Name of the file that is copied.
    pub name: FileName,
    /// The host that the copy is read from.
    pub source: HostAddr,
    /// Bytes written so far.
    pub bytes: u64,
    /// The master's size at the planning.
    pub size: Option<u64>,
    /// When it was begun.
    pub since: Millis,
    /// Whether it was cancelled and is about to end.
    pub given_up: bool,
    /// Whether all bytes have arrived, and only the sync is missing.
    pub arrived: bool,
}

/// How copies have ended since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferCounters {
    /// Copies that were started.
    pub begun: u64,
    /// Verified and in place.
    pub done: u64,
    /// Copies that failed, each with a blamed side.
    pub failed: u64,
    /// Copies that were cancelled.
    pub given_up: u64,
    /// Bytes of the copies that are done.
    pub bytes: u64,
}

/// The copies of one worker.
///
/// **Invariant:** a task is waiting, running, or ended; never two of these.
#[derive(Clone, Debug)]
pub struct Transfers {
    at_once: usize,
    waiting: VecDeque<CopyOrder>,
    under_way: BTreeMap<TaskId, ActiveTransfer>,
    /// The slots of the running copies.
    slots: BatchSlots,
    /// How many of them only wait for the disk.
    arrived: usize,
    outbox: Outbox,
    /// Ended tasks whose report was taken.
    reported: ReportedTasks,
    counters: TransferCounters,
    stopping: bool,
}

/// One running copy.
#[derive(Clone, Debug)]
struct ActiveTransfer {
    view: TransferView,
    /// The slot of its batch, which it needs until its bytes have arrived.
    slot: BatchSlot,
}

/// The last ended tasks whose report was taken.
#[derive(Clone, Debug, Default)]
struct ReportedTasks {
    oldest_first: VecDeque<TaskId>,
    all: HashSet<TaskId>,
}

impl ReportedTasks {
    fn remember(&mut self, task: TaskId) {
        if !self.all.insert(task) {
            return;
        }
        self.oldest_first.push_back(task);
        if self.oldest_first.len() > ENDED_REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.all.remove(&oldest);
        }
    }

    fn contains(&self, task: TaskId) -> bool {
        self.all.contains(&task)
    }
}

impl Transfers {
    /// No copies; `kept` are the reports that an earlier run could not deliver.
    pub fn new(at_once: usize, kept: Vec<Report>) -> Self {
        let mut outbox = Outbox::default();
        kept.into_iter().for_each(|report| outbox.push(report));
        Transfers {
            at_once: at_once.max(1),
            waiting: VecDeque::new(),
            under_way: BTreeMap::new(),
            slots: BatchSlots::default(),
            arrived: 0,
            outbox,
            reported: ReportedTasks::default(),
            counters: TransferCounters::default(),
            stopping: false,
        }
    }

    /// The same, continuing the figures of an earlier incarnation.
    pub fn counting_on(self, counters: TransferCounters) -> Self {
        Transfers { counters, ..self }
    }

    /// Takes the complete list of orders, best first. Running copies that are not in it are cancelled. A
    /// task that is listed twice is one task.
    pub fn order(&mut self, orders: Vec<CopyOrder>, now: Millis) -> Vec<TransferAction> {
        let wanted: HashSet<TaskId> = orders.iter().map(|order| order.id).collect();
        let gone: Vec<TaskId> =
            self.under_way.keys().filter(|task| !wanted.contains(task)).copied().collect();
        let mut acts: Vec<TransferAction> =
            gone.into_iter().filter_map(|task| self.give_up(task)).collect();
        let mut listed: HashSet<TaskId> = self.outbox.ended().collect();
        let fresh = |order: &CopyOrder| {
            listed.insert(order.id)
                && !self.under_way.contains_key(&order.id)
                && !self.reported.contains(order.id)
        };
        self.waiting = orders.into_iter().filter(fresh).collect();
        acts.extend(self.begin(now));
        acts
    }

    /// `bytes` of a copy are on the disk.
    pub fn moved(&mut self, task: TaskId, bytes: u64, now: Millis) {
        let Some(ActiveTransfer { view: transfer, .. }) = self.under_way.get_mut(&task) else {
            return;
        };
        transfer.bytes = bytes;
        if !transfer.given_up {
            let name = transfer.name.clone();
            self.outbox.push(Report {
                task,
                name,
                at: now,
                state: ReportedState::Progress { bytes },
            });
        }
    }

    /// All bytes of these copies have arrived, this many each. They need no slot while they wait for
    /// the disk.
    pub fn arrived(&mut self, copies: &[(TaskId, u64)], now: Millis) -> Vec<TransferAction> {
        for (task, bytes) in copies {
            let Some(transfer) = self.under_way.get_mut(task) else { continue };
            transfer.view.bytes = *bytes;
            if !std::mem::replace(&mut transfer.view.arrived, true) {
                self.slots.leave(transfer.slot);
                self.arrived += 1;
            }
        }
        self.begin(now)
    }

    /// Reports that the copies that wait for the disk are still alive.
    pub fn report_waiting(&mut self, now: Millis) {
        let arrived = self.under_way().filter(|transfer| transfer.arrived);
        let waiting: Vec<(TaskId, u64)> =
            arrived.map(|transfer| (transfer.task, transfer.bytes)).collect();
        for (task, bytes) in waiting {
            self.moved(task, bytes, now);
        }
    }

    /// A copy has ended; without a report it was cancelled.
    pub fn ended(
        &mut self,
        task: TaskId,
        report: Option<Report>,
        now: Millis,
    ) -> Vec<TransferAction> {
        let Some(ActiveTransfer { view, slot }) = self.under_way.remove(&task) else {
            return Vec::new();
        };
        if view.arrived {
            self.arrived -= 1;
        } else {
            self.slots.leave(slot);
        }
        match report {
            Some(report) => {
                match report.state {
                    ReportedState::Done { size, .. }
                    | ReportedState::DoneUnverified { size, .. } => {
                        self.counters.done += 1;
                        self.counters.bytes += size;
                    }
                    _ => self.counters.failed += 1,
                }
                self.outbox.push(report);
            }
            None => {
                self.counters.given_up += 1;
                self.outbox.forget(task);
            }
        }
        self.begin(now)
    }

    /// The node took these reports, and no longer needs these tasks. Answers which stored ends can be
    /// removed, and what to do next.
    pub fn taken(
        &mut self,
        sent: &[Report],
        cancelled: &[TaskId],
        now: Millis,
    ) -> (Vec<TaskId>, Vec<TransferAction>) {
        let reported = self.outbox.taken(sent);
        reported.iter().for_each(|&task| self.reported.remember(task));
        self.waiting.retain(|order| !cancelled.contains(&order.id));
        let mut acts: Vec<TransferAction> =
            cancelled.iter().filter_map(|&task| self.give_up(task)).collect();
        acts.extend(self.begin(now));
        (reported, acts)
    }

    /// Makes up to this many copies at once from now on. Running copies continue, even if they exceed
    /// the new limit.
    pub fn change_at_once(&mut self, at_once: usize, now: Millis) -> Vec<TransferAction> {
        self.at_once = at_once.max(1);
        self.begin(now)
    }

    /// Starts no more copies, and cancels all others.
    pub fn stop(&mut self) -> Vec<TransferAction> {
        self.stopping = true;
        self.waiting.clear();
        let tasks: Vec<TaskId> = self.under_way.keys().copied().collect();
        tasks.into_iter().filter_map(|task| self.give_up(task)).collect()
    }

    /// The tasks that this worker knows, for the long poll.
    pub fn known(&self) -> Vec<TaskId> {
        let waiting = self.waiting.iter().map(|order| order.id);
        let mut known: Vec<TaskId> =
            waiting.chain(self.under_way.keys().copied()).chain(self.outbox.ended()).collect();
        known.sort_unstable();
        known
    }

    /// The reports to deliver to the node.
    pub fn reports(&self) -> &[Report] {
        self.outbox.reports()
    }

    /// The running copies, by task.
    pub fn under_way(&self) -> impl Iterator<Item = &TransferView> {
        self.under_way.values().map(|transfer| &transfer.view)
    }

    /// How many copies wait for a free slot.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How copies have ended.
    pub fn counters(&self) -> TransferCounters {
        self.counters
    }

    fn give_up(&mut self, task: TaskId) -> Option<TransferAction> {
        let transfer = self.under_way.get_mut(&task)?;
        if std::mem::replace(&mut transfer.view.given_up, true) {
            return None;
        }
        Some(TransferAction::GiveUp(task))
    }

    /// Starts as many copies as there are free slots. A cancelled copy keeps its slot until it ends,
    /// because it still holds its temporary file and its connection.
    fn begin(&mut self, now: Millis) -> Vec<TransferAction> {
        let mut acts = Vec::new();
        while !self.stopping && !self.waiting.is_empty() && self.arrived <= MOST_ARRIVED {
            let free = self.at_once.saturating_sub(self.slots.taken());
            if free == 0 {
                break;
            }
            let batch = batching::next_batch(&mut self.waiting, free);
            let slot = self.slots.acquire(batch.len());
            for order in &batch {
                let view = TransferView {
                    task: order.id,
                    name: order.name.clone(),
                    source: order.source,
                    bytes: 0,
                    size: order.size,
                    since: now,
                    given_up: false,
                    arrived: false,
                };
                let (task, name) = (order.id, order.name.clone());
                self.outbox.push(Report { task, name, at: now, state: ReportedState::Working });
                self.under_way.insert(order.id, ActiveTransfer { view, slot });
                self.counters.begun += 1;
            }
            acts.push(TransferAction::Begin(batch));
        }
        acts
    }
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::worker::{Blame, ContentHash};

    use super::*;

    const NOW: Millis = Millis(1000);

    fn order(id: i64) -> CopyOrder {
        CopyOrder {
            id: TaskId(id),
            name: FileName::new(format!("{id}.mpg")).unwrap(),
            dir: "/data".into(),
            source: "127.0.0.1:8888".parse().unwrap(),
            source_tls: false,
            source_data: None,
            size: Some(1 << 30),
            copy_speed: None,
            tickets: None,
        }
    }

    fn small(id: i64) -> CopyOrder {
        CopyOrder { size: Some(10), ..order(id) }
    }

    fn begin(order: CopyOrder) -> TransferAction {
        TransferAction::Begin(vec![order])
    }

    fn done(id: i64) -> Report {
        let state = ReportedState::Done { size: 10, hash: ContentHash([0; 32]) };
        Report { task: TaskId(id), name: order(id).name, at: NOW, state }
    }

    fn ids(ids: &[i64]) -> Vec<TaskId> {
        ids.iter().copied().map(TaskId).collect()
    }

    #[test]
    fn copies_begin_in_order_and_never_more_than_allowed() {
        let mut transfers = Transfers::new(2, vec![]);
        let acts = transfers.order(vec![order(3), order(1), order(2)], NOW);
        assert_eq!(acts, [begin(order(3)), begin(order(1))]);
        assert_eq!(transfers.known(), ids(&[1, 2, 3]));
        assert_eq!(transfers.order(vec![order(3), order(1), order(2)], NOW), []);
        assert_eq!(transfers.ended(TaskId(1), Some(done(1)), NOW), [begin(order(2))]);
        assert_eq!(transfers.counters().bytes, 10);
    }

    #[test]
    fn a_higher_limit_begins_copies_and_a_lower_one_ends_none() {
        let mut transfers = Transfers::new(1, vec![]);
        let orders: Vec<CopyOrder> = (1..=4).map(order).collect();
        assert_eq!(transfers.order(orders, NOW), [begin(order(1))]);
        let begun = [begin(order(2)), begin(order(3))];
        assert_eq!(transfers.change_at_once(3, NOW), begun);
        assert_eq!(transfers.change_at_once(1, NOW), []);
        assert_eq!(transfers.ended(TaskId(1), Some(done(1)), NOW), []);
        assert_eq!(transfers.ended(TaskId(2), Some(done(2)), NOW), []);
        assert_eq!(transfers.ended(TaskId(3), Some(done(3)), NOW), [begin(order(4))]);
    }

    #[test]
    fn a_withdrawn_order_is_given_up_once_and_frees_its_slot_later() {
        let mut transfers = Transfers::new(1, vec![]);
        transfers.order(vec![order(1)], NOW);
        assert_eq!(transfers.order(vec![order(2)], NOW), [TransferAction::GiveUp(TaskId(1))]);
        assert_eq!(transfers.order(vec![order(2)], NOW), []);
        transfers.moved(TaskId(1), 5, NOW);
        assert_eq!(transfers.ended(TaskId(1), None, NOW), [begin(order(2))]);
        assert!(transfers.reports().iter().all(|report| report.task == TaskId(2)));
        let (_, acts) = transfers.taken(&[], &ids(&[2]), NOW);
        assert_eq!(acts, [TransferAction::GiveUp(TaskId(2))]);
    }

    #[test]
    fn a_copy_waiting_for_the_disk_delays_no_other() {
        let most = i64::try_from(MOST_ARRIVED).unwrap();
        let mut transfers = Transfers::new(1, vec![]);
        let orders: Vec<CopyOrder> = (1..=most + 100).map(order).collect();
        transfers.order(orders.clone(), NOW);
        for id in 1..=most {
            assert_eq!(transfers.arrived(&[(TaskId(id), 10)], NOW), [begin(order(id + 1))]);
        }
        let one_more = TaskId(most + 1);
        assert_eq!(transfers.arrived(&[(one_more, 10)], NOW), [], "the disk is too far behind");
        assert_eq!(transfers.ended(TaskId(1), Some(done(1)), NOW), [begin(order(most + 2))]);
        assert_eq!(transfers.known().len(), orders.len());
        transfers.report_waiting(NOW);
        let moved =
            |report: &&Report| matches!(report.state, ReportedState::Progress { bytes: 10 });
        assert_eq!(transfers.reports().iter().filter(moved).count(), MOST_ARRIVED);
        let others = orders[MOST_ARRIVED + 10..].to_vec();
        assert_eq!(transfers.order(others, NOW).len(), MOST_ARRIVED + 1, "all are given up");
    }

    #[test]
    fn a_batch_of_small_copies_keeps_its_slot_until_its_end() {
        let mut transfers = Transfers::new(2, vec![]);
        let acts = transfers.order((1..=7).map(small).collect(), NOW);
        let batch =
            |ids: std::ops::RangeInclusive<i64>| TransferAction::Begin(ids.map(small).collect());
        assert_eq!(acts, [batch(1..=4), batch(5..=7)]);
        let more: Vec<CopyOrder> = (1..=8).map(small).collect();
        assert_eq!(transfers.order(more, NOW), []);
        let here = |ids: &[i64]| ids.iter().map(|&id| (TaskId(id), 10)).collect::<Vec<_>>();
        assert_eq!(transfers.arrived(&here(&[5, 6]), NOW), []);
        assert_eq!(transfers.ended(TaskId(5), Some(done(5)), NOW), []);
        assert_eq!(transfers.ended(TaskId(7), Some(done(7)), NOW), [begin(small(8))]);
    }

    #[test]
    fn a_task_that_is_listed_twice_is_begun_once() {
        let mut transfers = Transfers::new(2, vec![]);
        assert_eq!(transfers.order(vec![order(1), order(1)], NOW), [begin(order(1))]);
        assert_eq!(transfers.waiting(), 0);
    }

    #[test]
    fn an_ended_task_is_not_begun_again_by_a_late_answer() {
        let mut transfers = Transfers::new(1, vec![done(9)]);
        assert_eq!(transfers.order(vec![order(9)], NOW), [], "its end is not taken yet");
        assert_eq!(transfers.known(), ids(&[9]));
        assert_eq!(transfers.taken(&[done(9)], &[], NOW), (ids(&[9]), vec![]));
        assert_eq!(transfers.order(vec![order(9)], NOW), [], "the answer is older than the end");
        assert_eq!(transfers.known(), []);
    }

    #[test]
    fn after_a_stop_nothing_begins() {
        let mut transfers = Transfers::new(1, vec![]);
        transfers.order(vec![order(1), order(2)], NOW);
        assert_eq!(transfers.stop(), [TransferAction::GiveUp(TaskId(1))]);
        assert_eq!(transfers.ended(TaskId(1), None, NOW), []);
        assert_eq!(transfers.order(vec![order(3)], NOW), []);
    }

    #[test]
    fn a_failure_is_counted_and_reported() {
        let mut transfers = Transfers::new(1, vec![]);
        transfers.order(vec![order(1)], NOW);
        transfers.moved(TaskId(1), 5, NOW);
        let state = ReportedState::Failed { blame: Blame::Source, reason: "gone".into() };
        let failed = Report { state, ..done(1) };
        transfers.ended(TaskId(1), Some(failed.clone()), NOW);
        assert_eq!(transfers.counters().failed, 1);
        assert_eq!(transfers.reports().last(), Some(&failed));
        assert!(
            !transfers.reports().iter().any(|r| matches!(r.state, ReportedState::Progress { .. }))
        );
    }
}
