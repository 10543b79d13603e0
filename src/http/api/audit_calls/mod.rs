//! The audit: rows, new rows as they are written, and the whole log.

pub mod audit;
pub mod audit_events;
pub mod audit_export;
pub mod row_filter;
