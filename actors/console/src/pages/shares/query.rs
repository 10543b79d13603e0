//! The state of the page Shares, as its address has it.

use crate::address::{QueryWord, SortBy, page_query};

/// State of the links shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareStateFilter {
    /// They end within 24 hours.
    Due,
    /// They ended, were revoked, or are used up.
    Ended,
}

impl QueryWord for ShareStateFilter {
    const WORDS: &'static [(&'static str, Self)] =
        &[("due", ShareStateFilter::Due), ("ended", ShareStateFilter::Ended)];
}

page_query! {
    /// Query parameters of the page Shares.
    SharesPageQuery at "/shares" {
        /// Part of the path or owner.
        q: String,
        /// State; without one the links that work.
        state: Option<ShareStateFilter>,
        /// Column of the time line whose links are shown.
        due: Option<u64>,
        /// Order of the rows.
        sort: SortBy,
        /// Cursor of the page of rows.
        after: String,
        /// Picked links, by number.
        pick: Vec<String>,
        /// All rows that match are picked, of every page.
        all: bool,
        /// Action whose dialog is open: `extend` or `revoke`.
        ask: String,
        /// The panel of a new link is open.
        new: bool,
        /// Path of the new link.
        path: String,
        /// Lifetime of the new link, or of an extension.
        ttl: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = SharesPageQuery {
            q: "press/개봉".into(),
            state: Some(ShareStateFilter::Due),
            due: Some(17),
            sort: SortBy::ascending("path"),
            after: "z".into(),
            pick: vec!["12".into()],
            all: true,
            ask: "revoke".into(),
            new: true,
            path: "a b/c.mpg".into(),
            ttl: "7d".into(),
        };
        let address = query.address();
        assert_eq!(SharesPageQuery::parse(address.split_once('?').unwrap().1), query);
    }
}
