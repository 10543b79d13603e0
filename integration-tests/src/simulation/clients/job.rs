//! A job that leases boxes, as `reelyard box run` does: it acquires boxes, renews them while it works, and releases
//! them. It repeats a request under the same id until it has an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_api::{Granted, GrantedLease};
use reelyard_boxes::box_lease::{BoxLeaseRequest, ReleaseLease, RenewLease};
use reelyard_protocol::boxes::{FenceToken, Holder, LeaseId};

use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{
    BoxCall, SimulatedCall, SimulatedMessage, SimulatedResponse,
};
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::scene::pool_name;
use crate::trace;

/// The timeout of a call beside its wait, in milliseconds.
const PATIENCE: u64 = 4000;
/// The number of tries after which a job gives up a request.
const MOST_TRIES: u32 = 8;

/// A lease that the job believes to hold.
struct HeldBox {
    lease: LeaseId,
    token: FenceToken,
    /// The end of its term, in virtual milliseconds.
    until: u64,
    term: u64,
}

/// The present work of a job.
enum JobWork {
    Idle,
    Acquiring { ask: BoxLeaseRequest, tries: u32 },
    Holding { boxes: Vec<HeldBox>, release_at: u64 },
    Releasing { boxes: Vec<HeldBox>, tries: u32 },
}

/// The purpose of a pending call, and when it was sent.
#[derive(Clone, Copy)]
enum PendingJobCall {
    Acquire,
    Renew(LeaseId, u64),
    Release(LeaseId),
}

/// A job with all its state, which a kill clears.
pub struct SimulatedJob {
    /// The index of the job in the world.
    pub id: usize,
    /// Whether its process runs.
    pub up: bool,
    /// The number of starts and ends. Timers of earlier lives have no effect.
    pub life: u32,
    /// Whether it begins no further work.
    pub retires: bool,
    nodes: usize,
    node: usize,
    work: JobWork,
    calls: BTreeMap<u64, PendingJobCall>,
}

impl SimulatedJob {
    /// A job that was never started, in a world with this number of nodes.
    pub fn new(id: usize, nodes: usize) -> Self {
        let (work, calls) = (JobWork::Idle, BTreeMap::new());
        SimulatedJob { id, up: false, life: 0, retires: false, nodes, node: 0, work, calls }
    }

    /// The identity of this job in the network.
    pub fn party(&self) -> Party {
        Party::Job(self.id)
    }

    /// Whether it has no boxes and waits for none.
    pub fn is_idle(&self) -> bool {
        !self.up || matches!(self.work, JobWork::Idle)
    }

    /// Starts a new process, which knows nothing of the earlier one.
    pub fn start(&mut self, context: &mut Context) {
        self.up = true;
        self.life += 1;
        context.network.set_gone(self.party(), false);
        self.act_after(context, 1, 2000);
    }

    /// Ends the process as SIGKILL does. Its connections break, if the network lets the nodes know.
    pub fn crash(&mut self, context: &mut Context) {
        trace!(context, "{} is killed", self.party());
        for id in std::mem::take(&mut self.calls).into_keys() {
            self.hang_up(context, id);
        }
        self.up = false;
        self.life += 1;
        self.work = JobWork::Idle;
        context.network.set_gone(self.party(), true);
    }

    /// Handles a timer.
    pub fn ring(&mut self, context: &mut Context, timer: PartyTimer) {
        match timer {
            PartyTimer::JobActs => self.act(context),
            PartyTimer::CallIsOver(id) => self.answered(context, id, None),
            _ => {}
        }
    }

    /// Handles a message.
    pub fn receive(&mut self, context: &mut Context, letter: SimulatedMessage) {
        if let SimulatedMessage::Answer { id, answer } = letter {
            self.answered(context, id, Some(answer));
        }
    }

    fn act_after(&self, context: &mut Context, least: u64, most: u64) {
        let after = context.rng.u64(least..=most);
        context.after(after, self.party(), self.life, PartyTimer::JobActs);
    }

    fn call(&mut self, context: &mut Context, call: BoxCall, wait: u64, purpose: PendingJobCall) {
        let (to, call) = (Party::Node(self.node), SimulatedCall::Boxes(call));
        let id = context.call(self.party(), self.life, to, call, wait + PATIENCE);
        self.calls.insert(id, purpose);
    }

    /// Closes the connection of a call.
    fn hang_up(&self, context: &mut Context, id: u64) {
        for node in 0..self.nodes {
            let call = SimulatedCall::Boxes(BoxCall::HangUp);
            let letter = SimulatedMessage::Call { id, call };
            context.send(self.party(), Party::Node(node), letter);
        }
    }

    /// Uses another node from now on: mostly the leader.
    fn change_node(&mut self, context: &mut Context) {
        let is_lost = context.chance(20);
        self.node = if is_lost { context.rng.usize(0..self.nodes) } else { context.leader };
    }

    fn act(&mut self, context: &mut Context) {
        match &self.work {
            JobWork::Idle => self.begin(context),
            JobWork::Acquiring { .. } => self.ask(context),
            JobWork::Holding { .. } => self.go_on(context),
            JobWork::Releasing { .. } => self.release(context),
        }
    }

    #[allow(clippy::expect_used, reason = "the text is a holder by its form")]
    fn begin(&mut self, context: &mut Context) {
        if self.retires {
            return;
        }
        let holder = format!("{}-{}", self.party(), self.life);
        let holder = Holder::new(&holder).expect("a holder");
        let ttl = Duration::from_millis(context.rng.u64(3000..20_000));
        let wait = Duration::from_millis(context.rng.u64(0..12_000));
        let ask = BoxLeaseRequest {
            ttl: Some(ttl),
            wait,
            count: context.rng.u32(1..3),
            request: Some(context.request()),
            ..BoxLeaseRequest::one(pool_name(), holder)
        };
        self.change_node(context);
        self.work = JobWork::Acquiring { ask, tries: 0 };
        self.ask(context);
    }

    /// Asks for boxes, again under the same id.
    fn ask(&mut self, context: &mut Context) {
        let JobWork::Acquiring { ask, tries } = &mut self.work else { return };
        *tries += 1;
        if *tries > MOST_TRIES {
            return self.rest(context);
        }
        let ask = ask.clone();
        let wait = u64::try_from(ask.wait.as_millis()).unwrap_or(u64::MAX);
        self.call(context, BoxCall::Acquire(ask), wait, PendingJobCall::Acquire);
    }

    /// Has nothing to do for a while.
    fn rest(&mut self, context: &mut Context) {
        self.work = JobWork::Idle;
        self.act_after(context, 100, 6000);
    }

    /// Renews its boxes, or releases them.
    fn go_on(&mut self, context: &mut Context) {
        let now = context.now();
        let JobWork::Holding { boxes, release_at } = &mut self.work else { return };
        boxes.retain(|held| now < held.until);
        if boxes.is_empty() {
            return self.rest(context);
        }
        if now >= *release_at || self.retires {
            let boxes = std::mem::take(boxes);
            self.work = JobWork::Releasing { boxes, tries: 0 };
            return self.release(context);
        }
        let due = |held: &&HeldBox| now + held.term * 2 / 3 >= held.until;
        let due: Vec<RenewLease> = boxes
            .iter()
            .filter(due)
            .map(|held| RenewLease { lease: held.lease, token: held.token, ttl: None })
            .collect();
        for renew in due {
            let purpose = PendingJobCall::Renew(renew.lease, now);
            self.call(context, BoxCall::Renew(renew), 0, purpose);
        }
        self.act_after(context, 500, 1500);
    }

    fn release(&mut self, context: &mut Context) {
        let JobWork::Releasing { boxes, tries } = &mut self.work else { return };
        *tries += 1;
        if *tries > MOST_TRIES || boxes.is_empty() {
            return self.rest(context);
        }
        // Programs repeat it under an id, and persons without one.
        let may_be_repeated = self.life.is_multiple_of(2);
        let of =
            |held: &HeldBox| ReleaseLease { lease: held.lease, token: held.token, may_be_repeated };
        let all: Vec<ReleaseLease> = boxes.iter().map(of).collect();
        for release in all {
            let purpose = PendingJobCall::Release(release.lease);
            self.call(context, BoxCall::Release(release), 0, purpose);
        }
        self.act_after(context, 1000, 5000);
    }

    /// Handles the answer to a call, or its timeout.
    fn answered(&mut self, context: &mut Context, id: u64, answer: Option<SimulatedResponse>) {
        let Some(purpose) = self.calls.remove(&id) else { return };
        if answer.is_none() {
            self.hang_up(context, id);
        }
        let answer = answer.filter(|answer| answer.status != 503);
        if answer.is_none() {
            self.change_node(context);
        }
        match (purpose, answer) {
            (PendingJobCall::Acquire, Some(answer)) => self.granted(context, &answer),
            (PendingJobCall::Acquire, None) => self.act_after(context, 200, 1500),
            (PendingJobCall::Renew(lease, asked), Some(answer)) => {
                self.renewed(lease, asked, &answer);
            }
            (PendingJobCall::Release(lease), Some(_)) => self.released(lease),
            // The next try comes soon.
            (PendingJobCall::Renew(..) | PendingJobCall::Release(_), None) => {}
        }
    }

    fn granted(&mut self, context: &mut Context, answer: &SimulatedResponse) {
        let now = context.now();
        let Ok(granted) = serde_json::from_slice::<Granted>(&answer.body) else {
            return self.rest(context);
        };
        let held = |lease: &GrantedLease| {
            let term = u64::try_from(lease.left.0.as_millis()).unwrap_or(u64::MAX);
            HeldBox { lease: lease.lease_id, token: lease.token, until: now + term, term }
        };
        let boxes: Vec<HeldBox> = granted.leases.iter().map(held).collect();
        let release_at = now + context.rng.u64(500..25_000);
        self.work = JobWork::Holding { boxes, release_at };
        self.act_after(context, 1, 1000);
    }

    /// Any other answer than a renewed term means that the box is lost.
    fn renewed(&mut self, lease: LeaseId, asked: u64, answer: &SimulatedResponse) {
        let JobWork::Holding { boxes, .. } = &mut self.work else { return };
        let renewed = serde_json::from_slice::<GrantedLease>(&answer.body).ok();
        match renewed.filter(|_| answer.status == 200) {
            Some(renewed) => {
                let term = u64::try_from(renewed.left.0.as_millis()).unwrap_or(u64::MAX);
                for held in boxes.iter_mut().filter(|held| held.lease == lease) {
                    held.until = held.until.max(asked + term);
                    held.term = term;
                }
            }
            None => boxes.retain(|held| held.lease != lease),
        }
    }

    fn released(&mut self, lease: LeaseId) {
        if let JobWork::Releasing { boxes, .. } = &mut self.work {
            boxes.retain(|held| held.lease != lease);
        }
    }
}
