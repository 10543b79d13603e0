//! The state that a decision reads. Pure.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_replication::InFlight;

use crate::share_expiry::state::event::{ShareEvent, ShareRefusal};
use crate::share_expiry::state::table::order::ShareDueKey;
use crate::share_expiry::state::table::share::{ClientKey, Share};
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::value_types::ShareOwner;

/// The table, the settings and the times that a decision reads.
#[derive(Clone, Copy)]
pub struct ShareDecisionContext<'a> {
    /// The table of shares.
    pub table: &'a ShareTable,
    /// Pending commits.
    pub in_flight: &'a InFlight<ShareEvent>,
    /// The confirmed time, in milliseconds.
    pub now: Millis,
    /// The time for refusals: `now`, or the wall clock if it is far ahead.
    pub latest: Millis,
    /// The time until a wall clock that is far ahead is confirmed; zero if it is not far ahead.
    pub confirmed_in: Duration,
}

impl ShareDecisionContext<'_> {
    /// How many shares will exist after the decisions in flight, and which are about to end.
    pub(in crate::share_expiry::policy) fn coming_and_going(self) -> (u64, HashSet<ShareId>) {
        let (mut coming, mut going) = (0_u64, HashSet::new());
        for event in self.in_flight.events() {
            match event {
                ShareEvent::Created(_) => coming += 1,
                ShareEvent::Ended { ids, .. } | ShareEvent::Reclaimed { ids } => {
                    going.extend(ids.iter().copied());
                }
                _ => {}
            }
        }
        going.retain(|id| self.table.look(*id, |_| ()).is_some());
        (coming, going)
    }

    /// How many shares this owner will have after the decisions in flight: new ones, and those that change
    /// their owner.
    pub(in crate::share_expiry::policy) fn coming_to(self, owner: &ShareOwner) -> u64 {
        let is_coming = |event: &&ShareEvent| match event {
            ShareEvent::Created(new) => new.owner.as_ref() == Some(owner),
            ShareEvent::Changed { id, changes, .. } => {
                let gets =
                    changes.owner.as_ref().is_some_and(|new| new.owner.as_ref() == Some(owner));
                gets && self.table.look(*id, |share| share.owner() == Some(owner)) != Some(true)
            }
            _ => false,
        };
        self.in_flight.events().filter(is_coming).count() as u64
    }

    /// Overdue shares outside of `going`, the most overdue first. They make room before all others, also
    /// while reclaim is paused, because their links no longer work.
    pub(in crate::share_expiry::policy) fn due(
        self,
        going: &HashSet<ShareId>,
    ) -> impl Iterator<Item = ShareId> {
        let due = self.table.due_from(ShareDueKey::from(Millis(i64::MIN)));
        let due = due.take_while(move |due| due.instant() <= self.now).map(ShareDueKey::id);
        due.filter(|id| !going.contains(id))
    }

    /// A live share with the changes in flight applied.
    pub(in crate::share_expiry::policy) fn as_it_will_be(
        self,
        id: ShareId,
    ) -> Result<Arc<Share>, ShareRefusal> {
        let mut share = self.table.live_at(id, self.latest)?;
        let changes = self.in_flight.events().filter_map(|event| match event {
            ShareEvent::Changed { id: changed, generation, changes } if *changed == id => {
                Some((*generation, changes))
            }
            _ => None,
        });
        let mut changes: Vec<_> = changes.collect();
        changes.sort_unstable_by_key(|(generation, _)| *generation);
        for (generation, changes) in changes {
            // A decision on another generation is going to be refused.
            if generation == share.generation() {
                share = Arc::new(share.changed(changes));
            }
        }
        Ok(share)
    }

    /// Whether a client is requesting the whole file after a download that began with a part.
    pub(in crate::share_expiry::policy) fn is_beginning_whole(
        self,
        id: ShareId,
        client: ClientKey,
    ) -> bool {
        self.in_flight.events().any(|event| {
            matches!(event, ShareEvent::WholeBegun { id: of, client: by, .. }
                if *of == id && *by == client)
        })
    }

    /// A client's running request for a download of a share.
    pub(in crate::share_expiry::policy) fn taking(
        self,
        id: ShareId,
    ) -> impl Iterator<Item = ClientKey> {
        self.in_flight.events().filter_map(move |event| match event {
            ShareEvent::Taken { id: taken, client, .. }
            | ShareEvent::TakenInPart { id: taken, client, .. }
                if *taken == id =>
            {
                Some(*client)
            }
            _ => None,
        })
    }
}
