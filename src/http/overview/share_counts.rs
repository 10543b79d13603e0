//! Counts of share links by their ends, for the pages of the yard and of links.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use reelyard_console::parts::timeline::{END_COLUMNS, hours_at};
use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{IndexedShare, ShareId, ShareIndex, ShareState};

/// The next ends that a count lists.
const SOONEST: usize = 10;
/// An hour in milliseconds.
const HOUR_MILLIS: i64 = 3_600_000;
/// A link that ends within this many hours is due.
const DAY_HOURS: i64 = 24;
/// Hours of the time line.
const HOURS: i64 = 720;
/// A count of the same links holds for this long, in milliseconds: their ends come nearer.
const HOLDS_MILLIS: i64 = 1_000;

/// The last count of links.
#[derive(Default)]
pub struct KeptShareCounts(Mutex<Option<LastCount>>);

/// A count with the links that were counted.
struct LastCount {
    of: Weak<ShareIndex>,
    counts: Arc<ShareCounts>,
}

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
    /// The working links that end next, soonest first, at most ten.
    pub soonest: Vec<ShareId>,
    /// The hour in which most links end, by its begin, and their number.
    pub peak: Option<(Millis, u64)>,
}

impl KeptShareCounts {
    /// These links by state and end.
    pub fn counts(&self, index: &Arc<ShareIndex>, now: Millis) -> Arc<ShareCounts> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |last: &&LastCount| {
            std::ptr::eq(last.of.as_ptr(), Arc::as_ptr(index))
                && (0..HOLDS_MILLIS).contains(&(now.0 - last.counts.at.0))
        };
        if let Some(last) = last.as_ref().filter(holds) {
            return Arc::clone(&last.counts);
        }
        let counts = Arc::new(count(index, now));
        *last = Some(LastCount { of: Arc::downgrade(index), counts: Arc::clone(&counts) });
        counts
    }
}

fn count(index: &ShareIndex, now: Millis) -> ShareCounts {
    let mut counts =
        ShareCounts { at: now, columns: vec![0; END_COLUMNS], ..ShareCounts::default() };
    let ends = ColumnEnds::new();
    let first_hour = now.0.div_euclid(HOUR_MILLIS);
    let mut by_hour = vec![0_u64; HOURS as usize + 1];
    // The next ends, sorted. Nearly every link ends later than all of them.
    let mut soonest: Vec<(Millis, ShareId)> = Vec::with_capacity(SOONEST + 1);
    index.visit(|_, share| {
        let Some(due) = add(&mut counts, share, now) else { return };
        let left = due.0 - now.0;
        if let Some(column) = counts.columns.get_mut(ends.column_of(left)) {
            *column += 1;
        }
        if left < HOURS * HOUR_MILLIS {
            let hour = due.0.div_euclid(HOUR_MILLIS) - first_hour;
            if let Some(links) = usize::try_from(hour).ok().and_then(|hour| by_hour.get_mut(hour)) {
                *links += 1;
            }
        }
        let end = (due, share.id);
        if soonest.len() < SOONEST || soonest.last().is_some_and(|last| end < *last) {
            let place = soonest.partition_point(|other| *other < end);
            soonest.insert(place, end);
            soonest.truncate(SOONEST);
        }
    });
    counts.next_due = soonest.first().map(|(due, _)| *due);
    counts.soonest = soonest.into_iter().map(|(_, id)| id).collect();
    // The first of several hours that are alike.
    let hours = by_hour.into_iter().enumerate().rev();
    let most = hours.max_by_key(|(_, links)| *links).filter(|(_, links)| *links > 1);
    let begin = |hour: usize| Millis((first_hour + hour as i64) * HOUR_MILLIS);
    counts.peak = most.map(|(hour, links)| (begin(hour), links));
    counts
}

/// Counts a link. Answers its end if it works and has one.
fn add(counts: &mut ShareCounts, share: &IndexedShare, now: Millis) -> Option<Millis> {
    if share.state(now) != ShareState::Live {
        counts.ended += 1;
        return None;
    }
    counts.working += 1;
    let due = share.due.instant()?;
    if due.0 - now.0 < DAY_HOURS * HOUR_MILLIS {
        counts.due += 1;
    }
    Some(due)
}

/// The ends of the columns of the time line, in milliseconds from now.
struct ColumnEnds {
    ends: Vec<i64>,
    /// The column of the begin of each hour.
    of_hours: Vec<usize>,
}

impl ColumnEnds {
    fn new() -> Self {
        let ends: Vec<i64> = (0..END_COLUMNS).map(column_end).collect();
        let begins = (0..HOURS).map(|hour| hour * HOUR_MILLIS);
        let of_hours = begins.map(|begin| ends.partition_point(|end| *end <= begin)).collect();
        ColumnEnds { ends, of_hours }
    }

    /// The column for an end in this many milliseconds, which are not negative; behind the last one for a later end.
    fn column_of(&self, left: i64) -> usize {
        let hour = usize::try_from(left / HOUR_MILLIS).unwrap_or_default();
        let Some(mut column) = self.of_hours.get(hour).copied() else { return END_COLUMNS };
        while self.ends.get(column).is_some_and(|end| *end <= left) {
            column += 1;
        }
        column
    }
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
        let ends = ColumnEnds::new();
        for left in [0, 1, 59 * 60_000, 5 * HOUR_MILLIS, 400 * HOUR_MILLIS, HOURS * HOUR_MILLIS - 1]
        {
            let column = ends.column_of(left);
            let (begin, end) = span_of_column(column as u64).unwrap();
            assert!((begin..end).contains(&left), "{left}: column {column}");
        }
        assert_eq!(ends.column_of(HOURS * HOUR_MILLIS), END_COLUMNS);
        assert_eq!(span_of_column(END_COLUMNS as u64), None);
    }
}
