//! Who asks for what, in the order of time.

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

use super::recorded::Recorded;
use super::synthetic::Synthetic;

/// Somebody wants to see a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// When.
    pub at: Millis,
    /// Which.
    pub file: FileId,
}

/// A demand.
#[derive(Debug)]
pub enum DemandModel {
    /// Invented.
    Synthetic(Box<Synthetic>),
    /// As it was.
    Recorded(Recorded),
}

impl DemandModel {
    /// The next request, if it comes before `until`. Times never go back.
    pub fn next_before(&mut self, until: Millis) -> Option<FileRequest> {
        match self {
            DemandModel::Synthetic(demand) => demand.next_before(until),
            DemandModel::Recorded(demand) => demand.next_before(until),
        }
    }

    /// A day begins. Answers the files that are released with it.
    pub fn begin_day(&mut self, now: Millis) -> Vec<FileId> {
        match self {
            DemandModel::Synthetic(demand) => demand.begin_day(now),
            DemandModel::Recorded(_) => Vec::new(),
        }
    }

    /// An hour has passed: tastes change.
    pub fn drift(&mut self) {
        if let DemandModel::Synthetic(demand) = self {
            demand.drift();
        }
    }
}
