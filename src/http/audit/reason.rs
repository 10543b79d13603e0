//! The reason that a caller gives for a change.

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName};
use percent_encoding::percent_decode;
use reelyard_access::audit::{LARGEST_REASON, REASON_HEADER};
use reelyard_core::display_text;

const HEADER: HeaderName = HeaderName::from_static(REASON_HEADER);

/// The reason of a request. It may be shown to all users.
pub fn of_request(request: &HttpRequest) -> Option<String> {
    read(request.headers())
}

/// The reason in these headers, at most [`LARGEST_REASON`] characters of it.
pub(super) fn read(headers: &HeaderMap) -> Option<String> {
    let given = headers.get(HEADER)?.as_bytes();
    kept(&percent_decode(given).decode_utf8_lossy())
}

/// A reason as it is kept, at most [`LARGEST_REASON`] characters of it.
pub fn kept(text: &str) -> Option<String> {
    let cut: String = text.trim().chars().take(LARGEST_REASON).collect();
    Some(display_text::escaped(&cut)).filter(|reason| !reason.is_empty())
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn a_reason_is_text_without_control_characters() {
        let of = |given: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, HeaderValue::from_str(given).unwrap());
            read(&headers)
        };
        assert_eq!(of("the customer left").as_deref(), Some("the customer left"));
        assert_eq!(of("%EA%B3%A0%EA%B0%9D 7%0A").as_deref(), Some("고객 7"));
        assert_eq!(of("a%1Bb%FF").as_deref(), Some("a\\u{1b}b\u{fffd}"));
        assert_eq!(of(&"x".repeat(5000)).map(|reason| reason.len()), Some(LARGEST_REASON));
        assert_eq!(of("%20"), None);
    }
}
