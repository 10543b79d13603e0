//! Authentication and authorization of the calls to a node.

mod call_rights;
mod request_caller;

pub use call_rights::{CallRights, authorize};
pub use request_caller::{RequestCaller, authenticate, request_id};
