//! Order and durability: what is committed here is on disk on a majority before anybody is told,
//! and is applied on every node in the same order.

mod in_flight;
mod messages;
mod piece;
mod requests;
mod seat;

pub use in_flight::InFlight;
pub use messages::{Apply, CommitAnswer, CommitError, Order};
pub use piece::{FrozenPiece, Piece, UnreadableEvent};
pub use requests::{REMEMBERED_FOR, RequestLedger};
pub use seat::{AppliedEvent, Asked, Occasion, Outcomes, Seat, Settlement};

use actix::Recipient;

use crate::event::{Commit, PieceId};

/// A handle on the journal of this node. Cheap to clone.
#[derive(Clone)]
pub struct Journal {}

impl Journal {
    /// Makes `owner` the one who applies the events of `piece`. It is first given the piece as it
    /// stands (`Install`, then `Apply` up to the present), with the application of new entries
    /// paused; when this node leads, `LeaderStarted` follows. Registering again (a restarted
    /// actor) replaces the former owner.
    pub fn register(&self, _piece: PieceId, _owner: Recipient<Order>) {}

    /// Commits: answered once the events are durable on a majority and applied here.
    pub async fn commit(&self, _commit: Commit) -> Result<CommitAnswer, CommitError> {
        Err(CommitError::Stopped)
    }

    /// The node that leads, as far as this one knows.
    pub fn leader(&self) -> Option<u64> {
        None
    }
}
