//! Lists inside answers that have no pages.

/// Largest number of entries of such a list, so that no answer grows with the yard.
pub const MOST_LISTED: usize = 200;

/// The first entries of a list, and the number of all.
pub struct LimitedList<T> {
    /// At most the limit.
    pub first: Vec<T>,
    /// Entries with those that are left out.
    pub total: u64,
}

impl<T> LimitedList<T> {
    /// Keeps at most `most` entries.
    pub fn new(entries: impl Iterator<Item = T>, most: usize) -> Self {
        let mut list = LimitedList { first: Vec::new(), total: 0 };
        for entry in entries {
            list.total += 1;
            if list.first.len() < most {
                list.first.push(entry);
            }
        }
        list
    }
}
