//! `/api/v1/sessions` and `/api/v1/login-links`: logins of people.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::access::{EndSession, IssueLoginLink, Session, SessionSubject};
use reelyard_access::rights::Subject;
use reelyard_access::secrets::{LinkSecret, draw};
use reelyard_api::{
    CallerInfo, LoginLinkInfo, NewSessionInfo, Page, ProblemKind, Rfc3339, SessionInfo,
    WantedSession, refused,
};

use crate::http::access::{
    self, BegunSession, GivenProof, RequestCaller, RequestCredential, address_of,
};
use crate::http::api::call_parts::Body;
use crate::http::api::call_parts::{NamedPageQuery, NoQuery, page};
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{CommitProblems, ProblemResponse, Refusal};

/// The path of a login below the API. It needs no token.
pub const PATH: &str = "/sessions";

type LoginRefusal = Refusal<(
    (refused::NotFound, refused::NotAllowed, refused::LimitReached),
    (refused::Starting, refused::Unreadable),
    CommitProblems,
)>;

/// `POST /sessions`.
#[utoipa::path(
    post,
    path = "/sessions",
    tag = "access",
    operation_id = "logIn",
    summary = "Begins a session; its secret is in this answer only",
    description = "A session ends when it is idle for `session.idle`, after `session.max_age`, with its user or \
                   token, or by a logout. Too many wrong passwords lock the account.",
    request_body(content = WantedSession, description = "The proof of the login"),
    responses((status = 201, description = "The session with its secret", body = NewSessionInfo))
)]
pub async fn log_in(
    state: web::Data<NodeHttpState>,
    request: HttpRequest,
    _: web::Query<NoQuery>,
    wanted: Body<WantedSession>,
) -> Result<HttpResponse, LoginRefusal> {
    let proof = match wanted.into_inner().0 {
        WantedSession { name: Some(name), password: Some(password), link: None, token: None } => {
            GivenProof::Password(name, password)
        }
        WantedSession { name: None, password: None, link: Some(link), token: None } => {
            GivenProof::Link(link)
        }
        WantedSession { name: None, password: None, link: None, token: Some(token) } => {
            GivenProof::Token(token)
        }
        _ => {
            let detail = "set name and password, or link, or token";
            return Err(ProblemResponse::bad_request(detail).into());
        }
    };
    let BegunSession { secret, session } = access::begin(&state, &request, proof).await?;
    let (view, now) = (state.actors.access_views.load(), state.clock.now());
    let caller = view.authenticate_session(&secret, address_of(&request), now);
    let caller = caller
        .map_err(|refused| ProblemResponse::new(ProblemKind::Unauthorized, refused.to_string()))?;
    let cookie = access::cookie_of(&secret, &state, &request);
    let answer = NewSessionInfo {
        secret: secret.reveal(),
        csrf_token: secret.csrf_token(),
        caller: CallerInfo::from(&caller),
        info: SessionInfo::from(&*session),
    };
    Ok(HttpResponse::Created().cookie(cookie).json(answer))
}

/// `GET /sessions`.
#[utoipa::path(
    get,
    path = "/sessions",
    tag = "access",
    operation_id = "listSessions",
    summary = "Lists the sessions that are accepted now, the newest login first",
    params(NamedPageQuery),
    responses((status = 200, description = "A page of sessions", body = Page<SessionInfo>))
)]
pub async fn list(
    state: web::Data<NodeHttpState>,
    query: web::Query<NamedPageQuery>,
) -> Result<web::Json<Page<SessionInfo>>, Refusal<()>> {
    let paging = query.paging();
    let (limit, after) = (paging.limit()?, paging.position::<SessionPosition>()?);
    let sessions = state.actors.access_views.load().sessions(state.clock.now());
    let rest = sessions.iter().map(|session| SessionPosition::of(session)).zip(&sessions);
    let rest = rest.filter(|(position, _)| after.as_ref().is_none_or(|after| position > after));
    let rest = rest.filter(|(_, session)| query.takes(&SessionInfo::from(&***session).subject));
    let listed = page(rest, limit, |(position, _)| position.clone());
    let items = listed.items.iter().map(|(_, session)| SessionInfo::from(&***session)).collect();
    Ok(web::Json(Page { items, next: listed.next }))
}

/// All sessions that the filter lets through, newest login first.
pub fn matching(state: &NodeHttpState, query: &NamedPageQuery) -> Vec<SessionInfo> {
    let sessions = state.actors.access_views.load().sessions(state.clock.now());
    let infos = sessions.iter().map(|session| SessionInfo::from(&**session));
    infos.filter(|session| query.takes(&session.subject)).collect()
}

/// A place in the list of sessions, which begins with the newest login. A use of a session does not move it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SessionPosition(Reverse<i64>, String);

impl SessionPosition {
    fn of(session: &Session) -> Self {
        SessionPosition(Reverse(session.created_at.0), session.id())
    }
}

impl fmt::Display for SessionPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionPosition(Reverse(created_at), id) = self;
        write!(f, "{created_at}.{id}")
    }
}

impl FromStr for SessionPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (created_at, id) = text.split_once('.').ok_or(())?;
        Ok(SessionPosition(Reverse(created_at.parse().map_err(drop)?), id.to_owned()))
    }
}

/// `DELETE /sessions/current`.
#[utoipa::path(
    delete,
    path = "/sessions/current",
    tag = "access",
    operation_id = "logOut",
    summary = "Ends the session of the caller",
    responses((status = 204, description = "The session has ended"))
)]
pub async fn log_out(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    credential: web::ReqData<RequestCredential>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, LoginRefusal> {
    let RequestCredential::Session(secret) = credential.into_inner() else {
        let detail =
            "the caller has no session: it sent a token. Revoke a token by DELETE /tokens/{name}";
        return Err(ProblemResponse::new(ProblemKind::NotAllowed, detail).into());
    };
    state.actors.access.ask(EndSession { hash: secret.hash(), by: caller.0 }).await??;
    Ok(HttpResponse::NoContent().cookie(access::removed_cookie()).finish())
}

/// `DELETE /sessions/{id}`.
#[utoipa::path(
    delete,
    path = "/sessions/{id}",
    tag = "access",
    operation_id = "endSession",
    summary = "Ends a session of any user or token",
    params(("id" = String, Path, description = "Id of the session")),
    responses((status = 204, description = "The session has ended"))
)]
pub async fn end(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    id: web::Path<String>,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, LoginRefusal> {
    let sessions = state.actors.access_views.load().sessions(state.clock.now());
    let Some(session) = sessions.iter().find(|session| session.id() == *id) else {
        return Err(ProblemResponse::not_found("no session has such an id, or it has ended").into());
    };
    state.actors.access.ask(EndSession { hash: session.hash(), by: caller.0 }).await??;
    Ok(HttpResponse::NoContent().finish())
}

/// `POST /login-links`.
#[utoipa::path(
    post,
    path = "/login-links",
    tag = "access",
    operation_id = "issueLoginLink",
    summary = "Issues a link that begins one session of the caller in a browser",
    description = "The link is valid for 15 minutes, and only once.",
    responses((status = 201, description = "The link", body = LoginLinkInfo))
)]
pub async fn issue_link(
    state: web::Data<NodeHttpState>,
    caller: RequestCaller,
    _: web::Query<NoQuery>,
) -> Result<HttpResponse, LoginRefusal> {
    let subject = match &caller.0.subject {
        Subject::User(name) => SessionSubject::User(name.clone()),
        Subject::Token(name) => SessionSubject::Token(name.clone()),
        other @ (Subject::Worker(_) | Subject::Legacy | Subject::Node) => {
            let detail =
                format!("{other} has no sessions: use another token, or log in with a password");
            return Err(ProblemResponse::new(ProblemKind::NotAllowed, detail).into());
        }
    };
    let random = draw().map_err(|error| {
        let detail = format!("the system has no random bytes for a link: {error}");
        ProblemResponse::new(ProblemKind::Unreadable, detail)
    })?;
    let secret = LinkSecret::new(random);
    let issue = IssueLoginLink { hash: secret.hash(), subject, by: caller.0 };
    let expires_at = state.actors.access.ask(issue).await??;
    let path = format!("/login?link={}", secret.reveal());
    Ok(HttpResponse::Created().json(LoginLinkInfo { path, expires_at: Rfc3339(expires_at) }))
}
