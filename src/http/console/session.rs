//! `/console/session`: whether the visitor is still signed in.

use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpRequest, HttpResponse, web};

use super::refusal::ConsoleRefusal;
use super::visitor::csrf_token;
use crate::http::access;
use crate::http::node_state::NodeHttpState;

/// `GET /console/session`: the token of the forms of the present session. A page that was opened in an earlier
/// session puts it into its forms, so that nothing is lost that was typed there.
///
/// # Errors
/// The session is missing or has ended.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let (_, credential) = access::authenticate(&request, &state)?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((CACHE_CONTROL, "no-store")).content_type("text/plain; charset=utf-8");
    Ok(answer.body(csrf_token(&credential)))
}
