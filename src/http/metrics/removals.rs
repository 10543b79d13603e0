//! Metrics of removals.

use std::fmt;

use reelyard_yard::remover::{RemovalMode, RemoverView};

use super::page::metrics_writer::MetricsWriter;

/// Writes the metrics of the Remover.
pub fn write(sheet: &mut MetricsWriter<'_>, view: &RemoverView) -> fmt::Result {
    let counters = &view.counters;
    let reasons = [
        ("duplicate", counters.removed_for.duplicate),
        ("draining", counters.removed_for.draining),
        ("over_limit", counters.removed_for.over_limit),
        ("makes_room", counters.removed_for.makes_room),
        ("exchanged", counters.removed_for.exchanged),
    ];
    let reasons = reasons.map(|(reason, count)| ([("reason", reason)], count));
    sheet.counters("copies_removed", "Copies removed while this node led", reasons)?;
    let help = "Bytes of removed copies with a known size";
    sheet.counter("removed_bytes", help, counters.removed_bytes)?;
    let ends = [
        ("removed", counters.removed),
        ("absent", counters.absent),
        ("refused", counters.refused_by_hosts),
        ("still_there", counters.still_there),
        ("not_asked", counters.not_asked),
    ];
    let ends = ends.map(|(outcome, count)| ([("outcome", outcome)], count));
    sheet.counters("removals_ended", "Removals that ended while this node led", ends)?;
    sheet.counter("removal_rounds", "Removal rounds", counters.rounds)?;
    sheet.gauge("removals", "Copies planned for removal", view.open.len())?;
    sheet.gauge("pinned_files", "Pinned files", view.pins.len())?;
    let is_held_back = u64::from(view.mode != RemovalMode::On);
    sheet.gauge("removal_held_back", "1 if automatic removal is held back", is_held_back)?;
    let last = view.last.as_ref();
    let over = last.map(|round| round.reliefs.len());
    sheet.maybe_gauge("hosts_over_limit", "Disks over their limits", over)?;
    let took = last.map(|round| round.took_us as f64 / 1e6);
    sheet.maybe_gauge(
        "removal_last_round_seconds",
        "Time of the last check of all copies, in seconds",
        took,
    )
}
