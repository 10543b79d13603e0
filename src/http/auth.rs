//! Who may call: who bears the token that a node and its workers share, or signs with it.

use actix_web::HttpRequest;
use actix_web::http::{StatusCode, header};
use reelyard_core::manager::MANAGER_HEADER;
use reelyard_core::token::SharedToken;
use reelyard_protocol::signed_call::{
    Addressee, CallText, SIGNATURE_HEADER, SignedCallRefused, SignedCallVerifier, VerifiedCall,
};
use reelyard_protocol::worker::EPOCH_HEADER;

use super::problem::ProblemResponse;

/// By what right a call is made.
#[derive(Clone, Copy, Debug)]
pub enum Authority {
    /// No token is set: everybody may call.
    Open,
    /// The token itself came with it, from a person or a script.
    Bearer,
    /// A program of the yard signed it.
    Signed(VerifiedCall),
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAuthority {
    /// It carries nothing.
    #[error("a token is needed: Authorization: Bearer <token>")]
    Missing,
    /// It carries another token.
    #[error("the token is not the token of this yard")]
    OtherToken,
    /// It is signed, and the signature is not good.
    #[error(transparent)]
    Signature(#[from] SignedCallRefused),
}

/// Lets a request pass when no token is set, or when it carries the right one as
/// `Authorization: Bearer <token>`.
///
/// # Errors
/// It carries none, or another.
pub fn bearer(
    request: &HttpRequest,
    token: Option<&SharedToken>,
) -> Result<Authority, NoAuthority> {
    let Some(token) = token else { return Ok(Authority::Open) };
    match request.headers().get(header::AUTHORIZATION) {
        None => Err(NoAuthority::Missing),
        given if token.admits(given.map(|value| value.as_bytes())) => Ok(Authority::Bearer),
        Some(_) => Err(NoAuthority::OtherToken),
    }
}

/// The same for a call that programs of the yard make: they sign it.
///
/// # Errors
/// It carries nothing that is good.
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
        ProblemResponse::new(StatusCode::UNAUTHORIZED, "unauthorized", none.to_string())
    }
}
