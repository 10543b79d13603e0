//! Metrics of the audit.

use std::fmt;

use reelyard_access::audit::AuditStatus;

use super::page::metrics_writer::MetricsWriter;

/// Writes the counters of the audit.
pub fn write(sheet: &mut MetricsWriter<'_>, status: &AuditStatus) -> fmt::Result {
    sheet.counter("audit_rows", "Rows written to the audit", status.written)?;
    let help = "Changes and refused calls without a row: the disk was full or too slow";
    sheet.counter("audit_rows_lost", help, status.lost)?;
    let failed = u64::from(status.trouble.is_some());
    sheet.gauge("audit_failed", "1 if the audit cannot be written", failed)
}
