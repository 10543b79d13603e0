//! The journal.

use std::fmt;

use reelyard_actors::journal::JournalStatus;

use super::sheet::Sheet;

/// Writes how the journal is.
pub fn write(sheet: &mut Sheet<'_>, status: &JournalStatus) -> fmt::Result {
    commits(sheet, status)?;
    let leads = u64::from(status.leading.is_some());
    sheet.gauge("journal_leads", "1 while this node leads and decides", leads)?;
    let help = "The node that leads, as far as this one knows";
    sheet.maybe_gauge("journal_leader_node", help, status.leader)?;
    sheet.gauge("journal_epoch", "The newest epoch that this node has heard of", status.term)?;
    let help = "The last entry that is durable here";
    sheet.gauge("journal_last_index", help, status.last_log.unwrap_or(0))?;
    let help = "The last entry that is applied here";
    sheet.gauge("journal_applied_index", help, status.applied.unwrap_or(0))?;
    sheet.gauge("journal_log_bytes", "Bytes of the log that is kept", status.log_bytes)?;
    let help = "Bytes of the newest snapshot";
    sheet.gauge("journal_snapshot_bytes", help, status.snapshot_bytes)?;
    let help = "Bytes free on the disk of the journal";
    sheet.gauge("journal_disk_free_bytes", help, status.disk_free)?;
    let full = u64::from(status.disk_full.is_some());
    sheet.gauge("journal_disk_full", "1 while nothing is taken for want of room", full)?;
    let failed = u64::from(status.failure.is_some());
    sheet.gauge("journal_failed", "1 once the journal cannot go on", failed)
}

fn commits(sheet: &mut Sheet<'_>, status: &JournalStatus) -> fmt::Result {
    sheet.counter("journal_commits", "Commits answered with outcomes", status.commits)?;
    let help = "How long commits took, from being handed in to their answer";
    sheet.durations("journal_commit_seconds", help, &status.commit_time)?;
    sheet.counter("journal_events", "Events in these commits", status.events)?;
    sheet.counter("journal_entries", "Entries they were joined into", status.entries)?;
    sheet.counter("journal_flushes", "Flushes that reached the disk", status.flushes)?;
    let help = "Commits that wait to be put into an entry";
    sheet.gauge("journal_queued_commits", help, status.queued)?;
    let refused = [
        ("busy", status.refused_busy),
        ("not_leading", status.refused_not_leading),
        ("too_large", status.refused_too_large),
        ("disk_full", status.refused_disk_full),
    ];
    let refused = refused.map(|(reason, count)| ([("reason", reason)], count));
    sheet.counters("journal_commits_refused", "Commits that were refused", refused)?;
    let help = "Commits whose outcome was not known in time";
    sheet.counter("journal_commits_unknown", help, status.unknown)
}
