//! The caller of a request, by the token that it sends.

use std::future::{Ready, ready};
use std::net::IpAddr;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use reelyard_access::rights::{Caller, Rights, Role, Subject};
use reelyard_api::ProblemKind;
use reelyard_core::event::RequestId;

use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// Scheme of the header `Authorization`.
const BEARER: &str = "Bearer ";

/// The authenticated caller of a request. Middleware inserts it before the handler runs.
#[derive(Clone, Debug)]
pub struct RequestCaller(pub Caller);

impl RequestCaller {
    /// The caller in one word or two, for histories and for the audit.
    pub fn name(&self) -> String {
        self.0.subject.to_string()
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

/// The caller of a request to the API.
///
/// # Errors
///
/// The token is missing, malformed, unknown or expired, or not accepted from the caller's address.
pub fn authenticate(
    request: &HttpRequest,
    state: &NodeHttpState,
) -> Result<RequestCaller, ProblemResponse> {
    let Some(given) = request.headers().get(header::AUTHORIZATION) else {
        return Err(missing(request, state));
    };
    let in_force = state.live.now();
    if in_force.config.token.as_ref().is_some_and(|token| token.admits(Some(given.as_bytes()))) {
        let rights = Rights::Role(Role::Admin);
        return Ok(RequestCaller(Caller { subject: Subject::Legacy, rights }));
    }
    let text = given.to_str().ok().and_then(|given| given.strip_prefix(BEARER));
    let Some(text) = text else {
        let detail =
            "the header Authorization has another form: expected \"Authorization: Bearer TOKEN\"";
        return Err(unauthorized(detail));
    };
    let view = state.actors.access_views.load();
    let caller = view.authenticate_token(text.trim(), address_of(request), state.clock.now());
    caller.map(RequestCaller).map_err(|refused| unauthorized(refused.to_string()))
}

/// The refusal of a call without a token. A caller on the same host learns where the administrator's token is.
fn missing(request: &HttpRequest, state: &NodeHttpState) -> ProblemResponse {
    let mut refusal = unauthorized(
        "a token is needed: \"Authorization: Bearer TOKEN\". \"reelyard token create\" makes one",
    );
    if address_of(request).is_loopback() {
        refusal = refusal.with_token_file(state.admin_token_file.clone());
    }
    refusal
}

fn unauthorized(detail: impl Into<String>) -> ProblemResponse {
    ProblemResponse::new(ProblemKind::Unauthorized, detail)
}

/// The address of the caller. The unspecified address, which no range contains, if it is unknown.
fn address_of(request: &HttpRequest) -> IpAddr {
    let unknown = IpAddr::from([0, 0, 0, 0]);
    request.peer_addr().map_or(unknown, |peer| peer.ip().to_canonical())
}

/// The idempotency key of a request with this name and content. The name belongs to its caller. A request
/// without a name gets a key of its own.
pub fn request_id(caller: &RequestCaller, name: Option<&str>, content: &str) -> RequestId {
    match name {
        Some(name) => RequestId::of(&format!("{}/{name}", caller.name()), content.as_bytes()),
        None => RequestId::random(),
    }
}
