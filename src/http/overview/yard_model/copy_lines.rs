//! Copies as pages show them.

use reelyard_console::pages::yard::CopyLine;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::{Task, TaskManagerView, TaskState};

use crate::http::node_state::NodeHttpState;

/// A running copy without a report for this long has stalled, in milliseconds.
const STALLED_MILLIS: i64 = 30_000;

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
        name: task.name.to_text().name,
        is_hot,
        source: task.source.to_string(),
        destination: task.destination.to_string(),
        size: task.size,
        copied: progress.map(|progress| progress.bytes),
        rate: running.and_then(|seen| state.overview.rate(task.id, seen.bytes, now)),
        stalled: stalled.and_then(|silence| u64::try_from(silence / 1000).ok()),
    }
}
