//! The caller of a request, by the token that it sends.

use std::future::{Ready, ready};
use std::net::IpAddr;

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use reelyard_access::access::{SessionRefused, TokenRefused};
use reelyard_access::rights::{Caller, Rights, Role, Subject};
use reelyard_access::secrets::{SessionSecret, TokenHash};
use reelyard_api::{IDEMPOTENCY_KEY, ProblemKind};
use reelyard_core::event::RequestId;

use super::request_credential::RequestCredential;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Name of the session's cookie.
pub(super) const SESSION_COOKIE: &str = "reelyard_session";

/// The header with the CSRF token of a session.
const CSRF_HEADER: &str = "Reelyard-Csrf";

/// Scheme of the header `Authorization`.
const BEARER: &str = "Bearer ";

/// The authenticated caller of a request. Middleware inserts it before the handler runs.
#[derive(Clone, Debug)]
pub struct RequestCaller(pub Caller, pub Option<RequestKey>);

/// The request id in the header of a change.
#[derive(Clone, Debug)]
pub struct RequestKey(String);

/// The longest request id in bytes.
const LONGEST_KEY: usize = 200;

impl RequestKey {
    fn of(request: &HttpRequest) -> Result<Option<Self>, ProblemResponse> {
        let Some(given) = request.headers().get(IDEMPOTENCY_KEY) else { return Ok(None) };
        match given.to_str() {
            Ok(key) if (1..=LONGEST_KEY).contains(&key.len()) => {
                Ok(Some(RequestKey(key.to_owned())))
            }
            _ => Err(ProblemResponse::bad_request(format!(
                "Idempotency-Key is a text of 1 to {LONGEST_KEY} bytes in ASCII. Leave it out if the request is not \
                 to be repeated"
            ))),
        }
    }
}

impl RequestCaller {
    /// The caller in one word or two, for histories and for the audit.
    pub fn name(&self) -> String {
        self.0.subject.to_string()
    }

    /// The request id in the header.
    pub fn key(&self) -> Option<String> {
        self.1.as_ref().map(|RequestKey(key)| key.clone())
    }

    /// The idempotency key of one change that this request asks for, if the request has an id. One request can ask
    /// for several changes, so `content` distinguishes them. The id belongs to its caller.
    pub fn named_request(&self, content: &str) -> Option<RequestId> {
        let RequestKey(key) = self.1.as_ref()?;
        let name = format!("{}/header/{key}/{content}", self.name());
        Some(RequestId::of(&name, content.as_bytes()))
    }

    /// The same. A request without an id gets a key of its own.
    pub fn request(&self, content: &str) -> RequestId {
        self.named_request(content).unwrap_or_else(RequestId::random)
    }
}

impl FromRequest for RequestCaller {
    type Error = ProblemResponse;
    type Future = Ready<Result<Self, ProblemResponse>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<RequestCaller>().cloned();
        ready(caller.ok_or_else(|| {
            ProblemResponse::new(
                ProblemKind::Unauthorized,
                "the caller of this request is not known",
            )
        }))
    }
}

/// The credential that a request sends.
enum Credential {
    /// The header `Authorization` with a token.
    Token(String),
    /// The header `Authorization` with the secret of a session.
    Session(SessionSecret),
    /// The cookie of a session. A browser also sends it for pages of other sites.
    Cookie(SessionSecret),
}

/// The caller of a request to the API, and its credential.
///
/// # Errors
///
/// The credential is missing, malformed, unknown or expired, or not accepted from the caller's address. A change with
/// a cookie lacks the CSRF token. There were too many unknown tokens from the address.
pub fn authenticate(
    request: &HttpRequest,
    state: &NodeHttpState,
) -> Result<(RequestCaller, RequestCredential), ProblemResponse> {
    let header = request.headers().get(CSRF_HEADER).and_then(|given| given.to_str().ok());
    authenticate_form(request, state, header)
}

/// Like [`authenticate`], for a page whose form has the CSRF token as a field.
///
/// # Errors
///
/// As with [`authenticate`].
pub fn authenticate_form(
    request: &HttpRequest,
    state: &NodeHttpState,
    csrf_token: Option<&str>,
) -> Result<(RequestCaller, RequestCredential), ProblemResponse> {
    let (caller, credential) = match credential(request)?.ok_or_else(|| missing(request, state))? {
        Credential::Token(text) => of_token(&text, request, state)?,
        Credential::Session(secret) => of_session(secret, request, state)?,
        Credential::Cookie(secret) => {
            if !request.method().is_safe() {
                check_csrf_token(&secret, csrf_token)?;
            }
            of_session(secret, request, state)?
        }
    };
    Ok((RequestCaller(caller, RequestKey::of(request)?), credential))
}

fn credential(request: &HttpRequest) -> Result<Option<Credential>, ProblemResponse> {
    let Some(given) = request.headers().get(header::AUTHORIZATION) else {
        return Ok(session_cookie(request).map(Credential::Cookie));
    };
    let text = given.to_str().ok().and_then(|given| given.strip_prefix(BEARER));
    let Some(text) = text else {
        let detail =
            "the header Authorization has another form: expected \"Authorization: Bearer TOKEN\"";
        return Err(unauthorized(detail));
    };
    let text = text.trim();
    match SessionSecret::parse(text) {
        Ok(secret) => Ok(Some(Credential::Session(secret))),
        Err(_) => Ok(Some(Credential::Token(text.to_owned()))),
    }
}

/// The secret in the cookie of a session. None for a cookie of another program on this host.
pub fn session_cookie(request: &HttpRequest) -> Option<SessionSecret> {
    SessionSecret::parse(request.cookie(SESSION_COOKIE)?.value()).ok()
}

fn of_token(
    text: &str,
    request: &HttpRequest,
    state: &NodeHttpState,
) -> Result<(Caller, RequestCredential), ProblemResponse> {
    let in_force = state.live.now();
    let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    if let Some(token) = in_force.config.token.as_ref().filter(|token| token.admits(given)) {
        let rights = Rights::Role(Role::Admin);
        let caller = Caller { subject: Subject::Legacy, rights };
        return Ok((caller, RequestCredential::Legacy(token.clone())));
    }
    let (view, address) = (state.actors.access_views.load(), address_of(request));
    let known = TokenHash::of_token(text).map_err(TokenRefused::from).and_then(|hash| {
        Ok((view.authenticate_token_hash(&hash, address, state.clock.now())?, hash))
    });
    match known {
        Ok((caller, hash)) => Ok((caller, RequestCredential::Token(hash))),
        Err(TokenRefused::NotReady) => Err(ProblemResponse::starting()),
        Err(refused) => {
            // Only a guess counts: the other tokens are known.
            if matches!(refused, TokenRefused::Malformed(_) | TokenRefused::Unknown) {
                state.login_guard.admit_token(address, &state.clock)?;
            }
            Err(unauthorized(refused.to_string()))
        }
    }
}

fn of_session(
    secret: SessionSecret,
    request: &HttpRequest,
    state: &NodeHttpState,
) -> Result<(Caller, RequestCredential), ProblemResponse> {
    let (view, address) = (state.actors.access_views.load(), address_of(request));
    match view.authenticate_session(&secret, address, state.clock.now()) {
        Ok(caller) => Ok((caller, RequestCredential::Session(secret))),
        Err(SessionRefused::NotReady) => Err(ProblemResponse::starting()),
        Err(refused) => Err(unauthorized(refused.to_string())),
    }
}

/// A page of another site can make a browser send the cookie, but it cannot know the CSRF token.
fn check_csrf_token(secret: &SessionSecret, given: Option<&str>) -> Result<(), ProblemResponse> {
    if given.is_some_and(|given| secret.has_csrf_token(given)) {
        return Ok(());
    }
    let detail = format!(
        "a change with the cookie of a session needs the CSRF token of the session in the header {CSRF_HEADER}"
    );
    Err(ProblemResponse::new(ProblemKind::Forbidden, detail))
}

/// The refusal of a call without a token. A caller on the same host learns where the administrator's token is.
fn missing(request: &HttpRequest, state: &NodeHttpState) -> ProblemResponse {
    let mut refusal = unauthorized(
        "a token is needed: \"Authorization: Bearer TOKEN\". \"reelyard token create\" makes one; people use \
         \"reelyard login\"",
    );
    if address_of(request).is_loopback() {
        refusal = refusal.with_token_file(state.admin_token_file.clone());
    }
    refusal
}

pub(super) fn unauthorized(detail: impl Into<String>) -> ProblemResponse {
    ProblemResponse::new(ProblemKind::Unauthorized, detail)
}

/// The address of the caller. The unspecified address, which no range contains, if it is unknown.
pub fn address_of(request: &HttpRequest) -> IpAddr {
    let unknown = IpAddr::from([0, 0, 0, 0]);
    request.peer_addr().map_or(unknown, |peer| peer.ip().to_canonical())
}

/// The idempotency key of a request with this name and content. The name belongs to its caller. Without one, the
/// request has the id in its header, or a key of its own.
pub fn request_id(caller: &RequestCaller, name: Option<&str>, content: &str) -> RequestId {
    match name {
        Some(name) => RequestId::of(&format!("{}/{name}", caller.name()), content.as_bytes()),
        None => caller.request(content),
    }
}
