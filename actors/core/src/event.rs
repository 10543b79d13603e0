//! The content of the journal: events, in commits, each owned by one piece.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::secret_id::IdSource;

/// The piece of the durable state that an event belongs to. The numbers are on disk and on the wire between
/// nodes: a number is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
#[serde(into = "u8", try_from = "u8")]
pub enum PieceId {
    /// Owned by the TaskManager.
    Tasks = 1,
    /// Owned by the Remover.
    Removals = 2,
    /// Owned by the ShareExpiryActor.
    Shares = 3,
    /// Owned by the BoxLeaseActor.
    Boxes = 4,
    /// Owned by the AccessActor.
    Access = 5,
    /// Owned by the ClusterSettingsActor.
    Settings = 6,
    /// A counter and a list of texts, for tests of the journal itself.
    Probe = 255,
}

impl From<PieceId> for u8 {
    fn from(id: PieceId) -> u8 {
        id as u8
    }
}

/// A piece number that this version does not know: the data come from a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("piece {0} is unknown to this version of reelyard: upgrade this node")]
pub struct UnknownPiece(pub u8);

impl TryFrom<u8> for PieceId {
    type Error = UnknownPiece;

    fn try_from(number: u8) -> Result<Self, UnknownPiece> {
        match number {
            1 => Ok(PieceId::Tasks),
            2 => Ok(PieceId::Removals),
            3 => Ok(PieceId::Shares),
            4 => Ok(PieceId::Boxes),
            5 => Ok(PieceId::Access),
            6 => Ok(PieceId::Settings),
            255 => Ok(PieceId::Probe),
            other => Err(UnknownPiece(other)),
        }
    }
}

/// The Raft term in which a leader decides. A decision of a leader of an older epoch is refused.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The idempotency key of one request: 128 bits, drawn at random by the caller or derived from the text
/// of an HTTP client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u128);

impl RequestId {
    /// The next id of `ids`, for a commit without a name from a caller.
    pub fn draw(ids: &mut IdSource) -> Self {
        RequestId(ids.draw_public())
    }

    /// A new random id for a request without a name.
    pub fn random() -> Self {
        RequestId(fastrand::u128(..))
    }

    /// The id of a request that its asker named by `text`.
    pub fn from_text(text: &str) -> Self {
        let hash = blake3::hash(text.as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        RequestId(u128::from_le_bytes(first))
    }

    /// The id of a request with the client's `name` and the content `what`. Its lower half comes from the
    /// name, and its upper half from the content. So another request with the same name is detected.
    pub fn of(name: &str, what: &[u8]) -> Self {
        let half = |bytes: &[u8]| {
            let mut first = [0; 8];
            first.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
            u128::from(u64::from_le_bytes(first))
        };
        RequestId(half(what) << 64 | half(name.as_bytes()))
    }

    /// The half that comes from its name.
    pub fn name(self) -> u64 {
        // The lower half.
        self.0 as u64
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

/// One event as the journal carries it: only its piece can decode it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedEvent {
    /// Version of the encoding of `body`. The piece reads every earlier version too.
    pub version: u8,
    /// The event, encoded with postcard.
    #[serde(with = "serde_bytes")]
    pub body: Vec<u8>,
}

/// The result of one `decide`: the events of one piece, applied together at one log index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Names this commit. Repeating a commit under the same id changes nothing while the id is
    /// remembered (see `remember`).
    pub request: RequestId,
    /// Whether the piece keeps `request` and its outcome after applying it. Set for requests from outside,
    /// which may be repeated. Not set for an actor's own decisions.
    pub remember: bool,
    /// The caller: a user, a host, or an actor's own name. The caller's name, for the audit.
    pub asked_by: String,
    /// The epoch of the leader that decided. Refused at apply time unless it is the entry's term.
    pub epoch: Epoch,
    /// When it was decided, by the clock of the deciding leader. This is the only time that `apply` may
    /// use.
    pub at: Millis,
    /// The piece that owns these events.
    pub piece: PieceId,
    /// The events, applied in this order.
    pub events: Vec<EncodedEvent>,
}
