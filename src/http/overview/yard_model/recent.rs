//! The last copies and removals.

use reelyard_console::Moment;
use reelyard_console::format::FileText;
use reelyard_console::pages::yard::{RecentLine, RecentStep};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, NameTable, NameText};
use reelyard_yard::remover::Ending;
use reelyard_yard::task_manager::TaskState;

use crate::http::node_state::NodeHttpState;

/// The last copies and removals, newest first: at most `most`, on this host or on all.
pub fn lines(state: &NodeHttpState, host: Option<HostAddr>, most: usize) -> Vec<RecentLine> {
    let (tasks, removals) = (state.actors.task_views.load(), state.actors.remover_views.load());
    let is_here = |at: HostAddr| host.is_none_or(|host| host == at);
    let copies = tasks.history.newest_first().map(|(_, copy)| copy);
    let copies = copies.filter(|copy| is_here(copy.destination)).take(most);
    let mut lines: Vec<RecentLine> = copies
        .map(|copy| RecentLine {
            step: match copy.state {
                TaskState::Done => RecentStep::Copied,
                TaskState::Cancelled => RecentStep::Cancelled,
                _ => RecentStep::Failed,
            },
            name: shown_name(&state.names, copy.file),
            host: copy.destination.to_string(),
            at: Moment(copy.at.0),
        })
        .collect();
    let removed = removals.history.newest_first().map(|(_, removal)| removal);
    let removed = removed.filter(|removal| is_here(removal.host)).take(most);
    lines.extend(removed.map(|removal| RecentLine {
        step: match removal.ending {
            Ending::Removed | Ending::Absent => RecentStep::Removed,
            _ => RecentStep::Failed,
        },
        name: shown_name(&state.names, removal.file),
        host: removal.host.to_string(),
        at: Moment(removal.at.0),
    }));
    lines.sort_by_key(|line| std::cmp::Reverse(line.at));
    lines.truncate(most);
    lines
}

/// The name of a file as pages show it.
pub fn shown_name(names: &NameTable, file: FileId) -> FileText {
    file_text(names.name(file).to_text())
}

/// A name of the API as pages show it.
pub fn file_text(name: NameText) -> FileText {
    FileText { text: name.name, is_encoded: name.percent_encoded }
}
