//! The files in the order of their demand, at one instant. Pure.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::names::{ByFile, FileId};
use roaring::RoaringBitmap;

use super::half_lives::{DAY_SECONDS, exposure_days};
use super::priors::{Priors, prior_weight};
use super::request_rate::RequestRate;

/// The demand for one file: 4 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileDemand {
    /// Expected requests a day: decides what is copied.
    pub rate: RequestRate,
    /// The same with the longer memory of deletion, and at least `rate`: decides what stays.
    pub kept_rate: RequestRate,
}

/// The time since a file is known: whole hours, at most seven years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownHours(u16);

impl KnownHours {
    /// It is known since the oldest request.
    pub const ALWAYS: KnownHours = KnownHours(u16::MAX);

    /// The nearest number of hours.
    pub fn of(days: f64) -> Self {
        KnownHours((days * 24.0).round() as u16)
    }

    /// Unit: days. `observed` is the time since the oldest request.
    fn days(self, observed: Duration) -> f64 {
        match self {
            KnownHours::ALWAYS => observed.as_secs_f64() / DAY_SECONDS,
            KnownHours(hours) => f64::from(hours) / 24.0,
        }
    }
}

/// The numbers from which the rate of a file is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandParts {
    /// Its requests, each weighted by its age.
    pub remembered: f64,
    /// The days since the file is known, during which they were counted.
    pub known_days: f64,
    /// The rate of its rank in grade.info, in requests a day. It counts like [`prior_weight`] days of observation.
    pub prior_a_day: f64,
}

/// The graded files by demand for each byte. Immutable once built; 8 bytes a file, and two
/// more for a young one.
#[derive(Clone, Debug)]
pub struct PopularityOrder {
    /// Most demand for each byte first.
    pub files: Arc<[FileId]>,
    /// The demand for these files, and for others that were requested and are not graded.
    pub demand: ByFile<FileDemand>,
    /// The time since the files are known.
    pub known_hours: ByFile<KnownHours>,
    /// The mean of the known sizes, in bytes. Files of unknown size are compared as if they had it.
    pub mean_size: f64,
    /// The half-life of admission, in days.
    pub half_life_days: f64,
    /// Requests a day for all files together.
    pub requests_a_day: f64,
    /// The time from the oldest to the newest remembered request.
    pub observed: Duration,
}

impl PopularityOrder {
    /// Most demand for each byte first.
    pub fn files(&self) -> &Arc<[FileId]> {
        &self.files
    }

    /// The ranks of these files by demand for each byte, 1 = best.
    pub fn ranks(&self, of: &RoaringBitmap) -> HashMap<FileId, u32> {
        let ranked = (1..).zip(self.files.iter()).filter(|(_, file)| of.contains(file.0));
        ranked.map(|(rank, file)| (*file, rank)).collect()
    }

    /// The demand for a file; nothing for a file that was neither graded nor requested at that instant.
    pub fn demand(&self, file: FileId) -> FileDemand {
        self.demand.get(file)
    }

    /// The numbers behind the rate of a file with this rank in grade.info, 1 = best. The rate is
    /// `(remembered + weight of the prior * prior) / (weighted days + weight of the prior)`.
    pub fn parts(&self, file: FileId, rank: u32) -> DemandParts {
        let FileDemand { rate, .. } = self.demand(file);
        let known_days = self.known_hours.get(file).days(self.observed);
        let prior_a_day = self.requests_a_day * Priors::of(self.files.len()).of_rank(rank);
        let weighted_days = exposure_days(self.half_life_days, known_days);
        let weight = prior_weight(known_days);
        let all = rate.per_day() * (weighted_days + weight);
        let remembered = (all - weight * prior_a_day).max(0.0);
        DemandParts { remembered, known_days, prior_a_day }
    }

    /// The demand that decides the order, for each byte of its size.
    pub fn for_each_byte(&self, file: FileId, size: Option<u64>) -> f64 {
        self.demand(file).rate.per_day() / self.size_or_mean(size)
    }

    /// The size that counts for a file, in bytes: the mean for an unknown size.
    pub fn size_or_mean(&self, size: Option<u64>) -> f64 {
        size.map_or(self.mean_size, |size| size.max(1) as f64)
    }

    /// The half-life of admission, in days.
    pub fn half_life_days(&self) -> f64 {
        self.half_life_days
    }

    /// Requests a day for all files together.
    pub fn requests_a_day(&self) -> f64 {
        self.requests_a_day
    }

    /// The time from the oldest to the newest remembered request.
    pub fn observed(&self) -> Duration {
        self.observed
    }
}
