//! An owner's handle to the journal. Every actor with a durable piece has one.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use reelyard_core::clock::Millis;
use reelyard_core::event::{Epoch, PieceId, RequestId};

use crate::commits::batch;
use crate::commits::in_flight::InFlight;
use crate::messages::{Apply, CommitAnswer, CommitError, Install, InstallStage, JournalCommand};
use crate::on_full_disk::OnFullDisk;
use crate::ownership::{
    AppliedEvent, Outcomes, Ownership, RequestContext, decode_answers, to_bytes,
};
use crate::piece::Piece;
use crate::replicated_log::LogHandle;

/// A piece, with everything that connects it to the journal.
pub struct ReplicaHandle<P: Piece> {
    own: Ownership<P>,
    journal: LogHandle,
}

/// Effect of a command, to which the owner reacts: it renews its view, or starts or stops timers.
#[derive(Debug)]
pub enum StateChange<P: Piece> {
    /// These events were applied or refused, in order.
    Applied(Vec<AppliedEvent<P>>),
    /// The whole piece was replaced.
    Installed,
    /// This node leads from now on.
    LeaderStarted(Epoch),
    /// This node no longer leads.
    LeaderStopped,
    /// Nothing happened that the owner must react to.
    Nothing,
}

/// A returned commit. [`ReplicaHandle::complete`] returns its result.
#[must_use = "a commit stays in flight until it is completed"]
pub struct ReturnedCommit<P: Piece> {
    request: RequestId,
    /// Whether it is the owner's own decision.
    is_own: bool,
    result: Result<Outcomes<P>, CommitError>,
}

impl<P: Piece> ReplicaHandle<P> {
    /// A handle with an empty piece; the journal fills it once the owner is registered.
    pub fn new(piece: P, journal: impl Into<LogHandle>) -> Self {
        ReplicaHandle { own: Ownership::new(piece), journal: journal.into() }
    }

    /// The piece with everything applied so far.
    pub fn piece(&self) -> &P {
        self.own.piece()
    }

    /// Commits of this piece that are in flight.
    pub fn in_flight(&self) -> &InFlight<P::Event> {
        self.own.in_flight()
    }

    /// The epoch to decide in, if this node leads.
    pub fn epoch(&self) -> Option<Epoch> {
        self.own.epoch()
    }

    /// The epoch for decisions, or the error for the requester.
    pub fn leading(&self) -> Result<Epoch, CommitError> {
        self.epoch().ok_or_else(|| self.journal.leadership().borrow().refusal())
    }

    /// Log index of the last entry applied here.
    pub fn applied(&self) -> u64 {
        self.own.applied()
    }

    /// The outcomes of a request that was answered before, if it is still remembered.
    pub fn recall(&self, request: RequestId) -> Option<Outcomes<P>> {
        self.own.recall(request)
    }

    /// Whether another request has used the name of `request` before. Then it must not get that answer.
    pub fn means_another(&self, request: RequestId) -> bool {
        self.own.means_another(request)
    }

    /// The decision of a request that is in flight. A repeated request commits the same events
    /// under the same id, and gets their result. A second decision would conflict with the first.
    pub fn under_way(&self, request: RequestId) -> Option<Vec<P::Event>>
    where
        P::Event: Clone,
    {
        self.own.in_flight().of(request).map(<[_]>::to_vec)
    }

    /// Cuts a list of events into parts that each fit into one commit, in order. Each part is committed
    /// and applied separately. An event that fits into no commit forms its own part, and its commit
    /// answers `TooLarge`.
    pub fn parts(events: Vec<P::Event>) -> Vec<Vec<P::Event>> {
        let sizes = events.iter().map(|event| batch::event_bytes(to_bytes(event).len()));
        let runs = batch::split(sizes);
        let mut events = events.into_iter();
        runs.into_iter().map(|run| events.by_ref().take(run).collect()).collect()
    }

    /// Whether this event fits into a commit.
    pub fn fits_an_entry(event: &P::Event) -> bool {
        batch::fits_alone(batch::event_bytes(to_bytes(event).len()))
    }

    /// Starts a commit. Its events are in flight at once, and enter the log in the order of these calls.
    /// The order in which the futures are polled does not matter. Await the future outside of the mailbox
    /// (`ctx.spawn`) and pass its output to [`ReplicaHandle::complete`]. Never use `ctx.wait`: the entry
    /// is applied through the same mailbox, and would wait for itself.
    pub fn commit(
        &mut self,
        at: Millis,
        asked: RequestContext,
        events: Vec<P::Event>,
    ) -> impl Future<Output = ReturnedCommit<P>> + use<P> {
        let (request, is_own) = (asked.request, !asked.remember);
        let on_full_disk = events.iter().map(P::on_full_disk).min().unwrap_or(OnFullDisk::Refuse);
        let commit = self.own.begin_commit(at, asked, events);
        let committing = match commit {
            Some(commit) => Ok(self.journal.commit(commit, on_full_disk)),
            None => Err(self.journal.leadership().borrow().refusal()),
        };
        async move {
            let result = match committing {
                Err(refusal) => Err(refusal),
                Ok(committing) => committing.await.and_then(|answer| match answer {
                    CommitAnswer::Applied(answers) => Ok(decode_answers::<P>(&answers)),
                    CommitAnswer::Deposed => Err(CommitError::Deposed),
                }),
            };
            ReturnedCommit { request, is_own, result }
        }
    }

    /// Ends the in-flight state of a returned commit. With an unknown outcome the commit stays in flight
    /// until it is applied after all or leadership ends.
    pub fn complete(&mut self, returned: ReturnedCommit<P>) -> Result<Outcomes<P>, CommitError> {
        self.own.complete(returned.request, &returned.result);
        if let (true, Err(error @ CommitError::TooLarge { .. })) =
            (returned.is_own, &returned.result)
        {
            self.journal.report_stuck(P::ID, error);
        }
        returned.result
    }

    /// Executes a command of the journal.
    ///
    /// A panic inside `apply` ends the process. So does a stored event that this program cannot read.
    /// Otherwise this node's state would drift from the log.
    pub fn handle_command(&mut self, order: JournalCommand) -> StateChange<P> {
        match order {
            JournalCommand::Apply(apply) => StateChange::Applied(self.apply(apply)),
            JournalCommand::Freeze { reply } => {
                // If the receiver no longer waits for the snapshot, it is dropped.
                let _ = reply.send(self.own.freeze());
                StateChange::Nothing
            }
            JournalCommand::Install(Install { index, stage, reply }) => {
                let last = matches!(stage, InstallStage::End);
                let installed = self.own.install_part(index, stage);
                let change = if last && installed.is_ok() {
                    StateChange::Installed
                } else {
                    StateChange::Nothing
                };
                let _ = reply.send(installed);
                change
            }
            JournalCommand::LeaderStarted { epoch } => {
                self.own.become_leader(epoch);
                StateChange::LeaderStarted(epoch)
            }
            JournalCommand::LeaderStopped => {
                self.own.step_down();
                StateChange::LeaderStopped
            }
        }
    }

    fn apply(&mut self, apply: Apply) -> Vec<AppliedEvent<P>> {
        let Apply { index, term, commits, reply } = apply;
        let applying = AssertUnwindSafe(|| self.own.apply(index, term, &commits));
        let entry = match catch_unwind(applying) {
            Ok(Ok(entry)) => entry,
            Ok(Err(error)) => end_process(P::ID, index, &error.to_string()),
            Err(_) => end_process(P::ID, index, "apply panicked"),
        };
        // The journal waits for this before the next entry. The receiver is missing only if the journal is
        // stopping.
        let _ = reply.send(entry.answers);
        entry.events
    }
}

/// Ends the process at once, because this piece cannot apply an entry of the log.
fn end_process(piece: PieceId, index: u64, why: &str) -> ! {
    tracing::error!(
        ?piece,
        index,
        why,
        "a committed event cannot be applied: ending the process. Start a version that can apply it, or skip the \
         entry on every node: reelyard store skip INDEX --reason TEXT"
    );
    std::process::abort()
}
