//! `/api/v1/openapi.json`.

use std::sync::LazyLock;

use actix_web::{HttpResponse, web};

use crate::http::api::call_parts::NoQuery;

/// The OpenAPI document as JSON text, built when it is first read.
#[derive(Clone, Copy)]
pub struct OpenApiText(pub &'static LazyLock<String>);

/// `GET /openapi.json`.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "node",
    operation_id = "describeApi",
    summary = "Returns this document",
    description = "`reelyard openapi` prints the same document.",
    responses((status = 200, description = "The document", body = Object))
)]
pub async fn show(document: web::Data<OpenApiText>, _: web::Query<NoQuery>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(document.0.as_str())
}
