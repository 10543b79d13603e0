//! The stored forms of moves. Pure.
//!
//! **Invariant:** a stored form never changes: events and snapshots of all earlier versions hold it.

use reelyard_core::event::RequestId;
use reelyard_replication::{stored_form, stored_form_of_event};

use super::pending_move::{MoveStage, NewMove, PendingMove, ShareLocation, SharedFileIdentity};
use crate::share_expiry::state::values::path::{RootName, SharePath};

stored_form! {
    /// A place of a file.
    pub(in crate::share_expiry) struct StoredLocation of ShareLocation {
        root: RootName,
        path: SharePath,
    }
}

stored_form! {
    /// The stored identity of a file, which distinguishes it from later files at its path.
    pub(in crate::share_expiry) struct StoredFileIdentity of SharedFileIdentity {
        device: u64,
        inode: u64,
        born: Option<i64>,
    }
}

stored_form! {
    /// A requested move, in events and in snapshots.
    pub(in crate::share_expiry) struct StoredNewMove of NewMove {
        from: StoredLocation,
        to: StoredLocation,
        file: StoredFileIdentity,
        by: String,
        request: RequestId,
    }
}

stored_form! {
    /// A move under way.
    pub(in crate::share_expiry) struct StoredMove of PendingMove {
        number: u64,
        new: StoredNewMove,
        stage: MoveStage,
        parts: u32,
        followed: u64,
        ended: u64,
    }
}

stored_form_of_event! {
    /// For the field of an event.
    pub(in crate::share_expiry) mod move_of_event: StoredNewMove of NewMove;
}
