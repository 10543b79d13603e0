//! Who may call: the token that a node and its workers share.

use actix_web::HttpRequest;
use actix_web::http::{StatusCode, header};

use super::problem::Refusal;
use crate::config::Secret;

/// Lets a request pass when no token is set, or when it carries the right one as
/// `Authorization: Bearer <token>`. The comparison takes the same time wherever the tokens differ.
pub fn check(request: &HttpRequest, token: Option<&Secret>) -> Result<(), Refusal> {
    let Some(token) = token else { return Ok(()) };
    let given = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    // Hashes compare in constant time, and hide the tokens' lengths.
    match given {
        Some(given) if blake3::hash(given) == blake3::hash(token.expose().as_bytes()) => Ok(()),
        Some(_) => Err(unauthorized("the token is not the one that this yard shares")),
        None => Err(unauthorized("a token is needed: Authorization: Bearer <token>")),
    }
}

fn unauthorized(detail: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
}
