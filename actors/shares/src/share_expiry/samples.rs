//! Shares for tests.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;

use crate::share_expiry::state::event::{NewShare, ShareLimits};
use crate::share_expiry::state::moves::pending_move::{NewMove, ShareLocation, SharedFileIdentity};
use crate::share_expiry::state::table::share::{ColdShareFields, Share, ShareInit};
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::share_terms::ShareTerms;
use crate::share_expiry::state::values::value_types::{Deadline, ShareKind};

pub(super) fn root() -> RootName {
    RootName::new("films").unwrap()
}

pub(super) fn path(text: &str) -> SharePath {
    SharePath::new(text).unwrap()
}

pub(super) fn init(id: u128, at: &str, deadline: i64) -> ShareInit {
    ShareInit {
        id: ShareId(id),
        root: root(),
        path: path(at),
        kind: ShareKind::File,
        owner: None,
        created: Millis(0),
        deadline: Deadline::at(Millis(deadline)),
        cold: ColdShareFields::default(),
        generation: 0,
        noticed: false,
    }
}

pub(super) fn share(id: u128, at: &str, deadline: i64) -> Arc<Share> {
    Arc::new(Share::new(init(id, at, deadline)))
}

pub(super) fn new_share(id: u128, at: &str, deadline: i64) -> NewShare {
    NewShare {
        id: ShareId(id),
        root: root(),
        path: path(at),
        kind: ShareKind::File,
        deadline: Deadline::at(Millis(deadline)),
        noticed: false,
        owner: None,
        terms: ShareTerms::default(),
        room: ShareLimits::default(),
    }
}

pub(super) fn new_move(from: &str, to: &str) -> NewMove {
    let place = |at| ShareLocation { root: root(), path: path(at) };
    NewMove {
        from: place(from),
        to: place(to),
        file: SharedFileIdentity { device: 1, inode: 2, born: None },
        by: "me".to_owned(),
        request: RequestId(77),
    }
}
