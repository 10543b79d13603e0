//! `/console/tasks`: copies that are planned, under way and ended.

use std::cmp::Reverse;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::tasks::{
    self, BlameFilter, TaskCondition, TaskLine, TaskStateFilter, TaskTotals, TasksPageModel,
    TasksPageQuery,
};
use reelyard_console::parts::table::RowPage;
use reelyard_console::text::outcomes;
use reelyard_console::{Moment, Viewer};
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::{Task, TaskManagerView, TaskState};

use super::dialogs::task_dialogs;
use super::failures;
use super::why;
use crate::http::api::yard_calls::tasks::mentions;
use crate::http::computing::computed;
use crate::http::console::answer;
use crate::http::console::chosen;
use crate::http::console::live_part::LivePart;
use crate::http::console::pages::host_choices::host_choices;
use crate::http::console::pages::row_cursor::{cursor, first_behind};
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::yard_model::copy_lines::copy_line;

/// Rows of a page.
const ROWS: usize = 50;

/// `GET /console/tasks`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::YardRead)?;
    let query = TasksPageQuery::parse(request.query_string());
    let why = why::of_file(&state, &query.why).await?;
    let viewer = visitor.viewer.clone();
    let render = move |state: &NodeHttpState| {
        let ask = task_dialogs::of_query(state, &query, &viewer, is_wanted);
        let is_known = matches!(query.ask.as_str(), "retry" | "cancel");
        let is_gone = is_known && !query.all && ask.is_none();
        let picked = if is_gone { query.pick.as_slice() } else { &[] };
        let gone = chosen::gone(&viewer, outcomes::GONE_TASKS, picked);
        let model = TasksPageModel { why, ask, ..model(state, &query) };
        (tasks::render(&query, &model, &viewer), gone)
    };
    let (content, gone) = computed(&state, render).await?;
    let title = NavPage::Tasks.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Tasks, title, content).with_gone(gone);
    Ok(answer::live_page(&request, &state, &visitor, &parts, "tasks"))
}

/// The parts of the page that follow changes.
pub fn live_parts(state: &NodeHttpState, query: &str, viewer: &Viewer) -> Vec<LivePart> {
    let query = TasksPageQuery::parse(query);
    let model = model(state, &query);
    let mut parts = tasks::live_head(viewer, &query, &model);
    parts.push(("rows".to_owned(), tasks::task_rows(viewer, &query, &model)));
    parts.push(("task-failures".to_owned(), tasks::failures(viewer, &query, &model)));
    parts
}

fn model(state: &NodeHttpState, query: &TasksPageQuery) -> TasksPageModel {
    let (view, catalog) = (state.actors.task_views.load(), state.actors.catalog_view.load());
    let now = state.clock.now();
    let mut all = view.tasks();
    all.reverse();
    sort(&mut all, query, &view, state);
    let mut matching: Vec<&Task> = Vec::new();
    for task in all {
        if is_wanted(task, query) {
            matching.push(task);
        }
    }
    let position = |key: &str| {
        let last = key.parse().map(TaskId).ok()?;
        matching.iter().position(|task| task.id == last)
    };
    let first = first_behind(&query.after, (ROWS, matching.len()), position);
    let shown: Vec<&Task> = matching.iter().skip(first).take(ROWS).copied().collect();
    let at = |after: String| {
        let (pick, ask) = (Vec::new(), String::new());
        TasksPageQuery { after, pick, ask, ..query.clone() }.address()
    };
    let of_row = |place: usize, task: &Task| cursor(place, &task.id.to_string());
    let before = first.saturating_sub(ROWS).checked_sub(1).and_then(|last| matching.get(last));
    let next = shown.last().filter(|_| first + shown.len() < matching.len());
    let page = RowPage {
        first: if shown.is_empty() { 0 } else { first as u64 + 1 },
        shown: shown.len() as u64,
        total: Some(matching.len() as u64),
        previous: (first > 0)
            .then(|| at(before.map_or_else(String::new, |task| of_row(first - ROWS, task)))),
        next: next.map(|task| at(of_row(first + shown.len(), task))),
    };
    TasksPageModel {
        totals: totals(state, &view),
        causes: failures::by_cause(&view, now),
        rows: shown.into_iter().map(|task| line(&view, &catalog, task, state)).collect(),
        page,
        hosts: host_choices(view.hosts.iter().map(|planned| &planned.host), &query.host),
        ask: None,
        why: None,
    }
}

/// Sorts tasks that are in the usual order, newest first.
fn sort(
    tasks: &mut [&Arc<Task>],
    query: &TasksPageQuery,
    view: &TaskManagerView,
    state: &NodeHttpState,
) {
    let catalog = state.actors.catalog_view.load();
    // Only copies under way have a rate.
    let running = |task: &Task| {
        (task.state == TaskState::Working).then(|| copy_line(view, &catalog, task, state))
    };
    match query.sort.key.as_str() {
        "name" => tasks.sort_by(|a, b| a.name.cmp(&b.name)),
        "state" => tasks.sort_by_key(|task| task.state as u8),
        "from" => tasks.sort_by_key(|task| (task.source, task.destination)),
        "copied" => tasks.sort_by_cached_key(|task| copied(view, task)),
        "rate" => tasks.sort_by_cached_key(|task| running(task).and_then(|copy| copy.rate)),
        "left" => tasks.sort_by_cached_key(|task| {
            running(task).and_then(|copy| copy.seconds_left()).unwrap_or(u64::MAX)
        }),
        "size" => tasks.sort_by_key(|task| task.size),
        "created" => tasks.sort_by_key(|task| task.id),
        "age" => tasks.sort_by_key(|task| Reverse(task.id)),
        _ => return,
    }
    if query.sort.descending {
        tasks.reverse();
    }
}

/// The bytes that have arrived.
fn copied(view: &TaskManagerView, task: &Task) -> u64 {
    match task.state {
        TaskState::Done => task.size,
        _ => view.progress.get(&task.id).map_or(0, |progress| progress.bytes),
    }
}

/// Whether a task matches the filter of the page.
pub fn is_wanted(task: &Task, query: &TasksPageQuery) -> bool {
    let state = query.state.is_none_or(|wanted| match wanted {
        TaskStateFilter::Open => matches!(task.state, TaskState::Ready | TaskState::Working),
        TaskStateFilter::Failed => task.has_failed(),
        TaskStateFilter::Done => task.state == TaskState::Done,
        TaskStateFilter::Cancelled => task.state == TaskState::Cancelled,
    });
    let blamed = query.blamed.is_none_or(|wanted| match task.blame {
        Some(Blame::Source) => wanted == BlameFilter::Source,
        Some(Blame::Destination) => wanted == BlameFilter::Destination,
        Some(Blame::File) => wanted == BlameFilter::File,
        Some(Blame::Pair) | None => false,
    });
    let is_host = |host: HostAddr| host.to_string() == query.host;
    let host = query.host.is_empty() || is_host(task.source) || is_host(task.destination);
    let sought = query.q.trim();
    let text = sought.is_empty() || mentions(task, sought);
    let cause = || task.has_failed() && failures::cause_key(task) == query.cause;
    state && blamed && host && text && (query.cause.is_empty() || cause())
}

fn totals(state: &NodeHttpState, view: &TaskManagerView) -> TaskTotals {
    // A busy yard ends more tasks in an hour than the list keeps.
    let lately = state.last_hour();
    let mut totals = TaskTotals {
        all: (view.open.len() + view.ended.len()) as u64,
        waiting: view.plan.wanted.saturating_sub(view.open.len() as u64),
        done_lately: lately.done,
        failed_lately: lately.failed,
        ..TaskTotals::default()
    };
    for task in view.open.values().chain(view.ended.values()) {
        match task.state {
            TaskState::Working => totals.working += 1,
            TaskState::Ready => totals.ready += 1,
            TaskState::Done => totals.done += 1,
            TaskState::Cancelled => totals.cancelled += 1,
            TaskState::Failed | TaskState::Timeout => totals.failed += 1,
        }
    }
    totals
}

fn line(
    view: &TaskManagerView,
    catalog: &CatalogView,
    task: &Task,
    state: &NodeHttpState,
) -> TaskLine {
    TaskLine {
        id: task.id.to_string(),
        copy: copy_line(view, catalog, task, state),
        condition: match task.state {
            TaskState::Ready => TaskCondition::Ready,
            TaskState::Working => TaskCondition::Working,
            TaskState::Done => TaskCondition::Done,
            TaskState::Failed => TaskCondition::Failed,
            TaskState::Timeout => TaskCondition::TimedOut,
            TaskState::Cancelled => TaskCondition::Cancelled,
        },
        created: Moment(task.created.0),
        reason: task.reason_in_words().unwrap_or_default(),
    }
}
