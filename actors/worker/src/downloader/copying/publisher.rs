//! The end of copies. Small files are put into place, and reports are stored, for all copies that have
//! ended meanwhile. This takes as few syncs as possible.
//!
//! There is no separate thread for it. If no other thread publishes, the thread of an ended copy does so
//! itself, until the queue is empty. Other threads meanwhile leave their copies in the queue and
//! continue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use reelyard_protocol::worker::{Report, ReportedState, TaskId};

use super::active_copy::{ActiveCopy, FetchResult, panicked};
use crate::downloader::fetching::fault::CopyFault;
use crate::downloader::fetching::fetch::{CommittedCopy, FetchedCopy};
use crate::downloader::messages::TransfersEnded;

/// Longer reasons are cut, in characters, so that a report fits into the store and stays readable.
const LONGEST_REASON: usize = 1000;

/// The copies that have ended and are not reported yet.
#[derive(Default)]
pub(in crate::downloader) struct Publisher(Mutex<PublishQueue>);

#[derive(Default)]
struct PublishQueue {
    waiting: Vec<(ActiveCopy, FetchResult)>,
    /// Whether some thread publishes.
    is_at_work: bool,
}

impl Publisher {
    /// Ends copies, now or soon.
    pub(in crate::downloader) fn end(&self, finished: Vec<(ActiveCopy, FetchResult)>) {
        let mut queue = self.queue();
        queue.waiting.extend(finished);
        if std::mem::replace(&mut queue.is_at_work, true) {
            return;
        }
        loop {
            let together = std::mem::take(&mut queue.waiting);
            if together.is_empty() {
                queue.is_at_work = false;
                return;
            }
            drop(queue);
            end_together(together);
            queue = self.queue();
        }
    }

    fn queue(&self) -> MutexGuard<'_, PublishQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends copies of one incarnation: those of an earlier one have all ended before it starts. Each end is
/// reported even if a step panics, so that its slot becomes free for another copy.
fn end_together(copies: Vec<(ActiveCopy, FetchResult)>) {
    let Some((first, _)) = copies.first() else { return };
    let (context, listener) = (first.context(), first.listener.clone());
    let (mut arrived, mut ended) = (Vec::new(), Vec::new());
    for (copy, outcome) in copies {
        let known = match outcome {
            Ok(FetchedCopy::Arrived(small)) => {
                arrived.push(*small);
                None
            }
            Ok(FetchedCopy::InPlace(copied)) => Some(Ok(copied)),
            Err(fault) => Some(Err(fault)),
        };
        ended.push((copy, known));
    }
    let publishing = || context.fetcher.publish(arrived);
    let published = catch_unwind(AssertUnwindSafe(publishing)).unwrap_or_default();
    let mut published = published.into_iter();
    let at = context.clock.now();
    let mut ends: Vec<(TaskId, Option<Report>)> = Vec::with_capacity(ended.len());
    for (copy, known) in &mut ended {
        let end = known.take().or_else(|| published.next()).unwrap_or_else(|| Err(panicked()));
        let report = outcome_of(end).map(|state| copy.report(state, at));
        ends.push((copy.task(), report));
    }
    let reports: Vec<&Report> = ends.iter().filter_map(|(_, report)| report.as_ref()).collect();
    let keeping = || context.store.keep_reports(&reports).map_err(|error| error.to_string());
    let store_panicked = |_| Err("the state store panicked; see the log of the worker".to_owned());
    if let Err(error) = catch_unwind(AssertUnwindSafe(keeping)).unwrap_or_else(store_panicked) {
        tracing::error!(reports = reports.len(), %error, "reports could not be stored: a restart would \
            lose them");
    }
    listener.ended.do_send(TransfersEnded { ends });
}

/// The report of a copy; none for one that was cancelled.
fn outcome_of(end: Result<CommittedCopy, CopyFault>) -> Option<ReportedState> {
    match end {
        Ok(CommittedCopy { size, hash, verified: true }) => {
            Some(ReportedState::Done { size, hash })
        }
        Ok(CommittedCopy { size, hash, verified: false }) => {
            Some(ReportedState::DoneUnverified { size, hash })
        }
        Err(CopyFault::Blamed(blame, reason)) => Some(ReportedState::Failed {
            blame,
            reason: reason.chars().take(LONGEST_REASON).collect(),
        }),
        Err(CopyFault::Cancelled) => None,
    }
}
