//! Authorization: a caller sends the token that a node and its workers share, or signs with it.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderValue};
use reelyard_access::secrets::TokenHash;
use reelyard_api::ProblemKind;
use reelyard_core::manager::MANAGER_HEADER;
use reelyard_core::token::SharedToken;
use reelyard_protocol::signed_call::{
    Addressee, CallText, SIGNATURE_HEADER, SignedCallRefused, SignedCallVerifier, VerifiedCall,
};
use reelyard_protocol::worker::EPOCH_HEADER;

use crate::http::problem::ProblemResponse;

/// How a call was authorized.
#[derive(Clone, Copy, Debug)]
pub enum Authority {
    /// No token is configured: every call is allowed.
    Open,
    /// A person or a script sent the token itself.
    Bearer,
    /// A program of the yard signed the call.
    Signed(VerifiedCall),
}

/// Why a call is not authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAuthority {
    /// The call has no token and no signature.
    #[error("a token is needed: Authorization: Bearer <token>")]
    Missing,
    /// The call has a wrong token.
    #[error("the token is not the token of this yard")]
    OtherToken,
    /// The signature of the call is not valid.
    #[error(transparent)]
    Signature(#[from] SignedCallRefused),
}

/// Allows a request if no token is configured, or if it has the right one as `Authorization: Bearer
/// <token>`.
///
/// # Errors
///
/// The token is missing or wrong.
pub fn bearer(
    request: &HttpRequest,
    token: Option<&SharedToken>,
) -> Result<Authority, NoAuthority> {
    let Some(token) = token else { return Ok(Authority::Open) };
    match request.headers().get(header::AUTHORIZATION) {
        None => Err(NoAuthority::Missing),
        given if token.admits(given.map(|value| value.as_bytes())) => Ok(Authority::Bearer),
        Some(given) if is_text_of(token, given) => Ok(Authority::Bearer),
        Some(_) => Err(NoAuthority::OtherToken),
    }
}

/// Whether a header carries the text of the worker token whose key this is.
fn is_text_of(key: &SharedToken, given: &HeaderValue) -> bool {
    let text = given.to_str().ok().and_then(|given| given.strip_prefix("Bearer "));
    let of_text = text.and_then(|text| TokenHash::of_token(text.trim()).ok()?.signing_key().ok());
    of_text.is_some_and(|of_text| of_text == *key)
}

/// Like [`bearer`], but also accepts a signature by a program of the yard.
///
/// # Errors
///
/// The token or signature is missing or wrong.
pub fn bearer_or_signature(
    request: &HttpRequest,
    token: Option<&SharedToken>,
    gate: &SignedCallVerifier,
    to: Addressee,
) -> Result<Authority, NoAuthority> {
    let header = |name: &str| request.headers().get(name).map(|value| value.as_bytes());
    let (Some(token), Some(signature)) = (token, header(SIGNATURE_HEADER)) else {
        return bearer(request, token);
    };
    let uri = request.uri();
    let text = CallText {
        to,
        method: request.method().as_str(),
        target: uri.path_and_query().map_or(uri.path(), |target| target.as_str()),
        epoch: header(EPOCH_HEADER).unwrap_or_default(),
        manager: header(MANAGER_HEADER).unwrap_or_default(),
    };
    Ok(Authority::Signed(gate.admit(token, &text, signature)?))
}

impl From<NoAuthority> for ProblemResponse {
    fn from(none: NoAuthority) -> Self {
        ProblemResponse::new(ProblemKind::Unauthorized, none.to_string())
    }
}
