//! Events that a test writes into the journal of a node before the node starts. No owner decides them.

use std::sync::Arc;

use actix::prelude::*;
use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt};
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::secret_id::IdSource;
use reelyard_journal::Journal;
use reelyard_replication::{
    CommitAnswer, JournalCommand, Ownership, Piece, ReplicaHandle, ReplicatedLog, RequestContext,
    StateChange,
};
use tokio::sync::Notify;

use crate::probes::waiting::PATIENCE;

/// Commits that wait for their answers at the same time.
const IN_FLIGHT: usize = 8;

/// Applies the events of a piece, as its owner would.
struct WrittenPiece<P: Piece> {
    journal: Journal,
    replica: ReplicaHandle<P>,
    leads: Arc<Notify>,
    /// Why the first refused event was refused.
    refused: Option<String>,
}

impl<P: Piece + Unpin + 'static> Actor for WrittenPiece<P> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.journal.register(P::ID, ctx.address().recipient());
    }
}

impl<P: Piece + Unpin + 'static> Handler<JournalCommand> for WrittenPiece<P> {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, _: &mut Self::Context) {
        match self.replica.handle_command(command) {
            StateChange::LeaderStarted(_) => self.leads.notify_one(),
            StateChange::Applied(events) if self.refused.is_none() => {
                let refusal = events.into_iter().find_map(|event| event.result.err());
                self.refused = refusal.map(|refusal| refusal.to_string());
            }
            StateChange::Applied(_)
            | StateChange::Installed
            | StateChange::LeaderStopped
            | StateChange::Nothing => {}
        }
        self.journal.view_published(P::ID, self.replica.applied());
    }
}

/// Asks for the first refused event.
#[derive(Message)]
#[rtype(result = "Option<String>")]
struct ReadRefusal;

impl<P: Piece + Unpin + 'static> Handler<ReadRefusal> for WrittenPiece<P> {
    type Result = Option<String>;

    fn handle(&mut self, _: ReadRefusal, _: &mut Self::Context) -> Option<String> {
        self.refused.clone()
    }
}

/// Writes the first events of a piece into the journal, in their order. `empty` is the piece without them.
///
/// # Errors
/// An event was refused, or the journal does not take it.
pub async fn write_events<P>(journal: &Journal, empty: P, events: Vec<P::Event>) -> Result<()>
where
    P: Piece + Unpin + 'static,
{
    let piece = empty.emptied();
    let leads = Arc::new(Notify::new());
    let owner = WrittenPiece {
        journal: journal.clone(),
        replica: ReplicaHandle::new(empty, journal.clone()),
        leads: leads.clone(),
        refused: None,
    };
    let owner = owner.start();
    tokio::time::timeout(PATIENCE, leads.notified()).await.context("the journal never leads")?;
    let epoch = journal.leadership().borrow().epoch().context("no node leads")?;
    commit_events(journal, epoch, piece, events).await?;
    let refusal = owner.send(ReadRefusal).await?;
    ensure!(refusal.is_none(), "an event was refused because: {refusal:?}");
    Ok(())
}

/// Commits these events in their order, many in one entry.
///
/// # Errors
/// The journal does not take them.
pub async fn commit_events<P: Piece>(
    journal: &Journal,
    epoch: Epoch,
    piece: P,
    events: Vec<P::Event>,
) -> Result<()> {
    let mut owner = Ownership::new(piece);
    owner.become_leader(epoch);
    let now = Clock::system().now();
    let own = || RequestContext::by_itself("a test", &mut IdSource::system());
    let commits = ReplicaHandle::<P>::parts(events)
        .into_iter()
        .filter_map(|part| owner.begin_commit(now, own(), part))
        .map(|commit| journal.commit(commit));
    let mut answers = stream::iter(commits).buffered(IN_FLIGHT);
    while let Some(answer) = answers.next().await {
        ensure!(matches!(answer?, CommitAnswer::Applied(_)), "it was not applied");
    }
    Ok(())
}
