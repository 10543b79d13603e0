//! The connections to other nodes, as an operator sees them.

mod peer_book;
mod peer_record;
mod peer_view;

pub(super) use peer_book::{PeerBook, RefusedBy};
pub(super) use peer_record::{PeerRecord, PeerTraffic};
pub use peer_view::{PeerRefusal, PeerView};
