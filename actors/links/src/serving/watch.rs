//! Decides whether a running download may continue. Checked between chunks by comparison: no
//! timers, no messages.
//!
//! After the last byte was handed over, the kernel may still hold some megabytes for a slow client.
//! They can be discarded until the connection reads its next request or ends. Bytes that are left
//! after that arrive in any case.

use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_shares::share_expiry::{Deadline, Share, ShareId, ShareLookup, ShareViewHandle};
use tokio::time::sleep;

/// Interval of the checks of a running download. A hard revoke cuts within a second.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The watch over one download.
pub(crate) struct DownloadWatch {
    board: ShareViewHandle,
    clock: Clock,
    id: ShareId,
    /// The last known deadline that cuts the download; none if no deadline cuts.
    deadline: Option<Deadline>,
    looked: Instant,
}

impl DownloadWatch {
    /// Watches a download of `share` that starts now.
    pub(crate) fn new(
        board: ShareViewHandle,
        clock: Clock,
        share: &Share,
        cut_at_deadline: bool,
    ) -> Self {
        let deadline = cut_at_deadline.then(|| share.deadline());
        DownloadWatch { board, clock, id: share.id(), deadline, looked: Instant::now() }
    }

    /// Returns when the download must be cut.
    pub(crate) async fn cut(mut self) {
        while self.may_go_on() {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Whether the download may continue. Cheap, because it checks only at intervals.
    pub(crate) fn may_go_on(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_EVERY {
            return true;
        }
        self.looked = Instant::now();
        if self.board.is_cut(self.id) {
            return false;
        }
        self.deadline = self.deadline.map(|known| self.deadline_now().unwrap_or(known));
        self.deadline
            .is_none_or(|deadline| deadline.is_after(self.board.moment(&self.clock).latest))
    }

    /// The deadline of a live share, or the one it had. An earlier end, or the last counted
    /// download, does not cut a running one. None if the share is forgotten.
    fn deadline_now(&self) -> Option<Deadline> {
        match self.board.find(self.id) {
            ShareLookup::Live(share) => Some(share.deadline()),
            ShareLookup::Ended(tombstone) => Some(tombstone.deadline),
            ShareLookup::Unknown => None,
        }
    }
}
