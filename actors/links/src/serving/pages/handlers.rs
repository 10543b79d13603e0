//! Handlers of the pages.

use std::net::IpAddr;

use actix_web::error::{InternalError, UrlencodedError};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, Form, Path};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError};
use maud::Markup;
use reelyard_shares::share_expiry::{Share, ShareId};
use serde::Deserialize;

use super::listing::{Contents, contents};
use super::templates;
use crate::access::passwords::COOKIE;
use crate::access::refusal::LinkRefusal;
use crate::access::roots::NotOpened;
use crate::serving::link_head::COMMON_HEADERS;
use crate::serving::page_handoff::{ReachedAt, UnderTls};
use crate::state::{DisplayName, ShareServerState};

/// Largest size of a form in bytes.
const LONGEST_FORM: usize = 8 << 10;

/// The password form of a link.
#[derive(Deserialize)]
struct PasswordForm {
    password: String,
}

/// Registers every path that connections do not answer themselves.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    let page = web::resource("/s/{id}")
        .app_data(web::FormConfig::default().limit(LONGEST_FORM).error_handler(no_form))
        .route(web::get().to(page))
        .route(web::head().to(page))
        .route(web::post().to(enter))
        .default_service(web::to(|| not_allowed("GET, HEAD, POST")));
    let bytes = web::resource(["/s/{id}/file", "/s/{id}/zip"])
        .default_service(web::to(|| not_allowed("GET, HEAD")));
    let with_slash = web::resource("/s/{id}/").default_service(web::to(without_slash));
    config.service(page).service(with_slash).service(bytes).default_service(web::to(nothing));
}

/// `GET /s/{id}`.
async fn page(
    request: HttpRequest,
    id: Path<String>,
    state: Data<ShareServerState>,
) -> HttpResponse {
    state.counts.requests.one();
    let client = client(&request, &state);
    let share = match state.find(id.parse().ok(), client) {
        Ok(share) => share,
        Err(refusal) => return refuse(&refusal, &state),
    };
    let cookies = request.headers().get_all(header::COOKIE).map(HeaderValue::as_bytes);
    if !state.passwords.admits_cookie(&share, cookies) {
        return html(
            StatusCode::OK,
            templates::password(&browser_path(request.path(), &state), false),
        );
    }
    if let Err(refusal) = state.check_downloads_left(&share, client) {
        return refuse(&refusal, &state);
    }
    let looked = {
        let (state, share) = (state.clone().into_inner(), share.clone());
        web::block(move || look_at(&state, &share)).await
    };
    let contents = match looked.unwrap_or(Err(LinkRefusal::Failed)) {
        Ok(contents) => contents,
        Err(refusal) => return refuse(&refusal, &state),
    };
    let now = state.refusal_time();
    state.views.record_use(&share, now);
    let page = templates::LinkPage {
        path: page_path(&state, share.id()),
        link: link(&request, &state, share.id()),
        name: share.display_name(),
        contents: &contents,
        ends: share.due().instant(),
        downloads: share.downloads().map(|downloads| (downloads.left(), downloads.most())),
        may_begin: state.may_begin(&share, client),
        now,
    };
    html(StatusCode::OK, templates::share(&page))
}

/// `POST /s/{id}`: checks the password of the form.
async fn enter(
    request: HttpRequest,
    id: Path<String>,
    state: Data<ShareServerState>,
    form: Form<PasswordForm>,
) -> HttpResponse {
    state.counts.requests.one();
    let client = client(&request, &state);
    let share = match state.find(id.parse().ok(), client) {
        Ok(share) => share,
        Err(refusal) => return refuse(&refusal, &state),
    };
    match state.check_password(&share, form.password.as_bytes(), client).await {
        Ok(()) => {}
        Err(LinkRefusal::Password { .. }) => {
            return html(
                StatusCode::FORBIDDEN,
                templates::password(&browser_path(request.path(), &state), true),
            );
        }
        Err(refusal) => return refuse(&refusal, &state),
    }
    let path = page_path(&state, share.id());
    let mut answer = always(HttpResponse::SeeOther());
    answer.insert_header((header::LOCATION, path.clone()));
    if let Some(value) = state.passwords.cookie(&share) {
        let secure = if is_https(&request, &state) { "; Secure" } else { "" };
        let cookie = format!("{COOKIE}={value}; Path={path}; HttpOnly; SameSite=Lax{secure}");
        answer.insert_header((header::SET_COOKIE, cookie));
    }
    answer.finish()
}

/// The answer to a body that is not the form of [`enter`].
fn no_form(error: UrlencodedError, request: &HttpRequest) -> actix_web::Error {
    if let Some(state) = request.app_data::<Data<ShareServerState>>() {
        state.counts.requests.one();
    }
    let status = error.status_code();
    let text = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "The password is too long.",
        _ => "The form data is not valid. Open the link again.",
    };
    let page = templates::refusal(("Bad request", "The request is not valid"), text);
    InternalError::from_response(error, html(status, page)).into()
}

/// `/s/{id}/` redirects to the path without the slash. The answer is the same for every id, so it
/// reveals nothing.
async fn without_slash(request: HttpRequest, state: Data<ShareServerState>) -> HttpResponse {
    state.counts.requests.one();
    let mut answer = always(HttpResponse::PermanentRedirect());
    let path = browser_path(request.path().trim_end_matches('/'), &state);
    answer.insert_header((header::LOCATION, path));
    answer.finish()
}

/// The answer to an unknown path.
async fn nothing(state: Data<ShareServerState>) -> HttpResponse {
    state.counts.requests.one();
    refuse(&LinkRefusal::Unknown, &state)
}

async fn not_allowed(allowed: &'static str) -> HttpResponse {
    let mut answer = always(HttpResponse::MethodNotAllowed());
    answer.insert_header((header::ALLOW, allowed));
    answer.content_type("text/plain; charset=utf-8");
    answer.body(format!("This path accepts only {allowed}.\n"))
}

/// Reads the contents of a share for its page. Blocks on the disk.
fn look_at(state: &ShareServerState, share: &Share) -> Result<Contents, LinkRefusal> {
    let looked =
        state.open_share(share).and_then(|opened| contents(&opened).map_err(NotOpened::Failed));
    looked.map_err(|why| state.not_opened(share, why))
}

fn refuse(refusal: &LinkRefusal, state: &ShareServerState) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status().0);
    let mut answer = HttpResponse::build(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    if let Some(seconds) = refusal.retry_after() {
        answer.insert_header((header::RETRY_AFTER, seconds));
    }
    if matches!(refusal, LinkRefusal::Throttled(_) | LinkRefusal::TooManyArchives) {
        state.counts.throttled.one();
    }
    with_page(answer, templates::refusal(refusal.heading(), &refusal.text()))
}

fn html(status: StatusCode, page: Markup) -> HttpResponse {
    with_page(HttpResponse::build(status), page)
}

fn with_page(answer: HttpResponseBuilder, page: Markup) -> HttpResponse {
    let mut answer = always(answer);
    answer.content_type("text/html; charset=utf-8");
    answer.insert_header((header::CONTENT_SECURITY_POLICY, templates::security_policy()));
    answer.body(page.into_string())
}

fn always(mut answer: HttpResponseBuilder) -> HttpResponseBuilder {
    for header in COMMON_HEADERS {
        answer.insert_header(header);
    }
    answer.insert_header((header::CACHE_CONTROL, "private, no-store"));
    answer
}

fn client(request: &HttpRequest, state: &ShareServerState) -> IpAddr {
    let peer = peer(request);
    let forwarded = request.headers().get_all("x-forwarded-for").map(HeaderValue::as_bytes);
    state.client(peer, forwarded.collect::<Vec<_>>().into_iter())
}

fn peer(request: &HttpRequest) -> IpAddr {
    request.peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.ip().to_canonical())
}

/// Whether the browser uses TLS, either to this server or to a proxy in front of it.
fn is_https(request: &HttpRequest, state: &ShareServerState) -> bool {
    if let Some(url) = &state.settings.public_url {
        return url.starts_with("https:");
    }
    if request.conn_data().is_some_and(|UnderTls(is)| *is) {
        return true;
    }
    let proto = request.headers().get("x-forwarded-proto");
    state.settings.trusted_proxies.contains(&peer(request))
        && proto.is_some_and(|proto| proto.as_bytes() == b"https")
}

/// A path as the browser sees it: a proxy may remove a prefix.
fn browser_path(path: &str, state: &ShareServerState) -> String {
    format!("{}{path}", state.settings.public_path())
}

/// The path of the page of a link, as the browser sees it.
fn page_path(state: &ShareServerState, id: ShareId) -> String {
    browser_path(&format!("/s/{id}"), state)
}

/// The link for people to copy, if it is known. The `Host` of a client is not trusted, because a
/// page with a foreign address could lead people to another server.
fn link(request: &HttpRequest, state: &ShareServerState, id: ShareId) -> Option<String> {
    if let Some(url) = &state.settings.public_url {
        return Some(format!("{}/s/{id}", url.trim_end_matches('/')));
    }
    // Only the proxy connects to this address.
    if state.settings.trusted_proxies.contains(&peer(request)) {
        return None;
    }
    let ReachedAt(addr) = request.conn_data()?;
    let scheme = if is_https(request, state) { "https" } else { "http" };
    Some(format!("{scheme}://{addr}/s/{id}"))
}
