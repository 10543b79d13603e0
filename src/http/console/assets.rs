//! `/console/assets`: style, scripts and shapes. They hold no data of the yard, so they need no session.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use actix_web::{HttpResponse, ResponseError, web};
use reelyard_console::assets;

use crate::http::problem::ProblemResponse;

/// `GET /console/assets/{hash}/{name}`. The address contains the hash, so a browser keeps the file.
pub async fn show(path: web::Path<(String, String)>) -> HttpResponse {
    let (hash, name) = path.into_inner();
    let Some(asset) = assets::find(&hash, &name) else {
        let detail = "this file belongs to another version of the node: load the page again";
        return ProblemResponse::not_found(detail).error_response();
    };
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, asset.content_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((ETAG, format!("\"{}\"", asset.sha256)))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(asset.bytes)
}
