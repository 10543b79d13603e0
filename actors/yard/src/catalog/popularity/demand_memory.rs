//! The requests for each file, weighted by their age. Pure.
//!
//! A request of age `a` has the weight `2^(-a / half-life)`. Sums grow with the time of their requests
//! (forward decay), so that a request costs one addition and the order of requests does not matter.
//! Time is the time of the newest request, never a clock: a clock that is wrong changes nothing.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::names::{ByFile, FileId};
use roaring::RoaringBitmap;

use super::half_lives::{DAY_SECONDS, HalfLives, KEPT, PerHalfLife};
use super::popularity_order::{FileDemand, KnownHours, PopularityOrder};
use super::priors::{PRIOR_DAYS, Priors, prior_weight};
use super::request_rate::RequestRate;
use crate::catalog::ranking::Ranking;

/// Time after which the evidence for a half-life counts half, in days.
const EVIDENCE_DAYS: f64 = 2.0;

/// Requests are taken into the sums in batches of at most this number, or one hour. A half-life is
/// judged by its prediction of the batch, so that a burst within the hour favours no short memory.
const MOST_PENDING: usize = 1 << 16;

/// Files keep the hour of their first request, not the second: four bytes are enough.
const HOUR_SECONDS: i64 = 3600;

/// Weights of new requests are brought back to 1 when their time is this many seconds from the reference. With
/// the shortest half-life, a day, they reach 256.
const LONGEST_REFERENCE: i64 = 8 * 86_400;

/// No hour: the file was neither graded yet nor requested.
const UNKNOWN: u32 = 0;

/// At the first order a file can be new if all its requests are in the last part of the log. It is not new if chance
/// explains that for at least this part of the old files.
const CHANCE_OF_OLD: f64 = 0.0001;

/// The last part of the log is at least this long, in days: a viewer often repeats a request on the same day.
const SHORTEST_PART: f64 = 1.0;

/// The memory of one file: 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileMemory {
    /// Sums of weights, relative to the reference.
    pub sums: PerHalfLife<f32>,
    /// Hour since 1970 from which on its requests are known; 0 if that is unknown.
    pub since_hour: u32,
}

/// The values of a memory that do not belong to one file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DemandSummary {
    /// Sums over all files.
    pub totals: PerHalfLife<f64>,
    /// Logarithm of the probability that each half-life gave to the last requests.
    pub evidence: PerHalfLife<f64>,
    /// Unix second at which a new request has the weight 1.
    pub reference: i64,
    /// Unix seconds of the oldest and the newest request; none before the first.
    pub observed: Option<(i64, i64)>,
    /// The number of graded files at the last order with any; 0 before the first.
    pub ordered: usize,
}

/// A million files have little memory: this is the largest size of one.
const _: () = assert!(size_of::<FileMemory>() <= 24);

const NOTHING: FileMemory = FileMemory { sums: [0.0; KEPT], since_hour: UNKNOWN };

#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    file: FileId,
    second: i64,
}

/// The requests of the event log, by file.
#[derive(Clone, Debug)]
pub struct DemandMemory {
    half_lives: HalfLives,
    files: ByFile<FileMemory>,
    summary: DemandSummary,
    /// The grades at the last order.
    graded: Ranking,
    pending: Vec<PendingRequest>,
    /// Requests since the start of the process.
    counted: u64,
}

impl DemandMemory {
    /// An empty memory.
    pub fn new(half_lives: HalfLives) -> Self {
        DemandMemory {
            half_lives,
            files: ByFile::new(NOTHING),
            summary: DemandSummary::default(),
            graded: Ranking::default(),
            pending: Vec::new(),
            counted: 0,
        }
    }

    /// The half-lives in use.
    pub fn half_lives(&self) -> HalfLives {
        self.half_lives
    }

    /// Requests since the start of the process.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// The time of the newest request; none before the first.
    pub fn newest(&self) -> Option<Millis> {
        let pending = self.pending.iter().map(|request| request.second).max();
        let newest = self.summary.observed.map(|(_, newest)| newest).max(pending)?;
        Some(Millis::from_unix_seconds(newest))
    }

    /// The values that do not belong to one file, with all requests.
    pub fn summary(&mut self) -> DemandSummary {
        self.add_pending();
        self.summary
    }

    /// The files that something is known of.
    pub fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        self.files.files()
    }

    /// The memory of one file.
    pub fn of_file(&self, file: FileId) -> FileMemory {
        self.files.get(file)
    }

    /// Sets the values that do not belong to one file, as an earlier process had them.
    pub fn set_summary(&mut self, summary: DemandSummary) {
        self.summary = summary;
    }

    /// Sets the memory of one file, as an earlier process had it. Checkpoints of earlier versions have requested files
    /// without an hour. These are as old as the log.
    pub fn set_file(&mut self, file: FileId, mut memory: FileMemory) {
        if memory.since_hour == UNKNOWN && memory.is_requested() {
            let observed = self.summary.observed;
            memory.since_hour = observed.map_or(UNKNOWN, |(oldest, _)| hour_of(oldest));
        }
        self.files.set(file, memory);
    }

    /// Sets the grades by which requests are judged before the first order.
    pub fn set_grades(&mut self, ranking: &Ranking) {
        self.graded = ranking.clone();
    }

    /// Counts a request for `file` at `at`.
    pub fn request(&mut self, file: FileId, at: Millis) {
        let second = at.unix_seconds();
        let is_next_hour = self.pending.first().is_some_and(|first| {
            first.second.div_euclid(HOUR_SECONDS) != second.div_euclid(HOUR_SECONDS)
        });
        if is_next_hour || self.pending.len() == MOST_PENDING {
            self.add_pending();
        }
        self.pending.push(PendingRequest { file, second });
        self.counted += 1;
    }

    /// Drops everything.
    pub fn forget(&mut self) {
        *self = DemandMemory { counted: self.counted, ..DemandMemory::new(self.half_lives) };
    }

    fn add_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let seconds = || pending.iter().map(|request| request.second);
        let (Some(first), Some(last)) = (seconds().min(), seconds().max()) else { return };
        self.judge_half_lives(&pending, last);
        let (oldest, newest) = self.summary.observed.unwrap_or((first, last));
        self.summary.observed = Some((oldest.min(first), newest.max(last)));
        if newest.max(last) - self.summary.reference > LONGEST_REFERENCE {
            self.move_reference(newest.max(last));
        }
        let mut weighed = None;
        for PendingRequest { file, second } in &pending {
            let weights = match weighed {
                Some((at, weights)) if at == *second => weights,
                _ => self.weights(*second),
            };
            weighed = Some((*second, weights));
            self.add(*file, *second, weights);
        }
        // The allocation is kept for the next batch.
        self.pending = pending;
        self.pending.clear();
    }

    fn add(&mut self, file: FileId, second: i64, weights: PerHalfLife<f64>) {
        let mut memory = self.files.get(file);
        // Before the first order rows of several days are read, in any order. That order decides which files are new.
        let hour = hour_of(second);
        if memory.since_hour == UNKNOWN || (self.summary.ordered == 0 && hour < memory.since_hour) {
            memory.since_hour = hour;
        }
        for (index, weight) in weights.into_iter().enumerate() {
            memory.sums[index] += weight as f32;
            self.summary.totals[index] += weight;
        }
        self.files.set(file, memory);
    }

    /// The weights of a request at this second.
    fn weights(&self, second: i64) -> PerHalfLife<f64> {
        self.half_lives.left_after(days(self.summary.reference - second))
    }

    /// Makes `second` the reference, so that sums stay small.
    fn move_reference(&mut self, second: i64) {
        let left = self.half_lives.left_after(days(second - self.summary.reference));
        let files: Vec<FileId> = self.files.files().collect();
        for file in files {
            let mut memory = self.files.get(file);
            for (sum, left) in memory.sums.iter_mut().zip(left) {
                *sum = (f64::from(*sum) * left) as f32;
            }
            self.files.set(file, memory);
        }
        for (total, left) in self.summary.totals.iter_mut().zip(left) {
            *total *= left;
        }
        self.summary.reference = second;
    }

    /// Adds the probability that each half-life gave to the requests of a batch, from the memory before it.
    fn judge_half_lives(&mut self, batch: &[PendingRequest], last: i64) {
        let is_ordered = self.summary.ordered > 0;
        let files = if is_ordered { self.summary.ordered } else { self.graded.len() };
        let Some((oldest, newest)) = self.summary.observed.filter(|_| files > 0) else { return };
        let passed = days((last - newest).max(0));
        let fading = (-passed / EVIDENCE_DAYS).exp2();
        self.summary.evidence = self.summary.evidence.map(|evidence| evidence * fading);
        let now = self.half_lives.left_after(days(newest - self.summary.reference));
        let observed = self.half_lives.exposure(days(newest - oldest));
        let priors = Priors::of(files);
        for request in batch {
            let memory = self.files.get(request.file);
            // Before the first order nobody knows which files are new.
            let age = if is_ordered { age_days(memory, newest) } else { days(newest - oldest) };
            let (exposure, weight) = (self.half_lives.exposure(age), prior_weight(age));
            let rank = self.graded.rank(request.file);
            // A file without a grade has the prior of a mean one.
            let share = rank.map_or(1.0 / files as f64, |rank| priors.of_rank(rank));
            for index in self.half_lives.choices() {
                let all = self.summary.totals[index] * now[index] / observed[index].max(PRIOR_DAYS);
                let sum = f64::from(memory.sums[index]) * now[index];
                let rate = (sum + weight * all * share) / (exposure[index] + weight);
                if all > 0.0 {
                    self.summary.evidence[index] += (rate / all).max(f64::MIN_POSITIVE).ln();
                }
            }
        }
    }

    /// The half-life with the best predictions.
    fn chosen(&self) -> usize {
        let best =
            |a: &usize, b: &usize| self.summary.evidence[*a].total_cmp(&self.summary.evidence[*b]);
        // Without evidence the last one is chosen: the longest memory.
        self.half_lives.choices().max_by(best).unwrap_or(0)
    }

    /// The files of `ranking` in the order of their demand; none before the first request. Files with the
    /// same demand keep the order of grade.info. `size` gives the size of a master in bytes, if it was looked up.
    pub fn order(
        &mut self,
        ranking: &Ranking,
        size: impl Fn(FileId) -> Option<u64>,
    ) -> Option<PopularityOrder> {
        self.add_pending();
        self.pending.shrink_to(0);
        let observed = self.summary.observed?;
        let (oldest, newest) = observed;
        self.meet_files(ranking, observed);
        let chosen = self.chosen();
        let deletion = self.half_lives.for_deletion(chosen);
        let now = self.half_lives.left_after(days(newest - self.summary.reference));
        let exposure = self.half_lives.exposure(days(newest - oldest));
        let a_day = |index: usize| {
            self.summary.totals[index] * now[index] / exposure[index].max(PRIOR_DAYS)
        };
        let (all, all_kept) = (a_day(chosen), a_day(deletion));
        let priors = Priors::of(ranking.len());
        let demand_for = |file: FileId| {
            let memory = self.files.get(file);
            let age = age_days(memory, newest);
            let (exposure, weight) = (self.half_lives.exposure(age), prior_weight(age));
            let share = ranking.rank(file).map_or(0.0, |rank| priors.of_rank(rank));
            let rate_with = |index: usize, all: f64| {
                let sum = f64::from(memory.sums[index]) * now[index];
                (sum + weight * all * share) / (exposure[index] + weight)
            };
            let rate = rate_with(chosen, all);
            let kept = rate_with(deletion, all_kept).max(rate);
            let (rate, kept_rate) = (RequestRate::of(rate), RequestRate::of(kept));
            FileDemand { rate, kept_rate }
        };
        let mut demand = ByFile::new(FileDemand::default());
        let mut known_hours = ByFile::new(KnownHours::ALWAYS);
        for file in self.files.files() {
            let memory = self.files.get(file);
            if memory.since_hour > hour_of(oldest) {
                known_hours.set(file, KnownHours::of(age_days(memory, newest)));
            }
        }
        // A copy whose file is no longer graded keeps its demand.
        for file in self.files.files().filter(|file| ranking.rank(*file).is_none()) {
            demand.set(file, demand_for(file));
        }
        let size = |file| size(file).or_else(|| ranking.size(file)).filter(|size| *size > 0);
        let files = ranking.by_grade();
        let mean_size = mean(files.iter().filter_map(|file| size(*file)));
        let mut scored: Vec<(f32, FileId)> = Vec::with_capacity(files.len());
        for file in files {
            let of_file = demand_for(*file);
            demand.set(*file, of_file);
            let size = size(*file).map_or(mean_size, |size| size as f64);
            scored.push(((of_file.rate.per_day() / size) as f32, *file));
        }
        // Stable: files with equal scores keep their order.
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        Some(PopularityOrder {
            files: scored.into_iter().map(|(_, file)| file).collect(),
            demand,
            known_hours,
            mean_size,
            half_life_days: self.half_lives.days(chosen),
            requests_a_day: all,
            observed: Duration::from_secs(newest.abs_diff(oldest)),
        })
    }

    /// Begins the observation of graded files that have none yet. At the first order all files without requests are as
    /// old as the log.
    fn meet_files(&mut self, ranking: &Ranking, observed: (i64, i64)) {
        let (oldest, newest) = observed;
        let is_first = self.summary.ordered == 0;
        if is_first {
            self.find_new_files(observed);
        }
        let since_hour = hour_of(if is_first { oldest } else { newest });
        for file in ranking.by_grade() {
            let memory = self.files.get(*file);
            if memory.since_hour == UNKNOWN {
                self.files.set(*file, FileMemory { since_hour, ..memory });
            }
        }
        // An empty grade.info is an error, and no file is new after it.
        if !ranking.is_empty() {
            self.summary.ordered = ranking.len();
        }
        self.graded = ranking.clone();
    }

    /// Files with requests are as old as the log, if they are not new. A node may have read the logs of weeks at its
    /// first start. A title of two days was not silent for these weeks.
    fn find_new_files(&mut self, (oldest, newest): (i64, i64)) {
        let longest = KEPT - 1;
        let left = self.half_lives.left_after(days(newest - self.summary.reference))[longest];
        let log_days = days(newest - oldest);
        let requested: Vec<FileId> = self.files.files().collect();
        for file in requested {
            let memory = self.files.get(file);
            let part = age_days(memory, newest).max(SHORTEST_PART);
            let requests = f64::from(memory.sums[longest]) * left;
            // The chance that an old file has all its requests in this part of the log.
            let is_new = (part / log_days).powf(requests) < CHANCE_OF_OLD;
            if !is_new {
                self.files.set(file, FileMemory { since_hour: hour_of(oldest), ..memory });
            }
        }
    }

    /// Drops these files.
    pub fn drop_files(&mut self, files: &RoaringBitmap) {
        files.iter().for_each(|file| self.files.set(FileId(file), NOTHING));
    }
}

impl FileMemory {
    fn is_requested(self) -> bool {
        self.sums.iter().any(|sum| *sum > 0.0)
    }
}

/// The days for which the requests of a file are known, up to the newest request of all.
fn age_days(memory: FileMemory, newest: i64) -> f64 {
    match memory.since_hour {
        UNKNOWN => 0.0,
        hour => days(newest - i64::from(hour) * HOUR_SECONDS).max(0.0),
    }
}

/// The mean of sizes in bytes; 1 without any.
fn mean(sizes: impl Iterator<Item = u64>) -> f64 {
    let (mut known, mut bytes) = (0_u64, 0_u128);
    for size in sizes {
        known += 1;
        bytes += u128::from(size);
    }
    if known == 0 { 1.0 } else { bytes as f64 / known as f64 }
}

fn days(seconds: i64) -> f64 {
    seconds as f64 / DAY_SECONDS
}

fn hour_of(second: i64) -> u32 {
    u32::try_from(second.div_euclid(HOUR_SECONDS)).unwrap_or(u32::MAX).max(UNKNOWN + 1)
}

#[cfg(test)]
mod tests;
