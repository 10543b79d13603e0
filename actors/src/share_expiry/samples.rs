//! Shares for tests.

use std::sync::Arc;

use super::event::{NewShare, Room};
use super::facts::{Deadline, ShareKind};
use super::id::ShareId;
use super::moves::{FileIdentity, NewMove, SharePlace};
use super::path::{RootName, SharePath};
use super::share::{Birth, Rare, Share};
use crate::clock::Millis;
use crate::event::RequestId;

pub(super) fn root() -> RootName {
    RootName::new("films").unwrap()
}

pub(super) fn path(text: &str) -> SharePath {
    SharePath::new(text).unwrap()
}

pub(super) fn birth(id: u128, at: &str, deadline: i64) -> Birth {
    Birth {
        id: ShareId(id),
        root: root(),
        path: path(at),
        kind: ShareKind::File,
        owner: None,
        created: Millis(0),
        deadline: Deadline::at(Millis(deadline)),
        rare: Rare::default(),
        generation: 0,
        noticed: false,
    }
}

pub(super) fn share(id: u128, at: &str, deadline: i64) -> Arc<Share> {
    Arc::new(Share::born(birth(id, at, deadline)))
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
        note: None,
        password: None,
        max_downloads: None,
        room: Room::default(),
    }
}

pub(super) fn new_move(from: &str, to: &str) -> NewMove {
    let place = |at| SharePlace { root: root(), path: path(at) };
    NewMove {
        from: place(from),
        to: place(to),
        file: FileIdentity { device: 1, inode: 2, born: None },
        by: "me".to_owned(),
        request: RequestId(77),
    }
}
