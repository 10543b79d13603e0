//! The orders of the list of shares. Each is kept with its index, and repaired for the next one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reelyard_core::kept_order::KeptOrder;
use reelyard_core::page_order::ItemNumber;

use super::share_index::{IndexedShare, IndexedText, ShareIndex};

/// An order of which more than this part changed is made again.
const MOST_CHANGED: usize = 8;

/// A column that orders the list of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareColumn {
    /// The end of the share; shares without an end are last.
    Due,
    /// Root and path.
    Path,
    /// The owner; shares without one are first.
    Owner,
    /// Counted downloads.
    Downloads,
}

impl ShareColumn {
    /// Every column.
    pub const ALL: [ShareColumn; 4] =
        [ShareColumn::Due, ShareColumn::Path, ShareColumn::Owner, ShareColumn::Downloads];
}

/// The last order of each column.
#[derive(Default)]
pub(in crate::share_expiry) struct ShareOrders {
    due: LastShareOrder,
    path: LastShareOrder,
    owner: LastShareOrder,
    downloads: LastShareOrder,
}

type LastShareOrder = Mutex<(Arc<ShareIndex>, Arc<KeptOrder>)>;

impl ShareOrders {
    /// The shares of an index in the order of a column. Looks at the same time wait for each other.
    pub(in crate::share_expiry) fn order(
        &self,
        column: ShareColumn,
        index: &Arc<ShareIndex>,
    ) -> Arc<KeptOrder> {
        let mut last = self.of(column);
        if !Arc::ptr_eq(&last.0, index) {
            let order = next_order(column, (&last.0, &last.1), index);
            *last = (Arc::clone(index), Arc::new(order));
        }
        Arc::clone(&last.1)
    }

    /// Frees the memory.
    pub(in crate::share_expiry) fn forget(&self) {
        ShareColumn::ALL.into_iter().for_each(|column| *self.of(column) = Default::default());
    }

    fn of(&self, column: ShareColumn) -> MutexGuard<'_, (Arc<ShareIndex>, Arc<KeptOrder>)> {
        let place = match column {
            ShareColumn::Due => &self.due,
            ShareColumn::Path => &self.path,
            ShareColumn::Owner => &self.owner,
            ShareColumn::Downloads => &self.downloads,
        };
        // A repair that panics leaves the last order.
        place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The order of an index, made from that of an earlier one.
fn next_order(
    column: ShareColumn,
    (earlier, order): (&ShareIndex, &KeptOrder),
    index: &ShareIndex,
) -> KeptOrder {
    let changes = index.changes_since(earlier);
    if changes.added.len() * MOST_CHANGED > index.len() {
        let mut all = Vec::with_capacity(index.len());
        index.visit(|item, _| all.push(item));
        return sorted(column, index, all);
    }
    order.repaired(
        |item| changes.number_now(item),
        &sorted(column, index, changes.added.clone()),
        |one, other| match text_of(column) {
            Some(text) => (index.text(text, one), one) < (index.text(text, other), other),
            None => number(column, index, one) < number(column, index, other),
        },
    )
}

fn sorted(column: ShareColumn, index: &ShareIndex, items: Vec<ItemNumber>) -> KeptOrder {
    match text_of(column) {
        Some(text) => KeptOrder::by_text(items, &mut |items, show| {
            items.iter().for_each(|item| show(index.text(text, *item)));
        }),
        None => KeptOrder::by_number(items.into_iter().map(|item| number(column, index, item))),
    }
}

/// The text of a column; none if it has numbers.
const fn text_of(column: ShareColumn) -> Option<IndexedText> {
    match column {
        ShareColumn::Path => Some(IndexedText::Path),
        ShareColumn::Owner => Some(IndexedText::Owner),
        ShareColumn::Due | ShareColumn::Downloads => None,
    }
}

/// The place of a share in the order of a column with numbers.
fn number(column: ShareColumn, index: &ShareIndex, item: ItemNumber) -> (u64, ItemNumber) {
    let key = |share: &IndexedShare| match column {
        ShareColumn::Downloads => u64::from(share.downloads),
        // No share ends before 1970.
        _ => share.due.instant().map_or(u64::MAX, |due| due.0.max(0).unsigned_abs()),
    };
    (index.share(item).map_or(0, key), item)
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::page_order::PageRange;

    use super::*;
    use crate::share_expiry::samples::share;
    use crate::share_expiry::state::table::shards::Shards;
    use crate::share_expiry::state::values::id::ShareId;
    use crate::share_expiry::state::values::value_types::{Deadline, ShareEnding, Tombstone};
    use crate::share_expiry::views::share_index::UsesNeeded;

    fn ids(index: &ShareIndex, order: &KeptOrder) -> Vec<u128> {
        let all = PageRange { positions: 0..usize::MAX, descending: false };
        order.page(&all).into_iter().filter_map(|item| Some(index.share(item)?.id.0)).collect()
    }

    /// An order without a former one.
    fn fresh(column: ShareColumn, index: &ShareIndex) -> Vec<u128> {
        ids(index, &next_order(column, (&ShareIndex::default(), &KeptOrder::default()), index))
    }

    #[test]
    fn shares_are_ordered_by_each_column() {
        let shards = Shards::default();
        for (id, path, due) in [(3, "c", 1), (1 << 110, "a", 2), (2, "b", 3)] {
            shards.insert(share(id, path, due));
        }
        shards.record_use(ShareId(3), Millis(5));
        let index = ShareIndex::default().refreshed(&shards, UsesNeeded::Latest);
        let far = 1 << 110;
        assert_eq!(fresh(ShareColumn::Due, &index), [3, far, 2]);
        assert_eq!(fresh(ShareColumn::Path, &index), [far, 2, 3]);
        assert_eq!(fresh(ShareColumn::Owner, &index), [2, 3, far]);
        assert_eq!(fresh(ShareColumn::Downloads, &index), [2, far, 3]);
    }

    #[test]
    fn a_kept_order_follows_the_changes_of_shares() {
        let (shards, orders) = (Shards::default(), ShareOrders::default());
        let mut random = fastrand::Rng::with_seed(11);
        // Several shares in each shard.
        let id = |number: u128| ((number % 7) << 110) | number;
        let mut index = Arc::new(ShareIndex::default());
        let mut put = |shards: &Shards, number: u128| {
            let path = format!("{}/film{}", random.u8(..3), random.u8(..20));
            shards.insert(share(id(number), &path, i64::from(random.u8(..9))));
        };
        (0..300).for_each(|number| put(&shards, number));
        for round in 0..60 {
            let looked = index.refreshed(&shards, UsesNeeded::Latest);
            index = Arc::new(looked);
            for column in ShareColumn::ALL {
                let order = orders.order(column, &index);
                assert_eq!(ids(&index, &order), fresh(column, &index), "{column:?}, round {round}");
            }
            put(&shards, 300 + round);
            put(&shards, round);
            shards.record_use(ShareId(id(2 * round)), Millis(5));
            let (deadline, why) = (Deadline::at(Millis(9)), ShareEnding::Revoked);
            shards.replace_with_tombstone(ShareId(id(100 + round)), |_| {
                Some(Tombstone { ended: Millis(5), why, deadline, number: 3, cut: false })
            });
        }
        orders.forget();
        assert_eq!(ids(&index, &orders.of(ShareColumn::Due).1), [0; 0]);
    }
}
