//! Handlers of the pages.

use std::net::IpAddr;

use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::error::{InternalError, UrlencodedError};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::web::{self, Data, Form, Path};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, ResponseError};
use maud::Markup;
use reelyard_console::card::{
    CardContext, ChoiceForm, LinkPageModel, LinkRefusalKind, LinkRefusalModel, LinkedDownload,
    link_page, link_policy, link_refusal, password_page,
};
use reelyard_console::text::Language;
use reelyard_console::{BrowserChoices, LANGUAGE_COOKIE, THEME_COOKIE, Theme};
use reelyard_protocol::cluster::shared_files::SharedContents;
use reelyard_shares::share_expiry::{Share, ShareId};
use serde::Deserialize;

use super::listing::contents;
use super::models::{linked_contents, moment, refusal_model};
use super::qr::qr_picture;
use crate::access::passwords::COOKIE;
use crate::access::refusal::LinkRefusal;
use crate::access::roots::NotOpened;
use crate::serving::link_head::{COMMON_HEADERS, media_type};
use crate::serving::page_handoff::{ReachedAt, UnderTls};
use crate::state::{DisplayName, ShareServerState};

/// Name in the bar of a page if no host is known.
const PRODUCT: &str = "Reelyard";

/// Largest size of a form in bytes.
const LONGEST_FORM: usize = 8 << 10;

/// How long a browser keeps a choice of language or theme.
const CHOICE_KEPT: Duration = Duration::days(400);

/// A form of a link's page: a password, or a choice of language or theme.
#[derive(Deserialize)]
struct LinkForm {
    password: Option<String>,
    language: Option<String>,
    theme: Option<String>,
}

impl LinkForm {
    /// The choice of this form as the name and value of its cookie.
    fn choice(&self) -> Option<(&'static str, &'static str)> {
        let language = self.language.as_deref().and_then(Language::from_code);
        let theme = self.theme.as_deref().and_then(Theme::from_word);
        let language = language.map(|language| (LANGUAGE_COOKIE, language.code()));
        language.or(theme.map(|theme| (THEME_COOKIE, theme.word())))
    }
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
        Err(refusal) => return refuse(&refusal, &request, &state),
    };
    let cookies = request.headers().get_all(header::COOKIE).map(HeaderValue::as_bytes);
    if !state.passwords.admits_cookie(&share, cookies) {
        return ask_password(StatusCode::OK, &request, &state);
    }
    if let Err(refusal) = state.check_downloads_left(&share, client) {
        return refuse(&refusal, &request, &state);
    }
    let looked = {
        let (state, share) = (state.clone().into_inner(), share.clone());
        web::block(move || look_at(&state, &share)).await
    };
    let looked = match looked {
        Ok(Err(why)) => state.contents_elsewhere(&share, why).await,
        Ok(Ok(contents)) => Ok(contents),
        Err(_) => Err(LinkRefusal::Failed),
    };
    let contents = match looked {
        Ok(contents) => contents,
        Err(refusal) => return refuse(&refusal, &request, &state),
    };
    if let Err(refusal) = state.check_still_live(&share) {
        return refuse(&refusal, &request, &state);
    }
    state.views.record_use(&share, state.refusal_time());
    let model = page_model(&request, &state, &share, contents);
    html(StatusCode::OK, link_page(&context(&request, &state), &model))
}

fn page_model(
    request: &HttpRequest,
    state: &ShareServerState,
    share: &Share,
    contents: SharedContents,
) -> LinkPageModel {
    let part = if matches!(contents, SharedContents::File(_)) { "file" } else { "zip" };
    let address = link(request, state, share.id());
    let download = match state.may_begin(share, client(request, state)) {
        true => LinkedDownload::At(format!("{}/{part}", page_path(state, share.id()))),
        false => LinkedDownload::Held,
    };
    LinkPageModel {
        name: share.display_name().to_owned(),
        contents: linked_contents(contents),
        media_type: media_type(share.display_name()),
        ends: share.due().instant().map(moment),
        downloads: share.downloads().map(|downloads| (downloads.left(), downloads.most())),
        download,
        qr: address.as_deref().and_then(qr_picture),
        address,
        has_password: share.password().is_some(),
    }
}

/// `POST /s/{id}`: checks the password of the form, or keeps a choice.
async fn enter(
    request: HttpRequest,
    id: Path<String>,
    state: Data<ShareServerState>,
    form: Form<LinkForm>,
) -> HttpResponse {
    state.counts.requests.one();
    // A choice is kept for every address, so it does not reveal whether a link exists.
    if let Some(choice) = form.choice() {
        return keep_choice(choice, &request, &state);
    }
    let Some(password) = &form.password else {
        return bad_form(StatusCode::BAD_REQUEST, LinkRefusalKind::BadForm, &request);
    };
    let client = client(&request, &state);
    let share = match state.find(id.parse().ok(), client) {
        Ok(share) => share,
        Err(refusal) => return refuse(&refusal, &request, &state),
    };
    match state.check_password(&share, password.as_bytes(), client).await {
        Ok(()) => {}
        Err(LinkRefusal::Password { .. }) => {
            return ask_password(StatusCode::FORBIDDEN, &request, &state);
        }
        Err(refusal) => return refuse(&refusal, &request, &state),
    }
    if let Err(refusal) = state.check_still_live(&share) {
        return refuse(&refusal, &request, &state);
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

/// Keeps a choice in a cookie for all links of this server, and returns to the page.
fn keep_choice(
    (name, value): (&'static str, &'static str),
    request: &HttpRequest,
    state: &ShareServerState,
) -> HttpResponse {
    let cookie = Cookie::build(name, value)
        .path(browser_path("/s", state))
        .max_age(CHOICE_KEPT)
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_https(request, state))
        .finish();
    let mut answer = always(HttpResponse::SeeOther());
    answer.insert_header((header::LOCATION, browser_path(request.path(), state)));
    answer.cookie(cookie).finish()
}

/// The answer to a body that is not the form of [`enter`].
fn no_form(error: UrlencodedError, request: &HttpRequest) -> actix_web::Error {
    if let Some(state) = request.app_data::<Data<ShareServerState>>() {
        state.counts.requests.one();
    }
    let status = error.status_code();
    let kind = match status {
        StatusCode::PAYLOAD_TOO_LARGE => LinkRefusalKind::LongPassword,
        _ => LinkRefusalKind::BadForm,
    };
    let page = bad_form(status, kind, request);
    InternalError::from_response(error, page).into()
}

fn bad_form(status: StatusCode, kind: LinkRefusalKind, request: &HttpRequest) -> HttpResponse {
    let model = LinkRefusalModel { kind, at: None, detail: String::new() };
    html(status, link_refusal(&browser_context(request), &model))
}

fn ask_password(
    status: StatusCode,
    request: &HttpRequest,
    state: &ShareServerState,
) -> HttpResponse {
    let action = browser_path(request.path(), state);
    let is_wrong = status == StatusCode::FORBIDDEN;
    html(status, password_page(&context(request, state), &action, is_wrong))
}

/// The choices of a browser, for a page whose address can keep them.
fn context(request: &HttpRequest, state: &ShareServerState) -> CardContext {
    CardContext {
        now: moment(state.refusal_time()),
        site: site(state),
        choices: ChoiceForm::Here,
        ..browser_context(request)
    }
}

fn browser_context(request: &HttpRequest) -> CardContext {
    let cookie = |name: &str| request.cookie(name).map(|cookie| cookie.value().to_owned());
    let accepted = request.headers().get(header::ACCEPT_LANGUAGE);
    let choices = BrowserChoices::read(cookie, accepted.map(|header| header.as_bytes()));
    CardContext { site: PRODUCT.to_owned(), ..CardContext::of_browser(choices) }
}

/// The host in the public URL. Without that URL no name is known that visitors use.
fn site(state: &ShareServerState) -> String {
    let url = state.settings.public_url.as_deref().unwrap_or_default();
    let host = url.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next());
    host.filter(|host| !host.is_empty()).unwrap_or(PRODUCT).to_owned()
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
async fn nothing(request: HttpRequest, state: Data<ShareServerState>) -> HttpResponse {
    state.counts.requests.one();
    let context = CardContext { choices: ChoiceForm::None, ..context(&request, &state) };
    html(StatusCode::NOT_FOUND, link_refusal(&context, &refusal_model(&LinkRefusal::Unknown)))
}

async fn not_allowed(allowed: &'static str) -> HttpResponse {
    let mut answer = always(HttpResponse::MethodNotAllowed());
    answer.insert_header((header::ALLOW, allowed));
    answer.content_type("text/plain; charset=utf-8");
    answer.body(format!("This path accepts only {allowed}.\n"))
}

/// Reads the contents of a share for its page. Blocks on the disk.
fn look_at(state: &ShareServerState, share: &Share) -> Result<SharedContents, NotOpened> {
    state.open_share(share).and_then(|opened| contents(&opened).map_err(NotOpened::Failed))
}

fn refuse(refusal: &LinkRefusal, request: &HttpRequest, state: &ShareServerState) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status().0);
    let mut answer = HttpResponse::build(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    if let Some(seconds) = refusal.retry_after() {
        answer.insert_header((header::RETRY_AFTER, seconds));
    }
    if matches!(refusal, LinkRefusal::Throttled(_) | LinkRefusal::TooManyArchives) {
        state.counts.throttled.one();
    }
    with_page(answer, link_refusal(&context(request, state), &refusal_model(refusal)))
}

fn html(status: StatusCode, page: Markup) -> HttpResponse {
    with_page(HttpResponse::build(status), page)
}

fn with_page(answer: HttpResponseBuilder, page: Markup) -> HttpResponse {
    let mut answer = always(answer);
    answer.content_type("text/html; charset=utf-8");
    answer.insert_header((header::CONTENT_SECURITY_POLICY, link_policy()));
    answer.insert_header((header::VARY, "accept-language, cookie"));
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
