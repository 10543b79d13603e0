//! `/login` and `/logout`: a session in a browser, without scripts.

use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, LOCATION};
use actix_web::web::{Data, Form, Query};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use reelyard_access::access::EndSession;
use reelyard_access::rights::Caller;
use reelyard_access::secrets::SessionSecret;
use reelyard_api::Password;
use reelyard_console::address::ROOT;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::access::{self, BegunSession, GivenProof, address_of, session_cookie};
use super::audit::AuditDetails;
use super::console::is_console_path;
use super::node_state::NodeHttpState;
use super::problem::ProblemResponse;

const STYLE: &str = include_str!("login_page.css");

/// Allows only the style sheet of the page and forms of this node.
static SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    )
});

/// Options of the login page in its URL.
#[derive(Deserialize)]
pub struct LoginQuery {
    link: Option<String>,
    /// The page of the console that the browser asked for.
    #[serde(default)]
    next: String,
}

/// The form of the login page.
#[derive(Deserialize)]
pub struct LoginForm {
    #[serde(default)]
    name: String,
    password: Option<Password>,
    link: Option<Password>,
    #[serde(default)]
    next: String,
}

/// The form that ends a session.
#[derive(Deserialize)]
pub struct LogoutForm {
    csrf_token: Password,
}

/// `GET /login`: the form, or the session that the browser has.
pub async fn show(
    state: Data<NodeHttpState>,
    request: HttpRequest,
    query: Query<LoginQuery>,
) -> HttpResponse {
    // A link is used by a button, because programs that preview links open them too.
    if let Some(link) = &query.link {
        return page(StatusCode::OK, &link_form(link));
    }
    match session_of(&state, &request) {
        Some((caller, secret)) => page(StatusCode::OK, &logged_in(&caller, &secret)),
        None => page(StatusCode::OK, &password_form("", &query.next, None)),
    }
}

/// `POST /login`: begins a session.
pub async fn log_in(
    state: Data<NodeHttpState>,
    request: HttpRequest,
    form: Form<LoginForm>,
) -> HttpResponse {
    let LoginForm { name, password, link, next } = form.into_inner();
    let proof = match (password, link) {
        (_, Some(link)) => GivenProof::Link(link),
        (password, None) => {
            GivenProof::Password(name.clone(), password.unwrap_or(Password(String::new())))
        }
    };
    match access::begin(&state, &request, proof).await {
        Ok(BegunSession { secret, .. }) => {
            let mut answer = HttpResponse::SeeOther();
            let next = if is_console_path(&next) { next.as_str() } else { ROOT };
            answer.insert_header((LOCATION, next));
            answer.cookie(access::cookie_of(&secret, &state, &request)).finish()
        }
        Err(refused) => page_of(&refused, &password_form(&name, &next, Some(&refused))),
    }
}

/// `POST /logout`: ends the session of the browser.
pub async fn log_out(
    state: Data<NodeHttpState>,
    request: HttpRequest,
    form: Form<LogoutForm>,
) -> HttpResponse {
    if let Some((by, secret)) = session_of(&state, &request) {
        AuditDetails::of(&request).actor(&by.subject);
        if !secret.has_csrf_token(&form.csrf_token.0) {
            return page(StatusCode::FORBIDDEN, &logged_in(&by, &secret));
        }
        let ended = state.actors.access.ask(EndSession { hash: secret.hash(), by }).await;
        let refusal = match ended {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(ProblemResponse::from(error)),
            Err(error) => Some(ProblemResponse::from(error)),
        };
        if let Some(refused) = refusal {
            return page_of(&refused, &html! { p role="alert" { (refused) } });
        }
    }
    let mut answer = HttpResponse::SeeOther();
    answer.insert_header((LOCATION, "/login"));
    answer.cookie(access::removed_cookie()).finish()
}

/// The session of the browser and its caller. None without a session, and for one that has ended.
fn session_of(state: &NodeHttpState, request: &HttpRequest) -> Option<(Caller, SessionSecret)> {
    let secret = session_cookie(request)?;
    let view = state.actors.access_views.load();
    let caller = view.authenticate_session(&secret, address_of(request), state.clock.now());
    Some((caller.ok()?, secret))
}

fn password_form(name: &str, next: &str, refused: Option<&ProblemResponse>) -> Markup {
    html! {
        h1 { "Log in to Reelyard" }
        @if let Some(refused) = refused {
            p.refused role="alert" { (refused.problem().detail) }
        }
        form method="post" action="/login" {
            input type="hidden" name="next" value=(next);
            label for="name" { "User" }
            input #name name="name" value=(name) autocomplete="username" autocapitalize="none" required;
            label for="password" { "Password" }
            input #password name="password" type="password" autocomplete="current-password" required;
            button { "Log in" }
        }
        p { "Without a user: run " code { "reelyard login --web" } " where you have a token, and open its link." }
    }
}

fn link_form(link: &str) -> Markup {
    html! {
        h1 { "Log in to Reelyard" }
        p { "This link begins one session in this browser." }
        form method="post" action="/login" {
            input type="hidden" name="link" value=(link);
            button { "Log in" }
        }
    }
}

fn logged_in(caller: &Caller, secret: &SessionSecret) -> Markup {
    html! {
        h1 { "Reelyard" }
        p { "You are " strong { (caller.subject) } " with " (caller.rights) "." }
        ul {
            li { a href=(ROOT) { "Console" } }
            li { a href="/dashboard" { "Copies and files" } }
            li { a href="/api/v1/status" { "Status" } }
            li { a href="/guide" { "Guide" } }
        }
        form method="post" action="/logout" {
            input type="hidden" name="csrf_token" value=(secret.csrf_token());
            button { "Log out" }
        }
    }
}

fn page_of(refused: &ProblemResponse, body: &Markup) -> HttpResponse {
    let mut answer = page(refused.status_code(), body);
    if let Some(retry) = refused.error_response().headers().get(header::RETRY_AFTER) {
        answer.headers_mut().insert(header::RETRY_AFTER, retry.clone());
    }
    answer
}

fn page(status: StatusCode, body: &Markup) -> HttpResponse {
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // The address of a login link contains its secret, so other sites never get it. With "no-referrer", the
                // browser would send its form with the origin "null", which the node refuses.
                meta name="referrer" content="same-origin";
                title { "Reelyard: log in" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CONTENT_SECURITY_POLICY, SECURITY_POLICY.as_str()))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(text.into_string())
}
