//! The audit: an append-only log of changes and refusals, chained by hashes.

mod aggregation;
mod format;
mod log;
#[cfg(test)]
mod log_tests;
mod reading;
mod record;
mod settings;
mod writer;
#[cfg(test)]
mod writer_tests;

pub use format::chain::{AuditPosition, ChainHash};
pub use format::row::AuditRow;
pub use log::AuditLogError;
pub use reading::filter::{AuditOutcome, AuditRowFilter};
pub use reading::reader::{AuditOrder, AuditPage, AuditReader};
pub use reading::verification::{AuditFinding, AuditNotice, AuditReport, verify};
pub use record::{
    AuditActor, AuditActorKind, AuditRecord, LARGEST_REASON, LARGEST_TEXT, REASON_HEADER,
};
pub use settings::{AuditConfig, AuditSettings};
pub use writer::{AuditRecorder, AuditStatus};
