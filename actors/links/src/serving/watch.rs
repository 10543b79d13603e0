//! Decides whether a running download may continue. Checked between chunks by comparison: no
//! timers, no messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_file_server::{CHECK_EVERY, SendWatch};
use reelyard_shares::share_expiry::{Deadline, Share, ShareId, ShareLookup, ShareViewHandle};

/// The watch over one download.
pub(crate) struct DownloadWatch {
    views: ShareViewHandle,
    clock: Clock,
    /// Why the node cannot know whether a share has ended.
    not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    id: ShareId,
    /// The last known deadline that cuts the download; none if no deadline cuts.
    deadline: Option<Deadline>,
    /// The last look at the share, by a clock that stops during a suspend and by one that does not.
    checked: (Instant, Duration),
}

impl DownloadWatch {
    /// Watches a download of `share` that starts now.
    pub(crate) fn new(
        (views, clock, not_ready): (
            ShareViewHandle,
            Clock,
            Arc<dyn Fn() -> Option<String> + Send + Sync>,
        ),
        share: &Share,
        cut_at_deadline: bool,
    ) -> Self {
        let deadline = cut_at_deadline.then(|| share.deadline());
        let checked = (Instant::now(), clock.uptime());
        DownloadWatch { views, clock, not_ready, id: share.id(), deadline, checked }
    }

    /// Whether the last look at the share is too old.
    fn is_due(&self) -> bool {
        let (checked, uptime) = self.checked;
        checked.elapsed() >= CHECK_EVERY
            || self.clock.uptime().saturating_sub(uptime) >= CHECK_EVERY
    }

    /// The deadline of a live share, or the last deadline of an ended one. An earlier end, or
    /// the last counted download, does not cut a running download. None if the share is
    /// forgotten.
    fn deadline_now(&self) -> Option<Deadline> {
        match self.views.find(self.id) {
            ShareLookup::Live(share) => Some(share.deadline()),
            ShareLookup::Ended(tombstone) => Some(tombstone.deadline),
            ShareLookup::Unknown => None,
        }
    }
}

impl SendWatch for DownloadWatch {
    /// Looks at the share only at intervals, so a hard revoke cuts within a second. Whether the node can know of a
    /// revoke is checked for each piece, because the process may have been paused before it.
    fn may_continue(&mut self) -> bool {
        if (self.not_ready)().is_some() {
            return false;
        }
        if !self.is_due() {
            return true;
        }
        self.checked = (Instant::now(), self.clock.uptime());
        if self.views.is_cut(self.id) {
            return false;
        }
        self.deadline = self.deadline.map(|known| self.deadline_now().unwrap_or(known));
        self.deadline
            .is_none_or(|deadline| deadline.is_after(self.views.moment(&self.clock).latest))
    }
}
