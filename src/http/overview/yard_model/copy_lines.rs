//! Copies as pages show them.

use reelyard_console::pages::yard::CopyLine;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::{Task, TaskManagerView, TaskState};

use super::recent::file_text;
use crate::http::node_state::NodeHttpState;

/// A running copy without a report for this long has stalled, in milliseconds.
const STALLED_MILLIS: i64 = 30_000;

/// Shortest time for the mean rate of a copy, in milliseconds.
const LEAST_MEAN_MILLIS: i64 = 1000;

/// The mean rate of a copy since its begin, for a copy that is younger than the looks at the rates.
fn since_begin(bytes: u64, millis: i64) -> Option<u64> {
    let millis = u64::try_from(millis).ok().filter(|_| millis >= LEAST_MEAN_MILLIS)?;
    (bytes > 0).then(|| bytes.saturating_mul(1000) / millis)
}

/// The row of a copy.
pub fn copy_line(
    tasks: &TaskManagerView,
    catalog: &CatalogView,
    task: &Task,
    state: &NodeHttpState,
) -> CopyLine {
    let now = state.clock.now();
    let progress = tasks.progress.get(&task.id);
    let file = state.names.find(task.name.as_bytes());
    let is_hot = file.is_some_and(|file| catalog.rising.hot().iter().any(|(hot, _)| *hot == file));
    let is_working = task.state == TaskState::Working;
    let silence = progress.map(|progress| now.0 - progress.at.0);
    let stalled = silence.filter(|silence| is_working && *silence > STALLED_MILLIS);
    let running = progress.filter(|_| is_working && stalled.is_none());
    CopyLine {
        name: file_text(task.name.to_text()),
        is_hot,
        source: task.source.to_string(),
        destination: task.destination.to_string(),
        size: task.size,
        copied: progress.map(|progress| progress.bytes),
        rate: running.and_then(|seen| {
            let lately = state.overview.rate(task.id, seen.bytes, now);
            lately.or_else(|| since_begin(seen.bytes, now.0 - task.changed.0))
        }),
        stalled: stalled.and_then(|silence| u64::try_from(silence / 1000).ok()),
    }
}
