//! The operator's settings for shares.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::share_expiry::policy::terms::TermsPolicy;
use crate::share_expiry::state::paths::path::RootName;

/// The action at the limit of shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// New shares are refused.
    #[default]
    Refuse,
    /// The one with the nearest deadline goes; those without one stay.
    NearestDeadline,
    /// The one that was not used for longest goes.
    LeastRecentlyUsed,
    /// The one that was used least goes.
    LeastUsed,
}

impl fmt::Display for AtLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            AtLimit::Refuse => "refuse",
            AtLimit::NearestDeadline => "nearest-deadline",
            AtLimit::LeastRecentlyUsed => "least-recently-used",
            AtLimit::LeastUsed => "least-used",
        })
    }
}

/// How much of a core the reclaim of due shares may take: from 1 to 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Effort(u8);

/// A number that is no effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an effort is a number from 1 to 10")]
pub struct BadEffort;

impl Effort {
    /// The lowest effort.
    pub const LEAST: Effort = Effort(1);
    /// The highest effort.
    pub const MOST: Effort = Effort(10);

    /// The effort as a number from 1 to 10.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Effort {
    type Error = BadEffort;

    fn try_from(number: u8) -> Result<Self, BadEffort> {
        if (1..=10).contains(&number) { Ok(Effort(number)) } else { Err(BadEffort) }
    }
}

impl From<Effort> for u8 {
    fn from(effort: Effort) -> u8 {
        effort.0
    }
}

/// Everything that can be set of shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareExpirySettings {
    /// The roots that may be shared from. Shares of any other root end.
    pub roots: BTreeSet<RootName>,
    /// How long shares may last.
    pub terms: TermsPolicy,
    /// How long before the deadline the notice of the end is sent; none sends no notice.
    pub notice_before: Option<Duration>,
    /// How long a counted download may be resumed without counting again.
    pub resume_within: Duration,
    /// How long a wall clock that is more than an hour ahead must hold until it is confirmed.
    pub clock_hold: Duration,
    /// How many shares there may be; 0 for any number.
    pub max_shares: u64,
    /// The action at that limit.
    pub at_limit: AtLimit,
    /// How many shares one owner may have; 0 for any number.
    pub max_per_owner: u64,
    /// How much of a core reclaim may take.
    pub effort: Effort,
    /// How long the tombstone of a share is kept.
    pub keep_tombstones_for: Duration,
    /// Of how many ended shares that is remembered at most.
    pub keep_tombstones: u64,
    /// How long a notification is kept for a hook that did not get it.
    pub keep_happenings_for: Duration,
    /// How many notifications are kept at most for hooks that did not get them.
    pub keep_happenings_most: u64,
    /// How many notifications are kept although every hook got them.
    pub keep_happenings: u64,
    /// The hooks that get notifications. A new one gets the notifications from then on.
    pub hooks: BTreeSet<String>,
}

impl Default for ShareExpirySettings {
    fn default() -> Self {
        ShareExpirySettings {
            roots: BTreeSet::new(),
            terms: TermsPolicy::default(),
            notice_before: None,
            resume_within: Duration::from_secs(24 * 60 * 60),
            clock_hold: Duration::from_secs(15 * 60),
            max_shares: 0,
            at_limit: AtLimit::Refuse,
            max_per_owner: 0,
            effort: Effort(5),
            keep_tombstones_for: Duration::from_secs(7 * 24 * 60 * 60),
            keep_tombstones: 100_000,
            keep_happenings_for: Duration::from_secs(7 * 24 * 60 * 60),
            keep_happenings_most: 1_000_000,
            keep_happenings: 10_000,
            hooks: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_from_one_to_ten() {
        assert!(Effort::try_from(0).is_err() && Effort::try_from(11).is_err());
        assert_eq!(Effort::try_from(1), Ok(Effort::LEAST));
        assert_eq!(Effort::try_from(10), Ok(Effort::MOST));
    }
}
