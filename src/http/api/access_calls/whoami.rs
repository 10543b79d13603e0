//! `GET /api/v1/whoami`: the caller and its rights.

use actix_web::web;
use reelyard_api::CallerInfo;

use crate::http::access::RequestCaller;
use crate::http::api::call_parts::NoQuery;
use crate::http::problem::Refusal;

/// `GET /whoami`.
#[utoipa::path(
    get,
    path = "/whoami",
    tag = "access",
    operation_id = "whoAmI",
    summary = "Shows the caller and its rights",
    responses((status = 200, description = "The caller", body = CallerInfo))
)]
pub async fn show(
    caller: RequestCaller,
    _: web::Query<NoQuery>,
) -> Result<web::Json<CallerInfo>, Refusal<()>> {
    Ok(web::Json(CallerInfo::from(&caller.0)))
}
