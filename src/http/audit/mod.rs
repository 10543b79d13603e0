//! Records each changing call in the audit, also a refused one.

mod call_subject;
mod details;
mod reason;
mod recording;

pub use details::AuditDetails;
pub use reason::{kept as kept_reason, of_request as reason_of};
pub use recording::record;
