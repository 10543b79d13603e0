//! Counters of the Remover, for the metrics.

use crate::remover::state::ending::Ending;
use crate::remover::state::event::Intent;
use crate::remover::state::reason::Reason;
use crate::remover::state::removal_book::{RemovalBook, RemovalRecord};
use serde::{Deserialize, Serialize};

/// Counters since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemoverCounters {
    /// Rounds over all copies.
    pub rounds: u64,
    /// Removed copies.
    pub removed: u64,
    /// Bytes of the removed copies with a known size.
    #[serde(default)]
    pub removed_bytes: u64,
    /// Removed copies by reason.
    #[serde(default)]
    pub removed_for: RemovedFor,
    /// Bytes of the removed copies with a known size, by reason.
    #[serde(default)]
    pub removed_bytes_for: RemovedFor,
    /// Files for which copies were exchanged.
    #[serde(default)]
    pub exchanges: u64,
    /// Copies that did not exist when their hosts were called.
    pub absent: u64,
    /// Removals that their hosts refused.
    pub refused_by_hosts: u64,
    /// Failed removals, whose copies still exist.
    pub still_there: u64,
    /// Removals that were decided but not requested.
    pub not_asked: u64,
    /// Events whose precondition no longer held when they were applied.
    pub refused: u64,
    /// Commits without an outcome.
    pub uncommitted: u64,
}

/// Copies, or their bytes, by the reason of the removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemovedFor {
    /// There were surplus copies.
    pub duplicate: u64,
    /// Their hosts were being drained.
    pub draining: u64,
    /// Disks were over their limits.
    pub over_limit: u64,
    /// A much better file had no room anywhere.
    pub makes_room: u64,
    /// Files with much more demand replaced them.
    #[serde(default)]
    pub exchanged: u64,
}

impl RemovedFor {
    /// Adds `amount` for this reason.
    pub fn add(&mut self, reason: &Reason, amount: u64) {
        let count = match reason {
            Reason::Duplicate { .. } => &mut self.duplicate,
            Reason::Draining { .. } => &mut self.draining,
            Reason::OverLimit { .. } => &mut self.over_limit,
            Reason::MakesRoom { .. } => &mut self.makes_room,
            Reason::Exchanged { .. } => &mut self.exchanged,
        };
        *count += amount;
    }
}

impl RemoverCounters {
    /// Counts an exchange by one of its removals: the one of the first file among those on record. An exchange is one
    /// file on one host, and all its removals are applied before any is counted.
    pub fn count_exchange(&mut self, intent: &Intent, book: &RemovalBook) {
        let Reason::Exchanged { better, .. } = &intent.reason else { return };
        let is_for_it = |open: &Intent| {
            open.host == intent.host
                && matches!(&open.reason, Reason::Exchanged { better: other, .. } if other == better)
        };
        let mut removals = book.open().values().filter(|open| is_for_it(&open.intent));
        let is_first = removals.next().is_some_and(|open| open.intent.name == intent.name);
        self.exchanges += u64::from(is_first);
    }

    /// Counts one more removed copy.
    pub fn count_gone(&mut self, record: &RemovalRecord) {
        if record.ending == Ending::Removed {
            let bytes = record.size.unwrap_or(0);
            self.removed_for.add(&record.reason, 1);
            self.removed_bytes_for.add(&record.reason, bytes);
            self.removed_bytes += bytes;
        }
    }

    /// Counts one more removal with this end.
    pub fn count(&mut self, ending: &Ending) {
        let counter = match ending {
            Ending::Removed => &mut self.removed,
            Ending::Absent => &mut self.absent,
            Ending::NotAsked { .. } => &mut self.not_asked,
            Ending::Refused { .. } => &mut self.refused_by_hosts,
            Ending::StillThere { .. } => &mut self.still_there,
        };
        *counter += 1;
    }
}
