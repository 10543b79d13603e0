//! Whether a running download may go on. Asked between its chunks, by comparison: no timers, no
//! messages.
//!
//! A download runs until its last byte was handed to the kernel, which may keep some megabytes of it
//! for a slow client: these are taken back where a download is cut while it runs, and not after. A
//! small file, handed over as a whole, is not cut.

use std::time::{Duration, Instant};

use reelyard_actors::clock::Clock;
use reelyard_actors::share_expiry::{Found, ShareBoard, ShareId};

/// How often a running download looks whether it may go on. A hard revoke cuts within a second.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches over one download.
pub(super) struct Watch {
    board: ShareBoard,
    clock: Clock,
    id: ShareId,
    cut_at_deadline: bool,
    looked: Instant,
}

impl Watch {
    /// Watches over a download of `id` that begins now.
    pub(super) fn new(board: ShareBoard, clock: Clock, id: ShareId, cut_at_deadline: bool) -> Self {
        Watch { board, clock, id, cut_at_deadline, looked: Instant::now() }
    }

    /// Whether the download may go on. Cheap: it looks only every now and then.
    pub(super) fn may_go_on(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_EVERY {
            return true;
        }
        self.looked = Instant::now();
        match self.board.find(self.id) {
            Found::Live(share) => !self.cut_at_deadline || share.is_live(self.clock.now()),
            Found::Ended(tombstone) => !tombstone.cut && !self.cut_at_deadline,
            // Its tombstone has crumbled: it ended long ago.
            Found::Unknown => !self.cut_at_deadline,
        }
    }
}
