//! The API, version 1: one file per resource. Answers are the types of
//! [`reelyard_actors::wire::api`] and [`reelyard_actors::wire::worker`].

mod files;
mod hosts;
mod paging;
mod plan;
mod status;
mod tasks;
mod workers;

use actix_web::{HttpRequest, HttpResponse, ResponseError, web};

use super::problem::Refusal;

/// Everything below `/api/v1`. A body longer than `body_limit` bytes is refused with 413.
pub fn routes(config: &mut web::ServiceConfig, body_limit: usize) {
    config
        .app_data(
            web::QueryConfig::default()
                .error_handler(|error, _| Refusal::bad_request(error.to_string()).into()),
        )
        .app_data(
            web::PathConfig::default()
                .error_handler(|error, _| Refusal::bad_request(error.to_string()).into()),
        )
        .app_data(web::JsonConfig::default().limit(body_limit).error_handler(|error, _| {
            let status = error.status_code();
            Refusal::new(status, "bad-body", format!("the body: {error}")).into()
        }))
        .route("/tasks", web::get().to(tasks::list))
        .route("/tasks/{id}", web::get().to(tasks::one))
        .route("/tasks/{id}", web::delete().to(tasks::cancel))
        .route("/hosts", web::get().to(hosts::list))
        .route("/files", web::get().to(files::list))
        .route("/plan", web::get().to(plan::show))
        .route("/status", web::get().to(status::show))
        .route("/workers/{host}/tasks", web::get().to(workers::tasks))
        .route("/workers/{host}/reports", web::post().to(workers::reports))
        .default_service(web::to(unknown));
}

async fn unknown(request: HttpRequest) -> HttpResponse {
    let (method, path) = (request.method(), request.path());
    Refusal::not_found(format!("there is no {method} {path}; the API is described in the README"))
        .error_response()
}
