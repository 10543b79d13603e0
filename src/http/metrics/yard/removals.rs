//! Metrics of removals.

use std::fmt;

use reelyard_yard::remover::{RemovalMode, RemovedFor, RemoverView};

use crate::http::metrics::page::metrics_writer::MetricsWriter;

/// Writes the metrics of the Remover.
pub fn write(sheet: &mut MetricsWriter<'_>, view: &RemoverView) -> fmt::Result {
    let counters = &view.counters;
    let help = "Copies removed while this node led";
    sheet.counters("copies_removed", help, by_reason(counters.removed_for))?;
    let help = "Bytes of removed copies with a known size, by reason";
    sheet.counters("removed_bytes", help, by_reason(counters.removed_bytes_for))?;
    let help = "Files that replaced copies with less demand while this node led";
    sheet.counter("exchanges", help, counters.exchanges)?;
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
    let budget = last.and_then(|round| round.exchange_budget);
    let help = "Bytes that exchanges may remove in 24 hours";
    sheet.maybe_gauge("exchange_budget_bytes", help, budget.map(|budget| budget.bytes))?;
    let help = "Bytes that exchanges may still remove now";
    sheet.maybe_gauge("exchange_budget_left_bytes", help, budget.map(|budget| budget.left))?;
    let took = last.map(|round| round.took_us as f64 / 1e6);
    sheet.maybe_gauge(
        "removal_last_round_seconds",
        "Time of the last check of all copies, in seconds",
        took,
    )
}

/// The series of a number by the reason of a removal.
fn by_reason(removed: RemovedFor) -> [([(&'static str, &'static str); 1], u64); 5] {
    let RemovedFor { duplicate, draining, over_limit, makes_room, exchanged } = removed;
    [
        ([("reason", "duplicate")], duplicate),
        ([("reason", "draining")], draining),
        ([("reason", "over_limit")], over_limit),
        ([("reason", "makes_room")], makes_room),
        ([("reason", "exchanged")], exchanged),
    ]
}
