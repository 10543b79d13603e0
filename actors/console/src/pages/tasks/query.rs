//! The state of the page Tasks, as its address has it.

use crate::address::{QueryWord, SortBy, page_query};

/// State of the tasks shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStateFilter {
    /// Ready or working.
    Open,
    /// Failed or timed out.
    Failed,
    /// The destination has the whole file.
    Done,
    /// An operator, a mode or a change of hosts ended it.
    Cancelled,
}

impl QueryWord for TaskStateFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("open", TaskStateFilter::Open),
        ("failed", TaskStateFilter::Failed),
        ("done", TaskStateFilter::Done),
        ("cancelled", TaskStateFilter::Cancelled),
    ];
}

/// The side that a failure is blamed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlameFilter {
    /// The host that serves the file.
    Source,
    /// The host that gets the file.
    Destination,
    /// The file itself, such as an unreadable master.
    File,
}

impl QueryWord for BlameFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("source", BlameFilter::Source),
        ("destination", BlameFilter::Destination),
        ("file", BlameFilter::File),
    ];
}

page_query! {
    /// Query parameters of the page Tasks.
    TasksPageQuery at "/tasks" {
        /// Part of the file name, host or task number.
        q: String,
        /// Only tasks in this state; all without it.
        state: Option<TaskStateFilter>,
        /// Host, as source or destination.
        host: String,
        /// Side that failures are blamed on.
        blamed: Option<BlameFilter>,
        /// Key of a cause of failures.
        cause: String,
        /// Order of the rows.
        sort: SortBy,
        /// Cursor of the page of rows.
        after: String,
        /// Picked tasks, by number.
        pick: Vec<String>,
        /// All rows that match are picked, of every page.
        all: bool,
        /// Action whose dialog is open: `retry`, `cancel`, or `retry_all` for every failure of the last hour.
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
        let query = TasksPageQuery {
            q: "1795396895763".into(),
            state: Some(TaskStateFilter::Failed),
            host: "10.4.2.31:8888".into(),
            blamed: Some(BlameFilter::Destination),
            cause: "no space left".into(),
            sort: SortBy::descending("created"),
            after: "9".into(),
            pick: vec!["17".into()],
            all: true,
            ask: "retry".into(),
            why: "a&b.mpg".into(),
        };
        let address = query.address();
        assert_eq!(TasksPageQuery::parse(address.split_once('?').unwrap().1), query);
    }
}
