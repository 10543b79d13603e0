//! Opening what a share stands for, also while it is being moved.

use std::sync::Arc;

use reelyard_actors::share_expiry::{Found, Share, SharePlace, Whereabouts};

use super::Shared;
use super::roots::{NotOpened, Opened};

/// How often it is looked anew where it is. A move changes that twice.
const TRIES: usize = 5;

impl Shared {
    /// Opens what a share stands for, wherever that is just now. Blocks on the disk.
    pub(super) fn open_share(&self, share: &Share) -> Result<Opened, NotOpened> {
        let mut present = None::<Arc<Share>>;
        for _ in 0..TRIES {
            let share = present.as_deref().unwrap_or(share);
            let Some(place) = self.place_of(share) else { return Err(NotOpened::Absent) };
            let opened = self.roots.open_at(&place.root, &place.path);
            // It is what was meant only if it was still there when it was opened.
            let Found::Live(now) = self.board.find(share.id()) else {
                return Err(NotOpened::Absent);
            };
            if self.place_of(&now).as_ref() == Some(&place) {
                let is_said = || self.board.whereabouts(&now) == Whereabouts::AsSaid;
                if matches!(opened, Err(NotOpened::Absent)) && is_said() {
                    self.board.note_missing(now.id());
                }
                return opened;
            }
            present = Some(now);
        }
        Err(NotOpened::Absent)
    }

    /// Where what a share stands for is; none if it is gone.
    fn place_of(&self, share: &Share) -> Option<SharePlace> {
        let said = || SharePlace { root: share.root().clone(), path: share.path().clone() };
        match self.board.whereabouts(share) {
            Whereabouts::AsSaid => Some(said()),
            Whereabouts::At(place) => Some(place),
            Whereabouts::Gone => None,
            Whereabouts::Either(moving, there) => {
                let (new, roots) = (&moving.new, &self.roots);
                if roots.is_at(&new.from, &new.file) {
                    Some(said())
                } else {
                    roots.is_at(&new.to, &new.file).then_some(there)
                }
            }
            Whereabouts::Unless(moving) => {
                (!self.roots.is_at(&moving.new.to, &moving.new.file)).then(said)
            }
        }
    }
}
