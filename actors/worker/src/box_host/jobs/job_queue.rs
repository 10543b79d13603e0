//! The latest job of each box, and which of them run: one hook a box at a time. Pure.
//!
//! The last request for a box counts. A repeated request joins the running or waiting one. Any other
//! request cancels the waiting job and ends a running init first. A running cleanup is allowed to
//! finish, because half a cleanup is useless.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use reelyard_core::event::Epoch;
use reelyard_core::manager::YardId;
use reelyard_protocol::boxes::{FenceToken, HookKind, RunHook};

use super::fair_queue::FairBoxQueue;
use crate::box_host::jobs::box_key::HostedBoxKey;

/// The last job of a box: its cluster, token and hook.
type LastHookRequest = (Option<YardId>, FenceToken, HookKind);

/// The id of one run.
pub(in crate::box_host) type HookRunId = u64;

/// The job queue; `W` is a caller that waits for an answer.
pub(in crate::box_host) struct BoxJobQueue<W> {
    boxes: HashMap<HostedBoxKey, BoxJobs<W>>,
    line: FairBoxQueue,
    /// The last job of each box, within the last epoch of its cluster.
    last: HashMap<HostedBoxKey, LastHookRequest>,
    /// The epoch of the last request of each cluster.
    epochs: HashMap<Option<YardId>, Epoch>,
    runs: HookRunId,
}

struct BoxJobs<W> {
    running: Option<(HookRunId, HookJob<W>)>,
    next: Option<HookJob<W>>,
    /// The run has exceeded its time limit, so no caller waits for it. None before.
    overdue: Option<String>,
}

/// A requested job, and its waiting callers.
struct HookJob<W> {
    hook: RunHook,
    waiters: Vec<W>,
}

impl<W> HookJob<W> {
    fn is(&self, other: &RunHook) -> bool {
        let one = &self.hook;
        (one.kind, one.token) == (other.kind, other.token)
            && one.place.cluster == other.place.cluster
    }
}

/// The effects of a new job.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::box_host) struct SubmitOutcome<W> {
    /// Callers of dropped jobs.
    pub given_up: Vec<W>,
    /// The run that must be ended.
    pub end: Option<HookRunId>,
}

/// Why a job is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::box_host) enum NotTaken {
    /// It was requested before a later call, but arrived after it.
    #[error("this call is too late: the box has a newer request")]
    Late,
    /// The run for the box has exceeded its time limit, and no other run starts before it has ended.
    #[error("{0}; no other hook of the box starts before this one has ended")]
    Overdue(String),
}

/// Something that has its turn.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::box_host) struct HookJobStart {
    pub run: HookRunId,
    pub hook: RunHook,
}

impl<W> Default for BoxJobQueue<W> {
    fn default() -> Self {
        let (boxes, last, epochs) = (HashMap::new(), HashMap::new(), HashMap::new());
        BoxJobQueue { boxes, line: FairBoxQueue::default(), last, epochs, runs: 0 }
    }
}

impl<W> BoxJobQueue<W> {
    /// A request for a box. The caller is the leader.
    pub fn submit(&mut self, hook: RunHook, waiter: W) -> Result<SubmitOutcome<W>, (NotTaken, W)> {
        if self.is_late(&hook) {
            return Err((NotTaken::Late, waiter));
        }
        let of_box = match self.boxes.entry(HostedBoxKey::of(&hook)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                self.line.join(&hook.place.pool, unknown.key().clone());
                unknown.insert(BoxJobs { running: None, next: None, overdue: None })
            }
        };
        if let Some(why) = &of_box.overdue {
            return Err((NotTaken::Overdue(why.clone()), waiter));
        }
        let mut asked = SubmitOutcome { given_up: Vec::new(), end: None };
        let running = of_box.running.as_mut();
        if let Some((_, running)) = running.filter(|(_, running)| running.is(&hook))
            && of_box.next.is_none()
        {
            running.waiters.push(waiter);
            return Ok(asked);
        }
        if let Some(next) = of_box.next.as_mut().filter(|next| next.is(&hook)) {
            next.waiters.push(waiter);
            return Ok(asked);
        }
        asked.given_up = of_box.next.take().map(|next| next.waiters).unwrap_or_default();
        if let Some((run, running)) = &mut of_box.running
            && running.hook.kind == HookKind::Init
        {
            asked.given_up.append(&mut running.waiters);
            asked.end = Some(*run);
        }
        of_box.next = Some(HookJob { hook, waiters: vec![waiter] });
        Ok(asked)
    }

    /// Whether a later request has arrived. Tokens of a pool only grow, and a box is made ready for a
    /// lease before it is cleaned after it.
    fn is_late(&mut self, hook: &RunHook) -> bool {
        let (cluster, epoch) = (hook.place.cluster, hook.place.epoch);
        let before = self.epochs.entry(cluster).or_default();
        if epoch > *before {
            *before = epoch;
            self.last.retain(|_, last| last.0 != cluster);
        }
        let Some(token) = hook.token else { return false };
        let asked = (cluster, token, hook.kind);
        // Another cluster counts its own tokens: the boxes were handed over.
        let is_after =
            |last: &LastHookRequest| last.0 == asked.0 && (asked.1, asked.2) < (last.1, last.2);
        match self.last.entry(HostedBoxKey::of(hook)) {
            Entry::Occupied(last) if is_after(last.get()) => true,
            Entry::Occupied(mut last) => {
                last.insert(asked);
                false
            }
            Entry::Vacant(first) => {
                first.insert(asked);
                false
            }
        }
    }

    /// The next job to start.
    pub fn next(&mut self, at_once: usize) -> Option<HookJobStart> {
        let key = self.line.next(at_once)?;
        let of_box = self.boxes.get_mut(&key)?;
        let wanted = of_box.next.take()?;
        self.runs += 1;
        let turn = HookJobStart { run: self.runs, hook: wanted.hook.clone() };
        of_box.running = Some((self.runs, wanted));
        Some(turn)
    }

    /// A run for a box exceeds its time limit: its callers are answered, and no other run starts for the
    /// box before it has ended. Answers all callers that waited for it, or for its end.
    pub fn takes_too_long(&mut self, key: &HostedBoxKey, run: HookRunId, why: &str) -> Vec<W> {
        let Some(of_box) = self.boxes.get_mut(key) else { return Vec::new() };
        let running = of_box.running.as_mut().filter(|(id, _)| *id == run);
        let Some((_, wanted)) = running else { return Vec::new() };
        let mut waited = std::mem::take(&mut wanted.waiters);
        waited.extend(of_box.next.take().map(|next| next.waiters).unwrap_or_default());
        of_box.overdue = Some(why.to_owned());
        waited
    }

    /// A run for a box has ended. Returns the callers that wait for its result.
    pub fn ended(&mut self, key: &HostedBoxKey) -> Vec<W> {
        let Some(of_box) = self.boxes.get_mut(key) else { return Vec::new() };
        let Some((_, ended)) = of_box.running.take() else { return Vec::new() };
        of_box.overdue = None;
        self.line.ended(&ended.hook.place.pool);
        match &of_box.next {
            Some(next) => self.line.join(&next.hook.place.pool, key.clone()),
            None => drop(self.boxes.remove(key)),
        }
        ended.waiters
    }

    /// Cancels all jobs and answers all waiting callers.
    pub fn cancel_all(&mut self) -> Vec<W> {
        let wanted = self.boxes.values_mut().flat_map(|of_box| {
            let running = of_box.running.as_mut().map(|(_, running)| running);
            running.into_iter().chain(of_box.next.as_mut())
        });
        wanted.flat_map(|wanted| std::mem::take(&mut wanted.waiters)).collect()
    }

    /// Whether something runs or waits for a box.
    pub fn has(&self, key: &HostedBoxKey) -> bool {
        self.boxes.contains_key(key)
    }

    /// How many hooks run.
    pub fn running(&self) -> usize {
        self.line.running()
    }

    /// How many boxes wait for their turn.
    pub fn waiting(&self) -> usize {
        self.line.waiting()
    }
}

#[cfg(test)]
mod tests {
    use HookKind::{Cleanup, Init};
    use reelyard_protocol::boxes::HooksName;

    use super::*;
    use crate::box_host::samples::{hook, key};

    const NOTHING: SubmitOutcome<&str> = SubmitOutcome { given_up: Vec::new(), end: None };

    fn at_once<W>(queue: &mut BoxJobQueue<W>) -> Vec<HookRunId> {
        std::iter::from_fn(|| queue.next(9)).map(|turn| turn.run).collect()
    }

    #[test]
    fn an_equal_job_joins_a_waiting_or_running_one() {
        let mut queue = BoxJobQueue::default();
        assert_eq!(queue.submit(hook(1, Init, 5), "a"), Ok(NOTHING));
        assert_eq!(queue.submit(hook(1, Init, 5), "b"), Ok(NOTHING));
        assert_eq!((queue.running(), queue.waiting()), (0, 1));
        assert_eq!(at_once(&mut queue), [1]);
        assert_eq!(queue.submit(hook(1, Init, 5), "c"), Ok(NOTHING));
        assert_eq!((queue.running(), queue.waiting()), (1, 0));
        assert_eq!(queue.ended(&key(1)), ["a", "b", "c"]);
        assert!(!queue.has(&key(1)));
        // Once more it is done once more.
        assert_eq!(queue.submit(hook(1, Init, 5), "d"), Ok(NOTHING));
        assert_eq!(at_once(&mut queue), [2]);
    }

    #[test]
    fn a_cleanup_ends_the_init_that_runs_and_waits_for_its_end() {
        let mut queue = BoxJobQueue::default();
        queue.submit(hook(1, Init, 5), "init").unwrap();
        assert_eq!(at_once(&mut queue), [1]);
        let asked = queue.submit(hook(1, Cleanup, 5), "cleanup");
        assert_eq!(asked, Ok(SubmitOutcome { given_up: vec!["init"], end: Some(1) }));
        assert!(at_once(&mut queue).is_empty(), "one thing a box at a time");
        // It is asked again meanwhile: by another leader, say.
        assert_eq!(queue.submit(hook(1, Cleanup, 5), "again"), Ok(SubmitOutcome { ..NOTHING }));
        assert!(queue.ended(&key(1)).is_empty());
        assert_eq!(at_once(&mut queue), [2]);
        assert_eq!(queue.ended(&key(1)), ["cleanup", "again"]);
    }

    #[test]
    fn a_running_cleanup_finishes_and_waiting_jobs_are_given_up() {
        let mut queue = BoxJobQueue::default();
        queue.submit(hook(1, Cleanup, 5), "cleanup").unwrap();
        assert_eq!(at_once(&mut queue), [1]);
        assert_eq!(queue.submit(hook(1, Init, 6), "init"), Ok(NOTHING));
        let asked = queue.submit(hook(1, Cleanup, 6), "cleanup of 6");
        assert_eq!(asked, Ok(SubmitOutcome { given_up: vec!["init"], end: None }));
        assert_eq!(queue.ended(&key(1)), ["cleanup"]);
        assert_eq!(at_once(&mut queue), [2]);
        assert_eq!(queue.ended(&key(1)), ["cleanup of 6"]);
    }

    #[test]
    fn a_box_id_identifies_one_box_under_any_number() {
        let of = |number, id, kind, token| RunHook { box_id: id, ..hook(number, kind, token) };
        let mut queue = BoxJobQueue::default();
        queue.submit(of(1, 70, Cleanup, 5), "cleanup").unwrap();
        assert_eq!(at_once(&mut queue), [1]);
        assert!(queue.has(&key(70)) && !queue.has(&key(1)));
        queue.submit(of(2, 70, Init, 6), "init").unwrap();
        assert!(at_once(&mut queue).is_empty(), "it is being cleaned");
        queue.submit(of(1, 71, Init, 7), "another id").unwrap();
        assert_eq!(at_once(&mut queue), [2]);
        assert_eq!(queue.ended(&key(70)), ["cleanup"]);
        assert_eq!(at_once(&mut queue), [3]);
        let late = queue.submit(of(1, 70, Cleanup, 5), "late");
        assert_eq!(late, Err((NotTaken::Late, "late")), "another one has it by now");
    }

    #[test]
    fn cancelling_all_jobs_answers_every_caller() {
        let mut queue = BoxJobQueue::default();
        queue.submit(hook(1, Cleanup, 5), "runs").unwrap();
        assert_eq!(at_once(&mut queue), [1]);
        queue.submit(hook(1, Init, 6), "waits").unwrap();
        queue.submit(hook(2, Init, 6), "waits, too").unwrap();
        let mut result = queue.cancel_all();
        result.sort_unstable();
        assert_eq!(result, ["runs", "waits", "waits, too"]);
        assert!(queue.ended(&key(1)).is_empty());
    }

    #[test]
    fn a_late_job_is_refused() {
        let mut queue = BoxJobQueue::default();
        queue.submit(hook(1, Init, 6), "init").unwrap();
        // Box 1 is somebody's by now.
        assert_eq!(queue.submit(hook(1, Cleanup, 5), "late"), Err((NotTaken::Late, "late")));
        queue.submit(hook(1, Cleanup, 6), "cleanup").unwrap();
        assert_eq!(queue.submit(hook(1, Init, 6), "late"), Err((NotTaken::Late, "late")));
        assert!(queue.submit(hook(2, Cleanup, 5), "another box").is_ok());
        // A box without a holder since its pool was made has no token.
        assert!(queue.submit(RunHook { token: None, ..hook(1, Cleanup, 0) }, "new").is_ok());
        // Another leader knows better.
        let mut later = hook(1, Cleanup, 5);
        later.place.epoch = Epoch(9);
        assert!(queue.submit(later, "later").is_ok());
    }

    #[test]
    fn each_cluster_has_its_own_epochs_tokens_and_boxes() {
        let of = |cluster, hooks: &str, epoch, token| {
            let mut hook = hook(1, Cleanup, token);
            hook.place.cluster = Some(YardId(cluster));
            hook.place.hooks = HooksName::new(hooks).ok();
            hook.place.epoch = Epoch(epoch);
            hook
        };
        let mut queue = BoxJobQueue::default();
        // Both clusters call their pools the same.
        queue.submit(of(1, "a", 50, 9), "one").unwrap();
        assert_eq!(queue.submit(of(2, "b", 3, 7), "two"), Ok(NOTHING));
        assert_eq!(at_once(&mut queue), [1, 2], "neither waits for the other");
        let late = queue.submit(of(2, "b", 3, 6), "late");
        assert_eq!(late, Err((NotTaken::Late, "late")));
        // The next leader of the second cluster knows better of its own boxes only.
        assert!(queue.submit(of(2, "b", 4, 6), "later").is_ok());
        let late = queue.submit(of(1, "a", 50, 8), "late");
        assert_eq!(late, Err((NotTaken::Late, "late")));
    }

    #[test]
    fn a_job_of_a_box_with_an_overdue_run_is_refused() {
        let mut queue = BoxJobQueue::default();
        queue.submit(hook(1, Cleanup, 5), "runs").unwrap();
        assert_eq!(at_once(&mut queue), [1]);
        queue.submit(hook(1, Init, 6), "waits").unwrap();
        assert!(queue.takes_too_long(&key(1), 7, "another run").is_empty());
        assert_eq!(queue.takes_too_long(&key(1), 1, "it hangs"), ["runs", "waits"]);
        for (kind, token) in [(Init, 6), (Cleanup, 6)] {
            let (why, _) = queue.submit(hook(1, kind, token), "asks").unwrap_err();
            assert_eq!(why, NotTaken::Overdue("it hangs".to_owned()), "{kind:?} {token}");
        }
        assert!(at_once(&mut queue).is_empty(), "one thing a box at a time");
        assert!(queue.ended(&key(1)).is_empty());
        queue.submit(hook(1, Cleanup, 6), "again").unwrap();
        assert_eq!(at_once(&mut queue), [2]);
        assert_eq!(queue.ended(&key(1)), ["again"]);
    }
}
