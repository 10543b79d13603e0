//! Totals over the life of a table of shares.

use crate::share_expiry::state::values::value_types::ShareEnding;
use serde::{Deserialize, Serialize};

/// Totals of all shares that were ever created. Part of the piece.
///
/// **Invariant:** the created shares are the live ones plus the ended ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Totals {
    /// Shares that were ever created.
    pub created: u64,
    /// Ended at their deadlines.
    pub expired: u64,
    /// Ended because no download was left.
    pub exhausted: u64,
    /// Ended because they were revoked.
    pub revoked: u64,
    /// Ended because their files were removed.
    pub removed: u64,
    /// Ended because their root was no longer configured.
    pub root_gone: u64,
    /// Shares that ended to make room.
    pub evicted: u64,
}

impl Totals {
    /// How many ended, by reason.
    pub fn ended(&self) -> u64 {
        ShareEnding::ALL.into_iter().map(|why| self.of(why)).sum()
    }

    /// How many ended for this reason.
    pub fn of(&self, why: ShareEnding) -> u64 {
        match why {
            ShareEnding::Expired => self.expired,
            ShareEnding::Exhausted => self.exhausted,
            ShareEnding::Revoked => self.revoked,
            ShareEnding::Removed => self.removed,
            ShareEnding::RootGone => self.root_gone,
            ShareEnding::Evicted => self.evicted,
        }
    }

    /// Counts one more end for this reason.
    pub fn count(&mut self, why: ShareEnding) {
        let count = match why {
            ShareEnding::Expired => &mut self.expired,
            ShareEnding::Exhausted => &mut self.exhausted,
            ShareEnding::Revoked => &mut self.revoked,
            ShareEnding::Removed => &mut self.removed,
            ShareEnding::RootGone => &mut self.root_gone,
            ShareEnding::Evicted => &mut self.evicted,
        };
        *count += 1;
    }
}
