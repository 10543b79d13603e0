//! Counts of share links by their ends, for the page of links. A count of a million links takes a tenth of a
//! second, so it is kept for a while.

use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use actix_web::web;
use arc_swap::ArcSwapOption;
use reelyard_console::parts::timeline::{END_COLUMNS, hours_at};
use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{Share, ShareId, ShareState, ShareViewHandle};

use crate::http::problem::ProblemResponse;

/// At most this many links are counted for each page.
const COUNTED_AT_ONCE: u64 = 10_000;
/// A count of more links is kept for this long, in milliseconds.
const KEPT_MILLIS: i64 = 30_000;
/// Most links that a count lists by their ends.
pub const SOONEST: usize = 1000;
/// An hour in milliseconds.
const HOUR_MILLIS: i64 = 3_600_000;
/// A link that ends within this many hours is due.
const DAY_HOURS: i64 = 24;
/// Hours of the time line.
const HOURS: i64 = 720;

/// The last count of links.
#[derive(Default)]
pub struct KeptShareCounts(ArcSwapOption<ShareCounts>);

/// Links by state and by end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareCounts {
    /// When they were counted.
    pub at: Millis,
    /// Links that work.
    pub working: u64,
    /// Links that work and end within 24 hours.
    pub due: u64,
    /// Links that ended and are still known.
    pub ended: u64,
    /// The next end.
    pub next_due: Option<Millis>,
    /// Links that end in each column of the time line.
    pub columns: Vec<u64>,
    /// The working links that end next, soonest first, at most [`SOONEST`].
    pub soonest: Vec<ShareId>,
    /// The hour in which most links end, by its begin, and their number.
    pub peak: Option<(Millis, u64)>,
}

impl KeptShareCounts {
    /// The links by state and end.
    ///
    /// # Errors
    /// The node stops.
    pub async fn counts(
        &self,
        views: ShareViewHandle,
        now: Millis,
    ) -> Result<Arc<ShareCounts>, ProblemResponse> {
        if views.view().shares <= COUNTED_AT_ONCE {
            return Ok(Arc::new(count(&views, now)));
        }
        let fresh = |counts: &Arc<ShareCounts>| (0..KEPT_MILLIS).contains(&(now.0 - counts.at.0));
        if let Some(counts) = self.0.load_full().filter(fresh) {
            return Ok(counts);
        }
        let counts = web::block(move || count(&views, now)).await;
        let counts = Arc::new(counts.map_err(|_| ProblemResponse::stopped())?);
        self.0.store(Some(Arc::clone(&counts)));
        Ok(counts)
    }
}

fn count(views: &ShareViewHandle, now: Millis) -> ShareCounts {
    let mut counts =
        ShareCounts { at: now, columns: vec![0; END_COLUMNS], ..ShareCounts::default() };
    let mut by_hour: BTreeMap<i64, u64> = BTreeMap::new();
    let mut soonest: BinaryHeap<(Millis, ShareId)> = BinaryHeap::new();
    views.visit(None, usize::MAX, |share| {
        let Some(due) = add(&mut counts, share, now) else { return };
        if due.0 - now.0 < HOURS * HOUR_MILLIS {
            *by_hour.entry(due.0.div_euclid(HOUR_MILLIS)).or_default() += 1;
        }
        soonest.push((due, share.id()));
        if soonest.len() > SOONEST {
            soonest.pop();
        }
    });
    let soonest = soonest.into_sorted_vec().into_iter();
    counts.next_due = soonest.clone().next().map(|(due, _)| due);
    counts.soonest = soonest.map(|(_, id)| id).collect();
    // The first of several hours that are alike.
    let most =
        by_hour.iter().rev().max_by_key(|(_, links)| **links).filter(|(_, links)| **links > 1);
    counts.peak = most.map(|(hour, links)| (Millis(hour * HOUR_MILLIS), *links));
    counts
}

/// Counts a link. Answers its end if it works and has one.
fn add(counts: &mut ShareCounts, share: &Share, now: Millis) -> Option<Millis> {
    if share.state(now) != ShareState::Live {
        counts.ended += 1;
        return None;
    }
    counts.working += 1;
    let due = share.due().instant()?;
    let left = due.0 - now.0;
    if left < DAY_HOURS * HOUR_MILLIS {
        counts.due += 1;
    }
    if let Some(column) = column_of(left).and_then(|column| counts.columns.get_mut(column)) {
        *column += 1;
    }
    Some(due)
}

/// The column of the time line for an end in this many milliseconds.
fn column_of(left: i64) -> Option<usize> {
    (0..END_COLUMNS).find(|column| left < column_end(*column))
}

/// The end of a column in milliseconds from now.
fn column_end(column: usize) -> i64 {
    (hours_at((column + 1) as f64 / END_COLUMNS as f64) * HOUR_MILLIS as f64) as i64
}

/// The begin and end of a column in milliseconds from now.
pub fn span_of_column(column: u64) -> Option<(i64, i64)> {
    let column = usize::try_from(column).ok().filter(|column| *column < END_COLUMNS)?;
    let begin = column.checked_sub(1).map_or(0, column_end);
    Some((begin, column_end(column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_in_the_span_of_its_column() {
        for left in [0, 1, 59 * 60_000, 5 * HOUR_MILLIS, 400 * HOUR_MILLIS, HOURS * HOUR_MILLIS - 1]
        {
            let column = column_of(left).unwrap();
            let (begin, end) = span_of_column(column as u64).unwrap();
            assert!((begin..end).contains(&left), "{left}: column {column}");
        }
        assert_eq!(column_of(HOURS * HOUR_MILLIS), None);
        assert_eq!(span_of_column(END_COLUMNS as u64), None);
    }
}
