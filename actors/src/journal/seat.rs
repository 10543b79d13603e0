//! An owner's seat at the journal: its piece, what is in flight, which requests were answered
//! before, and whether it may decide. Every actor with a durable piece holds one.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::clock::Millis;
use crate::event::{Commit, EncodedEvent, Epoch, RequestId};
use crate::journal::Journal;
use crate::journal::batch;
use crate::journal::in_flight::InFlight;
use crate::journal::messages::{Apply, CommitAnswer, CommitError, Install, Order, Stage};
use crate::journal::piece::{FrozenPiece, Piece, UnreadableEvent};
use crate::journal::requests::{FrozenLedger, RequestLedger};

/// A piece and everything that ties it to the journal.
pub struct Seat<P: Piece> {
    piece: P,
    /// Outcomes of remembered requests, so that a repeated one is answered and not done twice.
    ledger: RequestLedger,
    in_flight: InFlight<P::Event>,
    /// The epoch this node leads in; none on a follower, which only applies.
    epoch: Option<Epoch>,
    /// Log index of the last entry applied here.
    applied: u64,
    /// A piece that is on its way here, to take the place of the present one.
    incoming: Option<Incoming<P>>,
    journal: Journal,
}

/// A piece that comes in parts.
struct Incoming<P> {
    piece: P,
    ledger: RequestLedger,
}

/// What an order amounted to, for the owner to react to: renew its view, start or stop timers.
#[derive(Debug)]
pub enum Occasion<P: Piece> {
    /// These events were applied or refused, in order.
    Applied(Vec<AppliedEvent<P>>),
    /// The piece was replaced as a whole.
    Installed,
    /// This node leads from now on.
    LeaderStarted(Epoch),
    /// This node no longer leads.
    LeaderStopped,
    /// Nothing that the owner needs to react to.
    Nothing,
}

/// One event and what came of it.
#[derive(Debug)]
pub struct AppliedEvent<P: Piece> {
    /// The commit it came in.
    pub request: RequestId,
    /// When it was decided.
    pub at: Millis,
    /// The event.
    pub event: P::Event,
    /// What came of it.
    pub result: Result<P::Outcome, P::Refusal>,
}

/// The outcomes of one commit's events, in order.
pub type Outcomes<P> = Vec<Result<<P as Piece>::Outcome, <P as Piece>::Refusal>>;

/// A commit that came back. Hand it to [`Seat::settle`] to learn what came of it.
#[must_use = "a commit stays in flight until it is settled"]
pub struct Settlement<P: Piece> {
    request: RequestId,
    result: Result<Outcomes<P>, CommitError>,
}

/// Who asks for a commit, and under which name.
#[derive(Clone, Debug)]
pub struct Asked {
    /// A user, a host, or an actor's own name.
    pub by: String,
    /// The request's id.
    pub request: RequestId,
    /// Whether the request came from outside and may be repeated.
    pub remember: bool,
}

impl Asked {
    /// An actor's own doing: nobody will repeat it.
    pub fn by_itself(actor: &str) -> Self {
        Asked { by: actor.to_owned(), request: RequestId::random(), remember: false }
    }

    /// A request from outside, which may be repeated under the same id.
    pub fn by_request(by: impl Into<String>, request: RequestId) -> Self {
        Asked { by: by.into(), request, remember: true }
    }

    /// The name under which the `part`th part of a split event list is committed. The first part
    /// goes under the request's own id, the others under ids that follow from it, so that
    /// repeating the whole request repeats each part under the same id.
    pub fn part(&self, part: usize) -> Self {
        let request = match part {
            0 => self.request,
            part => RequestId::from_text(&format!("{} part {part}", self.request)),
        };
        Asked { request, ..self.clone() }
    }
}

impl<P: Piece> Seat<P> {
    /// A seat with an empty piece; the journal fills it once the owner is registered.
    pub fn new(piece: P, journal: Journal) -> Self {
        Seat {
            piece,
            ledger: RequestLedger::default(),
            in_flight: InFlight::default(),
            epoch: None,
            applied: 0,
            incoming: None,
            journal,
        }
    }

    /// The piece as applied so far.
    pub fn piece(&self) -> &P {
        &self.piece
    }

    /// What is under way.
    pub fn in_flight(&self) -> &InFlight<P::Event> {
        &self.in_flight
    }

    /// The epoch to decide in, if this node leads.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Log index of the last entry applied here.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// The outcomes of a request that was answered before, if it is still remembered.
    pub fn recall(&self, request: RequestId) -> Option<Outcomes<P>> {
        self.ledger.recall(request).map(|answers| decode_answers::<P>(answers))
    }

    /// Cuts a list of events into parts that each fit one commit, in order. Each part is committed
    /// and applied by itself: the list is not applied as one. An event that fits no commit stands
    /// alone, and committing it answers `TooLarge`.
    pub fn parts(events: Vec<P::Event>) -> Vec<Vec<P::Event>> {
        let sizes = events.iter().map(|event| batch::event_bytes(to_bytes(event).len()));
        let runs = batch::split(sizes);
        let mut events = events.into_iter();
        runs.into_iter().map(|run| events.by_ref().take(run).collect()).collect()
    }

    /// Sets out a commit: its events are in flight at once. The future is to be awaited off the
    /// mailbox (`ctx.spawn`) and its settlement handed to [`Seat::settle`]. Never by `ctx.wait`: the
    /// entry comes to be applied through the same mailbox, and would wait for itself.
    pub fn commit(
        &mut self,
        at: Millis,
        asked: Asked,
        events: Vec<P::Event>,
    ) -> impl Future<Output = Settlement<P>> + 'static {
        let request = asked.request;
        let commit = self.epoch.map(|epoch| Commit {
            request,
            remember: asked.remember,
            asked_by: asked.by,
            epoch,
            at,
            piece: P::ID,
            events: events.iter().map(encode::<P>).collect(),
        });
        if commit.is_some() {
            self.in_flight.begin(request, events);
        }
        let journal = self.journal.clone();
        async move {
            let result = match commit {
                None => Err(CommitError::NotLeader { leader: journal.leader() }),
                Some(commit) => journal.commit(commit).await.and_then(|answer| match answer {
                    CommitAnswer::Applied(answers) => Ok(decode_answers::<P>(&answers)),
                    CommitAnswer::Deposed => Err(CommitError::Deposed),
                }),
            };
            Settlement { request, result }
        }
    }

    /// Takes a commit that came back out of flight, unless its outcome is unknown: then it stays
    /// until it is applied after all or leadership ends.
    pub fn settle(&mut self, settlement: Settlement<P>) -> Result<Outcomes<P>, CommitError> {
        if !matches!(settlement.result, Err(CommitError::Unknown { .. })) {
            self.in_flight.end(settlement.request);
        }
        settlement.result
    }

    /// Obeys the journal.
    ///
    /// A panic inside `apply`, or a stored event that this program cannot read, ends the process:
    /// going on would let this node's state drift from what the log says.
    pub fn obey(&mut self, order: Order) -> Occasion<P> {
        match order {
            Order::Apply(apply) => Occasion::Applied(self.apply(apply)),
            Order::Freeze { reply } => {
                let frozen =
                    FrozenSeat { ledger: self.ledger.freeze(), piece: self.piece.freeze() };
                // A snapshot that nobody waits for any more is simply not taken.
                let _ = reply.send(Box::new(frozen));
                Occasion::Nothing
            }
            Order::Install(Install { index, stage, reply }) => {
                let last = matches!(stage, Stage::End);
                let installed = self.install(index, stage);
                let occasion =
                    if last && installed.is_ok() { Occasion::Installed } else { Occasion::Nothing };
                let _ = reply.send(installed);
                occasion
            }
            Order::LeaderStarted { epoch } => {
                self.epoch = Some(epoch);
                Occasion::LeaderStarted(epoch)
            }
            Order::LeaderStopped => {
                self.epoch = None;
                self.in_flight.clear();
                Occasion::LeaderStopped
            }
        }
    }

    fn apply(&mut self, apply: Apply) -> Vec<AppliedEvent<P>> {
        let mut applied = Vec::new();
        let mut answers = Vec::with_capacity(apply.commits.len());
        for commit in &apply.commits {
            self.in_flight.end(commit.request);
            let answer = if commit.epoch != apply.term {
                CommitAnswer::Deposed
            } else if let Some(before) =
                commit.remember.then(|| self.ledger.recall(commit.request)).flatten()
            {
                CommitAnswer::Applied(before.to_vec())
            } else {
                self.apply_commit(apply.index, commit, &mut applied)
            };
            answers.push(answer);
        }
        self.applied = apply.index;
        // The journal waits for this before the next entry; it is gone only when it is stopping.
        let _ = apply.reply.send(answers);
        applied
    }

    fn apply_commit(
        &mut self,
        index: u64,
        commit: &Arc<Commit>,
        applied: &mut Vec<AppliedEvent<P>>,
    ) -> CommitAnswer {
        let mut answers = Vec::with_capacity(commit.events.len());
        for encoded in &commit.events {
            let event =
                P::decode(encoded).unwrap_or_else(|error| end_process(index, &error.to_string()));
            let result = catch_unwind(AssertUnwindSafe(|| self.piece.apply(commit.at, &event)))
                .unwrap_or_else(|_| end_process(index, "apply panicked"));
            answers.push(match &result {
                Ok(outcome) => Ok(to_bytes(outcome)),
                Err(refusal) => Err(to_bytes(refusal)),
            });
            applied.push(AppliedEvent { request: commit.request, at: commit.at, event, result });
        }
        if commit.remember {
            self.ledger.remember(commit.request, commit.at, answers.clone());
        }
        CommitAnswer::Applied(answers)
    }

    fn install(&mut self, index: u64, stage: Stage) -> Result<(), UnreadableEvent> {
        match stage {
            Stage::Begin => {
                let (piece, ledger) = (self.piece.emptied(), RequestLedger::default());
                self.incoming = Some(Incoming { piece, ledger });
                Ok(())
            }
            Stage::Rows(rows) => self.thaw(&rows),
            Stage::End => {
                // Without a beginning there is nothing to end.
                if let Some(Incoming { piece, ledger }) = self.incoming.take() {
                    self.piece = piece;
                    self.ledger = ledger;
                    self.in_flight.clear();
                    self.applied = index;
                }
                Ok(())
            }
        }
    }

    fn thaw(&mut self, rows: &[Vec<u8>]) -> Result<(), UnreadableEvent> {
        let Some(Incoming { piece, ledger }) = &mut self.incoming else {
            return Ok(());
        };
        for row in rows {
            match row.split_first() {
                Some((&LEDGER_ROW, row)) => ledger.thaw::<P>(row)?,
                Some((&PIECE_ROW, row)) => piece.thaw(row)?,
                other => {
                    let error = format!("unknown row kind {:?}", other.map(|(kind, _)| kind));
                    return Err(UnreadableEvent::Body { piece: P::ID, error });
                }
            }
        }
        Ok(())
    }
}

const LEDGER_ROW: u8 = 0;
const PIECE_ROW: u8 = 1;

/// A seat as it stood at one index: what a snapshot holds of it.
struct FrozenSeat {
    ledger: FrozenLedger,
    piece: Box<dyn FrozenPiece>,
}

impl FrozenPiece for FrozenSeat {
    fn write(&self, row: &mut dyn FnMut(&[u8])) {
        let mut tagged = Vec::new();
        let mut write = |kind: u8, bytes: &[u8]| {
            tagged.clear();
            tagged.push(kind);
            tagged.extend_from_slice(bytes);
            row(&tagged);
        };
        self.ledger.write(&mut |bytes| write(LEDGER_ROW, bytes));
        self.piece.write(&mut |bytes| write(PIECE_ROW, bytes));
    }
}

fn encode<P: Piece>(event: &P::Event) -> EncodedEvent {
    EncodedEvent { version: P::EVENT_VERSION, body: to_bytes(event) }
}

#[allow(clippy::expect_used)]
fn to_bytes<T: serde::Serialize>(value: &T) -> Vec<u8> {
    // Postcard into a growing vector fails only for maps and sequences of unknown length, which
    // no event, outcome or refusal holds.
    postcard::to_stdvec(value).expect("events encode")
}

fn decode_answers<P: Piece>(answers: &[Result<Vec<u8>, Vec<u8>>]) -> Outcomes<P> {
    answers
        .iter()
        .map(|answer| match answer {
            Ok(bytes) => Ok(from_own_bytes(bytes)),
            Err(bytes) => Err(from_own_bytes(bytes)),
        })
        .collect()
}

#[allow(clippy::expect_used)]
fn from_own_bytes<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> T {
    // Encoded by `to_bytes` of the same program, or checked when the snapshot was installed.
    postcard::from_bytes(bytes).expect("own outcomes decode")
}

/// Ends the process at once: the log says something that this piece cannot follow.
fn end_process(index: u64, why: &str) -> ! {
    tracing::error!(index, why, "a committed event cannot be applied: ending the process");
    std::process::abort()
}
