//! Commands for the audit.

pub mod audit;
mod row_filter;
mod row_table;
mod verify;
