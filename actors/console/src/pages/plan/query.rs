//! The state of the page Plan, as its address has it.

use crate::address::{SortBy, page_query};

page_query! {
    /// Query parameters of the page Plan.
    PlanPageQuery at "/plan" {
        /// All rows of one list are shown: `copies`, `removals`, `exchanges` or `backoff`.
        all: String,
        /// Cursor within that list.
        after: String,
        /// Order of the copies; that of the round without it.
        copies_sort: SortBy,
        /// Order of the removals; that of the round without it.
        removals_sort: SortBy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = PlanPageQuery {
            all: "removals".into(),
            after: "a=b".into(),
            copies_sort: SortBy::ascending("size"),
            removals_sort: SortBy::descending("from"),
        };
        let address = query.address();
        assert_eq!(PlanPageQuery::parse(address.split_once('?').unwrap().1), query);
    }
}
