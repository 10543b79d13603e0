//! Decides whether a running download may continue. Checked between chunks by comparison: no
//! timers, no messages.

use std::time::Instant;

use reelyard_core::clock::Clock;
use reelyard_file_server::{CHECK_EVERY, SendWatch};
use reelyard_shares::share_expiry::{Deadline, Share, ShareId, ShareLookup, ShareViewHandle};

/// The watch over one download.
pub(crate) struct DownloadWatch {
    views: ShareViewHandle,
    clock: Clock,
    id: ShareId,
    /// The last known deadline that cuts the download; none if no deadline cuts.
    deadline: Option<Deadline>,
    checked: Instant,
}

impl DownloadWatch {
    /// Watches a download of `share` that starts now.
    pub(crate) fn new(
        views: ShareViewHandle,
        clock: Clock,
        share: &Share,
        cut_at_deadline: bool,
    ) -> Self {
        let deadline = cut_at_deadline.then(|| share.deadline());
        DownloadWatch { views, clock, id: share.id(), deadline, checked: Instant::now() }
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
    /// Looks at the share only at intervals, so a hard revoke cuts within a second.
    fn may_continue(&mut self) -> bool {
        if self.checked.elapsed() < CHECK_EVERY {
            return true;
        }
        self.checked = Instant::now();
        if self.views.is_cut(self.id) {
            return false;
        }
        self.deadline = self.deadline.map(|known| self.deadline_now().unwrap_or(known));
        self.deadline
            .is_none_or(|deadline| deadline.is_after(self.views.moment(&self.clock).latest))
    }
}
