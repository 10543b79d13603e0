//! The state of the page Boxes, as its address has it.

use crate::address::{SortBy, page_query};

page_query! {
    /// Query parameters of the page Boxes.
    BoxesPageQuery at "/boxes" {
        /// The pool whose queue and leases are shown.
        pool: String,
        /// The box whose panel is open.
        number: Option<u64>,
        /// Action whose dialog is open: `revoke`, `quarantine` or `unquarantine`.
        ask: String,
        /// The lease of the dialog.
        lease: String,
        /// Position of the first pool.
        pools: Option<u64>,
        /// Number of the first box in the grid of the chosen pool.
        from: Option<u64>,
        /// Order of the queue; first in line first without it.
        queue_sort: SortBy,
        /// Order of the leases; soonest to end first without it.
        leases_sort: SortBy,
        /// Position of the first request in the queue.
        queued: Option<u64>,
        /// Position of the first lease.
        leases: Option<u64>,
        /// Position of the first box in quarantine.
        quarantined: Option<u64>,
    }
}

impl BoxesPageQuery {
    /// The state of the page without the choice of a pool, and without positions in its lists.
    pub fn of_other_pool(&self) -> Self {
        BoxesPageQuery {
            pools: self.pools,
            quarantined: self.quarantined,
            queue_sort: self.queue_sort.clone(),
            leases_sort: self.leases_sort.clone(),
            ..BoxesPageQuery::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = BoxesPageQuery {
            pool: "judges".into(),
            number: Some(0),
            ask: "revoke".into(),
            lease: "88117".into(),
            pools: Some(50),
            from: Some(2000),
            queue_sort: SortBy::descending("count"),
            leases_sort: SortBy::ascending("box"),
            queued: Some(50),
            leases: Some(100),
            quarantined: Some(50),
        };
        let address = query.address();
        assert_eq!(BoxesPageQuery::parse(address.split_once('?').unwrap().1), query);
    }
}
