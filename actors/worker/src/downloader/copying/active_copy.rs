//! One copy while it is made: the state of its thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::Addr;
use reelyard_core::clock::Millis;
use reelyard_protocol::worker::{Report, Said, TaskId};

use super::publisher::{FetchResult, panicked};
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::fetching::fetch::{FetchProgressCallback, RequestPipeline};
use crate::downloader::fetching::live_rate::LiveRate;
use crate::downloader::messages::TransferMoved;
use crate::downloader::{Downloader, DownloaderShared};

/// One copy, from its start until its end is reported.
pub(in crate::downloader) struct ActiveCopy {
    pub(in crate::downloader) order: CopyOrder,
    pub(in crate::downloader) cancel: CopyCancellation,
    pub(in crate::downloader) rate: LiveRate,
    pub(in crate::downloader) under_way: ActiveCopyGuard,
    /// Who hears of it.
    pub(in crate::downloader) downloader: Addr<Downloader>,
}

/// Counts one copy as under way for as long as it lives.
pub(in crate::downloader) struct ActiveCopyGuard(Arc<DownloaderShared>);

impl ActiveCopyGuard {
    pub(in crate::downloader) fn begin(lasting: &Arc<DownloaderShared>) -> Self {
        lasting.at_work.send_modify(|copies| *copies += 1);
        ActiveCopyGuard(Arc::clone(lasting))
    }
}

impl Drop for ActiveCopyGuard {
    fn drop(&mut self) {
        self.0.at_work.send_modify(|copies| *copies -= 1);
    }
}

impl ActiveCopy {
    /// Fetches the copy. `ahead` holds requests that were sent before its turn; `progress` gets the
    /// bytes so far.
    pub(in crate::downloader) fn fetch(
        &self,
        ahead: &RequestPipeline,
        progress: &FetchProgressCallback<'_>,
    ) -> FetchResult {
        let (task, lasting) = (self.task(), self.shared());
        let progress = |bytes| {
            self.downloader.do_send(TransferMoved { task, bytes });
            progress(bytes);
        };
        let bringing = || {
            lasting.fetcher.fetch_unpublished(
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

    pub(in crate::downloader) fn shared(&self) -> Arc<DownloaderShared> {
        Arc::clone(&self.under_way.0)
    }

    /// The report that says `said` of this copy. It is logged, too.
    pub(in crate::downloader) fn report(&self, said: Said, at: Millis) -> Report {
        let (task, file, source) = (self.task(), &self.order.name, self.order.source);
        match &said {
            Said::Done { size, hash } => {
                tracing::info!(%task, file = file.to_string(), %source, size, %hash, "copy verified and in place");
            }
            Said::DoneUnverified { size, hash } => {
                tracing::info!(%task, file = file.to_string(), %source, size, %hash, "copy in place; its \
                    source reports no hash to compare with");
            }
            Said::Failed { blame, reason } => {
                tracing::warn!(%task, file = file.to_string(), %source, ?blame, reason, "copy failed");
            }
            Said::Working | Said::Progress { .. } => {}
        }
        Report { task, name: file.clone(), at, said }
    }
}
