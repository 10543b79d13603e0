//! Whether a running download may go on. Asked between its chunks, by comparison: no timers, no
//! messages.
//!
//! The kernel may keep some megabytes for a slow client when the last byte was handed to it: these
//! are taken back as well, as long as the connection waits for the next request or for its end. What
//! a client has not taken when that is over arrives whatever happens to the link.

use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_shares::share_expiry::{Deadline, Share, ShareId, ShareLookup, ShareViewHandle};
use tokio::time::sleep;

/// How often a running download looks whether it may go on. A hard revoke cuts within a second.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches over one download.
pub(super) struct DownloadWatch {
    board: ShareViewHandle,
    clock: Clock,
    id: ShareId,
    /// The deadline that cuts it, as it was last known; none where no deadline cuts.
    deadline: Option<Deadline>,
    looked: Instant,
}

impl DownloadWatch {
    /// Watches over a download of `share` that begins now.
    pub(super) fn new(
        board: ShareViewHandle,
        clock: Clock,
        share: &Share,
        cut_at_deadline: bool,
    ) -> Self {
        let deadline = cut_at_deadline.then(|| share.deadline());
        DownloadWatch { board, clock, id: share.id(), deadline, looked: Instant::now() }
    }

    /// Returns when the download may not go on.
    pub(super) async fn cut(mut self) {
        while self.may_go_on() {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Whether the download may go on. Cheap: it looks only every now and then.
    pub(super) fn may_go_on(&mut self) -> bool {
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

    /// The deadline of the share, or that it had: an end before it, or the last download taken, is
    /// no reason to cut one that runs. None when the share is forgotten.
    fn deadline_now(&self) -> Option<Deadline> {
        match self.board.find(self.id) {
            ShareLookup::Live(share) => Some(share.deadline()),
            ShareLookup::Ended(tombstone) => Some(tombstone.deadline),
            ShareLookup::Unknown => None,
        }
    }
}
