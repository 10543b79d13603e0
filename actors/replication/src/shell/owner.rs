//! The rules that an owner adds to the shell.

use std::time::Duration;

use actix::{Actor, Context, Handler};
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::secret_id::IdSource;

use super::replicated::Replicated;
use crate::messages::JournalCommand;
use crate::ownership::AppliedEvent;
use crate::piece::Piece;

/// An actor that owns a piece. These are its reactions; the shell calls them. `Handler<JournalCommand>` only
/// calls `OwnerCommands::handle_journal_command`, and `Actor::started` calls `OwnerCommands::join_journal`.
pub trait Owner: Actor<Context = Context<Self>> + Handler<JournalCommand> {
    /// The piece that it owns.
    type Piece: Piece;

    /// The read view that it publishes.
    type View: 'static;

    /// A change of the piece, as the change feed takes it.
    type Change: 'static;

    /// The name under which it commits its own decisions.
    const NAME: &'static str;

    /// A plural noun for the objects that it commits, for the log.
    const SUBJECT: &'static str;

    /// The largest age of the published view. Zero: it is renewed with each entry and each tick.
    const VIEW_AGE: Duration = Duration::ZERO;

    /// Whether the view of an earlier incarnation stays until a restarted owner has caught up, so that readers never see
    /// less than before. False if the view gives permission: an old one could allow something that is no longer allowed.
    const KEEPS_EARLIER_VIEW: bool = true;

    /// The shell of this owner.
    fn shell(&mut self) -> &mut Replicated<Self::Piece, Self::View, Self::Change>;

    /// The time that is recorded with the owner's own commits.
    fn commit_time(&mut self) -> Millis {
        self.shell().clock().now()
    }

    /// How long changes are collected before a tick, so that changes at the same time are handled together.
    fn batch_delay(&self) -> Duration;

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

    /// The read view as it is now. The shell publishes it whenever something of it may have changed.
    fn build_view(&mut self) -> Self::View;

    /// Whether the second view differs from the first in something for which readers wait.
    fn is_news(_before: &Self::View, _after: &Self::View) -> bool {
        false
    }

    /// The view was published.
    fn on_view_published(&mut self) {}

    /// The changes that the events of one entry made.
    fn changes_of(&mut self, entry: &[AppliedEvent<Self::Piece>]) -> Vec<(Millis, Self::Change)>;

    /// An entry was applied and published, at this cost in processor time.
    fn record_cost(&mut self, _entry: &[AppliedEvent<Self::Piece>], _cost: Duration) {}

    /// Does the work that is due now. This node leads, and there is no pause.
    fn tick(&mut self, ctx: &mut Context<Self>);

    /// The part of a tick that every node does, before [`Owner::tick`].
    fn begin_tick(&mut self, _ctx: &mut Context<Self>) {}

    /// The tick of a leader that makes no decisions for now, because a commit returned without an outcome.
    fn tick_paused(&mut self, _ctx: &mut Context<Self>) {}

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
}
