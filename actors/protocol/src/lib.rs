//! What programs say to each other. The reader and the writer of a format stand side by side.
//!
//! **Invariant:** nothing here decides. `legacy` holds what exists only for old cfm and cfw.

pub mod boxes;
pub mod http_client;
pub mod inventory;
pub mod legacy;
#[cfg(test)]
mod sent_tests;
pub mod signed_call;
pub mod task_id_text;
pub mod worker;
