//! Refusals of the console: a redirection to the login, or a page with the problem.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use maud::{DOCTYPE, Markup, html};
use reelyard_api::ProblemKind;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::assets::STYLE;

use crate::http::problem::ProblemResponse;

/// Why a page of the console is not shown.
#[derive(Debug)]
pub enum ConsoleRefusal {
    /// The visitor must log in, and then comes back to this address.
    LogIn(String),
    /// Another problem.
    Problem(ProblemResponse),
}

impl ConsoleRefusal {
    /// The refusal of a visitor whose session is missing or has ended.
    pub fn of_caller(refused: ProblemResponse, request: &HttpRequest) -> Self {
        if refused.status_code() != StatusCode::UNAUTHORIZED {
            return ConsoleRefusal::Problem(refused);
        }
        let path = request.uri().path_and_query().map_or(ROOT, |path| path.as_str());
        let is_page = request.method().is_safe();
        ConsoleRefusal::LogIn(if is_page { path.to_owned() } else { ROOT.to_owned() })
    }
}

impl From<ProblemResponse> for ConsoleRefusal {
    fn from(refused: ProblemResponse) -> Self {
        ConsoleRefusal::Problem(refused)
    }
}

impl fmt::Display for ConsoleRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConsoleRefusal::LogIn(_) => f.write_str("a session is needed"),
            ConsoleRefusal::Problem(refused) => refused.fmt(f),
        }
    }
}

impl ResponseError for ConsoleRefusal {
    fn status_code(&self) -> StatusCode {
        match self {
            ConsoleRefusal::LogIn(_) => StatusCode::SEE_OTHER,
            ConsoleRefusal::Problem(refused) => refused.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            ConsoleRefusal::LogIn(next) => {
                let mut answer = HttpResponse::SeeOther();
                answer.insert_header((LOCATION, format!("/login?next={}", encoded(next))));
                let mut answer = answer.finish();
                // For the audit: a form without a session is refused.
                answer.extensions_mut().insert(ProblemKind::Unauthorized);
                answer
            }
            ConsoleRefusal::Problem(refused) => problem_page(refused),
        }
    }
}

/// A refusal as a page, for visitors without a frame.
fn problem_page(refused: &ProblemResponse) -> HttpResponse {
    let problem = refused.problem();
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (problem.title) " · Reelyard" }
                link rel="stylesheet" href=(STYLE.address());
            }
            body {
                main #main {
                    h1 { (problem.title) }
                    p role="alert" { (problem.detail) }
                    p { a.btn href=(ROOT) { "Reelyard" } }
                }
            }
        }
    };
    let policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                  frame-ancestors 'none'";
    let plain = refused.error_response();
    let mut answer = html_answer(refused.status_code(), policy, body);
    if let Some(wait) = plain.headers().get(RETRY_AFTER) {
        answer.headers_mut().insert(RETRY_AFTER, wait.clone());
    }
    // The audit reads the kind of the problem there.
    if let Some(kind) = plain.extensions().get::<ProblemKind>() {
        answer.extensions_mut().insert(*kind);
    }
    answer
}

/// An answer with a document and its policy.
pub fn html_answer(status: StatusCode, policy: &str, body: Markup) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CONTENT_SECURITY_POLICY, policy))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((REFERRER_POLICY, "same-origin"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(body.into_string())
}
