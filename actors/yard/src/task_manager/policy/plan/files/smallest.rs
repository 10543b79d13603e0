//! The least size in each stretch of a list. With it the first stretch with a small enough size is
//! found without a search of the others. Pure.

/// The least size of each stretch. Adding and finding take as many steps as the number of
/// stretches has bits.
#[derive(Clone, Debug, Default)]
pub struct Smallest {
    /// A tree in which each node has the lesser value of its two children. The last `stretches`
    /// nodes are leaves.
    tree: Vec<u64>,
    stretches: usize,
}

/// Nothing is there.
const NOTHING: u64 = u64::MAX;

impl Smallest {
    /// This many empty stretches.
    pub fn of(stretches: usize) -> Self {
        let stretches = stretches.max(1).next_power_of_two();
        Smallest { tree: vec![NOTHING; 2 * stretches], stretches }
    }

    /// Whether there are no stretches at all.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Adds an item of `size` to `stretch`.
    pub fn add(&mut self, stretch: usize, size: u64) {
        let mut node = self.stretches + stretch;
        while let Some(least) = self.tree.get_mut(node).filter(|least| size < **least) {
            *least = size;
            node /= 2;
        }
    }

    /// Sets the least size in `stretch`; none if it is empty.
    pub fn set(&mut self, stretch: usize, least: Option<u64>) {
        let mut node = self.stretches + stretch;
        let Some(leaf) = self.tree.get_mut(node) else { return };
        *leaf = least.unwrap_or(NOTHING);
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
        }
    }

    /// The first stretch at `from` or later that is not empty.
    pub fn first_from(&self, from: usize) -> Option<usize> {
        let leaves = self.tree.get(self.stretches..)?;
        let after = leaves.get(from..)?.iter().position(|least| *least != NOTHING)?;
        Some(from + after)
    }

    /// The first stretch in which something is no larger than `room`.
    pub fn first_within(&self, room: u64) -> Option<usize> {
        let fits = |node: usize| self.tree.get(node).is_some_and(|least| *least <= room);
        if room == NOTHING || !fits(1) {
            return None;
        }
        let mut node = 1;
        while node < self.stretches {
            node = if fits(2 * node) { 2 * node } else { 2 * node + 1 };
        }
        Some(node - self.stretches)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_that_is_small_enough_is_found(
            changes in proptest::collection::vec(
                (any::<bool>(), 0_usize..11, proptest::option::of(0_u64..100)), 0..40,
            ),
            room in 0_u64..100,
        ) {
            let mut smallest = Smallest::of(11);
            let mut plain = [NOTHING; 11];
            for (sets, at, size) in changes {
                match (sets, size) {
                    (false, Some(size)) => {
                        smallest.add(at, size);
                        plain[at] = plain[at].min(size);
                    }
                    (_, size) => {
                        smallest.set(at, size);
                        plain[at] = size.unwrap_or(NOTHING);
                    }
                }
                let first = plain.iter().position(|least| *least <= room);
                prop_assert_eq!(smallest.first_within(room), first);
            }
        }
    }

    #[test]
    fn there_may_be_nothing() {
        assert_eq!(Smallest::default().first_within(5), None);
        assert_eq!(Smallest::of(0).first_within(u64::MAX), None);
    }
}
