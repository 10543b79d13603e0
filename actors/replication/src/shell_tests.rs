//! The shell of an owner with a log that answers when the test says so.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use actix::{Actor, Addr, Context, Handler, Message, Recipient, System};
use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{Commit, Epoch, PieceId, RequestId};
use tokio::sync::{oneshot, watch};

use super::*;
use crate::piece::{FrozenPiece, UnreadableEvent};
use crate::replicated_log::{OnFullDisk, ReplicatedLog};
use crate::{Apply, CommitAnswer, Leadership};

type LateReply = oneshot::Sender<Result<CommitAnswer, CommitError>>;

/// A commit that waits for its answer.
type HeldCommit = (Commit, LateReply);

/// A log that keeps each commit until the test answers it.
#[derive(Clone)]
struct HeldLog {
    commits: Arc<Mutex<Vec<HeldCommit>>>,
    leadership: watch::Sender<Leadership>,
}

impl HeldLog {
    fn new() -> Self {
        HeldLog { commits: Arc::default(), leadership: watch::Sender::new(Leadership::Nobody) }
    }

    /// Answers the commits so far, the earliest first: nothing was refused.
    fn answer_all(&self) {
        for (_, reply) in self.commits.lock().unwrap().drain(..) {
            reply.send(Ok(CommitAnswer::Applied(Vec::new()))).unwrap();
        }
    }
}

impl HeldLog {
    /// Applies the commits so far as one entry, and answers them.
    async fn apply_all(&self, owner: &Addr<NotingOwner>, term: Epoch) -> usize {
        let held: Vec<HeldCommit> = self.commits.lock().unwrap().drain(..).collect();
        let (commits, replies): (Vec<Commit>, Vec<LateReply>) = held.into_iter().unzip();
        let commits: Vec<Arc<Commit>> = commits.into_iter().map(Arc::new).collect();
        let (reply, answers) = oneshot::channel();
        let apply = Apply { index: 1, term, commits, reply };
        owner.send(JournalCommand::Apply(apply)).await.unwrap();
        let answers = answers.await.unwrap();
        let count = answers.len();
        for (reply, answer) in replies.into_iter().zip(answers) {
            reply.send(Ok(answer)).unwrap();
        }
        count
    }
}

impl ReplicatedLog for HeldLog {
    fn register(&self, _: PieceId, _: Recipient<JournalCommand>) {}

    fn commit(
        &self,
        commit: Commit,
        _: OnFullDisk,
    ) -> BoxFuture<'static, Result<CommitAnswer, CommitError>> {
        let (reply, answer) = oneshot::channel();
        self.commits.lock().unwrap().push((commit, reply));
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
    decided: usize,
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

    fn publish_view(&mut self) {}

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

/// A request, by its id. The reply says how many outcomes there are, and how often the owner has decided.
#[derive(Message)]
#[rtype(result = "Result<(usize, usize), CommitError>")]
struct CountOutcomes(u128);

impl Handler<CountOutcomes> for NotingOwner {
    type Result = OwnerReply<NotingOwner, (usize, usize), CommitError>;

    fn handle(&mut self, CountOutcomes(id): CountOutcomes, _: &mut Context<Self>) -> Self::Result {
        let request = RequestContext::by_request("a test", RequestId(id));
        let decide = |owner: &mut Self| {
            owner.decided += 1;
            Ok(vec![(), ()])
        };
        self.answer_request(request, decide, |owner, outcomes| Ok((outcomes.len(), owner.decided)))
    }
}

async fn lead(owner: &Addr<NotingOwner>, epoch: u64) {
    let epoch = Epoch(epoch);
    owner.send(JournalCommand::LeaderStarted { epoch }).await.unwrap();
}

#[test]
fn a_decision_of_an_earlier_epoch_has_no_effect_later() {
    System::new().block_on(async {
        let log = HeldLog::new();
        let (returned, mut decisions) = tokio::sync::mpsc::unbounded_channel();
        let shell = Replicated::new(EmptyPiece, log.clone(), Clock::manual(Millis(0)));
        let owner = NotingOwner { shell, returned, decided: 0 }.start();
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

#[test]
fn a_repeated_request_joins_the_open_one_or_gets_its_reply() {
    System::new().block_on(async {
        let log = HeldLog::new();
        let (returned, _decisions) = tokio::sync::mpsc::unbounded_channel();
        let shell = Replicated::new(EmptyPiece, log.clone(), Clock::manual(Millis(0)));
        let owner = NotingOwner { shell, returned, decided: 0 }.start();
        let nobody = Err(CommitError::NotLeader { leader: None });
        assert_eq!(owner.send(CountOutcomes(7)).await.unwrap(), nobody);

        lead(&owner, 1).await;
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
