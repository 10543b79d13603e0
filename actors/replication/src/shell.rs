//! The shell of every owner of a piece: the same handling of the journal's commands, of commits, of turns
//! and of the change feed. An owner adds its rules.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::Epoch;
use reelyard_core::secret_id::IdSource;

use crate::commit_backoff::CommitBackoff;
use crate::messages::{CommitError, JournalCommand};
use crate::ownership::{AppliedEvent, Outcomes, RequestContext};
use crate::piece::Piece;
use crate::replica::{CommitSettlement, ReplicaHandle, StateChange};
use crate::replicated_log::LogHandle;
use crate::turns::{TurnChange, TurnTimer};

/// What every owner keeps besides its rules. It dereferences to the handle on the piece.
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
            uncommitted: 0,
        }
    }

    /// Publishes a change that no event carries.
    pub fn publish_change(&self, at: Millis, change: C) {
        if let Some(feed) = &self.feed {
            feed.publish(at, change);
        }
    }

    /// Number of commits that returned without an outcome.
    pub fn uncommitted(&self) -> u64 {
        self.uncommitted
    }

    /// Time until the next planned turn.
    pub fn next_turn(&self) -> Duration {
        self.next_turn.left(self.clock.timer())
    }

    /// How long the owner decides nothing by itself, after a commit without an outcome.
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

    /// A commit that no caller can repeat, for `by`.
    pub fn unnamed_request(&mut self, by: &str) -> RequestContext {
        RequestContext::by_itself(by, &mut self.ids)
    }

    /// Why the log takes no commits for want of room on the disk. None while there is room.
    pub fn disk_full(&self) -> Option<String> {
        self.log.disk_full()
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

/// An actor that owns a piece. The required methods are its reactions; the provided ones are the same for
/// every owner. `Handler<JournalCommand>` only calls [`Owner::obey`].
pub trait Owner: Actor<Context = Context<Self>> + Handler<JournalCommand> {
    /// The piece that it owns.
    type Piece: Piece;

    /// A change of it, as the change feed takes it.
    type Change: 'static;

    /// The name under which it commits its own decisions.
    const NAME: &'static str;

    /// What it commits, in the plural: for the log.
    const SUBJECT: &'static str;

    /// The shell of this owner.
    fn shell(&mut self) -> &mut Replicated<Self::Piece, Self::Change>;

    /// The time that goes on record with its own commits.
    fn commit_time(&self) -> Millis;

    /// These events of one entry were applied or refused, in order. Renews the view as well: changes are
    /// published after it.
    fn on_applied(&mut self, entry: &[AppliedEvent<Self::Piece>], ctx: &mut Context<Self>);

    /// The piece was replaced as a whole.
    fn on_installed(&mut self, ctx: &mut Context<Self>);

    /// This node leads from now on.
    fn on_leader_started(&mut self, epoch: Epoch, ctx: &mut Context<Self>);

    /// This node no longer leads.
    fn on_leader_stopped(&mut self, ctx: &mut Context<Self>);

    /// The piece holds everything that this node had on record when it started. False if the journal
    /// stopped before.
    fn on_caught_up(&mut self, _is_current: bool) {}

    /// The changes that the events of one entry made.
    fn changes_of(&mut self, entry: &[AppliedEvent<Self::Piece>]) -> Vec<(Millis, Self::Change)>;

    /// An entry was applied and published, at this cost in time of the processor.
    fn note_cost(&mut self, _entry: &[AppliedEvent<Self::Piece>], _cost: Duration) {}

    /// Does the work that is due now.
    fn take_turn(&mut self, ctx: &mut Context<Self>);

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

    /// Registers the owner with the journal: for `Actor::started`.
    fn join_journal(&mut self, ctx: &mut Context<Self>) {
        let recipient = ctx.address().recipient();
        let log = self.shell().log.clone();
        log.register(Self::Piece::ID, recipient);
        let catching_up = log.caught_up(Self::Piece::ID);
        ctx.spawn(catching_up.into_actor(self).map(|is_current, owner, _| {
            owner.on_caught_up(is_current);
        }));
    }

    /// Carries out a command of the journal.
    fn obey(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        let began = self.shell().clock.cost();
        match self.shell().replica.handle_command(command) {
            StateChange::Applied(entry) => {
                self.on_applied(&entry, ctx);
                self.publish_changes(&entry);
                let cost = self.shell().clock.cost().saturating_sub(began);
                self.note_cost(&entry, cost);
            }
            StateChange::Installed => self.on_installed(ctx),
            StateChange::LeaderStarted(epoch) => {
                // Commits of another epoch say nothing about this one.
                self.shell().pause = CommitBackoff::default();
                self.on_leader_started(epoch, ctx);
            }
            StateChange::LeaderStopped => self.on_leader_stopped(ctx),
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
            owner.take_turn(ctx);
        });
        self.shell().next_turn.plan(at, timer);
    }

    /// Commits events of the owner's own, cut to entries. A refused or lost event is decided again from
    /// the state at that time.
    fn commit(&mut self, events: Vec<<Self::Piece as Piece>::Event>, ctx: &mut Context<Self>) {
        self.commit_then(events, ctx, |_, _, _| ());
    }

    /// As [`Owner::commit`]. `then` gets the result of each part, unless another epoch began meanwhile.
    fn commit_then(
        &mut self,
        events: Vec<<Self::Piece as Piece>::Event>,
        ctx: &mut Context<Self>,
        then: impl Fn(&mut Self, Result<Outcomes<Self::Piece>, CommitError>, &mut Context<Self>)
        + Clone
        + 'static,
    ) {
        let now = self.commit_time();
        for events in ReplicaHandle::<Self::Piece>::parts(events) {
            let shell = self.shell();
            let request = shell.unnamed_request(Self::NAME);
            let epoch = shell.replica.epoch();
            let committing = shell.replica.commit(now, request, events);
            let then = then.clone();
            ctx.spawn(committing.into_actor(self).map(move |settlement, owner, ctx| {
                let settled = owner.settle_own(settlement, ctx);
                if owner.shell().replica.epoch() == epoch {
                    then(owner, settled, ctx);
                }
            }));
        }
    }

    /// Takes a commit of the owner's own that came back. Without an outcome the owner decides nothing for
    /// a while.
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

    /// Takes a commit of a request that came back: its error goes to the caller and pauses nothing.
    fn settle_request(
        &mut self,
        settlement: CommitSettlement<Self::Piece>,
    ) -> Result<Outcomes<Self::Piece>, CommitError> {
        let shell = self.shell();
        let settled = shell.replica.settle(settlement);
        shell.uncommitted += u64::from(settled.is_err());
        settled
    }
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
