//! The state that every owner keeps besides its rules.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use reelyard_core::actor_parts::{ActorTimer, ViewHandle};
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::secret_id::IdSource;

use crate::commits::commit_backoff::CommitBackoff;
use crate::messages::CommitError;
use crate::ownership::{Outcomes, RequestContext};
use crate::piece::Piece;
use crate::replica::{ReplicaHandle, ReturnedCommit};
use crate::replicated_log::LogHandle;

/// The shell's state: the piece `P`, the read view `V`, and changes `C` for the feed. It dereferences to the
/// handle on the piece.
pub struct Replicated<P: Piece, V, C> {
    pub(super) replica: ReplicaHandle<P>,
    pub(super) log: LogHandle,
    pub(super) clock: Clock,
    /// The source of the ids that the owner draws.
    pub(super) ids: IdSource,
    /// Where the owner publishes its read view.
    pub(super) view: ViewHandle<V>,
    /// The pause of the owner's own decisions after a commit without an outcome.
    pub(super) pause: CommitBackoff,
    pub(super) next_tick: ActorTimer,
    pub(super) feed: Option<FeedPublisher<C>>,
    /// Whether the piece holds everything that this node had recorded when it started.
    pub(super) is_caught_up: bool,
    /// Whether an earlier incarnation published a view.
    pub(super) has_earlier_view: bool,
    /// Whether the published view is older than the piece.
    pub(super) is_view_stale: bool,
    /// Commits that returned without an outcome.
    pub(super) uncommitted: u64,
}

impl<P: Piece, V, C> Replicated<P, V, C> {
    /// A shell around an empty piece. The journal fills the piece once the owner is started. The owner
    /// publishes to `view`.
    pub fn new(piece: P, log: impl Into<LogHandle>, clock: Clock, view: ViewHandle<V>) -> Self {
        let log = log.into();
        let has_earlier_view = view.was_published();
        Replicated {
            replica: ReplicaHandle::new(piece, log.clone()),
            log,
            clock,
            ids: IdSource::system(),
            view,
            pause: CommitBackoff::default(),
            next_tick: ActorTimer::default(),
            feed: None,
            is_caught_up: false,
            has_earlier_view,
            is_view_stale: false,
            uncommitted: 0,
        }
    }

    /// Whether other nodes hold the log as well.
    pub fn has_other_members(&self) -> bool {
        self.log.has_other_members()
    }

    /// The lowest format level of all members. Nothing of a higher level is written.
    pub fn format_level(&self) -> u16 {
        self.log.format_level()
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

    /// The published view is older than the owner's state: the current tick renews it.
    pub fn mark_stale(&mut self) {
        self.is_view_stale = true;
    }

    /// Time until the next planned tick.
    pub fn next_tick(&self) -> Duration {
        self.next_tick.left()
    }

    /// How long the owner makes no decisions of its own, after a commit without an outcome.
    pub fn pause_left(&self) -> Option<Duration> {
        self.pause.left(self.clock.now())
    }

    /// The clock of the owner, and its only one.
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

    /// Completes the returned commit of a request.
    pub(super) fn complete_request(
        &mut self,
        returned: ReturnedCommit<P>,
    ) -> Result<Outcomes<P>, CommitError> {
        let result = self.replica.complete(returned);
        self.uncommitted += u64::from(result.is_err());
        result
    }
}

impl<P: Piece, V, C> Deref for Replicated<P, V, C> {
    type Target = ReplicaHandle<P>;

    fn deref(&self) -> &ReplicaHandle<P> {
        &self.replica
    }
}

impl<P: Piece, V, C> DerefMut for Replicated<P, V, C> {
    fn deref_mut(&mut self) -> &mut ReplicaHandle<P> {
        &mut self.replica
    }
}
