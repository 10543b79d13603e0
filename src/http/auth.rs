//! Who may call: whoever bears the token that a node and its workers share.

use actix_web::HttpRequest;
use actix_web::http::{StatusCode, header};
use reelyard_actors::token::SharedToken;

use super::problem::Refusal;

/// Lets a request pass when no token is set, or when it carries the right one as
/// `Authorization: Bearer <token>`.
pub fn check(request: &HttpRequest, token: Option<&SharedToken>) -> Result<(), Refusal> {
    let Some(token) = token else { return Ok(()) };
    let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    if token.admits(given) {
        return Ok(());
    }
    let detail = match given {
        Some(_) => "the token is not the one that this yard shares",
        None => "a token is needed: Authorization: Bearer <token>",
    };
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", detail))
}
