//! `GET /tasks`, `PATCH /tasks/{id}` and `DELETE /tasks/{id}`.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::RecipientRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use futures::StreamExt;
use percent_encoding::percent_decode_str;
use reelyard_core::event::RequestId;
use reelyard_core::supervision::Route;
use reelyard_protocol::legacy::cfm::{REELYARD_HEADER, parse_change, parse_task_id};
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::cfm_list::write_tasks;
use reelyard_yard::task_manager::{CancelTask, ChangeRefused, ChangeTask, Task};
use tracing::debug;

use super::state::CompatState;

/// cfm's content type, also for empty bodies.
const JSON: &str = "application/json;charset=UTF-8";

/// Largest body of a `PATCH` in bytes. A cfw sends 20.
const LONGEST_BODY: usize = 64 << 10;

/// Time limit for a change: longer than a commit, shorter than the 10 s that old cfws wait.
const LONGEST_CHANGE: Duration = Duration::from_secs(8);

pub(super) async fn list(request: HttpRequest, state: web::Data<CompatState>) -> HttpResponse {
    // A cfw sends a content type without a body. No other client does.
    let is_cfw = request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let tasks = if is_cfw { (state.tasks_for_cfws)() } else { (state.tasks)() };
    let body = write_tasks(tasks.iter().map(AsRef::as_ref), state.clock.now());
    answer(StatusCode::OK).body(body)
}

/// Checks in cfm's order: id, body, task, transition.
pub(super) async fn change(
    request: HttpRequest,
    body: web::Payload,
    state: web::Data<CompatState>,
) -> HttpResponse {
    // Read the body in any case: a connection with an unread body cannot be used again.
    let body = read(body).await;
    let Some(id) = task_id(&request) else { return empty(StatusCode::BAD_REQUEST) };
    let body = match body {
        Ok(body) => body,
        Err(status) => return empty(status),
    };
    let to = match parse_change(&body) {
        Ok(to) => to,
        Err(why) => {
            debug!(task = %id, %why, "the changed task in the body is not valid");
            return empty(StatusCode::BAD_REQUEST);
        }
    };
    let change = ChangeTask { id, to, request: RequestId::random() };
    ask(&state, &state.change, change).await
}

pub(super) async fn cancel(request: HttpRequest, state: web::Data<CompatState>) -> HttpResponse {
    let Some(id) = task_id(&request) else { return empty(StatusCode::BAD_REQUEST) };
    // A cancelled task does not exist on cfm's wire, although our own list still shows it.
    let is_there = |task: &Arc<Task>| task.id == id && task.old_state().is_some();
    if !(state.tasks)().iter().any(is_there) {
        return empty(StatusCode::NOT_FOUND);
    }
    let asked_by = match request.peer_addr() {
        Some(peer) => format!("cfm wire from {}", peer.ip()),
        None => "cfm wire".to_owned(),
    };
    let cancel = CancelTask { id, asked_by, request: RequestId::random() };
    ask(&state, &state.cancel, cancel).await
}

fn task_id(request: &HttpRequest) -> Option<TaskId> {
    let segment = request.uri().path().rsplit('/').next()?;
    parse_task_id(&percent_decode_str(segment).decode_utf8().ok()?)
}

/// Reads a body up to the limit.
async fn read(mut body: web::Payload) -> Result<Vec<u8>, StatusCode> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| StatusCode::BAD_REQUEST)?;
        if bytes.len() + chunk.len() > LONGEST_BODY {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Sends the message to the TaskManager, if the limit of concurrent changes allows it.
async fn ask<M>(state: &CompatState, manager: &Route<M>, message: M) -> HttpResponse
where
    M: actix::Message<Result = Result<(), ChangeRefused>> + Send + Unpin + 'static,
{
    let Ok(_turn) = state.turns.try_acquire() else {
        return unavailable("busy, retry in 1 s: too many changes are under way");
    };
    let asked: RecipientRequest<M> = manager.recipient().send(message);
    match tokio::time::timeout(LONGEST_CHANGE, asked).await {
        Ok(Ok(Ok(()))) => empty(StatusCode::OK),
        Ok(Ok(Err(ChangeRefused::NoSuchTask(_)))) => empty(StatusCode::NOT_FOUND),
        Ok(Ok(Err(ChangeRefused::Transition { .. }))) => empty(StatusCode::CONFLICT),
        Ok(Ok(Err(ChangeRefused::Commit(error)))) => unavailable(&error.to_string()),
        Ok(Err(_)) => unavailable("the task manager is not running, retry in 1 s"),
        Err(_) => unavailable("outcome unknown: no answer in time, check the task"),
    }
}

fn empty(status: StatusCode) -> HttpResponse {
    answer(status).finish()
}

fn answer(status: StatusCode) -> HttpResponseBuilder {
    let mut answer = HttpResponse::build(status);
    answer.content_type(JSON).insert_header((REELYARD_HEADER, env!("CARGO_PKG_VERSION")));
    answer
}

/// The 503 answer. Old cfws only check for 200; the text is for people.
fn unavailable(why: &str) -> HttpResponse {
    HttpResponse::ServiceUnavailable()
        .content_type("text/plain; charset=utf-8")
        .insert_header((RETRY_AFTER, "1"))
        .body(format!("{why}\n"))
}
