//! `/api/v1/tasks`: planned, running and ended copies.

use std::str::FromStr;

use actix_web::{HttpResponse, web};
use reelyard_api::{CopyBegun, Page, StateFilter, TaskView, WantedCopy, refused};
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileName, NameText};
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_yard::task_manager::{
    CancelTask, CopyFile, RetryTask, Task, TaskManagerView, TaskState,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::NoQuery;
use crate::http::api::call_parts::{PageQuery, page};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// Filter of the tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Only tasks in this state; `open` means not ended.
    #[param(inline)]
    state: Option<StateFilter>,
    /// Only tasks from or to this host.
    host: Option<HostAddr>,
    /// Only failed tasks with this cause.
    blame: Option<Blame>,
    /// Only tasks with this text in the name of the file or in the address of a host, or with this number.
    contains: Option<String>,
    /// Only tasks whose state changed at or after this time.
    since: Option<Millis>,
    /// Only tasks whose state last changed before this time.
    until: Option<Millis>,
    /// Largest number of items; above 1000 counts as 1000.
    #[param(value_type = Option<u32>, minimum = 1, default = 100)]
    limit: Option<String>,
    /// Cursor to continue a list: `next` of the previous page.
    cursor: Option<String>,
}

/// `GET /tasks`: newest first.
#[utoipa::path(
    get,
    path = "/tasks",
    tag = "tasks",
    operation_id = "listTasks",
    summary = "Lists copies, newest first",
    description = "Open tasks, and ended ones for task.keep_ended.",
    params(TaskQuery),
    responses((status = 200, description = "A page of copies", body = Page<TaskView>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<TaskQuery>,
) -> Result<web::Json<Page<TaskView>>, Refusal<()>> {
    let TaskQuery { state: wanted, host, blame, contains, since, until, limit, cursor } =
        query.into_inner();
    let paging = PageQuery { limit, cursor };
    let (limit, before) = (paging.limit()?, paging.position::<i64>()?);
    let view = state.actors.task_views.load();
    let mut tasks = view.tasks();
    tasks.reverse();
    let items = tasks
        .into_iter()
        .filter(|task| before.is_none_or(|before| task.id.0 < before))
        .filter(|task| wanted.is_none_or(|wanted| wanted.takes(task.state)))
        .filter(|task| host.is_none_or(|host| task.source == host || task.destination == host))
        .filter(|task| blame.is_none_or(|blame| task.blame == Some(blame)))
        .filter(|task| contains.as_ref().is_none_or(|text| mentions(task, text)))
        .filter(|task| since.is_none_or(|since| task.changed >= since))
        .filter(|task| until.is_none_or(|until| task.changed < until))
        .map(|task| with_refusal(task_view(&view, task), &state));
    Ok(web::Json(page(items, limit, |task| task.id)))
}

/// Whether the name of the file or the address of a host contains this text, or it is the number of the task.
pub fn mentions(task: &Task, text: &str) -> bool {
    memchr::memmem::find(task.name.as_bytes(), text.as_bytes()).is_some()
        || task.source.to_string().contains(text)
        || task.destination.to_string().contains(text)
        || task.id.to_string() == text
}

/// `GET /tasks/{id}`.
#[utoipa::path(
    get,
    path = "/tasks/{id}",
    tag = "tasks",
    operation_id = "showTask",
    summary = "Shows one copy",
    params(("id" = String, Path, description = "Number of the task, as in its `id`")),
    responses((status = 200, description = "The copy", body = TaskView))
)]
pub async fn one(
    state: web::Data<NodeHttpState>,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<TaskView>, Refusal<refused::NotFound>> {
    let id = task_id(&id)?;
    let view = state.actors.task_views.load();
    let task = view
        .task(id)
        .ok_or_else(|| ProblemResponse::not_found(format!("task {id} does not exist")))?;
    Ok(web::Json(with_refusal(task_view(&view, task), &state)))
}

/// Adds why an open task waits, if the node refuses the calls of its destination's worker.
fn with_refusal(mut seen: TaskView, state: &NodeHttpState) -> TaskView {
    let is_open = matches!(seen.state, TaskState::Ready | TaskState::Working);
    if is_open && seen.reason.is_none() {
        let why = state.worker_refusals.of(seen.destination, state.clock.now());
        seen.reason = why.map(|why| format!("{}: {why}", seen.destination));
    }
    seen
}

/// `DELETE /tasks/{id}`: cancels an open task, or removes an ended one from the list.
#[utoipa::path(
    delete,
    path = "/tasks/{id}",
    tag = "tasks",
    operation_id = "cancelTask",
    summary = "Cancels a copy, or removes an ended one from the list",
    params(("id" = String, Path, description = "Number of the task, as in its `id`")),
    responses((status = 204, description = "The copy is cancelled, or removed from the list"))
)]
pub async fn cancel(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, Refusal<(refused::NotFound, refused::Transition, CommitProblems)>> {
    let id = task_id(&id)?;
    let request = caller.request(&format!("cancel task {id}"));
    let cancel = CancelTask { id, asked_by: caller.name(), request };
    state.actors.task_manager.ask(cancel).await??;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /tasks`: copies a file now, before better files.
#[utoipa::path(
    post,
    path = "/tasks",
    tag = "tasks",
    operation_id = "copyFile",
    summary = "Copies a file to a destination now, before better files",
    request_body = WantedCopy,
    responses((status = 201, description = "The copy has started", body = CopyBegun))
)]
pub async fn copy(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    _: web::Query<NoQuery>,
    wanted: Body<WantedCopy>,
) -> Result<HttpResponse, Refusal<(refused::NotAllowed, CommitProblems)>> {
    let WantedCopy { name, percent_encoded, destination, source } = wanted.into_inner().0;
    let text = NameText { name, percent_encoded };
    let given = text.name.clone();
    let name = FileName::try_from(text)
        .map_err(|bad| ProblemResponse::bad_request(format!("name: \"{given}\": {bad}")))?;
    let content = format!("copy {} {destination} {source:?}", name.to_percent());
    let (asked_by, request) = (caller.name(), caller.request(&content));
    let destination = Some(destination);
    let copy = CopyFile { name, destination, source, asked_by, request };
    let task = state.actors.task_manager.ask(copy).await??;
    Ok(HttpResponse::Created().json(CopyBegun { task }))
}

/// `POST /tasks/{id}/retry`: retries a failed or cancelled copy now.
#[utoipa::path(
    post,
    path = "/tasks/{id}/retry",
    tag = "tasks",
    operation_id = "retryTask",
    summary = "Retries a failed or cancelled copy now",
    params(("id" = String, Path, description = "Number of the task, as in its `id`")),
    responses((status = 201, description = "The copy has started", body = CopyBegun))
)]
pub async fn retry(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<
    HttpResponse,
    Refusal<(refused::NotFound, refused::Transition, refused::NotAllowed, CommitProblems)>,
> {
    let id = task_id(&id)?;
    let (asked_by, request) = (caller.name(), caller.request(&format!("retry task {id}")));
    let retry = RetryTask { id, asked_by, request };
    let task = state.actors.task_manager.ask(retry).await??;
    Ok(HttpResponse::Created().json(CopyBegun { task }))
}

fn task_id(text: &str) -> Result<TaskId, ProblemResponse> {
    let not_a_number =
        || ProblemResponse::bad_request(format!("\"{text}\" is not the number of a task"));
    i64::from_str(text).map(TaskId).map_err(|_| not_a_number())
}

fn task_view(view: &TaskManagerView, task: &Task) -> TaskView {
    TaskView::of(task, view.progress.get(&task.id).map(|sign| sign.bytes), view.rate_of(task))
}
