//! The shell of an owner with a log that answers when the test says so.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use actix::{Actor, Addr, Context, Handler, Message, Recipient, System};
use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{Commit, Epoch, PieceId};
use tokio::sync::{oneshot, watch};

use super::*;
use crate::piece::{FrozenPiece, UnreadableEvent};
use crate::replicated_log::{OnFullDisk, ReplicatedLog};
use crate::{CommitAnswer, Leadership};

type LateReply = oneshot::Sender<Result<CommitAnswer, CommitError>>;

/// A log that keeps each commit until the test answers it.
#[derive(Clone)]
struct HeldLog {
    commits: Arc<Mutex<Vec<LateReply>>>,
    leadership: watch::Sender<Leadership>,
}

impl HeldLog {
    fn new() -> Self {
        HeldLog { commits: Arc::default(), leadership: watch::Sender::new(Leadership::Nobody) }
    }

    /// Answers the commits so far, the earliest first: nothing was refused.
    fn answer_all(&self) {
        for commit in self.commits.lock().unwrap().drain(..) {
            commit.send(Ok(CommitAnswer::Applied(Vec::new()))).unwrap();
        }
    }
}

impl ReplicatedLog for HeldLog {
    fn register(&self, _: PieceId, _: Recipient<JournalCommand>) {}

    fn commit(
        &self,
        _: Commit,
        _: OnFullDisk,
    ) -> BoxFuture<'static, Result<CommitAnswer, CommitError>> {
        let (reply, answer) = oneshot::channel();
        self.commits.lock().unwrap().push(reply);
        answer.map(|answer| answer.unwrap_or(Err(CommitError::Stopped))).boxed()
    }

    fn caught_up(&self, _: PieceId) -> BoxFuture<'static, bool> {
        futures::future::ready(true).boxed()
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    fn disk_full(&self) -> Option<String> {
        None
    }

    fn note_stuck(&self, _: PieceId, _: &CommitError) {}
}

/// A piece without any state.
struct EmptyPiece;

struct FrozenEmptyPiece;

#[derive(Clone, Debug, thiserror::Error, serde::Serialize, serde::Deserialize)]
enum NoRefusal {}

impl FrozenPiece for FrozenEmptyPiece {
    fn write(self: Box<Self>, _: &mut dyn FnMut(&[u8])) {}
}

impl Piece for EmptyPiece {
    const ID: PieceId = PieceId::Probe;
    const EVENT_VERSION: u8 = 1;
    type Event = ();
    type Outcome = ();
    type Refusal = NoRefusal;

    fn apply(&mut self, _: Millis, (): &()) -> Result<(), NoRefusal> {
        Ok(())
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenEmptyPiece)
    }

    fn thaw(&mut self, _: &[u8]) -> Result<(), UnreadableEvent> {
        Ok(())
    }

    fn emptied(&self) -> Self {
        EmptyPiece
    }
}

/// An owner that notes which of its decisions returned.
struct NotingOwner {
    shell: Replicated<EmptyPiece, Infallible>,
    returned: tokio::sync::mpsc::UnboundedSender<&'static str>,
}

impl Actor for NotingOwner {
    type Context = Context<Self>;
}

impl Handler<JournalCommand> for NotingOwner {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.obey(command, ctx);
    }
}

impl Owner for NotingOwner {
    type Piece = EmptyPiece;
    type Change = Infallible;
    const NAME: &'static str = "noting-owner";
    const SUBJECT: &'static str = "notes";

    fn shell(&mut self) -> &mut Replicated<EmptyPiece, Infallible> {
        &mut self.shell
    }

    fn commit_time(&self) -> Millis {
        Millis(0)
    }

    fn on_applied(&mut self, _: &[AppliedEvent<EmptyPiece>], _: &mut Context<Self>) {}

    fn on_installed(&mut self, _: &mut Context<Self>) {}

    fn on_leader_started(&mut self, _: Epoch, _: &mut Context<Self>) {}

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {}

    fn changes_of(&mut self, _: &[AppliedEvent<EmptyPiece>]) -> Vec<(Millis, Infallible)> {
        Vec::new()
    }

    fn take_turn(&mut self, _: &mut Context<Self>) {}
}

/// Makes the owner decide and commit.
#[derive(Message)]
#[rtype(result = "()")]
struct Decide(&'static str);

impl Handler<Decide> for NotingOwner {
    type Result = ();

    fn handle(&mut self, Decide(name): Decide, ctx: &mut Context<Self>) {
        self.commit_then(vec![()], ctx, move |owner, settled, _| {
            assert!(settled.is_ok(), "{settled:?}");
            owner.returned.send(name).unwrap();
        });
    }
}

async fn lead(owner: &Addr<NotingOwner>, epoch: u64) {
    let epoch = Epoch(epoch);
    owner.send(JournalCommand::LeaderStarted { epoch }).await.unwrap();
}

#[test]
fn a_decision_of_an_earlier_epoch_has_no_effect_in_the_next_one() {
    System::new().block_on(async {
        let log = HeldLog::new();
        let (returned, mut decisions) = tokio::sync::mpsc::unbounded_channel();
        let shell = Replicated::new(EmptyPiece, log.clone(), Clock::manual(Millis(0)));
        let owner = NotingOwner { shell, returned }.start();
        lead(&owner, 1).await;
        owner.send(Decide("in epoch 1")).await.unwrap();
        log.answer_all();
        assert_eq!(decisions.recv().await, Some("in epoch 1"));

        owner.send(Decide("late")).await.unwrap();
        owner.send(JournalCommand::LeaderStopped).await.unwrap();
        lead(&owner, 2).await;
        owner.send(Decide("in epoch 2")).await.unwrap();
        // The owner takes both answers at once, the late one first.
        log.answer_all();
        assert_eq!(decisions.recv().await, Some("in epoch 2"));
    });
}
