//! Redirects a path with `//`, `.` or `..` to its cleaned form, so that every path has one meaning.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::LOCATION;
use actix_web::middleware::Next;
use actix_web::{Error, HttpResponse};
use percent_encoding::percent_decode_str;

use crate::http::clean_path;

/// Names below these prefixes may contain percent-encoded slashes and dots.
const LEFT_ALONE: [&str; 2] = ["/api/", "/s/"];

/// Middleware for `actix_web::middleware::from_fn`: answers 301 for a path that is not clean.
pub async fn clean<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match cleaned(request.path()) {
        Some(path) if !LEFT_ALONE.iter().any(|prefix| request.path().starts_with(prefix)) => {
            let query = request.query_string();
            let location = if query.is_empty() { path } else { format!("{path}?{query}") };
            let answer =
                HttpResponse::MovedPermanently().insert_header((LOCATION, location)).finish();
            Ok(request.into_response(answer))
        }
        _ => next.call(request).await.map(ServiceResponse::map_into_boxed_body),
    }
}

/// The cleaned form of a percent-encoded path. None if it is clean. The check uses the decoded
/// path, as the old router does: `%2e%2e` is `..`.
fn cleaned(path: &str) -> Option<String> {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    clean_path::cleaned(&decoded).map(|clean| clean_path::written(&clean))
}

#[cfg(test)]
mod tests {
    use super::cleaned;

    #[test]
    fn a_path_is_cleaned_as_it_is_meant() {
        for (path, clean) in
            [("/dashboard/%2e%2e/tasks/", "/tasks/"), ("/a%20b//c,d", "/a%20b/c,d")]
        {
            assert_eq!(cleaned(path).as_deref(), Some(clean), "{path}");
        }
        for path in ["/tasks/+5", "/a%20b"] {
            assert_eq!(cleaned(path), None, "{path}");
        }
    }
}
