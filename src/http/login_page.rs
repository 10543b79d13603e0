//! `/login` and `/logout`: a session in a browser, without scripts.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, LOCATION, RETRY_AFTER};
use actix_web::web::{self, Data, Form, Query};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use reelyard_access::access::EndSession;
use reelyard_access::rights::Caller;
use reelyard_access::secrets::SessionSecret;
use reelyard_api::{Password, ProblemKind};
use reelyard_console::Moment;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::card::{
    CardContext, ChoiceForm, SignInModel, SignInRefusal, SignInStep, sign_in, sign_in_policy,
};
use serde::Deserialize;

use super::access::{self, BegunSession, GivenProof, address_of, session_cookie};
use super::api::read;
use super::audit::AuditDetails;
use super::console::{choices_of, is_console_path, yard_name};
use super::node_state::NodeHttpState;
use super::problem::ProblemResponse;

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

/// The routes of the sign-in.
pub fn routes(config: &mut web::ServiceConfig) {
    let sign_in = web::resource("/login").route(read().to(show)).route(web::post().to(log_in));
    config.service(sign_in);
    config.service(web::resource("/login/").route(read().to(without_slash)));
    config.service(web::resource("/logout").route(web::post().to(log_out)));
}

/// `GET /login/`: the address that people type.
async fn without_slash(request: HttpRequest) -> HttpResponse {
    let mark = if request.query_string().is_empty() { "" } else { "?" };
    let address = format!("/login{mark}{}", request.query_string());
    HttpResponse::SeeOther().insert_header((LOCATION, address)).finish()
}

/// `GET /login`: the form, or the session that the browser has.
pub async fn show(
    state: Data<NodeHttpState>,
    request: HttpRequest,
    query: Query<LoginQuery>,
) -> HttpResponse {
    let LoginQuery { link, next } = query.into_inner();
    let step = match (link, session_of(&state, &request)) {
        (Some(secret), _) => SignInStep::Link { secret, next },
        (None, Some((caller, secret))) => signed_in(&state, &caller, &secret),
        (None, None) => SignInStep::Password { name: String::new(), next },
    };
    page(StatusCode::OK, &state, &request, step, None)
}

/// `POST /login`: begins a session.
pub async fn log_in(
    state: Data<NodeHttpState>,
    request: HttpRequest,
    form: Form<LoginForm>,
) -> HttpResponse {
    let LoginForm { name, password, link, next } = form.into_inner();
    let is_link = link.is_some();
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
        Err(refused) => {
            let step = SignInStep::Password { name, next };
            page_of(&refused, is_link, &state, &request, step)
        }
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
        let step = signed_in(&state, &by, &secret);
        if !secret.has_csrf_token(&form.csrf_token.0) {
            return page(StatusCode::FORBIDDEN, &state, &request, step, None);
        }
        let ended = state.actors.access.ask(EndSession { hash: secret.hash(), by }).await;
        let refusal = match ended {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(ProblemResponse::from(error)),
            Err(error) => Some(ProblemResponse::from(error)),
        };
        if let Some(refused) = refusal {
            return signed_out_here(&refused, &state, &request);
        }
    }
    let mut answer = HttpResponse::SeeOther();
    answer.insert_header((LOCATION, "/login"));
    answer.cookie(access::removed_cookie()).finish()
}

/// The sign-in of a browser that forgets its session, although the node could not end it.
fn signed_out_here(
    refused: &ProblemResponse,
    state: &NodeHttpState,
    request: &HttpRequest,
) -> HttpResponse {
    let step = SignInStep::Password { name: String::new(), next: String::new() };
    let reason = SignInRefusal::SignedOutHere(refused.problem().detail.clone());
    let mut answer = page(refused.status_code(), state, request, step, Some(reason));
    // A cookie with a valid name is always a header.
    let _ = answer.add_cookie(&access::removed_cookie());
    answer
}

/// The session of the browser and its caller. None without a session, and for one that has ended.
fn session_of(state: &NodeHttpState, request: &HttpRequest) -> Option<(Caller, SessionSecret)> {
    let secret = session_cookie(request)?;
    let view = state.actors.access_views.load();
    let caller = view.authenticate_session(&secret, address_of(request), state.clock.now());
    Some((caller.ok()?, secret))
}

fn signed_in(state: &NodeHttpState, caller: &Caller, secret: &SessionSecret) -> SignInStep {
    SignInStep::SignedIn {
        yard: yard_name(state),
        subject: caller.subject.to_string(),
        rights: caller.rights.to_string(),
        csrf: secret.csrf_token(),
    }
}

/// The page after a refusal, with the words of the refusal above its fields.
fn page_of(
    refused: &ProblemResponse,
    is_link: bool,
    state: &NodeHttpState,
    request: &HttpRequest,
    step: SignInStep,
) -> HttpResponse {
    let plain = refused.error_response();
    let retry = plain.headers().get(RETRY_AFTER);
    let seconds = retry.and_then(|value| value.to_str().ok()?.parse().ok());
    let reason = match (refused.kind(), seconds) {
        (ProblemKind::Unauthorized, _) if is_link => SignInRefusal::UsedLink,
        (ProblemKind::Unauthorized, _) => SignInRefusal::Wrong,
        (ProblemKind::TooManyAttempts, Some(seconds)) => SignInRefusal::TooMany(seconds),
        _ => SignInRefusal::Other(refused.problem().detail.clone()),
    };
    let mut answer = page(refused.status_code(), state, request, step, Some(reason));
    if let Some(retry) = retry {
        answer.headers_mut().insert(RETRY_AFTER, retry.clone());
    }
    answer
}

fn page(
    status: StatusCode,
    state: &NodeHttpState,
    request: &HttpRequest,
    step: SignInStep,
    refused: Option<SignInRefusal>,
) -> HttpResponse {
    let context = CardContext {
        now: Moment(state.clock.now().0),
        site: "Reelyard".to_owned(),
        choices: ChoiceForm::Elsewhere(format!("{ROOT}/preferences"), address_of_step(&step)),
        ..CardContext::of_browser(choices_of(request))
    };
    let document = sign_in(&context, &SignInModel { refused, step });
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CONTENT_SECURITY_POLICY, sign_in_policy()))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(document.into_string())
}

/// The address that shows this step again.
fn address_of_step(step: &SignInStep) -> String {
    match step {
        SignInStep::Password { next, .. } if next.is_empty() => "/login".to_owned(),
        SignInStep::Password { next, .. } => format!("/login?next={}", encoded(next)),
        SignInStep::Link { secret, next } => {
            format!("/login?link={}&next={}", encoded(secret), encoded(next))
        }
        SignInStep::SignedIn { .. } => "/login".to_owned(),
    }
}
