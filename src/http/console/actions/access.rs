//! Changes of users, tokens and sessions.

use actix_web::web::{Data, Json, Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::AccessScope;
use reelyard_api::{
    NewTokenInfo, Password, WantedRotation, WantedToken, WantedUser, WantedUserChange,
};
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::pages::access::{AccessPageModel, AccessPageQuery};
use reelyard_console::parts::dialog::AskDialog;
use reelyard_console::parts::notice::UndoAction;
use reelyard_console::text::{Text, outcomes};
use serde::Deserialize;

use super::{done, done_with_undo, mark_refused, refusal_words, refused};
use crate::http::access;
use crate::http::api::access_calls::{sessions, tokens, users};
use crate::http::api::call_parts::{NoQuery, Objects};
use crate::http::audit::AuditDetails;
use crate::http::console::answer;
use crate::http::console::pages::of_node::access as page;
use crate::http::console::pages::of_node::access_dialogs::{BY_SCOPES, new_token, new_user};
use crate::http::console::posted_form::PostedForm;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// An action on a user, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserAction {
    /// Gives it another role.
    Role,
    /// Sets its password.
    Password,
    /// Ends its sessions and refuses its logins.
    Disable,
    /// Accepts its logins again.
    Enable,
    /// Ends the lock after wrong passwords.
    Unlock,
    /// Removes it and ends its sessions.
    Remove,
}

/// An action on a token, by its word in addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenAction {
    /// Gives it another secret.
    Rotate,
    /// Refuses it from now on.
    Revoke,
}

/// `POST /console/access/users/new`. A refused form keeps what was typed, without the password.
pub async fn add_user(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AccessWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    match add(&state, &visitor, &audit, &form).await {
        Ok(name) => Ok(done(&form, about(&visitor, outcomes::USER_ADDED, &name))),
        Err(why) => {
            let typed = |name: &str| form.first(name).unwrap_or_default().to_owned();
            let dialog = new_user(&visitor.viewer, &typed);
            asking_again(&request, &state, &visitor, dialog, &why).await
        }
    }
}

async fn add(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    form: &PostedForm,
) -> Result<String, ProblemResponse> {
    let name = form.first("name").unwrap_or_default();
    let wanted = WantedUser {
        name: name.parse().map_err(|bad| wrong("name", bad))?,
        role: form.first("role").unwrap_or_default().parse().map_err(|bad| wrong("role", bad))?,
        password: password(form),
        request_id: None,
    };
    let (state, caller) = (state.clone(), visitor.caller.clone());
    let body = Json(Objects(wanted));
    users::add(state, caller, audit.clone(), Query(NoQuery {}), body)
        .await
        .map_err(Refusal::into_response)?;
    Ok(name.to_owned())
}

/// `POST /console/access/users/{name}/{action}`.
pub async fn change_user(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(String, UserAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AccessWrite)?;
    let (name, action) = path.into_inner();
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject(format!("user {name}"));
    let words = match action {
        UserAction::Remove => outcomes::USER_REMOVED,
        _ => outcomes::USER_CHANGED,
    };
    Ok(match change(&state, &visitor, &audit, &name, action, &form).await {
        Ok(()) => match undo(action, &name) {
            Some(undo) => done_with_undo(&form, about(&visitor, words, &name), undo),
            None => done(&form, about(&visitor, words, &name)),
        },
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}

/// The way back of a change. A user that was enabled by mistake is disabled again.
fn undo(action: UserAction, name: &str) -> Option<UndoAction> {
    let (ask, name) = ("disable".to_owned(), name.to_owned());
    let action = match action {
        UserAction::Enable => format!("{ROOT}/access/users/{}/{ask}", encoded(&name)),
        _ => return None,
    };
    let dialog = AccessPageQuery { ask, name, ..AccessPageQuery::default() }.address();
    Some(UndoAction { action, dialog })
}

async fn change(
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    audit: &AuditDetails,
    name: &str,
    action: UserAction,
    form: &PostedForm,
) -> Result<(), ProblemResponse> {
    let (state, caller, audit) = (state.clone(), visitor.caller.clone(), audit.clone());
    let (path, query) = (Path::from(name.to_owned()), Query(NoQuery {}));
    let change = match action {
        UserAction::Remove => {
            let removed = users::remove(state, caller, audit, path, query).await;
            return removed.map(drop).map_err(Refusal::into_response);
        }
        UserAction::Role => {
            let role = form.first("role").unwrap_or_default().parse();
            let role = role.map_err(|bad| wrong("role", bad))?;
            WantedUserChange { role: Some(role), ..WantedUserChange::default() }
        }
        UserAction::Password => {
            let password = password(form)
                .ok_or_else(|| ProblemResponse::bad_request("password: none was given"))?;
            WantedUserChange { password: Some(password), ..WantedUserChange::default() }
        }
        UserAction::Disable => {
            WantedUserChange { disabled: Some(true), ..WantedUserChange::default() }
        }
        UserAction::Enable => {
            WantedUserChange { disabled: Some(false), ..WantedUserChange::default() }
        }
        UserAction::Unlock => WantedUserChange { unlock: true, ..WantedUserChange::default() },
    };
    let changed = users::change(state, caller, audit, path, query, Json(Objects(change))).await;
    changed.map(drop).map_err(Refusal::into_response)
}

/// `POST /console/access/tokens/new`: answers with the page, which shows the secret. No cookie has it.
pub async fn create_token(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AccessWrite)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    let created = match wanted_token(&form) {
        Ok(wanted) => tokens::create_token(&state, visitor.caller.clone(), &audit, wanted).await,
        Err(refused) => Err(refused),
    };
    match created {
        Ok(created) => with_secret(&request, &state, &visitor, created).await,
        Err(why) => {
            let typed = |name: &str| form.first(name).unwrap_or_default().to_owned();
            let dialog = new_token(&visitor.viewer, &typed);
            asking_again(&request, &state, &visitor, dialog, &why).await
        }
    }
}

fn wanted_token(form: &PostedForm) -> Result<WantedToken, ProblemResponse> {
    let name = form.first("name").unwrap_or_default().parse().map_err(|bad| wrong("name", bad))?;
    let ttl = form.first("ttl").map(str::parse).transpose().map_err(|bad| wrong("ttl", bad))?;
    let wanted = WantedToken { name: Some(name), ttl, ..WantedToken::default() };
    let rights = form.first("rights").unwrap_or_default();
    if rights != BY_SCOPES {
        let role = rights.parse().map_err(|bad| wrong("rights", bad))?;
        return Ok(WantedToken { role: Some(role), ..wanted });
    }
    let mut scopes: Vec<AccessScope> = Vec::new();
    for text in form.first("scopes").unwrap_or_default().split_whitespace() {
        scopes.push(text.parse().map_err(|bad| wrong("scopes", bad))?);
    }
    Ok(WantedToken { scopes, ..wanted })
}

/// `POST /console/access/tokens/{name}/{action}`. After a rotation the page shows the secret.
pub async fn change_token(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    path: Path<(String, TokenAction)>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AccessWrite)?;
    let (name, action) = path.into_inner();
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject(format!("token {name}"));
    let (calls, caller, details) = (state.clone(), visitor.caller.clone(), audit.clone());
    let (path, query) = (Path::from(name.clone()), Query(NoQuery {}));
    match action {
        TokenAction::Revoke => {
            let revoked = tokens::revoke(calls, caller, details, path, query).await;
            Ok(match revoked.map_err(Refusal::into_response) {
                Ok(_) => done(&form, about(&visitor, outcomes::TOKEN_REVOKED, &name)),
                Err(why) => refused(&form, &visitor.viewer, 0, &why),
            })
        }
        TokenAction::Rotate => {
            let body = Json(Objects(WantedRotation::default()));
            let rotated = tokens::rotate(calls, caller, details, path, query, body).await;
            match rotated.map_err(Refusal::into_response) {
                Ok(rotated) => with_secret(&request, &state, &visitor, rotated.into_inner()).await,
                Err(why) => Ok(refused(&form, &visitor.viewer, 0, &why)),
            }
        }
    }
}

/// `POST /console/access/sessions/{id}/end`. A visitor may end the own session without further rights.
pub async fn end_session(
    request: HttpRequest,
    state: Data<NodeHttpState>,
    audit: AuditDetails,
    id: Path<String>,
    form: PostedForm,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::posting(&request, &state, &form, &AccessScope::AccessRead)?;
    audit.of_form(&visitor.caller.0.subject, form.first("reason"));
    audit.subject(format!("session {id}"));
    let own = access::session_cookie(&request).map(|secret| secret.hash());
    let all = state.actors.access_views.load().sessions(state.clock.now());
    let is_own = all.iter().any(|one| one.id() == *id && Some(one.hash()) == own);
    if !is_own {
        access::require(&visitor.caller.0, &AccessScope::AccessWrite)?;
    }
    let (calls, caller) = (state.clone(), visitor.caller.clone());
    let ended = sessions::end(calls, caller, id, Query(NoQuery {})).await;
    Ok(match ended.map_err(Refusal::into_response) {
        Ok(_) => done(&form, outcomes::SESSION_ENDED.of(visitor.viewer.language).to_owned()),
        Err(why) => refused(&form, &visitor.viewer, 0, &why),
    })
}

/// The page with the secret of a token.
async fn with_secret(
    request: &HttpRequest,
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    created: NewTokenInfo,
) -> Result<HttpResponse, ConsoleRefusal> {
    let model = page::model(request, state, &AccessPageQuery::default()).await?;
    let new_secret = Some((created.info.name, created.token));
    let parts = page::parts(&AccessPageModel { new_secret, ..model }, &visitor.viewer);
    Ok(answer::page_at(AccessPageQuery::path(), request, state, visitor, &parts))
}

/// The page with the refused form.
async fn asking_again(
    request: &HttpRequest,
    state: &Data<NodeHttpState>,
    visitor: &Visitor,
    dialog: AskDialog,
    why: &ProblemResponse,
) -> Result<HttpResponse, ConsoleRefusal> {
    let refused = Some(refusal_words(&visitor.viewer, why));
    let ask = Some(AskDialog { refused, ..dialog });
    let model = page::model(request, state, &AccessPageQuery::default()).await?;
    let parts = page::parts(&AccessPageModel { ask, ..model }, &visitor.viewer);
    let mut answer = answer::page_at(AccessPageQuery::path(), request, state, visitor, &parts);
    mark_refused(&mut answer, why);
    Ok(answer)
}

fn password(form: &PostedForm) -> Option<Password> {
    form.first("password").map(|password| Password(password.to_owned()))
}

fn about(visitor: &Visitor, words: Text, name: &str) -> String {
    words.fill(visitor.viewer.language, &[("name", name)])
}

fn wrong(name: &str, bad: impl std::fmt::Display) -> ProblemResponse {
    ProblemResponse::bad_request(format!("{name}: {bad}"))
}
