//! How moves change the piece: a bounded number of shares per event.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_replication::ENTRY_EVENTS;

use super::moves::pending_move::{
    MoveEnd, MoveRefused, MoveStage, NewMove, PendingMove, ShareLocation,
};
use crate::share_expiry::state::constants::MOST_MOVES;
use crate::share_expiry::state::event::{ShareOutcome, ShareRefusal};
use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::text::SharedText;
use crate::share_expiry::state::values::value_types::ShareEnding;

type MoveApplyResult = Result<ShareOutcome, ShareRefusal>;

impl ShareTable {
    /// The running moves, in the order of their starts.
    pub fn moves(&self) -> Arc<Vec<Arc<PendingMove>>> {
        self.moves.all()
    }

    /// Whether something at or around this path is being moved.
    pub(in crate::share_expiry) fn is_moving(&self, root: &RootName, path: &SharePath) -> bool {
        let moves = self.moves();
        if moves.is_empty() {
            return false;
        }
        let place = ShareLocation { root: root.clone(), path: path.clone() };
        moves.iter().any(|moving| moving.new.touches(&place))
    }

    pub(in crate::share_expiry) fn begin_move(&mut self, new: &NewMove) -> MoveApplyResult {
        let under_way = self.moves();
        new.check()?;
        let touched = |moving: &Arc<PendingMove>| {
            moving.new.touches(&new.from) || moving.new.touches(&new.to)
        };
        if under_way.iter().any(touched) {
            return Err(MoveRefused::BeingMoved.into());
        }
        if under_way.len() >= MOST_MOVES {
            return Err(MoveRefused::TooMany.into());
        }
        let (number, stage) = (self.next_move, MoveStage::Begun);
        self.next_move += 1;
        self.moves.insert(PendingMove {
            number,
            new: new.clone(),
            stage,
            parts: 0,
            followed: 0,
            ended: 0,
        });
        Ok(ShareOutcome::MoveBegun { number })
    }

    /// The outcome of the renaming is known.
    pub(in crate::share_expiry) fn settle_move(
        &mut self,
        at: Millis,
        number: u64,
        end: MoveEnd,
        most: u64,
    ) -> MoveApplyResult {
        let Some(moving) = self.moves.get(number) else { return Ok(ShareOutcome::AlreadySo) };
        if moving.stage != MoveStage::Begun {
            return Ok(ShareOutcome::AlreadySo);
        }
        let stage = match end {
            MoveEnd::Moved => MoveStage::Clearing,
            MoveEnd::Lost => MoveStage::Lost,
            MoveEnd::NotMoved(why) => {
                self.moves.remove(number);
                let refused = Some(why);
                return Ok(self.gone_on(&moving, self.next_notification(), true, refused));
            }
        };
        Ok(self.go_on(at, PendingMove { stage, ..PendingMove::clone(&moving) }, most))
    }

    /// The next of its shares follow, or end.
    pub(in crate::share_expiry) fn on_move_continued(
        &mut self,
        at: Millis,
        number: u64,
        part: u32,
        most: u64,
    ) -> MoveApplyResult {
        match self.moves.get(number) {
            Some(moving) if moving.parts == part && moving.stage != MoveStage::Begun => {
                Ok(self.go_on(at, PendingMove::clone(&moving), most))
            }
            _ => Ok(ShareOutcome::AlreadySo),
        }
    }

    fn go_on(&mut self, at: Millis, mut moving: PendingMove, most: u64) -> ShareOutcome {
        let first = self.next_notification();
        let mut room = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        moving.parts += 1;
        // Readers see the new stage before the first share changes.
        self.moves.insert(moving.clone());
        if moving.stage == MoveStage::Clearing {
            room -= self.end_of_move(at, &mut moving, room);
            if room > 0 {
                moving.stage = MoveStage::Following;
                self.moves.insert(moving.clone());
            }
        }
        if room > 0 {
            room -= match moving.stage {
                MoveStage::Lost => self.end_of_move(at, &mut moving, room),
                _ => self.carry(at, &mut moving, room),
            };
        }
        let done = room > 0;
        if done {
            self.moves.remove(moving.number);
            self.moves_ended.push_back(Arc::new(moving.clone()));
            // One entry ends no more of them.
            if self.moves_ended.len() > ENTRY_EVENTS {
                self.moves_ended.pop_front();
            }
        } else {
            self.moves.insert(moving.clone());
        }
        self.gone_on(&moving, first, done, None)
    }

    fn gone_on(
        &self,
        moving: &PendingMove,
        first: u64,
        done: bool,
        refused: Option<MoveRefused>,
    ) -> ShareOutcome {
        let PendingMove { number, stage, followed, ended, .. } = *moving;
        let lost = stage == MoveStage::Lost;
        let next = self.next_notification();
        ShareOutcome::MoveWent { number, done, lost, refused, followed, ended, first, next }
    }

    /// Ends shares whose files a move has replaced, at most `most`. Returns how many shares it visited.
    fn end_of_move(&mut self, at: Millis, moving: &mut PendingMove, most: usize) -> usize {
        let place = if moving.stage == MoveStage::Lost { &moving.new.from } else { &moving.new.to };
        let met = self.first_within(place, most);
        let by = SharedText::new(moving.new.by.as_str());
        for share in &met {
            let ended = self.end(at, share.id(), ShareEnding::Removed, false, &by);
            moving.ended += u64::from(ended);
        }
        met.len()
    }

    /// Moves shares of the old path to the new one, at most `most`. Returns how many shares it visited.
    fn carry(&mut self, at: Millis, moving: &mut PendingMove, most: usize) -> usize {
        let met = self.first_within(&moving.new.from, most);
        for former in &met {
            let Some(ShareLocation { root, path }) = moving.new.carried(former.path()) else {
                // Paths of this length cannot occur, because no program could open them.
                let by = SharedText::new(moving.new.by.as_str());
                let ended = self.end(at, former.id(), ShareEnding::Removed, false, &by);
                moving.ended += u64::from(ended);
                continue;
            };
            let mut share = former.to_change();
            (share.root, share.path) = (root, path);
            self.insert(share, Some(former));
            moving.followed += 1;
        }
        met.len()
    }

    fn first_within(&self, place: &ShareLocation, most: usize) -> Vec<Arc<Share>> {
        self.within(&place.root, &place.path, None).take(most).cloned().collect()
    }
}
