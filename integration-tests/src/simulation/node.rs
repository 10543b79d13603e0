//! A node: a replica of the log, the pure rooms of its actors, and what the actors around them do.
//!
//! Who decides is the code under test: [`Dispatcher`], [`Ownership`], `Deciding`. What is written
//! here is what an actor's mailbox and timers do with it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use reelyard_actors::clock::{Held, Millis};
use reelyard_actors::event::{Epoch, RequestId};
use reelyard_actors::host::HostAddr;
use reelyard_actors::journal::{
    Asked, CommitAnswer, CommitError, Ownership, batch, decode_answers,
};
use reelyard_actors::names::{FileId, FileName, NameTable};
use reelyard_actors::task_manager::{
    ChangeRefused, Dispatcher, OldState, Standing, TaskBook, TaskEvent, TaskManagerView, Tasks,
    change_answer, split,
};
use reelyard_actors::wire::worker::{ReportsTaken, TaskId};

use super::context::Context;
use super::letters::{Answer, Call, Letter};
use super::node_watch::Watch;
use super::operator::Deed;
use super::parties::{Party, Timer};
use super::proposer::{Back, Proposer};
use super::queue::Happening;
use super::replica::{Outgoing, Replica, Rpc};
use super::scene::{Scene, Yard};
use crate::tell;

/// How long a commit is waited for, in milliseconds.
const COMMIT_TIMEOUT: u64 = 5000;
/// How long changes are gathered before a turn, in milliseconds.
const GATHERING: u64 = 5;
/// A snapshot is taken after so many entries.
const SNAPSHOT_EVERY: usize = 40;

/// Who waits for a commit.
#[derive(Clone, Debug)]
pub enum Waiter {
    /// The TaskManager, for something of its own.
    Itself,
    /// Reports of a worker, of which several commits may have come.
    Reports(u64),
    /// A change over cfm's wire.
    Change {
        /// Who asked, and the number of its call.
        caller: (Party, u64),
        /// The task.
        id: TaskId,
        /// Where it is to go.
        to: Option<OldState>,
    },
    /// The operator, who repeats it under the same id until it has an answer.
    Operator {
        /// The task that is taken back.
        id: TaskId,
        /// The request.
        request: RequestId,
    },
}

/// A long poll that waits.
pub(super) struct Poll {
    number: u64,
    caller: (Party, u64),
    host: HostAddr,
    known: HashSet<TaskId>,
}

/// Reports whose commits are under way.
struct Taking {
    caller: (Party, u64),
    commits: usize,
    failed: bool,
    taken: ReportsTaken,
}

/// A node.
pub struct Node {
    /// Its number.
    pub id: usize,
    /// Whether its process is there.
    pub up: bool,
    /// Counts its starts.
    pub life: u32,
    /// By how much its clock is wrong, in milliseconds.
    pub clock_off: i64,
    /// Its replica of the log.
    pub replica: Replica,
    /// The TaskManager's piece, and what is in flight.
    pub own: Ownership<TaskBook>,
    /// The TaskManager's memory.
    pub desk: Dispatcher,
    pub(super) names: NameTable,
    held: Held,
    scene: Arc<Scene>,
    applied: u64,
    proposer: Proposer<Waiter>,
    noticing: bool,
    wake: Option<u64>,
    pub(super) watches: BTreeMap<HostAddr, Watch>,
    pub(super) calls: BTreeMap<u64, (HostAddr, super::node_watch::Asking)>,
    polls: Vec<Poll>,
    poll_numbers: u64,
    takings: BTreeMap<u64, Taking>,
    taking_numbers: u64,
    shown: (Option<Epoch>, Arc<Tasks>),
    catalog_seen: [u64; 3],
}

impl Node {
    /// A node that was never started.
    pub fn new(id: usize, scene: &Arc<Scene>) -> Self {
        let names = NameTable::new();
        Node {
            id,
            up: false,
            life: 0,
            clock_off: 0,
            replica: Replica::new(id, scene.nodes),
            own: Ownership::new(TaskBook::new(names.clone())),
            desk: Dispatcher::new(scene.settings.clone(), &scene.host_settings()),
            names,
            held: Held::default(),
            scene: Arc::clone(scene),
            applied: 0,
            proposer: Proposer::default(),
            noticing: false,
            wake: None,
            watches: BTreeMap::new(),
            calls: BTreeMap::new(),
            polls: Vec::new(),
            poll_numbers: 0,
            takings: BTreeMap::new(),
            taking_numbers: 0,
            shown: Default::default(),
            catalog_seen: [0; 3],
        }
    }

    /// Itself.
    pub fn party(&self) -> Party {
        Party::Node(self.id)
    }

    /// Its clock.
    pub fn clock(&self, context: &Context) -> Millis {
        self.held.tell(Millis(context.wall().0 + self.clock_off))
    }

    /// The process starts, from what was durable.
    pub fn start(&mut self, context: &mut Context) {
        let mut replica = std::mem::replace(&mut self.replica, Replica::new(self.id, 1));
        replica.restart(context.now(), &mut context.rng);
        let (life, clock_off) = (self.life + 1, self.clock_off);
        *self = Node { life, clock_off, replica, up: true, ..Node::new(self.id, &self.scene) };
        context.network.set_gone(self.party(), false);
        tell!(context, "{} starts, log ends at {}", self.party(), self.replica.last());
        self.install(context);
        let after = self.replica.next_tick(context.now()).saturating_sub(context.now());
        context.after(after, self.party(), life, Timer::Raft);
        context.after(1, self.party(), life, Timer::Catalog);
        let hosts: Vec<HostAddr> = self.scene.hosts.iter().map(|host| host.addr).collect();
        for host in hosts {
            let draw = context.rng.u64(0..500);
            self.watches.insert(host, Watch::new(self.clock(context)));
            context.after(draw, self.party(), life, Timer::Watch(host));
        }
    }

    /// `kill -9`.
    pub fn crash(&mut self, context: &mut Context) {
        self.up = false;
        self.life += 1;
        context.network.set_gone(self.party(), true);
        tell!(context, "{} is killed", self.party());
    }

    /// The TaskManager panics and is started anew; the journal rebuilds its piece.
    pub fn owner_panics(&mut self, context: &mut Context, yard: &Yard) {
        tell!(context, "{}: the TaskManager panics", self.party());
        self.proposer.session += 1;
        let names = self.names.clone();
        self.own = Ownership::new(TaskBook::new(names));
        self.desk = Dispatcher::new(self.scene.settings.clone(), &self.scene.host_settings());
        self.wake = None;
        self.takings.clear();
        let applied = self.applied;
        self.install(context);
        while self.applied < applied {
            self.apply_next(context);
        }
        self.catalog_seen = [0; 3];
        self.see_catalog(context, yard);
        self.health_again(context);
        for host in self.watches.keys().copied().collect::<Vec<_>>() {
            self.tell_again(context, host);
        }
        self.proposer.leading = None;
        self.notice(context);
        self.show(context);
    }

    /// Makes the piece what the snapshot holds.
    fn install(&mut self, context: &mut Context) {
        let (index, rows) = match self.replica.snapshot() {
            Some(snapshot) => (snapshot.index, snapshot.rows.to_vec()),
            None => (0, Vec::new()),
        };
        if let Err(error) = self.own.install(index, &rows) {
            context.judge.fail("snapshot", format!("a snapshot does not read: {error}"));
        }
        self.applied = index;
        self.desk.installed();
        context.judge.installed(self.id, index, self.own.piece());
    }

    /// A timer goes off.
    pub fn ring(&mut self, context: &mut Context, yard: &Yard, timer: Timer) {
        match timer {
            Timer::Raft => {
                let now = context.now();
                let out = self.replica.tick(now, &mut context.rng);
                self.post(context, out);
                let after = self.replica.next_tick(now) - now;
                context.after(after.min(1000), self.party(), self.life, Timer::Raft);
                self.advance(context);
            }
            Timer::Notice => {
                self.noticing = false;
                self.take_notice(context);
            }
            Timer::Write { entry } => self.write(context, entry),
            Timer::CommitIsOver { proposal } => {
                let mut back = Vec::new();
                self.proposer.is_over(proposal, &mut back);
                self.settle_all(context, back);
            }
            Timer::Turn { at } if self.wake == Some(at) => {
                self.wake = None;
                self.turn(context);
            }
            Timer::Watch(host) => self.watch(context, host),
            Timer::CallIsOver(id) => self.answered(context, id, None),
            Timer::Catalog => {
                self.see_catalog(context, yard);
                let after = context.rng.u64(500..3000);
                context.after(after, self.party(), self.life, Timer::Catalog);
            }
            Timer::LookedUp { asked, seen } => {
                let id = |name: &FileName| self.names.intern(name);
                let asked: Vec<FileId> = asked.iter().map(id).collect();
                let seen = seen.unwrap_or_default();
                let seen: Vec<_> = seen.into_iter().map(|(name, look)| (id(&name), look)).collect();
                let now = self.clock(context);
                self.desk.looked(asked, seen, now);
                self.turn(context);
            }
            Timer::PollIsOver(number) => {
                if let Some(position) = self.polls.iter().position(|poll| poll.number == number) {
                    let poll = self.polls.remove(position);
                    let answer = self.orders(context, poll.host).unwrap_or(Answer::status(503));
                    context.answer(self.party(), poll.caller.0, poll.caller.1, answer);
                }
            }
            _ => {}
        }
    }

    /// A letter arrives.
    pub fn receive(&mut self, context: &mut Context, from: Party, letter: Letter) {
        match letter {
            Letter::Raft(rpc) => self.raft(context, from, rpc),
            Letter::Answer { id, answer } => self.answered(context, id, Some(answer)),
            Letter::Call { id, call } => match call {
                Call::Orders { host, known, wait } => {
                    self.poll(context, (from, id), host, known, wait);
                }
                Call::Reports { host, body } => self.take_reports(context, (from, id), host, &body),
                Call::Tasks => {
                    let book = self.own.piece();
                    let tasks = book.open().values().chain(book.ended().values());
                    let now = self.clock(context);
                    let body =
                        reelyard_actors::wire::cfm::write_tasks(tasks.map(AsRef::as_ref), now);
                    context.answer(self.party(), from, id, Answer::ok(body));
                }
                Call::Patch { id: task, body } => self.change(context, (from, id), &task, &body),
                _ => context.answer(self.party(), from, id, Answer::status(404)),
            },
        }
    }

    // Below the journal.

    fn raft(&mut self, context: &mut Context, from: Party, rpc: Rpc) {
        let Party::Node(from) = from else { return };
        let (out, installed) = self.replica.receive(from, rpc, context.now(), &mut context.rng);
        self.post(context, out);
        if installed {
            tell!(context, "{} takes a snapshot of another", self.party());
            self.install(context);
            self.show(context);
        }
        self.advance(context);
    }

    fn post(&mut self, context: &mut Context, out: Outgoing) {
        for (to, rpc) in out {
            context.send(self.party(), Party::Node(to), Letter::Raft(rpc));
        }
    }

    /// Applies what is committed by now.
    fn advance(&mut self, context: &mut Context) {
        while self.applied < self.replica.commit() {
            self.apply_next(context);
        }
        // An entry that another leader's has replaced will have no answer.
        let lost = self.proposer.under_way.as_ref().and_then(|entry| entry.written);
        if lost
            .is_some_and(|(index, term)| index <= self.applied || !self.replica.holds(index, term))
        {
            let mut back = Vec::new();
            self.proposer.give_up(&mut back);
            self.settle_all(context, back);
            self.propose(context);
        }
        if self.replica.kept() >= SNAPSHOT_EVERY {
            let mut rows = Vec::new();
            self.own.freeze().write(&mut |row| rows.push(row.to_vec()));
            self.replica.keep_snapshot(self.applied, rows);
        }
        self.notice(context);
    }

    fn apply_next(&mut self, context: &mut Context) {
        let index = self.applied + 1;
        let Some(entry) = self.replica.entry(index).cloned() else {
            context.judge.fail("log", format!("node{} lacks entry {index}", self.id));
            self.applied = index;
            return;
        };
        self.applied = index;
        if entry.payload.is_empty() {
            context.judge.passed(index, entry.term);
            return;
        }
        let commits = match batch::read(&entry.payload) {
            Ok(commits) => commits.into_iter().map(Arc::new).collect::<Vec<_>>(),
            Err(error) => return context.judge.fail("log", format!("entry {index}: {error}")),
        };
        let applied = match self.own.apply(index, Epoch(entry.term), &commits) {
            Ok(applied) => applied,
            Err(error) => return context.judge.fail("log", format!("entry {index}: {error}")),
        };
        let first = context.judge.applied(
            index,
            (entry.term, &entry.payload),
            &commits,
            &applied,
            self.own.piece(),
        );
        if first {
            for event in &applied.events {
                tell!(context, "{index}: {} -> {:?}", short(&event.event), event.result);
            }
        }
        let leads = self.own.epoch().is_some();
        let mut freed = false;
        for event in &applied.events {
            let followed = self.desk.follow(event, self.own.piece(), leads);
            freed |= followed.freed;
            if let Some(arrival) = followed.arrived.filter(|_| leads) {
                self.arrived(context, arrival.host, arrival.file);
            }
        }
        let mine = self.proposer.under_way.as_ref().and_then(|under_way| under_way.written);
        let mut back = Vec::new();
        if mine == Some((index, entry.term)) {
            self.proposer.applied(applied.answers, &mut back);
        }
        if freed {
            self.turn(context);
        } else {
            self.show(context);
            self.soon(context);
        }
        self.settle_all(context, back);
        self.propose(context);
    }

    // Who leads.

    /// Who leads by now: with a quorum that answers, and, to begin with, everything applied.
    fn leads_by_now(&self, now: u64) -> Option<Epoch> {
        let term = self.replica.leads_a_quorum(now)?;
        let caught_up = self.applied == self.replica.last();
        (caught_up || self.proposer.leading == Some(Epoch(term))).then_some(Epoch(term))
    }

    /// Notices a change of leadership after a while; rarely after a long one.
    fn notice(&mut self, context: &mut Context) {
        if self.noticing || self.leads_by_now(context.now()) == self.proposer.leading {
            return;
        }
        self.noticing = true;
        let after = match context.rng.u32(0..100) {
            0..3 => context.rng.u64(1000..12_000),
            _ => context.rng.u64(0..20),
        };
        context.after(after, self.party(), self.life, Timer::Notice);
    }

    fn take_notice(&mut self, context: &mut Context) {
        let leading = self.leads_by_now(context.now());
        if leading == self.proposer.leading {
            return;
        }
        self.proposer.session += 1;
        self.proposer.leading = leading;
        let mut back = Vec::new();
        self.proposer.give_up(&mut back);
        if self.own.epoch().is_some() {
            tell!(context, "{} no longer leads", self.party());
            self.own.step_down();
            self.desk.step_down();
        }
        self.settle_all(context, back);
        if let Some(epoch) = leading {
            tell!(context, "{} leads in epoch {epoch}", self.party());
            context.leader = self.id;
            context.judge.leads(self.id, epoch.0);
            self.own.lead(epoch);
            let now = self.clock(context);
            self.desk.lead(now);
            self.turn(context);
        }
        self.show(context);
        self.propose(context);
    }

    // Commits.

    /// Has events decided: commits them, cut to entries. How many commits they made.
    fn commit(
        &mut self,
        context: &mut Context,
        events: Vec<TaskEvent>,
        mut waiter: impl FnMut() -> Waiter,
    ) -> usize {
        let now = self.clock(context);
        let mut commits = 0;
        for events in split(events) {
            let asked =
                Asked { by: "simulation".to_owned(), request: context.request(), remember: false };
            self.commit_one(context, now, asked, events, waiter());
            commits += 1;
        }
        self.propose(context);
        commits
    }

    fn commit_one(
        &mut self,
        context: &mut Context,
        now: Millis,
        asked: Asked,
        events: Vec<TaskEvent>,
        waiter: Waiter,
    ) {
        let request = asked.request;
        let handed = match self.own.set_out(now, asked, events) {
            None => Err((waiter, CommitError::NotLeader { leader: None })),
            Some(commit) => self.proposer.hand_in(&commit, waiter),
        };
        match handed {
            Ok(proposal) => {
                let timer = Timer::CommitIsOver { proposal };
                context.after(COMMIT_TIMEOUT, self.party(), self.life, timer);
            }
            Err((waiter, error)) => {
                let back = Back { request, waiter: Some(waiter), result: Err(error) };
                self.settle_all(context, vec![back]);
            }
        }
    }

    /// Fills the next entry and sends it on its way to Raft.
    fn propose(&mut self, context: &mut Context) {
        let mut back = Vec::new();
        if let Some(entry) = self.proposer.fill(&mut back) {
            let after = match context.rng.u32(0..100) {
                0..2 => context.rng.u64(500..8000),
                _ => context.rng.u64(1..6),
            };
            context.after(after, self.party(), self.life, Timer::Write { entry });
        }
        self.settle_all(context, back);
    }

    fn write(&mut self, context: &mut Context, number: u64) {
        let Some(entry) = self.proposer.under_way.as_mut().filter(|entry| entry.entry == number)
        else {
            return;
        };
        // What was filled in a session that is over is not written.
        let bytes = entry.bytes.take().filter(|_| entry.session == self.proposer.session);
        let written = bytes.and_then(|bytes| self.replica.append(bytes.into()));
        entry.written = written;
        if written.is_none() {
            let mut back = Vec::new();
            self.proposer.give_up(&mut back);
            self.settle_all(context, back);
            self.propose(context);
        } else {
            let out = self.replica.beat(context.now());
            self.post(context, out);
        }
        self.advance(context);
    }

    fn settle_all(&mut self, context: &mut Context, back: Vec<Back<Waiter>>) {
        for Back { request, waiter, result } in back {
            // Who was told that the outcome is unknown waits no more.
            let Some(waiter) = waiter else { continue };
            let settled = result.and_then(|answer| match answer {
                CommitAnswer::Applied(answers) => Ok(decode_answers::<TaskBook>(&answers)),
                CommitAnswer::Deposed => Err(CommitError::Deposed),
            });
            self.own.settle(request, &settled);
            match &settled {
                Ok(outcomes) => context.judge.acknowledged(request, outcomes.len()),
                Err(error) => {
                    let pause = self.desk.uncommitted(error);
                    self.wake_after(context, u64::try_from(pause.as_millis()).unwrap_or(1000));
                }
            }
            match waiter {
                Waiter::Itself => {}
                Waiter::Reports(number) => self.reports_settled(context, number, settled.is_ok()),
                Waiter::Change { caller, id, to } => {
                    let answer = match settled.map(|outcomes| change_answer(outcomes, id, to)) {
                        Ok(Ok(())) => Answer::ok([]),
                        Ok(Err(refused)) => refused_answer(&refused),
                        Err(_) => Answer::status(503),
                    };
                    context.answer(self.party(), caller.0, caller.1, answer);
                }
                Waiter::Operator { id, request } => {
                    if settled.is_err() {
                        let again = Deed::Cancel { task: Some(id), request };
                        context.queue.push(3000, Happening::Done(again));
                    }
                }
            }
        }
    }

    // The TaskManager's turns.

    /// Where things stand for a decision.
    pub fn at(&mut self, now: Millis) -> (&mut Dispatcher, Standing<'_>) {
        let Node { desk, own, .. } = self;
        (desk, Standing { book: own.piece(), in_flight: own.in_flight(), now })
    }

    pub(super) fn soon(&mut self, context: &mut Context) {
        self.wake_after(context, GATHERING);
    }

    fn wake_after(&mut self, context: &mut Context, millis: u64) {
        let at = context.now() + millis;
        if self.wake.is_some_and(|planned| planned <= at) {
            return;
        }
        self.wake = Some(at);
        context.after(millis, self.party(), self.life, Timer::Turn { at });
    }

    fn turn(&mut self, context: &mut Context) {
        if self.own.epoch().is_some() {
            let now = self.clock(context);
            let (desk, standing) = self.at(now);
            let due = desk.due(standing);
            self.commit(context, due, || Waiter::Itself);
            let (desk, standing) = self.at(now);
            let round = desk.round(standing);
            context.judge.planned(&round, &self.desk, &self.own);
            let created = round.tasks.into_iter().map(TaskEvent::Created).collect();
            self.commit(context, created, || Waiter::Itself);
            self.look_up(context, round.to_look_up);
            let (desk, standing) = self.at(now);
            for host in desk.claims_to_check(standing) {
                self.refresh(context, host);
            }
            let (desk, standing) = self.at(now);
            let sleep = desk.sleep(standing).max(Duration::from_millis(20));
            self.wake_after(context, u64::try_from(sleep.as_millis()).unwrap_or(1000));
        }
        self.show(context);
    }

    /// Shows what has changed to the workers that wait for it.
    pub(super) fn show(&mut self, context: &mut Context) {
        let (epoch, open) = (self.own.epoch(), self.own.piece().open());
        if self.shown.0 == epoch && Arc::ptr_eq(&self.shown.1, open) {
            return;
        }
        self.shown = (epoch, Arc::clone(open));
        if !self.polls.is_empty() {
            let board = self.board(context);
            for poll in std::mem::take(&mut self.polls) {
                self.hold_or_answer(context, &board, poll);
            }
        }
    }

    // The workers' wire.

    fn knows_host(&self, host: HostAddr) -> bool {
        self.desk.hosts().get(host).is_some()
    }

    fn poll(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        host: HostAddr,
        known: Vec<TaskId>,
        wait: u64,
    ) {
        if !self.knows_host(host) {
            return context.answer(self.party(), caller.0, caller.1, Answer::status(403));
        }
        self.poll_numbers += 1;
        let number = self.poll_numbers;
        let known = known.into_iter().collect();
        if wait == 0 {
            let answer = self.orders(context, host).unwrap_or(Answer::status(503));
            return context.answer(self.party(), caller.0, caller.1, answer);
        }
        let board = self.board(context);
        self.hold_or_answer(context, &board, Poll { number, caller, host, known });
        if self.polls.last().is_some_and(|poll| poll.number == number) {
            context.after(wait, self.party(), self.life, Timer::PollIsOver(number));
        }
    }

    /// What there is to see of the TaskManager.
    fn board(&mut self, context: &Context) -> TaskManagerView {
        let now = self.clock(context);
        let epoch = self.own.epoch();
        let (desk, standing) = self.at(now);
        desk.view(standing, epoch)
    }

    fn hold_or_answer(&mut self, context: &mut Context, board: &TaskManagerView, poll: Poll) {
        let answer = match board.orders_for(poll.host) {
            Some(orders) if !orders.is_news_for(&poll.known, None) => return self.polls.push(poll),
            Some(orders) => Answer::ok(serde_json::to_vec(&orders).unwrap_or_default()),
            None => Answer::status(503),
        };
        context.answer(self.party(), poll.caller.0, poll.caller.1, answer);
    }

    fn orders(&mut self, context: &Context, host: HostAddr) -> Option<Answer> {
        let orders = self.board(context).orders_for(host)?;
        Some(Answer::ok(serde_json::to_vec(&orders).unwrap_or_default()))
    }

    fn take_reports(
        &mut self,
        context: &mut Context,
        caller: (Party, u64),
        host: HostAddr,
        body: &[u8],
    ) {
        let Ok(reports) = serde_json::from_slice::<reelyard_actors::wire::worker::Reports>(body)
        else {
            context.judge.fail("wire", "reports do not read".to_owned());
            return;
        };
        let Some(epoch) = self.own.epoch().filter(|_| self.knows_host(host)) else {
            return context.answer(self.party(), caller.0, caller.1, Answer::status(503));
        };
        let now = self.clock(context);
        let (desk, standing) = self.at(now);
        let heard = desk.hear(host, &reports.reports, standing);
        for &(task, _) in &heard.signs {
            context.judge.sign_of_life(self.id, task, now);
        }
        self.soon(context);
        self.taking_numbers += 1;
        let number = self.taking_numbers;
        let taken = ReportsTaken { epoch, cancelled: heard.cancelled };
        let commits = split(heard.events.clone()).len();
        self.takings.insert(number, Taking { caller, commits, failed: false, taken });
        if commits == 0 {
            self.reports_settled(context, number, true);
        }
        self.commit(context, heard.events, || Waiter::Reports(number));
    }

    fn reports_settled(&mut self, context: &mut Context, number: u64, committed: bool) {
        let Some(taking) = self.takings.get_mut(&number) else { return };
        taking.commits = taking.commits.saturating_sub(1);
        taking.failed |= !committed;
        if taking.commits > 0 {
            return;
        }
        let Some(taking) = self.takings.remove(&number) else { return };
        let answer = match taking.failed {
            true => Answer::status(503),
            false => Answer::ok(serde_json::to_vec(&taking.taken).unwrap_or_default()),
        };
        context.answer(self.party(), taking.caller.0, taking.caller.1, answer);
    }

    fn change(&mut self, context: &mut Context, caller: (Party, u64), id: &str, body: &[u8]) {
        use reelyard_actors::wire::cfm::{parse_change, parse_task_id};
        let (Some(id), Ok(to)) = (parse_task_id(id), parse_change(body)) else {
            context.judge.fail("wire", format!("a change of task {id} does not read"));
            return;
        };
        let now = self.clock(context);
        if self.own.epoch().is_none() {
            return context.answer(self.party(), caller.0, caller.1, Answer::status(503));
        }
        let (desk, standing) = self.at(now);
        match desk.deciding(standing).change(id, to) {
            Ok(events) => {
                self.commit(context, events, || Waiter::Change { caller, id, to });
            }
            Err(refused) => {
                context.answer(self.party(), caller.0, caller.1, refused_answer(&refused));
            }
        }
    }

    /// The operator takes a task back, over this node; the best open one if none is named.
    pub fn cancel(&mut self, context: &mut Context, task: Option<TaskId>, request: RequestId) {
        let now = self.clock(context);
        let Some(id) = task.or_else(|| self.own.piece().open().keys().next().copied()) else {
            return;
        };
        if self.own.recall(request).is_some() {
            return;
        }
        tell!(context, "the operator cancels {id}");
        let (desk, standing) = self.at(now);
        if let Ok(events) = desk.deciding(standing).cancel(id, "the operator") {
            let asked = Asked::by_request("the operator", request);
            let waiter = Waiter::Operator { id, request };
            self.commit_one(context, now, asked, events, waiter);
            self.propose(context);
        }
    }

    // The Catalog.

    fn see_catalog(&mut self, context: &mut Context, yard: &Yard) {
        use reelyard_actors::catalog::masters::Masters;
        use reelyard_actors::catalog::ranking::{RankedFile, Ranking};
        use reelyard_actors::catalog::rising::RisingHits;
        let [ranking, hot, masters] = yard.changes.map(|changes| changes + 1);
        let id = |name: &FileName| self.names.intern(name);
        let seen = std::mem::replace(&mut self.catalog_seen, [ranking, hot, masters]);
        if seen[0] != ranking {
            let ranked = |name| RankedFile { file: id(name), size: None, listed_on: Vec::new() };
            self.desk.set_ranking(Arc::new(Ranking::from_files(yard.ranking.iter().map(ranked))));
        }
        if seen[1] != hot {
            let hot = yard.hot.iter().map(|(name, hits)| (id(name), *hits));
            self.desk.set_rising(&RisingHits::new(hot, &self.names));
        }
        if seen[2] != masters {
            let files = yard.masters.keys().map(|name| id(name).0).collect();
            self.desk.set_masters(Arc::new(Masters { files, unlisted: Vec::new() }));
        }
        if seen != self.catalog_seen {
            self.soon(context);
        }
    }

    fn look_up(&mut self, context: &mut Context, files: Vec<FileId>) {
        if self.desk.begin_looking(&files) {
            let names = files.into_iter().map(|file| self.names.name(file)).collect();
            let party = self.party();
            context.queue.push(
                context.rng.u64(1..50),
                Happening::Done(Deed::LookUp { node: party, life: self.life, names }),
            );
        }
    }

    /// Every piece has applied so much.
    pub fn applied(&self) -> u64 {
        self.applied
    }
}

fn refused_answer(refused: &ChangeRefused) -> Answer {
    Answer::status(match refused {
        ChangeRefused::NoSuchTask(_) => 404,
        ChangeRefused::Transition { .. } => 409,
        ChangeRefused::Commit(_) => 503,
    })
}

/// An event in a few words.
fn short(event: &TaskEvent) -> String {
    match event {
        TaskEvent::Created(task) => {
            let (id, name) = (task.id, &task.name);
            format!("created {id} {name:?} {} -> {}", task.source, task.destination)
        }
        TaskEvent::InventoryDiffered { host, added, removed, complete } => {
            format!("{host} differs +{added:?} -{removed:?} complete {complete}")
        }
        TaskEvent::Ended { id, ending, .. } => {
            format!("ended {id}: {:?} {}", ending.how, ending.reason)
        }
        other => format!("{other:?}"),
    }
}
