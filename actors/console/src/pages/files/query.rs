//! The state of the page Files, as its address has it.

use crate::address::{QueryWord, SortBy, page_query};

/// State of the files shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStateFilter {
    /// On a host.
    Placed,
    /// In line for a copy.
    Waiting,
    /// A task copies it.
    Copying,
    /// With enough recent hits to count as hot.
    Hot,
    /// Only on hosts that are down.
    OutOfReach,
    /// No room, no master, or another obstacle that does not end by itself.
    Problem,
    /// The name begins with an ignored prefix.
    Ignored,
}

impl QueryWord for FileStateFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("placed", FileStateFilter::Placed),
        ("waiting", FileStateFilter::Waiting),
        ("copying", FileStateFilter::Copying),
        ("hot", FileStateFilter::Hot),
        ("out_of_reach", FileStateFilter::OutOfReach),
        ("problem", FileStateFilter::Problem),
        ("ignored", FileStateFilter::Ignored),
    ];
}

page_query! {
    /// Query parameters of the page Files.
    FilesPageQuery at "/files" {
        /// Part of the name.
        q: String,
        /// Only files in this state; all without it.
        state: Option<FileStateFilter>,
        /// Word of the planner's reason.
        reason: String,
        /// Host that holds the files.
        host: String,
        /// Order of the rows.
        sort: SortBy,
        /// Cursor of the page of rows.
        after: String,
        /// Picked files, each percent-encoded, because a form changes the ends of lines.
        pick: Vec<String>,
        /// All rows that match are picked, of every page.
        all: bool,
        /// Action whose dialog is open: `copy`, `pin`, `unpin` or `remove`.
        ask: String,
        /// File whose panel "Why?" is open.
        why: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = FilesPageQuery {
            q: "<script>&\n".into(),
            state: Some(FileStateFilter::OutOfReach),
            reason: "no_pair".into(),
            host: "10.4.2.31:8888".into(),
            sort: SortBy::ascending("name"),
            after: "x".into(),
            pick: vec!["a b.mpg".into(), "100%41.mpg".into()],
            all: true,
            ask: "pin".into(),
            why: "영화+예고편.mpg".into(),
        };
        let address = query.address();
        assert_eq!(FilesPageQuery::parse(address.split_once('?').unwrap().1), query);
    }
}
