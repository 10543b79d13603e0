//! The files in the order of their demand, at one instant. Pure.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::names::{ByFile, FileId};
use roaring::RoaringBitmap;

use super::request_rate::RequestRate;

/// The demand for one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileDemand {
    /// Expected requests a day: decides what is copied.
    pub rate: RequestRate,
    /// The same with the longer memory of deletion, and at least `rate`: decides what stays.
    pub kept_rate: RequestRate,
}

/// The graded files by demand for each byte. Immutable once built; 8 bytes a file.
#[derive(Clone, Debug)]
pub struct PopularityOrder {
    files: Arc<[FileId]>,
    demand: ByFile<FileDemand>,
    /// The half-life of admission, in days.
    half_life_days: f64,
    /// Requests a day for all files together.
    requests_a_day: f64,
    /// The time from the oldest to the newest remembered request.
    observed: Duration,
}

impl PopularityOrder {
    /// An order of `files`, best first, with the demand for each.
    pub fn new(
        files: Arc<[FileId]>,
        demand: ByFile<FileDemand>,
        half_life_days: f64,
        requests_a_day: f64,
        observed: Duration,
    ) -> Self {
        PopularityOrder { files, demand, half_life_days, requests_a_day, observed }
    }

    /// Most demand for each byte first.
    pub fn files(&self) -> &Arc<[FileId]> {
        &self.files
    }

    /// The ranks of these files by demand for each byte, 1 = best.
    pub fn ranks(&self, of: &RoaringBitmap) -> HashMap<FileId, u32> {
        let ranked = (1..).zip(self.files.iter()).filter(|(_, file)| of.contains(file.0));
        ranked.map(|(rank, file)| (*file, rank)).collect()
    }

    /// The demand for a file; nothing for a file that was not graded at that instant.
    pub fn demand(&self, file: FileId) -> FileDemand {
        self.demand.get(file)
    }

    /// The demand that keeps a copy, for each byte of its size. A file of unknown size counts as one byte, so
    /// that a file with demand is not removed for a size that nobody knows.
    pub fn kept_for_each_byte(&self, file: FileId, size: Option<u64>) -> f64 {
        let size = size.unwrap_or(1).max(1);
        self.demand(file).kept_rate.per_day() / size as f64
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
