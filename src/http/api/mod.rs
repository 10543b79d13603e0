//! The API, version 1: one file per resource. Answers are the types of
//! [`reelyard_actors::wire::api`] and [`reelyard_actors::wire::worker`].

mod config;
mod explain;
mod files;
mod history;
mod holdings;
mod host_changes;
mod hosts;
mod paging;
mod pins;
mod plan;
mod removals;
mod standing;
mod status;
mod tasks;
mod workers;

use actix_web::error::{JsonPayloadError, QueryPayloadError};
use actix_web::http::header::{ALLOW, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, Resource, ResponseError, Route, guard, web};
use serde::Deserialize;

use super::problem::Refusal;

/// The query of a call that takes none: whatever is given is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoQuery {}

/// Everything below `/api/v1`. A body longer than `body_limit` bytes is refused with 413.
pub fn routes(config: &mut web::ServiceConfig, body_limit: usize) {
    config
        .app_data(web::QueryConfig::default().error_handler(|error, _| bad_query(&error).into()))
        .app_data(
            web::PathConfig::default()
                .error_handler(|error, _| Refusal::bad_request(error.to_string()).into()),
        )
        .app_data(
            web::JsonConfig::default()
                .limit(body_limit)
                .error_handler(|error, _| bad_body(&error).into()),
        )
        .service(resource("/tasks", "GET, HEAD").route(read().to(tasks::list)))
        .service(
            resource("/tasks/{id}", "GET, HEAD, DELETE")
                .route(read().to(tasks::one))
                .route(web::delete().to(tasks::cancel)),
        )
        .service(resource("/hosts", "GET, HEAD").route(read().to(hosts::list)))
        .service(
            resource("/hosts/{host}", "GET, HEAD, PUT, DELETE")
                .route(read().to(hosts::one))
                .route(web::put().to(host_changes::add))
                .route(web::delete().to(host_changes::remove)),
        )
        .service(resource("/hosts/{host}/mode", "PUT").route(web::put().to(host_changes::set_mode)))
        .service(resource("/hosts/{host}/reset", "POST").route(web::post().to(hosts::reset)))
        .service(resource("/files", "GET, HEAD").route(read().to(files::list)))
        .service(resource("/files/{name}/explain", "GET, HEAD").route(read().to(explain::show)))
        .service(
            resource("/files/{name}/pin", "PUT, DELETE")
                .route(web::put().to(pins::pin))
                .route(web::delete().to(pins::unpin)),
        )
        .service(resource("/pins", "GET, HEAD").route(read().to(pins::list)))
        .service(
            resource("/removals", "GET, HEAD, POST")
                .route(read().to(removals::show))
                .route(web::post().to(removals::look_now)),
        )
        .service(resource("/history", "GET, HEAD").route(read().to(history::list)))
        .service(resource("/plan", "GET, HEAD").route(read().to(plan::show)))
        .service(resource("/config/reload", "POST").route(web::post().to(config::reload)))
        .service(resource("/status", "GET, HEAD").route(read().to(status::show)))
        .service(resource("/workers/{host}/tasks", "GET").route(web::get().to(workers::tasks)))
        .service(
            resource("/workers/{host}/reports", "POST").route(web::post().to(workers::reports)),
        )
        .default_service(web::to(unknown));
}

/// A resource whose other methods are answered with 405 and with those that it `allow`s.
fn resource(path: &str, allow: &'static str) -> Resource {
    let refuse = move |method: Method, request: HttpRequest| async move {
        let detail = format!("{} takes {allow}, not {method}", request.path());
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail);
        let mut response = refusal.error_response();
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        response
    };
    web::resource(path).default_service(web::to(refuse))
}

/// Whoever may GET may also HEAD; the server leaves the body out.
pub fn read() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

fn bad_query(error: &QueryPayloadError) -> Refusal {
    match error {
        QueryPayloadError::Deserialize(why) => Refusal::bad_request(format!("the query: {why}")),
        other => Refusal::bad_request(other.to_string()),
    }
}

fn bad_body(error: &JsonPayloadError) -> Refusal {
    let (status, kind, detail) = match error {
        JsonPayloadError::ContentType => (
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "the body: content type application/json is wanted".to_owned(),
        ),
        error if error.status_code() == StatusCode::PAYLOAD_TOO_LARGE => {
            (error.status_code(), "too-large", format!("the body: {error}"))
        }
        error => (error.status_code(), "bad-body", format!("the body: {error}")),
    };
    Refusal::new(status, kind, detail)
}

async fn unknown(request: HttpRequest) -> HttpResponse {
    let path = request.path();
    Refusal::not_found(format!(
        "there is no {path}; the API has tasks, hosts, files, plan, removals, pins, history and status \
         below /api/v1"
    ))
    .error_response()
}
