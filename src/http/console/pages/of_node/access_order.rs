//! Users, tokens and sessions in the order of a column.

use std::cmp::Ordering;

use reelyard_api::{Cursor, Page, Rfc3339, SessionInfo, TokenInfo, UserInfo};
use reelyard_console::address::SortBy;
use reelyard_console::pages::access::AccessPageQuery;

use crate::http::api::access_calls::users as api_users;
use crate::http::api::access_calls::{sessions as api_sessions, tokens as api_tokens};
use crate::http::api::call_parts::NamedPageQuery;
use crate::http::node_state::NodeHttpState;

/// Rows of each list.
pub const ROWS: usize = 100;

/// A page of the users that match.
pub fn users(
    state: &NodeHttpState,
    query: &AccessPageQuery,
    wanted: &NamedPageQuery,
) -> Page<UserInfo> {
    let sort = &query.users_sort;
    let order = |a: &UserInfo, b: &UserInfo| match sort.key.as_str() {
        "role" => a.role.cmp(&b.role),
        "used" => millis(a.last_login_at).cmp(&millis(b.last_login_at)),
        _ => a.name.cmp(&b.name),
    };
    sorted(api_users::matching(state, wanted), sort, order, &query.users)
}

/// A page of the tokens that match.
pub fn tokens(
    state: &NodeHttpState,
    query: &AccessPageQuery,
    wanted: &NamedPageQuery,
) -> Page<TokenInfo> {
    let sort = &query.tokens_sort;
    // A token without an end is behind all others.
    let end = |token: &TokenInfo| token.expires_at.map_or(i64::MAX, |at| at.0.0);
    let order = |a: &TokenInfo, b: &TokenInfo| match sort.key.as_str() {
        "role" => rights(a).cmp(&rights(b)),
        "used" => millis(a.last_used_at).cmp(&millis(b.last_used_at)),
        "ends" => end(a).cmp(&end(b)),
        _ => a.name.cmp(&b.name),
    };
    sorted(api_tokens::matching(state, wanted), sort, order, &query.tokens)
}

/// A page of the sessions that match.
pub fn sessions(
    state: &NodeHttpState,
    query: &AccessPageQuery,
    wanted: &NamedPageQuery,
) -> Page<SessionInfo> {
    let sort = &query.sessions_sort;
    let order = |a: &SessionInfo, b: &SessionInfo| match sort.key.as_str() {
        "address" => a.address.cmp(&b.address),
        "begun" => a.created_at.0.0.cmp(&b.created_at.0.0),
        "used" => a.last_seen_at.0.0.cmp(&b.last_seen_at.0.0),
        "ends" => a.ends_at.0.0.cmp(&b.ends_at.0.0),
        _ => a.subject.cmp(&b.subject),
    };
    sorted(api_sessions::matching(state, wanted), sort, order, &query.sessions)
}

/// The rights of a token in the words of the API.
pub fn rights(token: &TokenInfo) -> String {
    match (token.role, token.worker) {
        (Some(role), _) => role.to_string(),
        (None, Some(host)) => format!("worker {host}"),
        (None, None) => {
            let scopes: Vec<String> = token.scopes.iter().map(ToString::to_string).collect();
            scopes.join(" ")
        }
    }
}

fn millis(at: Option<Rfc3339>) -> Option<i64> {
    at.map(|at| at.0.0)
}

/// The rows from this position on. The cursor of a sorted list is a position.
fn sorted<T>(
    mut items: Vec<T>,
    sort: &SortBy,
    order: impl Fn(&T, &T) -> Ordering,
    after: &str,
) -> Page<T> {
    items.sort_by(|a, b| if sort.descending { order(b, a) } else { order(a, b) });
    let first = after.parse().unwrap_or(0_usize).min(items.len());
    let end = first + ROWS;
    let next = (end < items.len()).then(|| Cursor(end.to_string()));
    Page { items: items.into_iter().skip(first).take(ROWS).collect(), next }
}
