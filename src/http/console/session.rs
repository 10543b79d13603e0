//! `/console/session`: whether the visitor is still signed in, and as which user.

use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpRequest, HttpResponse, web};

use serde_json::json;

use super::refusal::ConsoleRefusal;
use super::visitor::csrf_token;
use crate::http::access;
use crate::http::node_state::NodeHttpState;

/// `GET /console/session`: the user of the present session, and the token of its forms. A page that the same user
/// opened in an earlier session puts the token into its forms. So nothing is lost that was typed there.
///
/// # Errors
/// The session is missing or has ended.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let (caller, credential) = access::authenticate(&request, &state)?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((CACHE_CONTROL, "no-store"));
    Ok(answer.json(json!({ "user": caller.name(), "csrf_token": csrf_token(&credential) })))
}
