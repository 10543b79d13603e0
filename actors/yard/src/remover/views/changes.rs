//! Publishes the changes of an applied event on the change feed.

use reelyard_core::clock::Millis;
use reelyard_replication::AppliedEvent;

use crate::changes::{PinChange, RemovalChange, YardChange};
use crate::remover::{RemovalBook, RemovalEvent, RemovalOutcome};

/// The changes that the events of one entry made.
pub(in crate::remover) fn changes_of(
    entry: &[AppliedEvent<RemovalBook>],
) -> Vec<(Millis, YardChange)> {
    let applied = entry.iter().filter(|event| event.result == Ok(RemovalOutcome::Applied));
    applied.filter_map(|applied| Some((applied.at, change_of(&applied.event)?))).collect()
}

fn change_of(event: &RemovalEvent) -> Option<YardChange> {
    let pin = |name: &reelyard_core::names::FileName, pinned, asked_by| {
        YardChange::Pin(PinChange { file: name.to_text(), pinned, asked_by })
    };
    Some(match event {
        RemovalEvent::Intended(intent) => YardChange::Removal(RemovalChange::Intended {
            host: intent.host,
            file: intent.name.to_text(),
            why: intent.reason.words(),
            reason: intent.reason.clone(),
            keeper: intent.keeper,
            asked_by: intent.asked_by.clone(),
        }),
        RemovalEvent::Ended { host, name, ending } => YardChange::Removal(RemovalChange::Ended {
            host: *host,
            file: name.to_text(),
            ending: ending.clone(),
        }),
        RemovalEvent::Pinned { name, asked_by } => pin(name, true, Some(asked_by.clone())),
        RemovalEvent::Unpinned { name } => pin(name, false, None),
        RemovalEvent::Forgot { .. } => return None,
    })
}
