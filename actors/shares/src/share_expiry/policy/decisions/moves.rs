//! Decisions on moves. Pure.

use crate::share_expiry::policy::decision_context::ShareDecisionContext;
use crate::share_expiry::policy::memory::SharePolicy;
use crate::share_expiry::state::constants::MOST_MOVES;
use crate::share_expiry::state::event::ShareEvent;
use crate::share_expiry::state::moves::pending_move::{
    MoveRefused, MoveStage, NewMove, ShareLocation,
};
use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};

impl ShareDecisionContext<'_> {
    /// The running moves, including those that are about to be recorded.
    fn moves(self) -> Vec<NewMove> {
        let begun = self.in_flight.events().filter_map(|event| match event {
            ShareEvent::MoveBegun(new) => Some(NewMove::clone(new)),
            _ => None,
        });
        let recorded = self.table.moves();
        recorded.iter().map(|moving| moving.new.clone()).chain(begun).collect()
    }

    /// Whether the file at this path is being moved, or is about to be.
    pub(in crate::share_expiry) fn is_moving(self, root: &RootName, path: &SharePath) -> bool {
        let place = || ShareLocation { root: root.clone(), path: path.clone() };
        let touches = |event: &ShareEvent| matches!(event, ShareEvent::MoveBegun(new) if new.touches(&place()));
        self.table.is_moving(root, path) || self.in_flight.events().any(touches)
    }

    /// Whether a share refers to the file at this path, and no move affects the path.
    pub(in crate::share_expiry) fn stands_for(self, id: ShareId, place: &ShareLocation) -> bool {
        let is_of = |share: &Share| *share.root() == place.root && *share.path() == place.path;
        self.table.look(id, is_of) == Some(true) && !self.is_moving(&place.root, &place.path)
    }
}

impl SharePolicy {
    /// A caller requests a move.
    pub(in crate::share_expiry) fn begin_move(
        &self,
        new: &NewMove,
        at: ShareDecisionContext<'_>,
    ) -> Result<(), MoveRefused> {
        new.check()?;
        let is_known = |place: &ShareLocation| self.settings.roots.contains(&place.root);
        if !is_known(&new.from) || !is_known(&new.to) {
            return Err(MoveRefused::NoRoot);
        }
        let moves = at.moves();
        if moves.iter().any(|other| other.touches(&new.from) || other.touches(&new.to)) {
            return Err(MoveRefused::BeingMoved);
        }
        if moves.len() >= MOST_MOVES { Err(MoveRefused::TooMany) } else { Ok(()) }
    }

    /// The next shares of each move that is settled.
    pub(in crate::share_expiry) fn moves_on(
        &self,
        at: ShareDecisionContext<'_>,
    ) -> Vec<ShareEvent> {
        let under_way = |number: u64| {
            at.in_flight.events().any(|event| {
                matches!(event, ShareEvent::MoveFollowed { number: other, .. } if *other == number)
            })
        };
        let moves = at.table.moves();
        let settled = moves.iter().filter(|moving| moving.stage != MoveStage::Begun);
        let idle = settled.filter(|moving| !under_way(moving.number));
        let most = FOLLOW_AT_ONCE;
        let on = idle.map(|moving| {
            let (number, part) = (moving.number, moving.parts);
            ShareEvent::MoveFollowed { number, part, most }
        });
        on.collect()
    }
}

/// How many shares one event moves at most: each of them changes three orders.
pub(crate) const FOLLOW_AT_ONCE: u64 = 1000;
