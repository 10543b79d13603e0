//! The messages between programs. The reader and the writer of a format are in one place.
//!
//! **Invariant:** this crate makes no decisions. `legacy` holds the formats of old cfm and cfw
//! only.

pub mod boxes;
pub mod cluster;
pub mod http_client;
pub mod inventory;
pub mod legacy;
pub mod node_address;
pub mod node_silence;
#[cfg(test)]
mod sent_tests;
pub mod signed_call;
pub mod task_id_text;
pub mod tls;
pub mod worker;
