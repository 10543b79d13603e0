//! State of an owner: the piece, the commits in flight, the answered requests, and whether it may
//! decide. Pure: the [`ReplicaHandle`](crate::ReplicaHandle) connects it to the journal.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::{Commit, EncodedEvent, Epoch, RequestId};
use reelyard_core::names::NamePin;
use reelyard_core::secret_id::IdSource;

use crate::commits::idempotency_ledger::{FrozenLedger, IdempotencyLedger};
use crate::commits::in_flight::InFlight;
use crate::messages::{CommitAnswer, CommitError, InstallStage};
use crate::piece::{FrozenPiece, Piece, UnreadableEvent};

/// A piece, and its owner's records about it.
pub struct Ownership<P: Piece> {
    piece: P,
    /// Outcomes of remembered requests, so that a repeated request is answered and not executed twice.
    ledger: IdempotencyLedger,
    in_flight: InFlight<P::Event>,
    /// The epoch this node leads in; none on a follower, which only applies.
    epoch: Option<Epoch>,
    /// Log index of the last entry applied here.
    applied: u64,
    /// A piece that is being installed. It will replace the current one.
    incoming: Option<Incoming<P>>,
}

/// A piece of which some parts were installed.
struct Incoming<P> {
    piece: P,
    ledger: IdempotencyLedger,
    /// No view shows its names yet.
    _pin: Option<NamePin>,
}

/// An applied event and its result.
#[derive(Debug)]
pub struct AppliedEvent<P: Piece> {
    /// The commit of the event.
    pub request: RequestId,
    /// Time of the decision, by the clock of the leader.
    pub at: Millis,
    /// The event, as decided.
    pub event: P::Event,
    /// Outcome or refusal of the event.
    pub result: Result<P::Outcome, P::Refusal>,
}

/// The outcomes of one commit's events, in order.
pub type Outcomes<P> = Vec<Result<<P as Piece>::Outcome, <P as Piece>::Refusal>>;

/// Result of applying one entry.
#[derive(Debug)]
pub struct AppliedEntry<P: Piece> {
    /// One answer per commit, in order.
    pub answers: Vec<CommitAnswer>,
    /// Applied events, in order.
    pub events: Vec<AppliedEvent<P>>,
}

/// Requester of a commit, and the id of the request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// A user, a host, or an actor's own name.
    pub by: String,
    /// Id of the request, the idempotency key.
    pub request: RequestId,
    /// Whether the request came from outside and may be repeated.
    pub remember: bool,
}

impl RequestContext {
    /// A commit of the actor itself: no client repeats it.
    pub fn by_itself(actor: &str, ids: &mut IdSource) -> Self {
        RequestContext { by: actor.to_owned(), request: RequestId::draw(ids), remember: false }
    }

    /// A request from outside, which may be repeated under the same id.
    pub fn by_request(by: impl Into<String>, request: RequestId) -> Self {
        RequestContext { by: by.into(), request, remember: true }
    }

    /// The context of the `part`th part of a split event list. The first part has the request's own id. The
    /// others have ids that follow from it, so a repetition of the whole request repeats each part under
    /// the same id.
    pub fn part(&self, part: usize) -> Self {
        let request = match part {
            0 => self.request,
            part => RequestId::from_text(&format!("{} part {part}", self.request)),
        };
        RequestContext { request, ..self.clone() }
    }
}

impl<P: Piece> Ownership<P> {
    /// An empty piece; the journal fills it.
    pub fn new(piece: P) -> Self {
        Ownership {
            piece,
            ledger: IdempotencyLedger::default(),
            in_flight: InFlight::default(),
            epoch: None,
            applied: 0,
            incoming: None,
        }
    }

    /// The piece with everything applied so far.
    pub fn piece(&self) -> &P {
        &self.piece
    }

    /// Commits of this piece that are in flight.
    pub fn in_flight(&self) -> &InFlight<P::Event> {
        &self.in_flight
    }

    /// The epoch for decisions, if this node leads.
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

    /// Whether another request, remembered or in flight, has the name of `request`.
    pub fn means_another(&self, request: RequestId) -> bool {
        self.ledger.means_another(request) || self.in_flight.means_another(request)
    }

    /// Starts a commit: its events are in flight from now on. None if this node does not lead.
    pub fn begin_commit(
        &mut self,
        at: Millis,
        asked: RequestContext,
        events: Vec<P::Event>,
    ) -> Option<Commit> {
        let commit = Commit {
            request: asked.request,
            remember: asked.remember,
            asked_by: asked.by,
            epoch: self.epoch?,
            at,
            piece: P::ID,
            events: events.iter().map(encode::<P>).collect(),
        };
        self.in_flight.begin(asked.request, events);
        Some(commit)
    }

    /// Ends the in-flight state of a returned commit. With an unknown outcome the commit stays in flight
    /// until it is applied after all or leadership ends.
    pub fn complete<T>(&mut self, request: RequestId, result: &Result<T, CommitError>) {
        if !matches!(result, Err(CommitError::Unknown { .. })) {
            self.in_flight.end_one(request);
        }
    }

    /// This node leads in `epoch`.
    pub fn become_leader(&mut self, epoch: Epoch) {
        self.epoch = Some(epoch);
    }

    /// This node no longer leads: everything in flight ends with an unknown outcome.
    pub fn step_down(&mut self) {
        self.epoch = None;
        self.in_flight.clear();
    }

    /// Applies the commits of one entry of `term`. A commit of another epoch changes nothing. A remembered
    /// commit changes nothing either, and gets its earlier answer.
    ///
    /// # Errors
    /// An event that this program cannot read. The piece is then between two entries, so the owner cannot
    /// continue.
    pub fn apply(
        &mut self,
        index: u64,
        term: Epoch,
        commits: &[Arc<Commit>],
    ) -> Result<AppliedEntry<P>, UnreadableEvent> {
        let mut entry =
            AppliedEntry { answers: Vec::with_capacity(commits.len()), events: Vec::new() };
        for commit in commits {
            self.in_flight.end(commit.request);
            let answer = if commit.epoch != term {
                CommitAnswer::Deposed
            } else if let Some(before) =
                commit.remember.then(|| self.ledger.recall(commit.request)).flatten()
            {
                CommitAnswer::Applied(before.to_vec())
            } else {
                self.apply_commit(commit, &mut entry.events)?
            };
            entry.answers.push(answer);
        }
        self.applied = index;
        Ok(entry)
    }

    fn apply_commit(
        &mut self,
        commit: &Commit,
        applied: &mut Vec<AppliedEvent<P>>,
    ) -> Result<CommitAnswer, UnreadableEvent> {
        let mut answers = Vec::with_capacity(commit.events.len());
        for encoded in &commit.events {
            let event = P::decode(encoded)?;
            let result = self.piece.apply(commit.at, &event);
            answers.push(match &result {
                Ok(outcome) => Ok(to_bytes(outcome)),
                Err(refusal) => Err(to_bytes(refusal)),
            });
            applied.push(AppliedEvent { request: commit.request, at: commit.at, event, result });
        }
        if commit.remember {
            self.ledger.remember(commit.request, commit.at, answers.clone());
        }
        Ok(CommitAnswer::Applied(answers))
    }

    /// The piece and the ledger with everything applied so far, for a snapshot.
    pub fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenOwnership { ledger: self.ledger.freeze(), piece: self.piece.freeze() })
    }

    /// Replaces piece and ledger by the rows that [`Ownership::freeze`] wrote at `index`. Without rows both
    /// become empty.
    ///
    /// # Errors
    /// A row that this program cannot read. Then nothing changes.
    pub fn install(&mut self, index: u64, rows: &[Vec<u8>]) -> Result<(), UnreadableEvent> {
        self.install_part(index, InstallStage::Begin)?;
        self.thaw(rows)?;
        self.install_part(index, InstallStage::End)
    }

    /// Installs one part of a piece. With the last part the new piece becomes the current one.
    ///
    /// # Errors
    ///
    /// A row that this program cannot read. Then nothing changes.
    pub fn install_part(&mut self, index: u64, stage: InstallStage) -> Result<(), UnreadableEvent> {
        match stage {
            InstallStage::Begin => {
                let (piece, ledger) = (self.piece.emptied(), IdempotencyLedger::default());
                let _pin = self.piece.pin_names();
                self.incoming = Some(Incoming { piece, ledger, _pin });
                Ok(())
            }
            InstallStage::Rows(rows) => self.thaw(&rows),
            InstallStage::End => {
                // An end without a beginning is ignored.
                if let Some(Incoming { piece, ledger, .. }) = self.incoming.take() {
                    self.piece = piece;
                    self.ledger = ledger;
                    self.in_flight.clear();
                    self.applied = index;
                }
                Ok(())
            }
            InstallStage::Abandon => {
                self.incoming = None;
                Ok(())
            }
        }
    }

    fn thaw(&mut self, rows: &[Vec<u8>]) -> Result<(), UnreadableEvent> {
        let Some(Incoming { piece, ledger, .. }) = &mut self.incoming else {
            return Ok(());
        };
        for row in rows {
            match row.split_first() {
                Some((&UNVERSIONED_LEDGER_ROW, row)) => ledger.thaw_without_version::<P>(row)?,
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

/// An answered request in the form of earlier programs. Only read.
const UNVERSIONED_LEDGER_ROW: u8 = 0;
/// A row of the piece, with the version of the piece's rows.
const PIECE_ROW: u8 = 1;
/// An answered request, with the version of the ledger's rows.
const LEDGER_ROW: u8 = 2;

/// Piece and ledger at one log index.
struct FrozenOwnership {
    ledger: FrozenLedger,
    piece: Box<dyn FrozenPiece>,
}

impl FrozenPiece for FrozenOwnership {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
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
pub(super) fn to_bytes<T: serde::Serialize>(value: &T) -> Vec<u8> {
    // Postcard into a growing vector fails only for maps and sequences of unknown length, which no event,
    // outcome or refusal contains.
    postcard::to_stdvec(value).expect("events encode")
}

/// The outcomes behind the answers to a commit of piece `P`.
pub fn decode_answers<P: Piece>(answers: &[Result<Vec<u8>, Vec<u8>>]) -> Outcomes<P> {
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
