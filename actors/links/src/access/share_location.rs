//! Opens the file of a share, also during a move.

use reelyard_shares::share_expiry::{ResolvedLocation, Share, ShareLocation, ShareLookup};

use super::roots::{NotOpened, OpenedShare};
use crate::state::ShareServerState;

/// Largest number of attempts to find the location. A move changes it twice, and another move may
/// follow.
const TRIES: usize = 20;

impl ShareServerState {
    /// Opens the file of a share at its current location. Blocks on the disk.
    ///
    /// A move changes the record and the disk one after the other. So an opened file counts only if
    /// the record is the same before and after. A missing file counts only if two attempts in a row
    /// find it missing.
    pub(crate) fn open_share(&self, share: &Share) -> Result<OpenedShare, NotOpened> {
        let ShareLookup::Live(mut present) = self.views.find(share.id()) else {
            return Err(NotOpened::Absent);
        };
        let mut was_absent = false;
        for _ in 0..TRIES {
            let known = self.views.resolve_location(&present);
            let place = self.place_of(&present, &known);
            let opened = match &place {
                Some(place) => self.roots.open_at(&place.root, &place.path),
                None => Err(NotOpened::Absent),
            };
            // Only the shared kind is served. If a directory replaced a shared file, the directory
            // was never shared. The same is true for the reverse.
            let opened = opened.and_then(|opened| {
                if opened.kind == share.kind() { Ok(opened) } else { Err(NotOpened::Absent) }
            });
            let ShareLookup::Live(now) = self.views.find(share.id()) else {
                return Err(NotOpened::Absent);
            };
            let is_same = (now.root(), now.path()) == (present.root(), present.path())
                && self.views.resolve_location(&now) == known
                && self.place_of(&now, &known) == place;
            present = now;
            let is_absent = matches!(opened, Err(NotOpened::Absent));
            if is_same && (!is_absent || was_absent) {
                if is_absent && known == ResolvedLocation::AsRecorded {
                    self.views.report_missing(present.id());
                }
                return opened;
            }
            was_absent = is_same && is_absent;
        }
        Err(NotOpened::Absent)
    }

    /// The location of a share; none if its file is missing.
    fn place_of(&self, share: &Share, known: &ResolvedLocation) -> Option<ShareLocation> {
        let recorded = || ShareLocation { root: share.root().clone(), path: share.path().clone() };
        match known {
            ResolvedLocation::AsRecorded => Some(recorded()),
            ResolvedLocation::At(place) => Some(place.clone()),
            ResolvedLocation::Gone => None,
            ResolvedLocation::Either(moving, there) => {
                let (new, roots) = (&moving.new, &self.roots);
                if roots.is_at(&new.from, &new.file) {
                    Some(recorded())
                } else {
                    roots.is_at(&new.to, &new.file).then(|| there.clone())
                }
            }
            ResolvedLocation::Unless(moving) => {
                (!self.roots.is_at(&moving.new.to, &moving.new.file)).then(recorded)
            }
        }
    }
}
