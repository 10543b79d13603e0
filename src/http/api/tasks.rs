//! `/api/v1/tasks`: the copies, planned, under way and ended.

use std::str::FromStr;

use actix_web::{HttpResponse, web};
use reelyard_actors::event::RequestId;
use reelyard_actors::host::HostAddr;
use reelyard_actors::task_manager::{CancelTask, Task, TaskManagerView};
use reelyard_actors::wire::api::{Page, StateFilter, TaskView};
use reelyard_actors::wire::worker::TaskId;
use serde::Deserialize;

use super::NoQuery;
use super::paging::{PageQuery, page};
use crate::http::node::NodeState;
use crate::http::problem::Refusal;

/// Which tasks are asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskQuery {
    /// A state, or `open` for those that have not ended.
    state: Option<StateFilter>,
    /// Only those from or to this host.
    host: Option<HostAddr>,
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /tasks`: newest first.
pub async fn list(
    state: web::Data<NodeState>,
    query: web::Query<TaskQuery>,
) -> Result<web::Json<Page<TaskView>>, Refusal> {
    let TaskQuery { state: wanted, host, limit, cursor } = query.into_inner();
    let paging = PageQuery { limit, cursor };
    let (limit, before) = (paging.limit()?, paging.position::<i64>()?);
    let view = state.actors.task_board.view();
    let mut tasks = view.tasks();
    tasks.reverse();
    let items = tasks
        .into_iter()
        .filter(|task| before.is_none_or(|before| task.id.0 < before))
        .filter(|task| wanted.is_none_or(|wanted| wanted.takes(task.state)))
        .filter(|task| host.is_none_or(|host| task.source == host || task.destination == host))
        .map(|task| shown(&view, task));
    Ok(web::Json(page(items, limit, |task| task.id)))
}

/// `GET /tasks/{id}`.
pub async fn one(
    state: web::Data<NodeState>,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<web::Json<TaskView>, Refusal> {
    let id = task_id(&id)?;
    let view = state.actors.task_board.view();
    let task = view.task(id).ok_or_else(|| Refusal::not_found(format!("there is no task {id}")))?;
    Ok(web::Json(shown(&view, task)))
}

/// `DELETE /tasks/{id}`: an open task is cancelled, an ended one dropped from the list.
pub async fn cancel(
    state: web::Data<NodeState>,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, Refusal> {
    let cancel =
        CancelTask { id: task_id(&id)?, asked_by: "api".to_owned(), request: RequestId::random() };
    state.actors.task_manager.ask(cancel).await??;
    Ok(HttpResponse::NoContent().finish())
}

fn task_id(text: &str) -> Result<TaskId, Refusal> {
    let not_a_number = || Refusal::bad_request(format!("\"{text}\" is not a task's number"));
    i64::from_str(text).map(TaskId).map_err(|_| not_a_number())
}

fn shown(view: &TaskManagerView, task: &Task) -> TaskView {
    TaskView::of(task, view.progress.get(&task.id).map(|sign| sign.bytes), view.rate_of(task))
}
