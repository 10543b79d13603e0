//! `/console/access`: users, tokens and sessions.

use actix_web::web::{Data, Json, Query};
use actix_web::{HttpRequest, HttpResponse};
use reelyard_access::rights::{AccessScope, Role};
use reelyard_api::{Cursor, Rfc3339, SessionInfo, TokenInfo, UserInfo};
use reelyard_console::address::SortBy;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::access::{
    self, AccessPageModel, AccessPageQuery, SessionLine, TokenLine, UserLine,
};
use reelyard_console::parts::table::RowPage;
use reelyard_console::{Moment, Viewer, ViewerRole};

use super::access_dialogs;
use super::access_order::{self, ROWS};
use crate::http::access::session_cookie;
use crate::http::api::access_calls::{sessions, tokens, users};
use crate::http::api::call_parts::NamedPageQuery;
use crate::http::console::answer;
use crate::http::console::posted_form::typed_in;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::{ProblemResponse, Refusal};

/// `GET /console/access`.
pub async fn show(
    request: HttpRequest,
    state: Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::AccessRead)?;
    let query = AccessPageQuery::parse(request.query_string());
    let mut model = model(&request, &state, &query).await?;
    if visitor.viewer.rights.admin {
        model.ask = access_dialogs::of_query(&query, &typed_in(&request), &visitor.viewer);
    }
    let parts = parts(&model, &visitor.viewer);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

/// The page around this model.
pub fn parts(model: &AccessPageModel, viewer: &Viewer) -> PageParts {
    let content = access::render(model, viewer);
    PageParts::new(NavPage::Access, NavPage::Access.title().of(viewer.language), content)
}

/// The lists of this state of the page.
///
/// # Errors
/// A cursor is not one of its list.
pub async fn model(
    request: &HttpRequest,
    state: &Data<NodeHttpState>,
    query: &AccessPageQuery,
) -> Result<AccessPageModel, ProblemResponse> {
    let view = state.actors.access_views.load();
    let page = |cursor: &str| {
        let cursor = Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty());
        let contains = Some(query.q.trim().to_owned()).filter(|part| !part.is_empty());
        Query(NamedPageQuery { contains, limit: Some(ROWS.to_string()), cursor })
    };
    let of_users = match query.users_sort.key.as_str() {
        "" => users::list(state.clone(), page(&query.users)).await,
        _ => Ok(Json(access_order::users(state, query, &page("")))),
    };
    let of_users = of_users.map_err(Refusal::into_response)?.into_inner();
    let of_tokens = match query.tokens_sort.key.as_str() {
        "" => tokens::list(state.clone(), page(&query.tokens)).await,
        _ => Ok(Json(access_order::tokens(state, query, &page("")))),
    };
    let of_tokens = of_tokens.map_err(Refusal::into_response)?.into_inner();
    let of_sessions = match query.sessions_sort.key.as_str() {
        "" => sessions::list(state.clone(), page(&query.sessions)).await,
        _ => Ok(Json(access_order::sessions(state, query, &page("")))),
    };
    let of_sessions = of_sessions.map_err(Refusal::into_response)?.into_inner();
    let base = AccessPageQuery { ask: String::new(), name: String::new(), ..query.clone() };
    let next = |cursor: Option<Cursor>, of: &dyn Fn(String) -> AccessPageQuery| {
        cursor.map(|cursor| of(cursor.0).address())
    };
    let users_next = next(of_users.next, &|users| AccessPageQuery { users, ..base.clone() });
    let tokens_next = next(of_tokens.next, &|tokens| AccessPageQuery { tokens, ..base.clone() });
    let sessions_next =
        next(of_sessions.next, &|sessions| AccessPageQuery { sessions, ..base.clone() });
    let all_sessions = view.sessions(state.clock.now());
    let own = session_cookie(request).map(|secret| secret.hash());
    let own = all_sessions.iter().find(|session| Some(session.hash()) == own);
    let own = own.map(|session| SessionInfo::from(&**session));
    let users: Vec<UserLine> = of_users.items.into_iter().map(user_line).collect();
    let tokens: Vec<TokenLine> = of_tokens.items.into_iter().map(token_line).collect();
    // The own session comes first in the list of all.
    let is_whole =
        query.sessions.is_empty() && query.q.is_empty() && query.sessions_sort == SortBy::default();
    let sessions = session_lines(of_sessions.items, own, is_whole);
    let whole = |all: usize| Some(all).filter(|_| query.q.is_empty());
    let row_page = |cursor: &str, shown, all, next| row_page(cursor, shown, whole(all), next);
    Ok(AccessPageModel {
        users_page: row_page(&query.users, users.len(), view.users().len(), users_next),
        tokens_page: row_page(&query.tokens, tokens.len(), view.tokens().len(), tokens_next),
        sessions_page: row_page(&query.sessions, sessions.len(), all_sessions.len(), sessions_next),
        query: base,
        users,
        tokens,
        sessions,
        new_secret: None,
        ask: None,
    })
}

/// The position in a list. How many rows match a filter is only known if all of them are shown.
fn row_page(cursor: &str, shown: usize, all: Option<usize>, next: Option<String>) -> RowPage {
    let is_all = cursor.is_empty() && next.is_none();
    let total = all.or(Some(shown).filter(|_| is_all));
    RowPage {
        first: u64::from(cursor.is_empty() && shown > 0),
        shown: shown as u64,
        // The configured token is listed, but it is not in the view.
        total: total.map(|total| total.max(shown) as u64),
        previous: None,
        next,
    }
}

fn user_line(user: UserInfo) -> UserLine {
    UserLine {
        name: user.name,
        role: role(user.role),
        is_locked: user.locked_until.is_some(),
        is_disabled: user.disabled,
        last_used: user.last_login_at.map(moment),
    }
}

fn token_line(token: TokenInfo) -> TokenLine {
    TokenLine {
        rights: access_order::rights(&token),
        name: token.name,
        last_used: token.last_used_at.map(moment),
        ends: token.expires_at.map(moment),
    }
}

/// The sessions of a page. The own one comes first on the first page.
fn session_lines(
    listed: Vec<SessionInfo>,
    own: Option<SessionInfo>,
    is_first: bool,
) -> Vec<SessionLine> {
    let own_id = own.as_ref().map(|session| session.id.clone());
    let own = own.filter(|_| is_first);
    let mut lines: Vec<SessionLine> = own.into_iter().map(session_line).collect();
    for session in listed {
        if lines.first().is_none_or(|first| first.id != session.id) {
            lines.push(session_line(session));
        }
    }
    for line in &mut lines {
        line.is_own = Some(&line.id) == own_id.as_ref();
    }
    lines
}

fn session_line(session: SessionInfo) -> SessionLine {
    SessionLine {
        id: session.id,
        user: session.subject,
        address: session.address,
        begun: moment(session.created_at),
        last_used: Some(moment(session.last_seen_at)),
        ends: moment(session.ends_at),
        is_own: false,
    }
}

fn role(role: Role) -> ViewerRole {
    match role {
        Role::Viewer => ViewerRole::Viewer,
        Role::Operator => ViewerRole::Operator,
        Role::Admin => ViewerRole::Admin,
    }
}

fn moment(at: Rfc3339) -> Moment {
    Moment(at.0.0)
}
