//! The shell of an owner with a log that answers when the test says so.

use std::convert::Infallible;
use std::time::Duration;

use actix::{Actor, Addr, Context, Handler, Message, System};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{Epoch, PieceId, RequestId};

use super::held_log::HeldLog;
use super::{Owner, OwnerCommands, OwnerCommits, OwnerReply, OwnerRequests, Replicated};
use crate::messages::{CommitError, JournalCommand};
use crate::ownership::{AppliedEvent, RequestContext};
use crate::piece::{FrozenPiece, Piece, UnreadableEvent};

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

/// An owner that records which of its decisions returned.
struct RecordingOwner {
    shell: Replicated<EmptyPiece, (), Infallible>,
    returned: tokio::sync::mpsc::UnboundedSender<&'static str>,
    decided: usize,
}

impl Actor for RecordingOwner {
    type Context = Context<Self>;
}

impl Handler<JournalCommand> for RecordingOwner {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for RecordingOwner {
    type Piece = EmptyPiece;
    type View = ();
    type Change = Infallible;
    const NAME: &'static str = "noting-owner";
    const SUBJECT: &'static str = "notes";

    fn shell(&mut self) -> &mut Replicated<EmptyPiece, (), Infallible> {
        &mut self.shell
    }

    fn batch_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn on_applied(&mut self, _: &[AppliedEvent<EmptyPiece>], _: &mut Context<Self>) {}

    fn build_view(&mut self) {}

    fn on_leader_started(&mut self, _: Epoch, _: &mut Context<Self>) {}

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {}

    fn changes_of(&mut self, _: &[AppliedEvent<EmptyPiece>]) -> Vec<(Millis, Infallible)> {
        Vec::new()
    }

    fn tick(&mut self, _: &mut Context<Self>) {}
}

fn new_shell(log: &HeldLog) -> Replicated<EmptyPiece, (), Infallible> {
    let clock = Clock::manual(Millis(0));
    Replicated::new(EmptyPiece, log.clone(), clock, ViewHandle::default())
}

/// Makes the owner decide and commit.
#[derive(Message)]
#[rtype(result = "()")]
struct Decide(&'static str);

impl Handler<Decide> for RecordingOwner {
    type Result = ();

    fn handle(&mut self, Decide(name): Decide, ctx: &mut Context<Self>) {
        self.commit_then(vec![()], ctx, move |owner, result, _| {
            assert!(result.is_ok(), "{result:?}");
            owner.returned.send(name).unwrap();
        });
    }
}

/// A request, by its id. The reply says how many outcomes there are, and how often the owner has decided.
#[derive(Message)]
#[rtype(result = "Result<(usize, usize), CommitError>")]
struct CountOutcomes(u128);

impl Handler<CountOutcomes> for RecordingOwner {
    type Result = OwnerReply<RecordingOwner, (usize, usize), CommitError>;

    fn handle(&mut self, CountOutcomes(id): CountOutcomes, _: &mut Context<Self>) -> Self::Result {
        let request = RequestContext::by_request("a test", RequestId(id));
        let decide = |owner: &mut Self| {
            owner.decided += 1;
            Ok(vec![(), ()])
        };
        self.answer_request(request, decide, |owner, outcomes| Ok((outcomes.len(), owner.decided)))
    }
}

async fn start_leadership(owner: &Addr<RecordingOwner>, epoch: u64) {
    let epoch = Epoch(epoch);
    owner.send(JournalCommand::LeaderStarted { epoch }).await.unwrap();
}

#[test]
fn a_decision_of_an_earlier_epoch_has_no_effect_later() {
    System::new().block_on(async {
        let log = HeldLog::new();
        let (returned, mut decisions) = tokio::sync::mpsc::unbounded_channel();
        let shell = new_shell(&log);
        let owner = RecordingOwner { shell, returned, decided: 0 }.start();
        start_leadership(&owner, 1).await;
        owner.send(Decide("in epoch 1")).await.unwrap();
        log.answer_all();
        assert_eq!(decisions.recv().await, Some("in epoch 1"));

        owner.send(Decide("late")).await.unwrap();
        owner.send(JournalCommand::LeaderStopped).await.unwrap();
        start_leadership(&owner, 2).await;
        owner.send(Decide("in epoch 2")).await.unwrap();
        // The owner takes both answers at once, the late one first.
        log.answer_all();
        assert_eq!(decisions.recv().await, Some("in epoch 2"));
    });
}

#[test]
fn a_repeated_request_joins_the_open_one_or_gets_its_reply() {
    System::new().block_on(async {
        let log = HeldLog::new();
        let (returned, _decisions) = tokio::sync::mpsc::unbounded_channel();
        let shell = new_shell(&log);
        let owner = RecordingOwner { shell, returned, decided: 0 }.start();
        let nobody = Err(CommitError::NotLeader { leader: None });
        assert_eq!(owner.send(CountOutcomes(7)).await.unwrap(), nobody);

        start_leadership(&owner, 1).await;
        let first = actix::spawn(owner.send(CountOutcomes(7)));
        let repeated = actix::spawn(owner.send(CountOutcomes(7)));
        while log.commits.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(log.apply_all(&owner, Epoch(1)).await, 2);
        assert_eq!(first.await.unwrap().unwrap(), Ok((2, 1)));
        assert_eq!(repeated.await.unwrap().unwrap(), Ok((2, 1)));

        assert_eq!(owner.send(CountOutcomes(7)).await.unwrap(), Ok((2, 1)), "the reply again");
        owner.send(JournalCommand::LeaderStopped).await.unwrap();
        assert_eq!(owner.send(CountOutcomes(7)).await.unwrap(), Ok((2, 1)), "on a follower, too");
        assert!(log.commits.lock().unwrap().is_empty());
    });
}
