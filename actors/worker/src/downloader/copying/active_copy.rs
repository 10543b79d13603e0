//! One running copy: the state of its thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::display_text::word;
use reelyard_protocol::worker::{Blame, Report, ReportedState, TaskId};

use super::copy_context::{CopyContext, CopyListener};
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::fault::CopyFault;
use crate::downloader::fetching::fetch::{FetchProgressCallback, FetchedCopy, RequestPipeline};
use crate::downloader::fetching::live_rate::LiveRate;
use crate::downloader::messages::TransferMoved;

/// The result of a copy.
pub(in crate::downloader) type FetchResult = Result<FetchedCopy, CopyFault>;

/// One copy, from its start until its end is reported.
pub(in crate::downloader) struct ActiveCopy {
    pub(in crate::downloader) order: CopyOrder,
    pub(in crate::downloader) cancel: CopyCancellation,
    pub(in crate::downloader) rate: LiveRate,
    pub(in crate::downloader) under_way: ActiveCopyGuard,
    pub(in crate::downloader) listener: CopyListener,
}

/// Counts one running copy while it lives.
pub(in crate::downloader) struct ActiveCopyGuard(Arc<CopyContext>);

impl ActiveCopyGuard {
    pub(in crate::downloader) fn begin(context: &Arc<CopyContext>) -> Self {
        context.at_work.send_modify(|copies| *copies += 1);
        ActiveCopyGuard(Arc::clone(context))
    }
}

impl Drop for ActiveCopyGuard {
    fn drop(&mut self) {
        self.0.at_work.send_modify(|copies| *copies -= 1);
    }
}

impl ActiveCopy {
    /// Fetches the copy. `ahead` holds requests that were sent early; `progress` gets the number of
    /// bytes so far.
    pub(in crate::downloader) fn fetch(
        &self,
        ahead: &RequestPipeline,
        progress: &FetchProgressCallback<'_>,
    ) -> FetchResult {
        let (task, context) = (self.task(), self.context());
        let progress = |bytes| {
            self.listener.moved.do_send(TransferMoved { task, bytes });
            progress(bytes);
        };
        let bringing = || {
            context.fetcher.fetch_unpublished(
                &self.order,
                &self.cancel,
                &self.rate,
                ahead,
                &progress,
            )
        };
        catch_unwind(AssertUnwindSafe(bringing)).unwrap_or_else(|_panic| Err(panicked()))
    }

    pub(in crate::downloader) fn task(&self) -> TaskId {
        self.order.id
    }

    pub(in crate::downloader) fn context(&self) -> Arc<CopyContext> {
        Arc::clone(&self.under_way.0)
    }

    /// The report that says `state` of this copy. It is also logged.
    pub(in crate::downloader) fn report(&self, state: ReportedState, at: Millis) -> Report {
        let (task, file, source) = (self.task(), &self.order.name, self.order.source);
        match &state {
            ReportedState::Done { size, hash } => {
                tracing::info!(%task, file = file.to_string(), %source, size, %hash, "copy verified and in place");
            }
            ReportedState::DoneUnverified { size, hash } => {
                tracing::info!(%task, file = file.to_string(), %source, size, %hash, "copy in place; its \
                    source reports no hash to compare with");
            }
            ReportedState::Failed { blame, reason } => {
                tracing::warn!(%task, file = file.to_string(), %source, blame = word(blame), reason, "copy failed");
            }
            ReportedState::Working | ReportedState::Progress { .. } => {}
        }
        Report { task, name: file.clone(), at, state }
    }
}

/// The end of a copy that panicked.
pub(in crate::downloader) fn panicked() -> CopyFault {
    CopyFault::Blamed(Blame::Destination, "the copy panicked; see the log of the worker".to_owned())
}
