//! Actions on copies: cancel one, retry one, retry all with the same cause.

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::ProblemKind;
use reelyard_console::address::QueryPairs;
use reelyard_console::format::count;
use reelyard_console::pages::tasks::TasksPageQuery;
use reelyard_console::text::{Text, outcomes};
use reelyard_protocol::worker::TaskId;
use serde::Deserialize;

use super::{done, refused};
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
    if let Some(filter) = chosen::filter_of(&form) {
        let ask = action.word().to_owned();
        let query = TasksPageQuery { ask, all: true, ..TasksPageQuery::parse(filter) };
        let tasks =
            computed(&state, move |state| chosen_tasks(state, &query, is_wanted).rows).await?;
        ids = tasks.iter().map(|task| key(task)).collect();
        if let Some(why) = chosen::changed_since(&form, ids.iter().cloned()) {
            return Ok(refused(&form, &visitor.viewer, 0, &why));
        }
    }
    audit.subject(format!("task {}", chosen::named(&ids)));
    let act = |id| async {
        match action {
            TaskAction::Cancel => cancel(&state, &visitor, id).await,
            TaskAction::Retry => retry(&state, &visitor, id).await,
        }
    };
    let (acted, why) = chosen::act_on_all(ids, chosen::AT_ONCE, act).await;
    let acted = acted.len() as u64;
    Ok(match why {
        Some(why) => refused(&form, &visitor.viewer, acted, &why),
        None => {
            let values = [("n", &*count(acted))];
            done(&form, action.outcome().fill(visitor.viewer.language, &values))
        }
    })
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
    let mut retried: u64 = 0;
    for task in failures::retryable(&state, cause) {
        if let Err(why) = retry(&state, &visitor, task.to_string()).await {
            return Ok(refused(&form, &visitor.viewer, retried, &why));
        }
        retried += 1;
    }
    let outcome = outcomes::COPIES_RETRIED.fill(visitor.viewer.language, &[("n", &count(retried))]);
    Ok(done(&form, outcome))
}

async fn cancel(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    id: String,
) -> Result<(), ProblemResponse> {
    // The call of the API would drop an ended task from the list.
    let view = state.actors.task_views.load();
    let ended = id.parse().ok().and_then(|number| view.task(TaskId(number)));
    if let Some(task) = ended.filter(|task| !task.state.is_open()) {
        let detail = format!("task {id} has ended already: {}", task.state);
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
