//! Removals for the tests of this actor.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;

use crate::remover::state::ending::Ending;
use crate::remover::state::event::{Intent, RemovalEvent};
use crate::remover::state::reason::Reason;
use crate::settings::remover::KeptBy;

pub(super) fn host(last: u8) -> HostAddr {
    format!("10.0.0.{last}:80").parse().unwrap()
}

pub(super) fn name(text: &str) -> FileName {
    FileName::new(text).unwrap()
}

/// Removes the copy on host `from` as surplus; the one on `keeper` is kept.
pub(super) fn duplicate(file: &str, from: u8, keeper: u8) -> Intent {
    let reason = Reason::Duplicate { copies: 2, wanted: 1, kept_by: KeptBy::Room };
    Intent {
        host: host(from),
        name: name(file),
        size: Some(7),
        reason,
        keeper: Some(host(keeper)),
        asked_by: "remover".to_owned(),
    }
}

/// Removes the copy on host `from` because its disk is over the limit.
pub(super) fn over_limit(file: &str, from: u8) -> Intent {
    let reason = Reason::OverLimit { used: 95, limit: 90, low_water: 85, grade: Some(9) };
    Intent { reason, keeper: None, ..duplicate(file, from, 0) }
}

pub(super) fn ended(file: &str, on: u8, ending: Ending) -> RemovalEvent {
    RemovalEvent::Ended { host: host(on), name: name(file), ending }
}
