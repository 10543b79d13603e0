//! Shares ordered by deadline, and texts that they have in common. Pure.

use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use reelyard_core::clock::Millis;

use super::share::Share;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::text::SharedText;
use crate::share_expiry::state::values::value_types::Deadline;

/// The due time of a share, and its id. Small, because an order has millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareDueKey {
    at: i64,
    /// The two halves of the id.
    id: (u64, u64),
}

impl ShareDueKey {
    /// Before every share that is due at `at` or later.
    pub fn from(at: Millis) -> Self {
        ShareDueKey { at: at.0, id: (0, 0) }
    }

    /// The sort key of a share; none if it is never due.
    pub fn of(share: &Share) -> Option<Self> {
        ShareDueKey::at(share.due(), share.id())
    }

    /// The sort key of a share with this deadline.
    pub fn at(due: Deadline, ShareId(id): ShareId) -> Option<Self> {
        // The halves of the id.
        due.instant().map(|Millis(at)| ShareDueKey { at, id: ((id >> 64) as u64, id as u64) })
    }

    /// The instant of the deadline.
    pub fn instant(self) -> Millis {
        Millis(self.at)
    }

    /// The id of the share.
    pub fn id(self) -> ShareId {
        ShareId(u128::from(self.id.0) << 64 | u128::from(self.id.1))
    }
}

/// Texts that shares have in common, with the number of shares of each.
#[derive(Default)]
pub(in crate::share_expiry) struct InternedTexts(HashMap<SharedText, u64>);

impl InternedTexts {
    /// Adds one more use of `text`. Returns the shared text.
    pub(in crate::share_expiry) fn join(&mut self, text: &str) -> SharedText {
        match self.0.entry_ref(text) {
            EntryRef::Occupied(mut known) => {
                *known.get_mut() += 1;
                known.key().clone()
            }
            EntryRef::Vacant(place) => {
                place.insert_entry_with_key(SharedText::new(text), 1).key().clone()
            }
        }
    }

    /// The shared text if another share has it, otherwise a new one.
    pub(in crate::share_expiry) fn like(&self, text: &str) -> SharedText {
        self.0.get_key_value(text).map_or_else(|| SharedText::new(text), |(known, _)| known.clone())
    }

    /// Counts one share less of this owner.
    pub(in crate::share_expiry) fn leave(&mut self, text: &SharedText) {
        match self.0.get_mut(text) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.0.remove(text)),
        }
    }

    /// The number of shares of this owner.
    pub(in crate::share_expiry) fn count(&self, text: &SharedText) -> u64 {
        self.0.get(text).copied().unwrap_or_default()
    }

    /// Every text that is in use.
    pub(in crate::share_expiry) fn all(&self) -> impl Iterator<Item = &SharedText> {
        self.0.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_places_are_in_the_order_of_time_then_of_id() {
        let due = |at, id| ShareDueKey::at(Deadline::at(Millis(at)), ShareId(id)).unwrap();
        let big = u128::from(u64::MAX) + 7;
        let places = [due(-1, 9), due(0, 1), due(0, 2), due(0, big), due(1, 0)];
        assert!(places.is_sorted() && ShareDueKey::from(Millis(0)) < places[1]);
        assert_eq!(places[3].id(), ShareId(big));
        assert_eq!(size_of::<ShareDueKey>(), 24);
        assert_eq!(ShareDueKey::at(Deadline::NEVER, ShareId(1)), None);
    }

    #[test]
    fn common_texts_are_counted() {
        let mut common = InternedTexts::default();
        let first = common.join("me");
        common.join("me");
        assert_eq!(common.count(&first), 2);
        common.leave(&first);
        common.leave(&first);
        assert_eq!((common.count(&first), common.all().count()), (0, 0));
    }
}
