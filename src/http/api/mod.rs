//! The API, version 1: one file per resource. Answers are the types of
//! [`reelyard_api`] and [`reelyard_protocol::worker`].

pub(in crate::http) mod access_calls;
mod api_call;
pub(in crate::http) mod audit_calls;
pub(in crate::http) mod box_calls;
pub(in crate::http) mod call_parts;
mod calls;
pub mod cluster_calls;
mod member_addresses;
pub(in crate::http) mod node_calls;
mod openapi;
mod read_promise;
mod routes;
pub(in crate::http) mod share_calls;
pub(in crate::http) mod yard_calls;

pub use access_calls::sessions;
pub use api_call::read;
pub use calls::operations;
pub use member_addresses::with_members;
pub use openapi::text as document;
pub use read_promise::{keep_promise, with_promise};
pub use routes::routes;
