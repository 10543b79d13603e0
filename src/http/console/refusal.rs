//! Refusals of the console: a redirection to the login, or a page with the problem in the language of the visitor.

use std::fmt;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERER,
    REFERRER_POLICY, REFRESH, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::middleware::Next;
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use maud::Markup;
use reelyard_api::ProblemKind;
use reelyard_console::BrowserChoices;
use reelyard_console::address::{ROOT, encoded};
use reelyard_console::frame::{REFUSAL_POLICY, RefusalPage, refusal_page};

use super::choices::choices_of;
use super::posted_form::is_console_path;
use crate::http::problem::ProblemResponse;

/// Why a page of the console is not shown.
#[derive(Debug)]
pub enum ConsoleRefusal {
    /// The visitor must log in, and then comes back to this address.
    LogIn(String),
    /// The same for the script of a page, which cannot follow a redirection to another page.
    LogInByScript(String),
    /// Another problem.
    Problem(ProblemResponse),
}

impl ConsoleRefusal {
    /// The refusal of a visitor whose session is missing or has ended. A form does not lead to the login: its page
    /// says that nothing was done.
    pub fn of_caller(refused: ProblemResponse, request: &HttpRequest) -> Self {
        let is_stream = request.path().starts_with("/console/live/");
        let is_page = request.method().is_safe() && !is_stream;
        if refused.status_code() != StatusCode::UNAUTHORIZED || !is_page {
            return ConsoleRefusal::Problem(refused);
        }
        let path = request.uri().path_and_query().map_or(ROOT, |path| path.as_str()).to_owned();
        match request.headers().contains_key("HX-Request") {
            true => ConsoleRefusal::LogInByScript(path),
            false => ConsoleRefusal::LogIn(path),
        }
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
            ConsoleRefusal::LogIn(_) | ConsoleRefusal::LogInByScript(_) => {
                f.write_str("a session is needed")
            }
            ConsoleRefusal::Problem(refused) => refused.fmt(f),
        }
    }
}

impl ResponseError for ConsoleRefusal {
    fn status_code(&self) -> StatusCode {
        match self {
            ConsoleRefusal::LogIn(_) => StatusCode::SEE_OTHER,
            ConsoleRefusal::LogInByScript(_) => StatusCode::UNAUTHORIZED,
            ConsoleRefusal::Problem(refused) => refused.status_code(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            ConsoleRefusal::LogIn(next) => {
                HttpResponse::SeeOther().insert_header((LOCATION, login(next))).finish()
            }
            ConsoleRefusal::LogInByScript(next) => {
                HttpResponse::Unauthorized().insert_header(("HX-Redirect", login(next))).finish()
            }
            ConsoleRefusal::Problem(refused) => {
                problem_page(refused, BrowserChoices::default(), String::new(), false)
            }
        }
    }
}

/// The address of the login that leads to this address.
fn login(next: &str) -> String {
    format!("/login?next={}", encoded(next))
}

/// A refusal as a page, for visitors without a frame. A page that can be loaded again without a form does so by itself
/// while the node is starting.
fn problem_page(
    refused: &ProblemResponse,
    BrowserChoices { language, theme }: BrowserChoices,
    from: String,
    can_reload: bool,
) -> HttpResponse {
    let plain = refused.error_response();
    let status = refused.status_code();
    let detail = refused.problem().detail.clone();
    let kind = plain.extensions().get::<ProblemKind>().copied();
    let is_starting = can_reload && kind == Some(ProblemKind::Starting);
    let is_foreign = kind == Some(ProblemKind::ForeignRequest);
    let page = RefusalPage {
        status: status.as_u16(),
        is_starting,
        is_foreign,
        detail,
        language,
        theme,
        from,
    };
    let mut answer = html_answer(status, REFUSAL_POLICY, refusal_page(&page));
    // The audit reads the kind of the problem there.
    if let Some(kind) = kind {
        answer.extensions_mut().insert(kind);
    }
    if is_starting {
        answer.headers_mut().insert(REFRESH, HeaderValue::from_static("2"));
    }
    if let Some(retry) = plain.headers().get(RETRY_AFTER) {
        answer.headers_mut().insert(RETRY_AFTER, retry.clone());
    }
    answer
}

/// Middleware that writes refusals of pages in the language and the colours of the visitor. An error alone does not
/// know its request.
///
/// # Errors
/// Those of the inner service.
pub async fn in_language(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let choice = is_console_path(request.path()).then(|| choices_of(request.request()));
    let from = page_before(request.request());
    let is_safe = request.method().is_safe();
    let answer = next.call(request).await?.map_into_boxed_body();
    let Some(choices) = choice else { return Ok(answer) };
    let refused = answer.response().error().and_then(|error| {
        let of_page = error.as_error::<ConsoleRefusal>();
        match of_page {
            Some(ConsoleRefusal::Problem(refused)) => Some(refused.clone()),
            Some(ConsoleRefusal::LogIn(_) | ConsoleRefusal::LogInByScript(_)) => None,
            None => error.as_error::<ProblemResponse>().cloned(),
        }
    });
    Ok(match refused {
        Some(refused) => answer.into_response(problem_page(&refused, choices, from, is_safe)),
        None => answer,
    })
}

/// The page of a node that does not serve yet.
pub fn starting_page(request: &HttpRequest) -> HttpResponse {
    let from = page_before(request);
    problem_page(
        &ProblemResponse::starting(),
        choices_of(request),
        from,
        request.method().is_safe(),
    )
}

/// The page of the console that a form was on. Empty if the browser does not say it.
fn page_before(request: &HttpRequest) -> String {
    let referer = request.headers().get(REFERER).and_then(|referer| referer.to_str().ok());
    let path = referer.and_then(|referer| {
        let (_, rest) = referer.split_once("://")?;
        rest.find('/').map(|start| rest[start..].to_owned())
    });
    path.filter(|path| is_console_path(path)).unwrap_or_default()
}

/// The refusal of an address without a page.
pub fn absent(request: &HttpRequest) -> ProblemResponse {
    ProblemResponse::not_found(format!("no page has the path {}", request.path()))
}

/// An address of the console without a page. One that only ends with a slash too many leads to its page.
pub async fn no_page(request: HttpRequest) -> Result<HttpResponse, ConsoleRefusal> {
    let page = request.path().trim_end_matches('/');
    if page.len() == request.path().len() {
        return Err(absent(&request).into());
    }
    let mark = if request.query_string().is_empty() { "" } else { "?" };
    let address = format!("{page}{mark}{}", request.query_string());
    Ok(HttpResponse::SeeOther().insert_header((LOCATION, address)).finish())
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

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use reelyard_console::Theme;
    use reelyard_console::text::Language;

    use super::*;

    #[tokio::test]
    async fn a_starting_node_says_so_and_when_to_ask_again() {
        for (language, words) in [
            (Language::English, "The node is starting"),
            (Language::Korean, "노드가 시작 중입니다"),
        ] {
            let choices = BrowserChoices { language, theme: Theme::Auto };
            let starting = |is_safe| {
                problem_page(&ProblemResponse::starting(), choices, String::new(), is_safe)
            };
            let posted = starting(false);
            assert_eq!(posted.headers().get(REFRESH), None, "a form is not sent again");
            let answer = starting(true);
            assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(answer.headers().get(RETRY_AFTER).unwrap(), "1");
            assert_eq!(answer.headers().get(REFRESH).unwrap(), "2", "the page loads again");
            let body = to_bytes(answer.into_body()).await.unwrap();
            assert!(String::from_utf8_lossy(&body).contains(words), "{body:?}");
        }
    }
}
