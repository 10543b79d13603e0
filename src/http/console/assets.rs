//! `/console/assets`: style, scripts and shapes. They hold no data of the yard, so they need no session.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, ResponseError, web};
use bytes::Bytes;
use flate2::Compression;
use reelyard_console::assets::{self, ASSETS};

use crate::http::packed::{GZIP, accepts_gzip, gzip};
use crate::http::problem::ProblemResponse;

/// Each file by its SHA-256, packed with gzip when the first browser asks for one.
static PACKED: LazyLock<BTreeMap<&'static str, Bytes>> = LazyLock::new(|| {
    let packed = ASSETS
        .iter()
        .filter_map(|asset| Some((asset.sha256, gzip(asset.bytes, Compression::best())?.into())));
    packed.collect()
});

/// `GET /console/assets/{hash}/{name}`. The address contains the hash, so a browser keeps the file.
pub async fn show(request: HttpRequest, path: web::Path<(String, String)>) -> HttpResponse {
    let (hash, name) = path.into_inner();
    let Some(asset) = assets::find(&hash, &name) else {
        let detail = "this file belongs to another version of the node: load the page again";
        return ProblemResponse::not_found(detail).error_response();
    };
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header((CONTENT_TYPE, asset.content_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((VARY, ACCEPT_ENCODING.as_str()))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"));
    let packed = accepts_gzip(&request).then(|| PACKED.get(asset.sha256)).flatten();
    match packed {
        Some(packed) => answer
            .insert_header((CONTENT_ENCODING, GZIP))
            .insert_header((ETAG, format!("\"{}-{GZIP}\"", asset.sha256)))
            .body(packed.clone()),
        None => answer.insert_header((ETAG, format!("\"{}\"", asset.sha256))).body(asset.bytes),
    }
}
