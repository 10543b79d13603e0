//! The traits of a piece of durable state. They do not depend on actors.

use std::error::Error;
use std::fmt::Debug;

use reelyard_core::clock::Millis;
use reelyard_core::event::{EncodedEvent, PieceId};
use reelyard_core::names::NamePin;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::on_full_disk::OnFullDisk;

/// A piece: the part of the durable state that one actor owns. Pure, in memory, rebuilt from the
/// newest snapshot and the events after it.
pub trait Piece: Sized + 'static {
    /// Its number in the journal.
    const ID: PieceId;
    /// The version of the event encoding that this program writes.
    const EVENT_VERSION: u8;

    /// A change of the piece, as the log stores it.
    type Event: Serialize + DeserializeOwned + Clone + Debug + 'static;
    /// The answer of an applied event, such as assigned ids or counts.
    type Outcome: Serialize + DeserializeOwned + Clone + Debug + 'static;
    /// Why an event changed nothing: its precondition no longer held when it was applied.
    type Refusal: Serialize + DeserializeOwned + Clone + Error + 'static;

    /// Reads an event of any version that was ever written. The default reads only the current
    /// version.
    fn decode(event: &EncodedEvent) -> Result<Self::Event, UnreadableEvent> {
        if event.version != Self::EVENT_VERSION {
            return Err(UnreadableEvent::Version { piece: Self::ID, version: event.version });
        }
        postcard::from_bytes(&event.body)
            .map_err(|error| UnreadableEvent::Body { piece: Self::ID, error: error.to_string() })
    }

    /// Changes the piece. Deterministic: depends only on the piece, `at` and `event`. It checks the
    /// event's preconditions again, and a refusal leaves the piece unchanged.
    fn apply(&mut self, at: Millis, event: &Self::Event) -> Result<Self::Outcome, Self::Refusal>;

    /// Treatment of an event while the disk is full. One that removes a right, such as a leaked link, is committed
    /// from the reserve. Other events leave half of it for those. All of them must be few and small.
    fn on_full_disk(_event: &Self::Event) -> OnFullDisk {
        OnFullDisk::Refuse
    }

    /// A frozen view of the current piece, to be written elsewhere while the piece changes. It shares
    /// shards that are copied on write, so that freezing is quick for a piece of any size.
    fn freeze(&self) -> Box<dyn FrozenPiece>;

    /// Restores the piece from the rows that a frozen one wrote, in the same order. `self` is an
    /// empty piece with its settings.
    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent>;

    /// An empty piece with the same settings, for restoring a snapshot.
    fn emptied(&self) -> Self;

    /// Keeps the names of a snapshot until the whole snapshot has replaced this piece. None for a
    /// piece without numbers of names.
    fn pin_names(&self) -> Option<NamePin> {
        None
    }
}

/// A piece at one log index, to be written to a snapshot.
pub trait FrozenPiece: Send + Sync {
    /// Writes the piece as rows of any size up to 1 MiB; the snapshot cuts and checks them. Data
    /// shared with the living piece is released as early as possible, because until then the piece
    /// copies what it changes.
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8]));
}

/// Stored bytes that this program cannot read although their checksum is right: another version wrote
/// them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableEvent {
    /// A version of events or rows that is not known here.
    #[error(
        "a stored record of piece {piece:?} has version {version}, which this version of reelyard does \
         not know: start the version of reelyard that wrote it"
    )]
    Version {
        /// The piece of the event or row.
        piece: PieceId,
        /// Version of its encoding.
        version: u8,
    },
    /// The version is known but the body does not decode. A later program may have added a variant.
    #[error(
        "a stored record of piece {piece:?} does not decode: {error}. If a later version of reelyard \
         wrote it, start that version"
    )]
    Body {
        /// The piece of the record.
        piece: PieceId,
        /// Error of the decoder.
        error: String,
    },
}
