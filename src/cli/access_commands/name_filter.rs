//! The filter of lists of users, tokens and sessions.

use clap::Args;
use reelyard_console::pages::access::AccessPageQuery;

/// A part of the names in a list.
#[derive(Clone, Debug, Default, Args)]
pub struct NameFilter {
    /// Only those with this text in their name.
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
}

impl NameFilter {
    /// The filter as a query of the API.
    pub fn query(&self) -> [(&'static str, Option<String>); 1] {
        [("contains", self.contains.clone())]
    }

    /// The page of the console with the same filter.
    pub fn web_page(&self) -> String {
        let q = self.contains.clone().unwrap_or_default();
        AccessPageQuery { q, ..AccessPageQuery::default() }.address()
    }
}
