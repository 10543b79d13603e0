//! `/healthz` and `/readyz`: whether the process lives, and whether it does all it is there for.

use actix_web::{HttpResponse, web};

use super::node::NodeHttpState;

/// `GET /healthz`: 200 as long as the process answers.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ok\n")
}

/// `GET /readyz`: 200, or 503 with what is missing, a line each. What only wants looking at follows
/// as warnings, and does not make it 503: the node does its work, and a load balancer that took it
/// away would mend nothing.
pub async fn readyz(state: web::Data<NodeHttpState>) -> HttpResponse {
    readiness(&state.not_ready(), &state.warnings())
}

/// 200, or 503 with what is missing, a line each; the warnings follow.
pub fn readiness(missing: &[String], warnings: &[String]) -> HttpResponse {
    let (mut response, mut text) = if missing.is_empty() {
        (HttpResponse::Ok(), "ready\n".to_owned())
    } else {
        (HttpResponse::ServiceUnavailable(), missing.join("\n") + "\n")
    };
    for warning in warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    response.content_type("text/plain; charset=utf-8").body(text)
}
