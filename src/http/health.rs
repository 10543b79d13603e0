//! `/healthz` and `/readyz`: liveness and readiness of the process.

use actix_web::{HttpResponse, web};

use super::node_state::NodeHttpState;

/// `GET /healthz`: 200 while the process answers.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; charset=utf-8").body("ok\n")
}

/// `GET /readyz`: 200, or 503 with one line per missing condition. Warnings follow, and do not
/// cause 503: the node still works, and a load balancer that removes it would not help.
pub async fn readyz(state: web::Data<NodeHttpState>) -> HttpResponse {
    state.cluster.check_leader().await;
    readiness(&state.not_ready(), &state.warnings())
}

/// Builds the answer: 200, or 503 with one line per missing condition; warnings follow.
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
