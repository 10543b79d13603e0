//! The requests of viewers, in the order of time.

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;

use super::recorded::Recorded;
use super::synthetic::{DAY, HOUR, Synthetic};
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

    /// Gives the requests of the day that starts at `start` to `each`.
    pub fn pass_day(&mut self, start: Millis, each: &mut dyn FnMut(FileRequest)) {
        let end = start.after(DAY);
        let mut now = start.after(HOUR);
        while now < end {
            self.pass_until(now, each);
            self.drift();
            now = now.after(HOUR);
        }
        self.pass_until(end, each);
    }

    fn pass_until(&mut self, until: Millis, each: &mut dyn FnMut(FileRequest)) {
        while let Some(request) = self.next_before(until) {
            each(request);
        }
    }

    /// Starts the day after one that was passed. Returns the files that are released on it.
    pub fn begin_next_day(&mut self, now: Millis) -> Vec<FileId> {
        let released = self.begin_day(now);
        // The last hour of the day ends at the same time.
        self.drift();
        released
    }

    /// Called after each hour: popularity changes.
    pub fn drift(&mut self) {
        if let DemandModel::Synthetic(demand) = self {
            demand.drift();
        }
    }
}
