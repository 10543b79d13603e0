//! Metrics of copies: planned, running, waiting and ended.

use std::fmt;

use reelyard_yard::task_manager::{Blamed, TaskManagerView, TaskState};

use crate::http::metrics::page::metrics_writer::MetricsWriter;

/// Writes the metrics of the TaskManager.
pub fn write(sheet: &mut MetricsWriter<'_>, view: &TaskManagerView) -> fmt::Result {
    ends(sheet, view)?;
    write_tasks(sheet, view)?;
    planning(sheet, view)
}

fn ends(sheet: &mut MetricsWriter<'_>, view: &TaskManagerView) -> fmt::Result {
    let counters = &view.counters;
    sheet.counter("copies_planned", "Copies planned by this node", counters.created)?;
    let outcomes = [
        ("done", counters.completed),
        ("failed", counters.failed),
        ("timeout", counters.timed_out),
        ("cancelled", counters.cancelled),
    ];
    let outcomes = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count));
    sheet.counters("copies_ended", "Copies that ended while this node led", outcomes)?;
    let help = "Copies without a hash of the source to compare with";
    sheet.counter("copies_unverified", help, counters.unverified)?;
    let bytes = [
        ("ranked", counters.copied_bytes.ranked),
        ("hot", counters.copied_bytes.hot),
        ("requested", counters.copied_bytes.requested),
    ];
    let bytes = bytes.map(|(reason, bytes)| ([("reason", reason)], bytes));
    sheet.counters("copied_bytes", "Bytes of finished copies, by reason", bytes)?;
    let blamed = [
        ("source", counters.blamed.source),
        ("destination", counters.blamed.destination),
        ("file", counters.blamed.file),
        ("pair", counters.blamed.pair),
        ("nobody", counters.blamed.nobody),
    ];
    let blamed = blamed.map(|(blame, count)| ([("blame", blame)], count));
    let help = "Copies that failed or timed out, by cause";
    sheet.counters("copy_failures", help, blamed)?;
    sheet.counter("task_reports", "Reports received from workers", counters.reports)?;
    let help = "Task events that had no effect because the task had changed";
    sheet.counter("task_events_refused", help, counters.refused)?;
    let help = "Commits of tasks with an unknown outcome";
    sheet.counter("task_commits_unknown", help, counters.uncommitted)
}

fn write_tasks(sheet: &mut MetricsWriter<'_>, view: &TaskManagerView) -> fmt::Result {
    let in_state = |state| view.open.values().filter(|task| task.state == state).count();
    let open = [("ready", TaskState::Ready), ("working", TaskState::Working)];
    let open = open.map(|(word, state)| ([("state", word)], in_state(state)));
    sheet.gauges("tasks", "Planned and running copies", open)?;
    let mut held = [("source", 0_u64), ("destination", 0), ("file", 0), ("pair", 0)];
    for (blamed, _) in view.left_alone() {
        let one = match blamed {
            Blamed::Source(_) => &mut held[0],
            Blamed::Destination(_) => &mut held[1],
            Blamed::File(_) => &mut held[2],
            Blamed::Pair(..) => &mut held[3],
        };
        one.1 += 1;
    }
    let held = held.map(|(of, count)| ([("of", of)], count));
    sheet.gauges("back_offs", "Hosts, files and pairs in backoff after failures", held)?;
    let sure = view.foreign_managers.iter().filter(|manager| manager.sure).count();
    let counts = [("true", sure), ("false", view.foreign_managers.len() - sure)];
    let counts = counts.map(|(sure, count)| ([("sure", sure)], count));
    sheet.gauges("foreign_managers", "Signs of another manager of this yard", counts)
}

fn planning(sheet: &mut MetricsWriter<'_>, view: &TaskManagerView) -> fmt::Result {
    let plan = &view.plan;
    sheet.gauge("files_graded", "Files in the ranking", plan.graded)?;
    let help = "Graded files that need a copy, including files whose copy is running";
    sheet.gauge("files_wanted", help, plan.wanted)?;
    let waiting = plan.wanted.saturating_sub(view.open.len() as u64);
    sheet.gauge("files_waiting", "Files that wait for a source or a destination", waiting)?;
    let help = "Files larger than the free room of every destination";
    sheet.gauge("files_too_big", help, plan.too_big)?;
    let help = "Time of a planning round, in seconds";
    sheet.durations("planning_round_seconds", help, &view.counters.round_time)
}
