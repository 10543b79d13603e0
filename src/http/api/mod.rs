//! The API, version 1: one file per resource. Answers are the types of
//! [`reelyard_api`] and [`reelyard_protocol::worker`].

mod access_calls;
mod api_call;
mod audit_calls;
mod box_calls;
mod call_parts;
mod calls;
mod node_calls;
mod openapi;
mod routes;
mod share_calls;
mod yard_calls;

pub use access_calls::sessions;
pub use api_call::{API, read};
pub use calls::operations;
pub use openapi::text as document;
pub use routes::routes;
