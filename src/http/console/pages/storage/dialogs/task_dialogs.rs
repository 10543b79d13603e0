//! The dialogs before an action on copies: retry or cancel the chosen ones, or retry all failures of the last hour.

use std::collections::BTreeSet;
use std::sync::Arc;

use reelyard_console::Viewer;
use reelyard_console::address::ROOT;
use reelyard_console::format::{bytes, counted, node_text};
use reelyard_console::pages::tasks::TasksPageQuery;
use reelyard_console::parts::act::{CommandLines, CurlCall};
use reelyard_console::parts::dialog::{AskDialog, NAMES_LISTED};
use reelyard_console::text::{common, outcomes, tasks as words};
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::{Task, TaskState};

use crate::http::console::chosen::{self, ChosenRows};
use crate::http::console::pages::storage::failures;
use crate::http::node_state::NodeHttpState;

/// Whether a task matches the filter of the page.
pub type TaskFilter = fn(&Task, &TasksPageQuery) -> bool;

/// The dialog that an address asks for. None without chosen tasks.
pub fn of_query(
    state: &NodeHttpState,
    query: &TasksPageQuery,
    viewer: &Viewer,
    is_wanted: TaskFilter,
) -> Option<AskDialog> {
    let language = viewer.language;
    let back = TasksPageQuery { ask: String::new(), ..query.clone() }.address();
    let dialog = AskDialog {
        reason_label: Some(outcomes::REASON.of(language).to_owned()),
        back,
        ..AskDialog::default()
    };
    let is_cancel = match query.ask.as_str() {
        "retry_all" => return Some(retry_all(state, dialog, viewer)),
        "retry" => false,
        "cancel" => true,
        _ => return None,
    };
    let chosen = chosen_tasks(state, query, is_wanted);
    if chosen.rows.is_empty() && chosen.unsuited == 0 {
        return None;
    }
    let mut left_out = Vec::new();
    if chosen.unsuited > 0 {
        let why = if is_cancel { words::LEFT_OUT_NOT_OPEN } else { words::LEFT_OUT_NOT_FAILED };
        let tasks = counted(language, common::TASKS, chosen.unsuited);
        left_out.push(why.fill(language, &[("tasks", &tasks)]));
    }
    left_out.extend(chosen.beyond_words(viewer, common::TASKS));
    left_out.extend(absent_picks(state, query, viewer));
    let n = chosen.rows.len() as u64;
    let (question, text, verb) = match is_cancel {
        true => (words::ASK_CANCEL, words::ASK_CANCEL_TEXT, words::VERB_CANCEL),
        false => (words::ASK_RETRY, words::ASK_RETRY_TEXT, outcomes::VERB_RETRY),
    };
    let keys = chosen.rows.iter().map(|task| key(task));
    let sum = bytes(chosen.rows.iter().map(|task| task.size).sum());
    let together = outcomes::SUM_OF_FILES.fill(language, &[("bytes", &sum)]);
    Some(AskDialog {
        question: counted(language, question, n),
        consequence: format!("{} {together}", text.of(language)),
        names: chosen.rows.iter().take(NAMES_LISTED).map(|task| line(task, viewer)).collect(),
        things: n,
        left_out,
        verb: verb.of(language).to_owned(),
        action: format!("{ROOT}/task-actions/{}", query.ask),
        values: match query.all {
            true => chosen::fields(filter(query), keys),
            false => keys.map(|id| ("pick".to_owned(), id)).collect(),
        },
        commands: commands(&query.ask, &chosen.rows),
        ..dialog
    })
}

/// The dialog for all failures of the last hour.
fn retry_all(state: &NodeHttpState, dialog: AskDialog, viewer: &Viewer) -> AskDialog {
    let view = state.actors.task_views.load();
    let retried = failures::retryable(state, None);
    let tasks: Vec<Arc<Task>> =
        retried.iter().filter_map(|id| view.task(*id)).map(Arc::clone).collect();
    let n = retried.len() as u64;
    AskDialog {
        question: counted(viewer.language, words::ASK_RETRY, n),
        consequence: words::ASK_RETRY_TEXT.of(viewer.language).to_owned(),
        names: tasks.iter().take(NAMES_LISTED).map(|task| line(task, viewer)).collect(),
        things: n,
        verb: outcomes::VERB_RETRY.of(viewer.language).to_owned(),
        action: format!("{ROOT}/task-retries"),
        commands: commands("retry", &tasks),
        ..dialog
    }
}

fn line(task: &Arc<Task>, viewer: &Viewer) -> (String, String) {
    let reason = task.reason_in_words().unwrap_or_default();
    (task.name.to_text().name, node_text(viewer.language, &reason))
}

/// The number of a task in a form.
pub fn key(task: &Task) -> String {
    task.id.to_string()
}

/// The state of the page that finds the tasks of a dialog again.
fn filter(query: &TasksPageQuery) -> String {
    let filter = TasksPageQuery {
        pick: Vec::new(),
        after: String::new(),
        why: String::new(),
        ..query.clone()
    };
    filter.pairs().print()
}

/// The picked tasks, or all that match the filter of a page, for which its action can do something. Newest first.
pub fn chosen_tasks(
    state: &NodeHttpState,
    query: &TasksPageQuery,
    is_wanted: TaskFilter,
) -> ChosenRows<Arc<Task>> {
    let view = state.actors.task_views.load();
    let picked: BTreeSet<&str> = query.pick.iter().map(String::as_str).collect();
    let is_chosen = |task: &&Arc<Task>| match query.all {
        true => is_wanted(task, query),
        false => picked.contains(key(task).as_str()),
    };
    let retryable: BTreeSet<TaskId> = match query.ask.as_str() {
        "retry" => failures::retryable_of_any_age(state).into_iter().collect(),
        _ => BTreeSet::new(),
    };
    let is_suited = |task: &&Arc<Task>| match query.ask.as_str() {
        "retry" => retryable.contains(&task.id),
        _ => matches!(task.state, TaskState::Ready | TaskState::Working),
    };
    let all = view.tasks();
    ChosenRows::of(all.into_iter().rev().filter(is_chosen), is_suited).map(Arc::clone)
}

/// The sentence about picked tasks that do not exist.
fn absent_picks(state: &NodeHttpState, query: &TasksPageQuery, viewer: &Viewer) -> Option<String> {
    let view = state.actors.task_views.load();
    let mut absent = query.pick.clone();
    absent.retain(|id| {
        let task = id.parse().ok().and_then(|number| view.task(TaskId(number)));
        !query.all && task.is_none_or(|task| key(task) != *id)
    });
    chosen::gone(viewer, outcomes::GONE_TASKS, &absent)
}

/// The same as lines of commands. `curl` makes one call for each task.
fn commands(word: &str, tasks: &[Arc<Task>]) -> CommandLines {
    let call = |task: &Arc<Task>| {
        let (method, path) = match word {
            "cancel" => ("DELETE", format!("/tasks/{}", task.id)),
            _ => ("POST", format!("/tasks/{}/retry", task.id)),
        };
        CurlCall::new(method, path, String::new())
    };
    chosen::command_lines(tasks, &["tasks", word], |task| key(task), call)
}
