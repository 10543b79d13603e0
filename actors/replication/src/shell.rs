//! The shell of every owner of a piece. It handles the journal's commands, requests, commits, turns, the
//! read view and the change feed in one way. An owner adds its rules.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseActFuture, WrapFuture};
use futures::future::join_all;
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::Epoch;
use reelyard_core::secret_id::IdSource;

use crate::commits::commit_backoff::CommitBackoff;
use crate::messages::{CommitError, JournalCommand};
use crate::ownership::{AppliedEvent, Outcomes, RequestContext};
use crate::piece::Piece;
use crate::replica::{CommitSettlement, ReplicaHandle, StateChange};
use crate::replicated_log::LogHandle;
use crate::turns::{TurnChange, TurnTimer};

/// The shortest wait for the end of a pause.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The state that every owner keeps besides its rules. It dereferences to the handle on the piece.
pub struct Replicated<P: Piece, C> {
    replica: ReplicaHandle<P>,
    log: LogHandle,
    clock: Clock,
    /// The source of the ids that the owner draws.
    ids: IdSource,
    /// The pause of the owner's own decisions after a commit without an outcome.
    pause: CommitBackoff,
    next_turn: TurnTimer,
    feed: Option<FeedPublisher<C>>,
    /// Whether the piece holds everything that this node had recorded when it started.
    is_caught_up: bool,
    /// Whether the published view is older than the piece.
    is_view_stale: bool,
    /// Commits that returned without an outcome.
    uncommitted: u64,
}

impl<P: Piece, C> Replicated<P, C> {
    /// A shell around an empty piece. The journal fills the piece once the owner is started.
    pub fn new(piece: P, log: impl Into<LogHandle>, clock: Clock) -> Self {
        let log = log.into();
        Replicated {
            replica: ReplicaHandle::new(piece, log.clone()),
            log,
            clock,
            ids: IdSource::system(),
            pause: CommitBackoff::default(),
            next_turn: TurnTimer::default(),
            feed: None,
            is_caught_up: false,
            is_view_stale: false,
            uncommitted: 0,
        }
    }

    /// Publishes a change that is in no event.
    pub fn publish_change(&self, at: Millis, change: C) {
        if let Some(feed) = &self.feed {
            feed.publish(at, change);
        }
    }

    /// Number of commits that returned without an outcome.
    pub fn uncommitted(&self) -> u64 {
        self.uncommitted
    }

    /// Whether the piece contains everything that this node had recorded when it started. Before that the
    /// piece is outdated.
    pub fn is_caught_up(&self) -> bool {
        self.is_caught_up
    }

    /// The published view is older than the owner's state: the current turn renews it.
    pub fn mark_stale(&mut self) {
        self.is_view_stale = true;
    }

    /// Time until the next planned turn.
    pub fn next_turn(&self) -> Duration {
        self.next_turn.left(self.clock.timer())
    }

    /// How long the owner makes no decisions of its own, after a commit without an outcome.
    pub fn pause_left(&self) -> Option<Duration> {
        self.pause.left(self.clock.now())
    }

    /// The clock of the owner.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The source of ids.
    pub fn ids(&mut self) -> &mut IdSource {
        &mut self.ids
    }

    /// The piece, and the source of ids for a decision on it.
    pub fn piece_and_ids(&mut self) -> (&P, &mut IdSource) {
        (self.replica.piece(), &mut self.ids)
    }

    /// A commit for `by` that no caller can repeat.
    pub fn unnamed_request(&mut self, by: &str) -> RequestContext {
        RequestContext::by_itself(by, &mut self.ids)
    }

    /// Why the log accepts no commits for lack of room on the disk. None while there is room.
    pub fn disk_full(&self) -> Option<String> {
        self.log.disk_full()
    }
}

impl<P: Piece, C> Replicated<P, C> {
    /// Settles the returned commit of a request.
    fn settle_request(
        &mut self,
        settlement: CommitSettlement<P>,
    ) -> Result<Outcomes<P>, CommitError> {
        let settled = self.replica.settle(settlement);
        self.uncommitted += u64::from(settled.is_err());
        settled
    }
}

impl<P: Piece, C> Deref for Replicated<P, C> {
    type Target = ReplicaHandle<P>;

    fn deref(&self) -> &ReplicaHandle<P> {
        &self.replica
    }
}

impl<P: Piece, C> DerefMut for Replicated<P, C> {
    fn deref_mut(&mut self) -> &mut ReplicaHandle<P> {
        &mut self.replica
    }
}

/// The reply to a request that may wait for a commit.
pub type OwnerReply<A, T, E> = ResponseActFuture<A, Result<T, E>>;

/// A reply without a wait.
pub fn reply_now<A: Actor, T: 'static, E: 'static>(result: Result<T, E>) -> OwnerReply<A, T, E> {
    Box::pin(actix::fut::ready(result))
}

/// An actor that owns a piece. The required methods are its reactions; the provided ones are the same for
/// every owner. `Handler<JournalCommand>` only calls [`Owner::obey`].
pub trait Owner: Actor<Context = Context<Self>> + Handler<JournalCommand> {
    /// The piece that it owns.
    type Piece: Piece;

    /// A change of it, as the change feed takes it.
    type Change: 'static;

    /// The name under which it commits its own decisions.
    const NAME: &'static str;

    /// A plural noun for the objects that it commits, for the log.
    const SUBJECT: &'static str;

    /// The largest age of the published view. Zero: it is renewed with each entry and each turn.
    const VIEW_AGE: Duration = Duration::ZERO;

    /// The shell of this owner.
    fn shell(&mut self) -> &mut Replicated<Self::Piece, Self::Change>;

    /// The time that is recorded with the owner's own commits.
    fn commit_time(&self) -> Millis;

    /// These events of one entry were applied or refused, in order.
    fn on_applied(&mut self, entry: &[AppliedEvent<Self::Piece>], ctx: &mut Context<Self>);

    /// The whole piece was replaced.
    fn on_installed(&mut self, _ctx: &mut Context<Self>) {}

    /// This node leads from now on.
    fn on_leader_started(&mut self, epoch: Epoch, ctx: &mut Context<Self>);

    /// This node no longer leads.
    fn on_leader_stopped(&mut self, ctx: &mut Context<Self>);

    /// Readers may read the piece from now on, because it is no longer outdated. Called again when another
    /// piece replaces it.
    fn attach_readers(&mut self) {}

    /// Builds and publishes the read view. The shell calls it whenever the view may have changed.
    fn publish_view(&mut self);

    /// The changes that the events of one entry made.
    fn changes_of(&mut self, entry: &[AppliedEvent<Self::Piece>]) -> Vec<(Millis, Self::Change)>;

    /// An entry was applied and published, at this cost in processor time.
    fn note_cost(&mut self, _entry: &[AppliedEvent<Self::Piece>], _cost: Duration) {}

    /// Does the work that is due now. This node leads, and there is no pause.
    fn take_turn(&mut self, ctx: &mut Context<Self>);

    /// The part of a turn that every node does, before [`Owner::take_turn`].
    fn begin_turn(&mut self, _ctx: &mut Context<Self>) {}

    /// The turn of a leader that makes no decisions for now, because a commit returned without an outcome.
    fn take_paused_turn(&mut self, _ctx: &mut Context<Self>) {}

    /// Publishes changes on `feed` from now on.
    fn with_change_feed(mut self, feed: FeedPublisher<Self::Change>) -> Self {
        self.shell().feed = Some(feed);
        self
    }

    /// Draws all ids from `ids`.
    fn with_id_source(mut self, ids: IdSource) -> Self {
        self.shell().ids = ids;
        self
    }

    /// Registers the owner with the journal, and publishes the first view: for `Actor::started`.
    fn join_journal(&mut self, ctx: &mut Context<Self>) {
        let recipient = ctx.address().recipient();
        let log = self.shell().log.clone();
        log.register(Self::Piece::ID, recipient);
        let catching_up = log.caught_up(Self::Piece::ID);
        ctx.spawn(catching_up.into_actor(self).map(|is_current, owner, _| {
            if is_current {
                owner.catch_up();
                owner.renew_view();
            }
        }));
        self.renew_view();
    }

    /// The piece is no longer outdated.
    fn catch_up(&mut self) {
        self.shell().is_caught_up = true;
        self.attach_readers();
    }

    /// Carries out a command of the journal.
    fn obey(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        let began = self.shell().clock.cost();
        match self.shell().replica.handle_command(command) {
            StateChange::Applied(entry) => {
                self.shell().is_view_stale = true;
                self.on_applied(&entry, ctx);
                if self.shell().is_view_stale {
                    self.note_stale(ctx);
                }
                self.publish_changes(&entry);
                let cost = self.shell().clock.cost().saturating_sub(began);
                self.note_cost(&entry, cost);
            }
            StateChange::Installed => {
                self.on_installed(ctx);
                if self.shell().is_caught_up {
                    self.attach_readers();
                }
                self.note_stale(ctx);
            }
            StateChange::LeaderStarted(epoch) => {
                // Outcomes of commits of another epoch do not matter for this one.
                self.shell().pause = CommitBackoff::default();
                self.catch_up();
                self.on_leader_started(epoch, ctx);
                self.renew_view();
            }
            StateChange::LeaderStopped => {
                self.on_leader_stopped(ctx);
                self.renew_view();
            }
            StateChange::Nothing => {}
        }
    }

    /// Publishes what one entry changed. Subscribers that get a change can already read the new view.
    fn publish_changes(&mut self, entry: &[AppliedEvent<Self::Piece>]) {
        if self.shell().feed.is_none() {
            return;
        }
        let changes = self.changes_of(entry);
        let shell = self.shell();
        let Some(feed) = &shell.feed else { return };
        let leads = shell.replica.epoch().is_some();
        let index = shell.replica.applied();
        feed.publish_applied(Self::Piece::ID, index, leads, &mut changes.into_iter());
    }

    /// Publishes a new view now.
    fn renew_view(&mut self) {
        self.shell().is_view_stale = false;
        self.publish_view();
    }

    /// The view changed. It is renewed before it is older than [`Owner::VIEW_AGE`].
    fn note_stale(&mut self, ctx: &mut Context<Self>) {
        if Self::VIEW_AGE.is_zero() {
            self.renew_view();
        } else {
            self.shell().is_view_stale = true;
            self.wake_after(Self::VIEW_AGE, ctx);
        }
    }

    /// Takes a turn now, and publishes its view.
    fn run_turn(&mut self, ctx: &mut Context<Self>) {
        self.begin_turn(ctx);
        let shell = self.shell();
        let leads = shell.replica.epoch().is_some();
        match shell.pause_left() {
            Some(left) if leads => {
                self.wake_after(left.max(SHORTEST_PAUSE), ctx);
                self.take_paused_turn(ctx);
                self.renew_view();
            }
            None if leads => {
                self.take_turn(ctx);
                if Self::VIEW_AGE.is_zero() || self.shell().is_view_stale {
                    self.renew_view();
                }
            }
            _ => self.renew_view(),
        }
    }

    /// Takes a turn within `delay`. An earlier planned turn stays.
    fn wake_after(&mut self, delay: Duration, ctx: &mut Context<Self>) {
        let at = self.shell().clock.timer() + delay;
        match self.shell().next_turn.change(at) {
            TurnChange::Keep => return,
            TurnChange::Plan(Some(later)) => {
                ctx.cancel_future(later);
            }
            TurnChange::Plan(None) => {}
        }
        let timer = ctx.run_later(delay, |owner, ctx| {
            owner.shell().next_turn.begin();
            owner.run_turn(ctx);
        });
        self.shell().next_turn.plan(at, timer);
    }

    /// Commits the owner's own events, cut into entries. A refused or lost event is decided again from the
    /// state at that time.
    fn commit(&mut self, events: Vec<<Self::Piece as Piece>::Event>, ctx: &mut Context<Self>) {
        self.commit_then(events, ctx, |_, _, _| ());
    }

    /// Like [`Owner::commit`]. `then` gets the result of each part, unless another epoch began meanwhile.
    fn commit_then(
        &mut self,
        events: Vec<<Self::Piece as Piece>::Event>,
        ctx: &mut Context<Self>,
        then: impl Fn(&mut Self, Result<Outcomes<Self::Piece>, CommitError>, &mut Context<Self>)
        + Clone
        + 'static,
    ) {
        for events in ReplicaHandle::<Self::Piece>::parts(events) {
            let request = self.shell().unnamed_request(Self::NAME);
            self.commit_part(request, events, ctx, then.clone());
        }
    }

    /// Like [`Owner::commit_then`], for events that fit into one entry, under the name of `request`.
    fn commit_part(
        &mut self,
        request: RequestContext,
        events: Vec<<Self::Piece as Piece>::Event>,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, Result<Outcomes<Self::Piece>, CommitError>, &mut Context<Self>)
        + 'static,
    ) {
        let now = self.commit_time();
        let shell = self.shell();
        let epoch = shell.replica.epoch();
        let committing = shell.replica.commit(now, request, events);
        ctx.spawn(committing.into_actor(self).map(move |settlement, owner, ctx| {
            let settled = owner.settle_own(settlement, ctx);
            if owner.shell().replica.epoch() == epoch {
                then(owner, settled, ctx);
            }
        }));
    }

    /// Settles a returned commit of the owner itself. Without an outcome the owner makes no decisions for a
    /// while.
    fn settle_own(
        &mut self,
        settlement: CommitSettlement<Self::Piece>,
        ctx: &mut Context<Self>,
    ) -> Result<Outcomes<Self::Piece>, CommitError> {
        let now = self.shell().clock.now();
        let shell = self.shell();
        let settled = shell.replica.settle(settlement);
        match &settled {
            Ok(_) => {
                if shell.pause.committed() {
                    tracing::info!("commits of {} work again", Self::SUBJECT);
                }
            }
            Err(error) => {
                shell.uncommitted += 1;
                let held = shell.pause.uncommitted(error, now);
                if held.is_news {
                    tracing::warn!(%error, "commit of {} returned without an outcome", Self::SUBJECT);
                }
                self.wake_after(held.pause, ctx);
            }
        }
        settled
    }

    /// Answers a request: decides and commits it, and reads the reply from the outcomes. A repeated request
    /// joins the running one, or gets the earlier reply again. A decision without events is read at once.
    ///
    /// The caller gets the errors of `decide` and `read`, and those of the commit.
    fn answer_request<T: 'static, E: From<CommitError> + 'static>(
        &mut self,
        request: RequestContext,
        decide: impl FnOnce(&mut Self) -> Result<Vec<<Self::Piece as Piece>::Event>, E>,
        read: impl FnOnce(&mut Self, Outcomes<Self::Piece>) -> Result<T, E> + 'static,
    ) -> OwnerReply<Self, T, E> {
        let replica = &self.shell().replica;
        if let Some(outcomes) = replica.recall(request.request) {
            return reply_now(read(self, outcomes));
        }
        if let Err(error) = replica.leading() {
            return reply_now(Err(error.into()));
        }
        let events = match replica.under_way(request.request) {
            Some(events) => events,
            None => match decide(self) {
                Ok(events) => events,
                Err(refusal) => return reply_now(Err(refusal)),
            },
        };
        if events.is_empty() {
            return reply_now(read(self, Vec::new()));
        }
        self.commit_request(vec![(request, events)], |owner, outcomes, _| read(owner, outcomes?))
    }

    /// Commits the decision of a request in parts, in order. Once all parts have returned, `read` gets the
    /// outcomes of all, or the first error. Such an error causes no pause: the caller gets it.
    fn commit_request<R: 'static>(
        &mut self,
        parts: Vec<(RequestContext, Vec<<Self::Piece as Piece>::Event>)>,
        read: impl FnOnce(
            &mut Self,
            Result<Outcomes<Self::Piece>, CommitError>,
            &mut Context<Self>,
        ) -> R
        + 'static,
    ) -> ResponseActFuture<Self, R> {
        let now = self.commit_time();
        let replica = &mut self.shell().replica;
        let mut commits = Vec::with_capacity(parts.len());
        for (request, events) in parts {
            commits.push(replica.commit(now, request, events));
        }
        let answering = join_all(commits).into_actor(self).map(move |settlements, owner, ctx| {
            // Each part is settled, also a part after a failed one.
            let settle = |settlement| owner.shell().settle_request(settlement);
            let settled: Vec<_> = settlements.into_iter().map(settle).collect();
            let outcomes: Result<Vec<_>, _> = settled.into_iter().collect();
            read(owner, outcomes.map(|parts| parts.into_iter().flatten().collect()), ctx)
        });
        Box::pin(answering)
    }
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
