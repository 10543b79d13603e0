//! `/api/v1/users`: the people of the yard.

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, web};
use reelyard_access::access::{AddUser, ChangeUser, RemoveUser, UserChange};
use reelyard_access::rights::UserName;
use reelyard_access::secrets::UserPasswordHash;
use reelyard_api::{API, Page, Password, UserInfo, WantedUser, WantedUserChange, refused};

use crate::http::access::{RequestCaller, request_id};
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::{NamedPageQuery, NoQuery, page};
use crate::http::audit::AuditDetails;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

type UserRefusal = Refusal<(
    (refused::NotFound, refused::NameTaken, refused::LimitReached, refused::Terms),
    (refused::NotAllowed, refused::RequestIdReused),
    CommitProblems,
)>;

/// `GET /users`.
#[utoipa::path(
    get,
    path = "/users",
    tag = "access",
    operation_id = "listUsers",
    summary = "Lists the users",
    params(NamedPageQuery),
    responses((status = 200, description = "A page of users, by name", body = Page<UserInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<NamedPageQuery>,
) -> Result<web::Json<Page<UserInfo>>, Refusal<()>> {
    let paging = query.paging();
    let (limit, after) = (paging.limit()?, paging.position::<String>()?);
    let items = matching(&state, &query).into_iter();
    let items = items.filter(|user| after.as_ref().is_none_or(|after| user.name > *after));
    Ok(web::Json(page(items, limit, |user| user.name.clone())))
}

/// All users that the filter lets through, by name.
pub fn matching(state: &NodeHttpState, query: &NamedPageQuery) -> Vec<UserInfo> {
    let (users, now) = (state.actors.access_views.load().users(), state.clock.now());
    let infos = users.iter().map(|user| UserInfo::of(user, now));
    infos.filter(|user| query.takes(&user.name)).collect()
}

/// `POST /users`.
#[utoipa::path(
    post,
    path = "/users",
    tag = "access",
    operation_id = "addUser",
    summary = "Adds a user",
    description = "A caller grants only a role whose scopes it has itself.",
    request_body(content = WantedUser, description = "Name, role and password"),
    responses((status = 201, description = "The user", body = UserInfo))
)]
pub async fn add(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    _: web::Query<NoQuery>,
    wanted: Body<WantedUser>,
) -> Result<HttpResponse, UserRefusal> {
    let WantedUser { name, role, password, request_id: id } = wanted.into_inner().0;
    audit.subject(format!("user {name}"));
    let request = request_id(&caller, id.as_deref(), &format!("add {name} {role}"));
    let password = match password {
        Some(password) => Some(hashed(password).await?),
        None => None,
    };
    let add = AddUser { name, role, password, by: caller.0, request };
    let user = state.actors.access.ask(add).await??;
    let info = UserInfo::of(&user, state.clock.now());
    audit.changed(None, Some(&info));
    let place = format!("{}/users/{}", API, info.name);
    Ok(HttpResponse::Created().insert_header((LOCATION, place)).json(info))
}

/// `PATCH /users/{name}`.
#[utoipa::path(
    patch,
    path = "/users/{name}",
    tag = "access",
    operation_id = "changeUser",
    summary = "Changes the role, the password or the state of a user",
    params(("name" = String, Path, description = "Name of the user")),
    request_body(content = WantedUserChange, description = "Exactly one change"),
    responses((status = 200, description = "The user after the change", body = UserInfo))
)]
pub async fn change(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    name: web::Path<String>,
    _: web::Query<NoQuery>,
    wanted: Body<WantedUserChange>,
) -> Result<web::Json<UserInfo>, UserRefusal> {
    let (name, wanted) = (user_name(&name)?, wanted.into_inner().0);
    let id = wanted.request_id.clone();
    // The content of the request id contains no password: a repeated change of one is answered as the first.
    let content = format!("change {name} {wanted:?}");
    let request = request_id(&caller, id.as_deref(), &content);
    let change = match wanted {
        WantedUserChange {
            role: Some(role),
            password: None,
            disabled: None,
            unlock: false,
            ..
        } => UserChange::Role(role),
        WantedUserChange {
            role: None,
            password: Some(password),
            disabled: None,
            unlock: false,
            ..
        } => UserChange::Password(hashed(password).await?),
        WantedUserChange {
            role: None,
            password: None,
            disabled: Some(true),
            unlock: false,
            ..
        } => UserChange::Disable,
        WantedUserChange {
            role: None,
            password: None,
            disabled: Some(false),
            unlock: false,
            ..
        } => UserChange::Enable,
        WantedUserChange { role: None, password: None, disabled: None, unlock: true, .. } => {
            UserChange::Unlock
        }
        _ => {
            let detail = "set exactly one of role, password, disabled and unlock";
            return Err(ProblemResponse::bad_request(detail).into());
        }
    };
    let before = known(&state, &name);
    let is_password = matches!(change, UserChange::Password(_));
    let change = ChangeUser { name, change, by: caller.0, request };
    let user = state.actors.access.ask(change).await??;
    let info = UserInfo::of(&user, state.clock.now());
    match is_password {
        true => audit.after(serde_json::json!({ "password": "changed" })),
        false => audit.changed(before.as_ref(), Some(&info)),
    }
    Ok(web::Json(info))
}

/// `DELETE /users/{name}`.
#[utoipa::path(
    delete,
    path = "/users/{name}",
    tag = "access",
    operation_id = "removeUser",
    summary = "Removes a user and ends its sessions",
    params(("name" = String, Path, description = "Name of the user")),
    responses((status = 204, description = "The user is removed"))
)]
pub async fn remove(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    audit: AuditDetails,
    name: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, UserRefusal> {
    let name = user_name(&name)?;
    let request = caller.request(&format!("remove user {name}"));
    audit.changed(known(&state, &name).as_ref(), None);
    state.actors.access.ask(RemoveUser { name, by: caller.0, request }).await??;
    Ok(HttpResponse::NoContent().finish())
}

/// The user as it is now.
fn known(state: &NodeHttpState, name: &UserName) -> Option<UserInfo> {
    let user = state.actors.access_views.load().user(name)?;
    Some(UserInfo::of(&user, state.clock.now()))
}

fn user_name(text: &str) -> Result<UserName, ProblemResponse> {
    text.parse().map_err(|_| ProblemResponse::not_found("no user has such a name"))
}

/// The hash of a new password. It takes 50 to 300 ms by design.
async fn hashed(Password(password): Password) -> Result<UserPasswordHash, ProblemResponse> {
    let hashed = web::block(move || UserPasswordHash::of(&password)).await;
    let hashed = hashed.map_err(|_| ProblemResponse::stopped())?;
    hashed.map_err(|bad| ProblemResponse::bad_request(format!("password: {bad}")))
}
