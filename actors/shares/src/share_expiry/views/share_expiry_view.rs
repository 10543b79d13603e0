//! The read view of the ShareExpiryActor.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::counted::counted;
use reelyard_core::event::Epoch;
use serde::{Deserialize, Serialize};

use crate::share_expiry::state::table::totals::Totals;
use crate::share_expiry::state::values::path::RootName;
use crate::share_expiry::state::values::root_id::RootId;

/// The observable state of the actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShareView {
    /// When the actor made this view.
    pub at: Millis,
    /// The latest confirmed time that was recorded; none before the first.
    pub on_record: Option<Millis>,
    /// The fault of the wall clock, if any.
    pub trouble: Option<ClockTrouble>,
    /// The epoch this node leads in; none on a follower.
    pub epoch: Option<Epoch>,
    /// Whether reclaim is paused, and the caller that paused it.
    pub paused: Option<String>,
    /// Shares that have not ended.
    pub shares: u64,
    /// Ended ones that are remembered.
    pub tombstones: u64,
    /// Totals of all shares that were ever created.
    pub totals: Totals,
    /// The number of the next notification.
    pub next_notification: u64,
    /// The number of notifications that are kept.
    pub notifications: u64,
    /// Shares that are due and not reclaimed, as of the last tick.
    pub backlog: u64,
    /// Deadlines in the timer's heap.
    pub window: u64,
    /// How many moves have begun so far.
    pub moves_begun: u64,
    /// The ids of roots that are on record.
    pub root_ids: Arc<BTreeMap<RootName, RootId>>,
    /// When the actor next checks for due shares, unless an event wakes it.
    pub next_tick: Duration,
    /// Counts of this node's work as leader, since the process started.
    pub counters: ShareCounters,
    /// How late shares were reclaimed.
    pub lags: Lags,
}

/// The fault of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockTrouble {
    /// It is more than an hour ahead of the confirmed time.
    Ahead {
        /// The size of the difference.
        by: Duration,
        /// How many links are refused only because of this, and work again if the clock is
        /// corrected.
        links: u64,
        /// The time until it is confirmed, unless it is corrected before.
        confirmed_in: Duration,
    },
    /// It is behind the time of shares.
    Behind {
        /// The size of the difference.
        by: Duration,
    },
}

/// A wall clock that is behind by at most this needs no attention.
const HARMLESS: Duration = Duration::from_secs(5 * 60);

impl ClockTrouble {
    /// Whether an operator should act.
    pub(in crate::share_expiry) fn matters(self) -> bool {
        !matches!(self, ClockTrouble::Behind { by } if by <= HARMLESS)
    }
}

impl fmt::Display for ClockTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The two largest units say enough.
        let shown = |span: Duration| {
            let whole = humantime::format_duration(Duration::from_secs(span.as_secs())).to_string();
            whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
        };
        match self {
            ClockTrouble::Ahead { by, links, confirmed_in } => write!(
                f,
                "The wall clock is {} ahead of the confirmed time. For this reason the node refuses \
                 {}, and reclaim is off. If the clock is wrong, correct it: the links work again. \
                 If it is right, wait {} or run \"reelyard share confirm-clock\".",
                shown(*by),
                counted(links, "link", "links"),
                shown(*confirmed_in),
            ),
            ClockTrouble::Behind { by } => write!(
                f,
                "The wall clock is {} behind the confirmed time. Ended links stay ended. Correct \
                 the clock. If it is right, run \"reelyard share confirm-clock\": links that are \
                 not reclaimed yet may work again.",
                shown(*by),
            ),
        }
    }
}

impl ShareView {
    /// The fraction of the stored shares that is due and not reclaimed, from 0 to 1.
    pub fn stale(&self) -> f64 {
        if self.shares == 0 {
            return 0.0;
        }
        (self.backlog as f64 / self.shares as f64).min(1.0)
    }
}

/// Counters since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShareCounters {
    /// Ticks of reclaim with due shares.
    pub ticks: u64,
    /// Shares that were reclaimed: by the timer, or to make room for others.
    pub reclaimed: u64,
    /// Ticks that ended with more due shares because reclaim may not take more of a core.
    pub time_caps: u64,
    /// How often the clock jumped forward.
    pub steps_forward: u64,
    /// How often it jumped back.
    pub steps_back: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Commits without an outcome.
    pub uncommitted: u64,
}

/// The upper ends of the steps of [`Lags`], in milliseconds; the last step has none.
pub const LAG_STEPS: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

/// How late shares were reclaimed: from their due time until the reclaim was applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lags {
    /// How many shares were at most as late as each step, and how many were later than all.
    pub counts: [u64; LAG_STEPS.len() + 1],
    /// How late they were together.
    pub sum: Duration,
}

impl Lags {
    /// Records one lag.
    pub fn record(&mut self, lag: Duration) {
        let ms = u64::try_from(lag.as_millis()).unwrap_or(u64::MAX);
        self.counts[LAG_STEPS.partition_point(|step| *step < ms)] += 1;
        self.sum = self.sum.saturating_add(lag);
    }

    /// The number of recorded lags.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_belongs_to_the_first_step_that_is_not_below_it() {
        let mut lags = Lags::default();
        for ms in [0, 1, 2, 3, 10, 11, 10_000, 10_001] {
            lags.record(Duration::from_millis(ms));
        }
        assert_eq!(lags.counts, [2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((lags.count(), lags.sum), (8, Duration::from_millis(20_028)));
    }
}
