//! The routes below `/api/v1`, from the table of calls.

use actix_web::error::JsonPayloadError;
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, Resource, ResponseError, web};
use reelyard_api::ProblemKind;

use super::call_parts::bad_query;
use super::node_calls::document::OpenApiText;
use super::{calls, openapi};
use crate::http::problem::ProblemResponse;

/// Configures everything below `/api/v1`. A body longer than `body_limit` bytes is refused with
/// 413.
pub fn routes(config: &mut web::ServiceConfig, body_limit: usize) {
    config
        .app_data(web::Data::new(OpenApiText(&openapi::TEXT)))
        .app_data(web::QueryConfig::default().error_handler(|error, _| bad_query(&error).into()))
        .app_data(
            web::PathConfig::default()
                .error_handler(|error, _| ProblemResponse::bad_request(error.to_string()).into()),
        )
        .app_data(
            web::JsonConfig::default()
                .limit(body_limit)
                .error_handler(|error, _| bad_body(&error).into()),
        )
        .default_service(web::to(unknown));
    // The table is sorted so that calls of one path are adjacent.
    let mut calls = calls::all().into_iter().peekable();
    while let Some(first) = calls.next() {
        let (path, mut allow) = (first.path.clone(), vec![first.allow()]);
        let mut routes = vec![first.route()];
        while let Some(next) = calls.next_if(|next| next.path == path) {
            allow.push(next.allow());
            routes.push(next.route());
        }
        let resource = resource(&path, allow.join(", "));
        config.service(routes.into_iter().fold(resource, Resource::route));
    }
}

/// A resource that answers other methods with 405 and the header `Allow`.
fn resource(path: &str, allow: String) -> Resource {
    let refuse = move |method: Method, request: HttpRequest| {
        let detail = format!("{} accepts {allow}, not {method}", request.path());
        let refusal = ProblemResponse::new(ProblemKind::MethodNotAllowed, detail);
        let mut response = refusal.error_response();
        if let Ok(allow) = HeaderValue::from_str(&allow) {
            response.headers_mut().insert(ALLOW, allow);
        }
        std::future::ready(response)
    };
    web::resource(path).default_service(web::to(refuse))
}

fn bad_body(error: &JsonPayloadError) -> ProblemResponse {
    let (kind, detail) = match error {
        JsonPayloadError::ContentType => (
            ProblemKind::UnsupportedMediaType,
            "the body: expected content type application/json".to_owned(),
        ),
        error if error.status_code() == StatusCode::PAYLOAD_TOO_LARGE => {
            (ProblemKind::TooLarge, format!("the body: {error}"))
        }
        error => (ProblemKind::BadBody, format!("the body: {error}")),
    };
    ProblemResponse::new(kind, detail)
}

async fn unknown(request: HttpRequest) -> HttpResponse {
    let path = request.path();
    ProblemResponse::not_found(format!(
        "{path} does not exist; /api/v1/openapi.json lists all paths"
    ))
    .error_response()
}
