//! Parts that answers of a worker share: content types, the line of JSON, and the refusal of a caller.

use actix_web::{HttpResponse, HttpResponseBuilder};
use reelyard_protocol::signed_call::CHALLENGE_HEADER;
use serde::Serialize;

use super::state::WorkerHttp;
use crate::http::access::authority::NoAuthority;

/// cfw's content type of text.
pub const TEXT: &str = "text/plain;charset=UTF-8";

/// cfw's content type of JSON, also for the empty answers to `DELETE`.
pub const JSON: &str = "application/json;charset=UTF-8";

/// `401` with the challenge for the next signed call.
pub fn unauthorized(http: &WorkerHttp, none: NoAuthority) -> HttpResponse {
    let mut answer = HttpResponse::Unauthorized();
    answer.insert_header(("WWW-Authenticate", "Bearer")).content_type(TEXT);
    if let Some(challenge) = http.gate.challenge() {
        answer.insert_header((CHALLENGE_HEADER, challenge.to_string()));
    }
    answer.body(format!("{none}\n"))
}

pub fn json_line(answer: &mut HttpResponseBuilder, value: &impl Serialize) -> HttpResponse {
    match json(value) {
        Ok(body) => answer.body(body),
        Err(_) => HttpResponse::InternalServerError().content_type(JSON).finish(),
    }
}

pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}
