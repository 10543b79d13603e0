//! Actions on copies: cancel one, retry one, retry all with the same cause.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::ProblemKind;
use reelyard_console::address::QueryPairs;
use reelyard_console::format::{count, counted};
use reelyard_console::pages::tasks::TasksPageQuery;
use reelyard_console::text::{Text, common, outcomes, tasks as words};
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::TaskState;
use serde::Deserialize;

use super::{acted_on, done, refused};
use crate::http::api::call_parts::NoQuery;
use crate::http::api::yard_calls::tasks;
use crate::http::audit::AuditDetails;
use crate::http::computing::computed;
use crate::http::console::chosen;
use crate::http::console::pages::storage::dialogs::task_dialogs::{chosen_tasks, key};
use crate::http::console::pages::storage::failures;
use crate::http::console::pages::storage::tasks::is_wanted;
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// An action on a copy, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskAction {
    /// Cancels an open copy.
    Cancel,
    /// Retries a copy that has failed.
    Retry,
}

impl TaskAction {
    /// The word in addresses.
    const fn word(self) -> &'static str {
        match self {
            TaskAction::Cancel => "cancel",
            TaskAction::Retry => "retry",
        }
    }

    /// The sentence after the action, with the number of tasks as `{n}`.
    const fn outcome(self) -> Text {
        match self {
            TaskAction::Cancel => outcomes::COPY_CANCELLED,
            TaskAction::Retry => outcomes::COPIES_RETRIED,
        }
    }
}

/// `POST /console/tasks/{id}/{action}`.
pub async fn act_on_one(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(String, TaskAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    let (id, action) = path.into_inner();
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject(format!("task {id}"));
    let result = match action {
        TaskAction::Cancel => cancel(&state, &visitor, id).await,
        TaskAction::Retry => retry(&state, &visitor, id).await,
    };
    Ok(match result {
        Ok(()) => done(&form, action.outcome().fill(visitor.viewer.language, &[("n", "1")])),
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}

/// `POST /console/task-actions/{action}`: on all tasks in the fields `pick`, or on all that match the filter of the
/// form.
pub async fn act_on_picked(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    action: Path<TaskAction>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let action = action.into_inner();
    let mut ids: Vec<String> = form.all("pick").map(str::to_owned).collect();
    let mut gone = 0;
    if let Some(filter) = chosen::filter_of(&form) {
        let ask = action.word().to_owned();
        let query = TasksPageQuery { ask, all: true, ..TasksPageQuery::parse(filter) };
        let tasks =
            computed(&state, move |state| chosen_tasks(state, &query, is_wanted).rows).await?;
        ids = tasks.iter().map(|task| key(task)).collect();
        match chosen::gone_since(&form, ids.iter().cloned()) {
            Ok(left) => gone = left,
            Err(why) => return Ok(refused(&form, &visitor.viewer, 0, &why)),
        }
    }
    audit.subjects("task", &ids);
    let is_one = ids.len() == 1;
    // Whether the action did anything. One that ended meanwhile does not hold up the others.
    let act = |id: String| async {
        match action {
            TaskAction::Cancel if !is_one && has_ended(&state, &id).is_some() => return Ok(false),
            TaskAction::Cancel => cancel(&state, &visitor, id).await?,
            TaskAction::Retry => retry(&state, &visitor, id).await?,
        }
        Ok(true)
    };
    let all = chosen::act_on_all(ids, chosen::AT_ONCE, act).await;
    let left_out = all.done.iter().filter(|is_acted| !**is_acted).count() as u64;
    let acted = all.done.len() as u64 - left_out;
    let language = visitor.viewer.language;
    let mut outcome = action.outcome().fill(language, &[("n", &count(acted))]);
    if left_out > 0 {
        let ended = counted(language, common::TASKS, left_out);
        let ended = words::LEFT_OUT_NOT_OPEN.fill(language, &[("tasks", &ended)]);
        outcome = format!("{outcome}. {ended}");
    }
    let outcome = chosen::with_gone(&visitor.viewer, outcome, gone);
    Ok(acted_on(&form, &visitor.viewer, (acted, &all), outcome, None))
}

/// `POST /console/task-retries?cause=`: retries the failed copies with this cause, or with any.
pub async fn retry_all(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::YardWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let pairs = QueryPairs::parse(request.query_string());
    let cause = pairs.first("cause").filter(|cause| !cause.is_empty());
    let tasks: Vec<String> =
        failures::retryable(&state, cause).iter().map(ToString::to_string).collect();
    audit.subjects("task", &tasks);
    let act = |task| retry(&state, &visitor, task);
    let all = chosen::act_on_all(tasks, chosen::ONE_AFTER_ANOTHER, act).await;
    let retried = all.done.len() as u64;
    let outcome = outcomes::COPIES_RETRIED.fill(visitor.viewer.language, &[("n", &count(retried))]);
    Ok(acted_on(&form, &visitor.viewer, (retried, &all), outcome, None))
}

/// The state of the task with this number if it has ended.
fn has_ended(state: &Data<NodeHttpState>, id: &str) -> Option<TaskState> {
    let view = state.actors.task_views.load();
    let task = view.task(TaskId(id.parse().ok()?))?;
    (!task.state.is_open()).then_some(task.state)
}

async fn cancel(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    id: String,
) -> Result<(), ProblemResponse> {
    // The call of the API would drop an ended task from the list.
    if let Some(ended) = has_ended(state, &id) {
        let detail = format!("task {id} has ended already: {ended}");
        return Err(ProblemResponse::new(ProblemKind::Transition, detail));
    }
    let caller = visitor.caller.clone();
    tasks::cancel(state.clone(), caller, Path::from(id), Query(NoQuery {}))
        .await
        .map_err(Refusal::into_response)?;
    Ok(())
}

async fn retry(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    id: String,
) -> Result<(), ProblemResponse> {
    let caller = visitor.caller.clone();
    tasks::retry(state.clone(), caller, Path::from(id), Query(NoQuery {}))
        .await
        .map_err(Refusal::into_response)?;
    Ok(())
}
