//! Metrics of the journal.

use std::fmt;

use reelyard_journal::JournalStatus;

use super::page::metrics_writer::MetricsWriter;

/// Writes the state of the journal.
pub fn write(sheet: &mut MetricsWriter<'_>, status: &JournalStatus) -> fmt::Result {
    commits(sheet, status)?;
    let leads = u64::from(status.leading.is_some());
    sheet.gauge("journal_leads", "1 if this node is the leader", leads)?;
    let help = "Number of the leader that this node knows";
    sheet.maybe_gauge("journal_leader_node", help, status.leader)?;
    sheet.gauge("journal_epoch", "Highest epoch that this node knows", status.term)?;
    let help = "Index of the last durable entry";
    sheet.gauge("journal_last_index", help, status.last_log.unwrap_or(0))?;
    let help = "Index of the last applied entry";
    sheet.gauge("journal_applied_index", help, status.applied.unwrap_or(0))?;
    sheet.gauge("journal_log_bytes", "Size of the log in bytes", status.log_bytes)?;
    let help = "Size of the newest snapshot in bytes";
    sheet.gauge("journal_snapshot_bytes", help, status.snapshot_bytes)?;
    let help = "Free bytes on the disk of the journal";
    sheet.gauge("journal_disk_free_bytes", help, status.disk_free)?;
    let full = u64::from(status.disk_full.is_some());
    sheet.gauge(
        "journal_disk_full",
        "1 if the journal refuses changes because its disk is full",
        full,
    )?;
    let failed = u64::from(status.failure.is_some());
    sheet.gauge("journal_failed", "1 if the journal has failed", failed)
}

fn commits(sheet: &mut MetricsWriter<'_>, status: &JournalStatus) -> fmt::Result {
    sheet.counter("journal_commits", "Commits answered with their outcome", status.commits)?;
    let help = "Time from a commit to its answer, in seconds";
    sheet.durations("journal_commit_seconds", help, &status.commit_time)?;
    sheet.counter("journal_events", "Events in answered commits", status.events)?;
    sheet.counter("journal_entries", "Log entries written for answered commits", status.entries)?;
    sheet.counter("journal_flushes", "Syncs to the disk", status.flushes)?;
    let help = "Commits that wait for an entry";
    sheet.gauge("journal_queued_commits", help, status.queued)?;
    let refused = [
        ("busy", status.refused_busy),
        ("not_leading", status.refused_not_leading),
        ("too_large", status.refused_too_large),
        ("disk_full", status.refused_disk_full),
    ];
    let refused = refused.map(|(reason, count)| ([("reason", reason)], count));
    sheet.counters("journal_commits_refused", "Commits refused", refused)?;
    let help = "Commits that ended with an unknown outcome: timed out, or leadership lost";
    sheet.counter("journal_commits_unknown", help, status.unknown)
}
