//! Opening what a share stands for, also while it is being moved.

use reelyard_shares::share_expiry::{ResolvedLocation, Share, ShareLocation, ShareLookup};

use super::ShareServerState;
use super::roots::{NotOpened, OpenedShare};

/// How often it is looked anew where it is. A move changes that twice, and it may be moved again.
const TRIES: usize = 20;

impl ShareServerState {
    /// Opens what a share stands for, wherever that is just now. Blocks on the disk.
    ///
    /// While something is moved, what is known of it and what is on the disk change one after the other.
    /// So what was opened is it only if all that is known is the same after as before; and that nothing
    /// is there is believed only when it is found twice in a row.
    pub(super) fn open_share(&self, share: &Share) -> Result<OpenedShare, NotOpened> {
        let ShareLookup::Live(mut present) = self.board.find(share.id()) else {
            return Err(NotOpened::Absent);
        };
        let mut was_absent = false;
        for _ in 0..TRIES {
            let known = self.board.resolve_location(&present);
            let place = self.place_of(&present, &known);
            let opened = match &place {
                Some(place) => self.roots.open_at(&place.root, &place.path),
                None => Err(NotOpened::Absent),
            };
            // A directory in the place of a shared file was shared by nobody, nor the other way round.
            let opened = opened.and_then(|opened| {
                if opened.kind == share.kind() { Ok(opened) } else { Err(NotOpened::Absent) }
            });
            let ShareLookup::Live(now) = self.board.find(share.id()) else {
                return Err(NotOpened::Absent);
            };
            let is_same = (now.root(), now.path()) == (present.root(), present.path())
                && self.board.resolve_location(&now) == known
                && self.place_of(&now, &known) == place;
            present = now;
            let is_absent = matches!(opened, Err(NotOpened::Absent));
            if is_same && (!is_absent || was_absent) {
                if is_absent && known == ResolvedLocation::AsSaid {
                    self.board.note_missing(present.id());
                }
                return opened;
            }
            was_absent = is_same && is_absent;
        }
        Err(NotOpened::Absent)
    }

    /// Where what a share stands for is; none if it is gone.
    fn place_of(&self, share: &Share, known: &ResolvedLocation) -> Option<ShareLocation> {
        let said = || ShareLocation { root: share.root().clone(), path: share.path().clone() };
        match known {
            ResolvedLocation::AsSaid => Some(said()),
            ResolvedLocation::At(place) => Some(place.clone()),
            ResolvedLocation::Gone => None,
            ResolvedLocation::Either(moving, there) => {
                let (new, roots) = (&moving.new, &self.roots);
                if roots.is_at(&new.from, &new.file) {
                    Some(said())
                } else {
                    roots.is_at(&new.to, &new.file).then(|| there.clone())
                }
            }
            ResolvedLocation::Unless(moving) => {
                (!self.roots.is_at(&moving.new.to, &moving.new.file)).then(said)
            }
        }
    }
}
