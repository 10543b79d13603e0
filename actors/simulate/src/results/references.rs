//! Placements to compare with: those of other rules, and of perfect knowledge.
//!
//! Each holds one copy of a file, and has the bytes of all disks up to their limits in one piece. At the
//! start of a day it copies the files with the most requests for each byte, by the requests that it knows. A
//! file stays while no better one needs its bytes. So a placement that knows the future is a bound for
//! rules that copy ahead.

use std::collections::VecDeque;

use reelyard_core::names::FileId;
use roaring::RoaringBitmap;
use serde::Serialize;

use super::measures::Amount;
use crate::demand::catalogue::Catalogue;

/// The days that the placement with the longest foresight knows.
pub const KNOWN_DAYS: usize = 7;

/// The figures of all placements to compare with.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct References {
    /// The copies of the start stay, and nothing is copied.
    pub start: Reference,
    /// Every day the requests of the day before are followed to the letter.
    pub yesterday: Reference,
    /// Every day the requests of the same day are known.
    pub next_day: Reference,
    /// Every day the requests of this and the next six days are known.
    pub next_7_days: Reference,
}

/// The figures of one placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reference {
    /// Requests for files that it held.
    pub hits: u64,
    /// Part of the requests for files that it held.
    pub hit_ratio: Option<f64>,
    /// Mean number of bytes copied in a day, without the first day; none with only one day.
    pub copied_a_day: Option<u64>,
    /// The figures of each day.
    pub days: Vec<ReferenceDay>,
}

/// The figures of one placement on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReferenceDay {
    /// Requests for all files.
    pub requests: u64,
    /// Requests for files that it held.
    pub hits: u64,
    /// Copies at the start of the day.
    pub copied: Amount,
}

/// The requests of one day.
#[derive(Clone, Debug, Default)]
struct DayRequests {
    /// The number of requests for each requested file.
    counts: Vec<(u32, u32)>,
    /// Files that were released at the start of the day.
    released: RoaringBitmap,
}

/// Files that one placement holds, and its results.
#[derive(Clone, Debug, Default)]
struct DailyPlacement {
    held: RoaringBitmap,
    days: Vec<ReferenceDay>,
}

/// Computes the figures day by day. A day is judged when the days after it are known.
#[derive(Clone, Debug)]
pub struct ReferencePlacements {
    capacity: u64,
    today: Vec<u32>,
    released_today: RoaringBitmap,
    /// The day before `ahead`.
    before: Option<DayRequests>,
    /// Days that are not judged, the oldest first.
    ahead: VecDeque<DayRequests>,
    start: DailyPlacement,
    yesterday: DailyPlacement,
    next_day: DailyPlacement,
    next_7_days: DailyPlacement,
}

impl ReferencePlacements {
    /// Placements on `capacity` bytes for `files` files, which begin with the files in `held`.
    pub fn new(capacity: u64, files: usize, held: RoaringBitmap) -> Self {
        let begin = DailyPlacement { held, days: Vec::new() };
        ReferencePlacements {
            capacity,
            today: vec![0; files],
            released_today: RoaringBitmap::new(),
            before: None,
            ahead: VecDeque::new(),
            start: begin.clone(),
            yesterday: begin.clone(),
            next_day: begin.clone(),
            next_7_days: begin,
        }
    }

    /// Counts a request.
    pub fn request(&mut self, file: FileId) {
        if let Some(count) = self.today.get_mut(file.0 as usize) {
            *count += 1;
        }
    }

    /// Ends a day. `released` files exist from the next day on.
    pub fn end_day(&mut self, released: &[FileId], catalogue: &Catalogue) {
        let mut counts = Vec::new();
        for (file, count) in (0..).zip(&mut self.today) {
            if *count > 0 {
                counts.push((file, std::mem::take(count)));
            }
        }
        let next = released.iter().map(|file| file.0).collect();
        let released = std::mem::replace(&mut self.released_today, next);
        self.ahead.push_back(DayRequests { counts, released });
        if self.ahead.len() == KNOWN_DAYS {
            self.judge(catalogue);
        }
    }

    fn judge(&mut self, catalogue: &Catalogue) {
        let Some(day) = self.ahead.front() else { return };
        // A file that is released later has no master yet.
        let mut unreleased = RoaringBitmap::new();
        for later in self.ahead.iter().skip(1) {
            unreleased |= &later.released;
        }
        let fill = |known: &[&DayRequests], placement: &mut DailyPlacement| {
            placement.fill(&demand_of(known), &unreleased, self.capacity, catalogue)
        };
        let week: Vec<&DayRequests> = self.ahead.iter().collect();
        let copied = fill(&week, &mut self.next_7_days);
        self.next_7_days.count(day, copied);
        let copied = fill(&[day], &mut self.next_day);
        self.next_day.count(day, copied);
        let copied = match &self.before {
            Some(before) => fill(&[before], &mut self.yesterday),
            None => Amount::default(),
        };
        self.yesterday.count(day, copied);
        self.start.count(day, Amount::default());
        self.before = self.ahead.pop_front();
    }

    /// The figures of the first `days` days. The days after them must be known.
    pub fn figures(&self, days: usize) -> References {
        References {
            start: self.start.figures(days),
            yesterday: self.yesterday.figures(days),
            next_day: self.next_day.figures(days),
            next_7_days: self.next_7_days.figures(days),
        }
    }
}

impl ReferenceDay {
    /// Part of the requests for files that it held; none without requests.
    pub fn hit_ratio(&self) -> Option<f64> {
        ratio(self.hits, self.requests)
    }
}

/// The sums of the requests by file.
fn demand_of(days: &[&DayRequests]) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = days.iter().flat_map(|day| &day.counts).copied().collect();
    if days.len() > 1 {
        all.sort_unstable_by_key(|(file, _)| *file);
        all.dedup_by(|next, sum| {
            let is_same = next.0 == sum.0;
            if is_same {
                sum.1 += next.1;
            }
            is_same
        });
    }
    all
}

impl DailyPlacement {
    /// Replaces the files by those with the most requests for each byte. Returns what was copied.
    fn fill(
        &mut self,
        demand: &[(u32, u32)],
        unreleased: &RoaringBitmap,
        capacity: u64,
        catalogue: &Catalogue,
    ) -> Amount {
        let size = |file: u32| catalogue.size(FileId(file)).max(1);
        let candidates = demand.iter().filter(|(file, _)| !unreleased.contains(*file));
        let scored = candidates.map(|(file, count)| {
            let is_new = !self.held.contains(*file);
            (f64::from(*count) / size(*file) as f64, is_new, *file)
        });
        let mut scored: Vec<(f64, bool, u32)> = scored.collect();
        // Files that are there come before others with the same demand.
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (mut left, mut copied) = (capacity, Amount::default());
        let mut holds = RoaringBitmap::new();
        for (_, is_new, file) in scored {
            if size(file) <= left {
                left -= size(file);
                holds.insert(file);
                if is_new {
                    copied.add(size(file));
                }
            }
        }
        for file in &self.held {
            if !holds.contains(file) && size(file) <= left {
                left -= size(file);
                holds.insert(file);
            }
        }
        self.held = holds;
        copied
    }

    fn count(&mut self, day: &DayRequests, copied: Amount) {
        let requests: u64 = day.counts.iter().map(|(_, count)| u64::from(*count)).sum();
        let held = day.counts.iter().filter(|(file, _)| self.held.contains(*file));
        let hits: u64 = held.map(|(_, count)| u64::from(*count)).sum();
        self.days.push(ReferenceDay { requests, hits, copied });
    }

    fn figures(&self, days: usize) -> Reference {
        let days: Vec<ReferenceDay> = self.days.iter().take(days).copied().collect();
        let hits = days.iter().map(|day| day.hits).sum();
        let requests: u64 = days.iter().map(|day| day.requests).sum();
        let later = days.get(1..).unwrap_or_default();
        let copied: u64 = later.iter().map(|day| day.copied.bytes).sum();
        Reference {
            hits,
            hit_ratio: ratio(hits, requests),
            copied_a_day: copied.checked_div(later.len() as u64),
            days,
        }
    }
}

fn ratio(hits: u64, requests: u64) -> Option<f64> {
    (requests > 0).then(|| hits as f64 / requests as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four files of ten bytes, and room for two.
    fn placements() -> (ReferencePlacements, Catalogue) {
        let catalogue = Catalogue { sizes: vec![10; 4], ..Catalogue::default() };
        (ReferencePlacements::new(25, 4, [0, 1].into_iter().collect()), catalogue)
    }

    /// Ends a day with these files requested.
    fn day(
        placements: &mut ReferencePlacements,
        catalogue: &Catalogue,
        requested: &[u32],
        released: &[u32],
    ) {
        requested.iter().for_each(|file| placements.request(FileId(*file)));
        let released: Vec<FileId> = released.iter().copied().map(FileId).collect();
        placements.end_day(&released, catalogue);
    }

    #[test]
    fn each_placement_uses_only_what_it_knows() {
        let (mut placements, catalogue) = placements();
        let days: [&[u32]; 3] = [&[0, 2, 2, 3, 3, 3], &[1, 1, 2, 3, 3], &[2, 2]];
        for requested in days.into_iter().chain([&[][..]; KNOWN_DAYS - 2]) {
            day(&mut placements, &catalogue, requested, &[]);
        }
        let References { start, yesterday, next_day, next_7_days } = placements.figures(2);
        let hits = |reference: &Reference| reference.days.iter().map(|day| day.hits).collect();
        let all: [Vec<u64>; 4] = [&start, &yesterday, &next_day, &next_7_days].map(hits);
        // Files 1 and 3 are best on day 2, and files 2 and 3 from day 2 on.
        assert_eq!(all, [vec![1, 2], vec![1, 3], vec![5, 4], vec![5, 3]]);
        assert_eq!(next_day.hit_ratio, Some(9.0 / 11.0));
        assert_eq!(start.copied_a_day, Some(0));
        assert_eq!(yesterday.copied_a_day, Some(20));
        assert_eq!(next_day.copied_a_day, Some(10));
        assert_eq!(next_7_days.copied_a_day, Some(0));
        assert_eq!(next_7_days.days[0].copied, Amount { files: 2, bytes: 20 });
    }

    #[test]
    fn files_that_do_not_exist_yet_take_no_room() {
        let (mut placements, catalogue) = placements();
        day(&mut placements, &catalogue, &[0, 1], &[2, 3]);
        for _ in 1..=KNOWN_DAYS {
            day(&mut placements, &catalogue, &[2, 2, 3, 3], &[]);
        }
        let bound = placements.figures(2).next_7_days;
        assert_eq!(bound.days.iter().map(|day| day.hits).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn the_worst_file_leaves_first_and_a_large_file_needs_more_demand() {
        let catalogue = Catalogue { sizes: vec![10, 10, 20], ..Catalogue::default() };
        let mut placements = ReferencePlacements::new(20, 3, [0, 1].into_iter().collect());
        day(&mut placements, &catalogue, &[0, 0, 1, 2, 2], &[]);
        for _ in 1..KNOWN_DAYS {
            day(&mut placements, &catalogue, &[], &[]);
        }
        assert_eq!(placements.figures(1).next_day.hits, 3);
    }
}
