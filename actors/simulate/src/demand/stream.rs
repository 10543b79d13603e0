//! The requests of viewers, in the order of time.

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

use super::recorded::Recorded;
use super::synthetic::Synthetic;
use crate::demand::file_request::FileRequest;

/// The source of requests.
#[derive(Debug)]
pub enum DemandModel {
    /// Invented requests.
    Synthetic(Box<Synthetic>),
    /// Requests from logs.
    Recorded(Recorded),
}

impl DemandModel {
    /// The next request, if it comes before `until`. Times never decrease.
    pub fn next_before(&mut self, until: Millis) -> Option<FileRequest> {
        match self {
            DemandModel::Synthetic(demand) => demand.next_before(until),
            DemandModel::Recorded(demand) => demand.next_before(until),
        }
    }

    /// Starts a day. Returns the files that are released on it.
    pub fn begin_day(&mut self, now: Millis) -> Vec<FileId> {
        match self {
            DemandModel::Synthetic(demand) => demand.begin_day(now),
            DemandModel::Recorded(_) => Vec::new(),
        }
    }

    /// Called after each hour: popularity changes.
    pub fn drift(&mut self) {
        if let DemandModel::Synthetic(demand) = self {
            demand.drift();
        }
    }
}
