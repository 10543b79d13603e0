//! Parts that calls share: their queries, bodies and streams, and the check that this node leads.

mod bad_query;
pub mod event_stream;
mod leader_only;
mod limited_list;
mod no_query;
mod objects;
mod paging;

pub use bad_query::bad_query;
pub use leader_only::{LeaderProblems, require_leader};
pub use limited_list::{LimitedList, MOST_LISTED};
pub use no_query::NoQuery;
pub use objects::{Body, Objects};
pub use paging::{NamedPageQuery, PageQuery, page, page_by_key};
