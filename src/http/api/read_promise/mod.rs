//! Reads with a promise, and how old an answer of the API can be.
//!
//! Each answer names the last entry of the journal that it shows, and how old it can be. A read can ask for more by its
//! query: a leader that confirms its rank first, a certain entry, or a greatest age. If the node cannot promise that,
//! it refuses the read.

mod promise_query;
pub mod promised_answer;

pub use promise_query::ReadPromise;
pub use promised_answer::{keep_promise, with_promise};
