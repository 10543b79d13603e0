//! Eviction of shares to make room for new ones: exactly those that the policy names, not a sample. Pure.
//!
//! A use of a share updates its record without a message. The figures of both policies only grow, so an order
//! by their earlier values is enough. The first share of that order is checked again. If its figure has grown
//! it returns to its right position; otherwise no other share can come before it.

use std::collections::{BTreeSet, HashSet};

use reelyard_core::clock::Millis;

use crate::share_expiry::settings::AtLimit;
use crate::share_expiry::state::table::order::ShareDueKey;
use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;

/// The least use count of a share. Otherwise each new share would be the least used one, and would be evicted
/// before anybody could use it. Redis has the same rule.
const USES_AT_FIRST: u32 = 5;

/// The sort key of a policy: the number of uses if the policy counts them, then the last use, in
/// milliseconds.
type EvictionKey = (u32, u64);

/// Shares by their use. Built when it is first needed.
#[derive(Debug, Default)]
pub struct Eviction {
    order: Option<EvictionOrder>,
}

#[derive(Debug)]
struct EvictionOrder {
    policy: AtLimit,
    shares: BTreeSet<(EvictionKey, ShareId)>,
}

impl EvictionOrder {
    /// Whether at most half of the order are ended shares, given the number of shares.
    fn is_tidy(&self, there: u64) -> bool {
        self.shares.len() as u64 <= 2 * there + 1024
    }

    fn figure(&self, share: &Share) -> EvictionKey {
        let used = share.used();
        match self.policy {
            AtLimit::LeastUsed => (used.uses.max(USES_AT_FIRST), used.at),
            AtLimit::LeastRecentlyUsed | AtLimit::NearestDeadline | AtLimit::Refuse => (0, used.at),
        }
    }
}

impl Eviction {
    /// A share was created or changed, out of this many. An unused order collects ended shares: then it is
    /// dropped, and built again at the next use.
    pub fn add(&mut self, share: &Share, there: u64) {
        self.order = self.order.take().filter(|order| order.is_tidy(there));
        if let Some(order) = &mut self.order {
            let figure = order.figure(share);
            order.shares.insert((figure, share.id()));
        }
    }

    /// The table was replaced.
    pub fn clear(&mut self) {
        self.order = None;
    }

    /// The first shares by `policy`, outside of `spared`; fewer if there are no more.
    pub fn victims(
        &mut self,
        policy: AtLimit,
        count: usize,
        table: &ShareTable,
        spared: &HashSet<ShareId>,
    ) -> Vec<ShareId> {
        match policy {
            AtLimit::Refuse => Vec::new(),
            AtLimit::NearestDeadline => {
                let due = table.due_from(ShareDueKey::from(Millis(i64::MIN))).map(ShareDueKey::id);
                due.filter(|id| !spared.contains(id)).take(count).collect()
            }
            AtLimit::LeastRecentlyUsed | AtLimit::LeastUsed => {
                self.least(policy, count, table, spared)
            }
        }
    }

    fn least(
        &mut self,
        policy: AtLimit,
        count: usize,
        table: &ShareTable,
        spared: &HashSet<ShareId>,
    ) -> Vec<ShareId> {
        let order = self.order_of(policy, table);
        let (mut victims, mut back) = (Vec::new(), Vec::new());
        while victims.len() < count {
            let Some((figure, id)) = order.shares.pop_first() else { break };
            match table.look(id, |share| order.figure(share)) {
                // It has ended meanwhile.
                None => {}
                Some(now) if now > figure => drop(order.shares.insert((now, id))),
                Some(_) => {
                    // It ends only once that is durable.
                    back.push((figure, id));
                    if !spared.contains(&id) {
                        victims.push(id);
                    }
                }
            }
        }
        order.shares.extend(back);
        victims
    }

    /// The order of this policy. It is built again if there is none, or if half of it has ended.
    fn order_of(&mut self, policy: AtLimit, table: &ShareTable) -> &mut EvictionOrder {
        let fits = |order: &EvictionOrder| order.policy == policy && order.is_tidy(table.len());
        let kept = self.order.take().filter(fits);
        self.order.insert(kept.unwrap_or_else(|| {
            let mut order = EvictionOrder { policy, shares: BTreeSet::new() };
            order.shares = table.shares().map(|share| (order.figure(&share), share.id())).collect();
            order
        }))
    }
}

#[cfg(test)]
mod tests {
    use reelyard_replication::Piece;

    use super::*;
    use crate::share_expiry::samples::new_share;
    use crate::share_expiry::state::event::ShareEvent;
    use crate::share_expiry::state::values::value_types::{Deadline, ShareEnding};

    fn create(table: &mut ShareTable, id: u128, at: i64, deadline: i64) {
        let new = new_share(id, "a", deadline);
        table.apply(Millis(at), &ShareEvent::Created(Box::new(new))).unwrap();
    }

    /// Ten shares, created a second apart, the later the sooner due.
    fn table() -> ShareTable {
        let mut table = ShareTable::default();
        for id in 0..10_u128 {
            let n = i64::try_from(id).unwrap();
            create(&mut table, id, n * 1000, 100_000 - n);
        }
        table
    }

    fn used(table: &ShareTable, id: u128, at: i64) {
        table.look(ShareId(id), |share| share.use_at(Millis(at)));
    }

    fn victims(eviction: &mut Eviction, policy: AtLimit, table: &ShareTable) -> Vec<u128> {
        let spared = HashSet::from([ShareId(1)]);
        let victims = eviction.victims(policy, 3, table, &spared);
        victims.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn each_policy_names_exactly_its_victims() {
        let mut eviction = Eviction::default();
        let mut table = table();
        assert!(victims(&mut eviction, AtLimit::Refuse, &table).is_empty());
        assert_eq!(victims(&mut eviction, AtLimit::NearestDeadline, &table), [9, 8, 7]);
        assert_eq!(victims(&mut eviction, AtLimit::LeastRecentlyUsed, &table), [0, 2, 3]);
        assert_eq!(victims(&mut eviction, AtLimit::LeastRecentlyUsed, &table), [0, 2, 3]);
        for id in [0, 3, 4] {
            used(&table, id, 20_000);
        }
        assert_eq!(victims(&mut eviction, AtLimit::LeastRecentlyUsed, &table), [2, 5, 6]);
        assert_eq!(victims(&mut eviction, AtLimit::LeastUsed, &table), [2, 5, 6]);
        create(&mut table, 77, 20_500, 500);
        table.look(ShareId(77), |share| eviction.add(share, 11));
        let ids = vec![ShareId(5)];
        let event =
            ShareEvent::Ended { ids, why: ShareEnding::Evicted, cut: false, by: String::new() };
        table.apply(Millis(1), &event).unwrap();
        assert_eq!(victims(&mut eviction, AtLimit::LeastUsed, &table), [2, 6, 7]);
        assert_eq!(victims(&mut eviction, AtLimit::NearestDeadline, &table), [77, 9, 8]);
    }

    #[test]
    fn an_unused_eviction_order_does_not_grow_by_ended_shares() {
        let (mut eviction, mut table) = (Eviction::default(), table());
        victims(&mut eviction, AtLimit::LeastRecentlyUsed, &table);
        for id in 100..3000 {
            create(&mut table, id, 0, 500);
            table.look(ShareId(id), |share| eviction.add(share, 11));
            table.apply(Millis(500), &ShareEvent::Reclaimed { ids: vec![ShareId(id)] }).unwrap();
        }
        assert!(eviction.order.is_none());
        assert_eq!(victims(&mut eviction, AtLimit::LeastRecentlyUsed, &table), [0, 2, 3]);
    }

    #[test]
    fn a_new_share_is_no_victim_and_milliseconds_break_ties() {
        let (mut eviction, mut table) = (Eviction::default(), table());
        for id in 0..10 {
            (0..3).for_each(|_| used(&table, id, 20_000 + 5 - i64::try_from(id).unwrap() / 2));
        }
        create(&mut table, 77, 20_100, 500);
        let two = |eviction: &mut Eviction, policy| {
            let victims = eviction.victims(policy, 2, &table, &HashSet::new());
            victims.into_iter().map(|id| id.0).collect::<Vec<_>>()
        };
        for policy in [AtLimit::LeastUsed, AtLimit::LeastRecentlyUsed] {
            assert_eq!(two(&mut eviction, policy), [8, 9]);
        }
        (0..3).for_each(|_| used(&table, 8, 20_200));
        assert_eq!(two(&mut eviction, AtLimit::LeastUsed), [9, 6]);
    }

    #[test]
    fn shares_without_a_deadline_do_not_make_room_by_nearest_deadline() {
        let mut table = ShareTable::default();
        let mut new = new_share(1, "a", 0);
        new.deadline = Deadline::NEVER;
        table.apply(Millis(0), &ShareEvent::Created(Box::new(new))).unwrap();
        let mut eviction = Eviction::default();
        let none = eviction.victims(AtLimit::NearestDeadline, 1, &table, &HashSet::new());
        assert!(none.is_empty());
    }
}
