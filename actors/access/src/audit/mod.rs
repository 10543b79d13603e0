//! The audit: an append-only log of changes and refusals, chained by hashes.

mod aggregation;
mod chain;
mod filter;
mod head;
mod log;
#[cfg(test)]
mod log_tests;
mod reader;
mod record;
mod row;
#[cfg(test)]
mod row_tests;
mod segment;
mod settings;
mod verification;
mod writer;
#[cfg(test)]
mod writer_tests;

pub use chain::{AuditPosition, ChainHash};
pub use filter::{AuditOutcome, AuditRowFilter};
pub use log::AuditLogError;
pub use reader::{AuditOrder, AuditPage, AuditReader};
pub use record::{AuditActor, AuditActorKind, AuditRecord, LARGEST_REASON, REASON_HEADER};
pub use row::AuditRow;
pub use settings::{AuditConfig, AuditSettings};
pub use verification::{AuditFinding, AuditNotice, AuditReport, verify};
pub use writer::{AuditRecorder, AuditStatus};
