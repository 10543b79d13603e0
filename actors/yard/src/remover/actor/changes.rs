//! Publishes the changes of an applied event on the change feed.

use reelyard_replication::{AppliedEvent, Piece};

use crate::changes::{PinChange, RemovalChange, YardChange};
use crate::remover::{RemovalBook, RemovalEvent, RemovalOutcome, Remover};

impl Remover {
    /// Publishes the changes of the last journal entry.
    pub(in crate::remover) fn publish_changes(&self, events: &[AppliedEvent<RemovalBook>]) {
        let Some(feed) = &self.changes else { return };
        let applied = events.iter().filter(|event| event.result == Ok(RemovalOutcome::Applied));
        let mut changes =
            applied.filter_map(|applied| Some((applied.at, change_of(&applied.event)?)));
        let leads = self.replica.epoch().is_some();
        feed.publish_applied(RemovalBook::ID, self.replica.applied(), leads, &mut changes);
    }
}

fn change_of(event: &RemovalEvent) -> Option<YardChange> {
    let pin = |name: &reelyard_core::names::FileName, pinned, asked_by| {
        YardChange::Pin(PinChange { file: name.shown(), pinned, asked_by })
    };
    Some(match event {
        RemovalEvent::Intended(intent) => YardChange::Removal(RemovalChange::Intended {
            host: intent.host,
            file: intent.name.shown(),
            why: intent.reason.words(),
            reason: intent.reason.clone(),
            keeper: intent.keeper,
            asked_by: intent.asked_by.clone(),
        }),
        RemovalEvent::Ended { host, name, ending } => YardChange::Removal(RemovalChange::Ended {
            host: *host,
            file: name.shown(),
            ending: ending.clone(),
        }),
        RemovalEvent::Pinned { name, asked_by } => pin(name, true, Some(asked_by.clone())),
        RemovalEvent::Unpinned { name } => pin(name, false, None),
        RemovalEvent::Forgot { .. } => return None,
    })
}
