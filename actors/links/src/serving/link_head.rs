//! Heads of answers that are not written by actix.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reelyard_core::clock::Millis;
use reelyard_core::display_text::misleads;
use reelyard_file_server::http::conditions::http_date;
use reelyard_file_server::http::response_head::ResponseHead;

/// Bytes that an extended header value (RFC 8187) may contain unescaped.
const NOT_ATTR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Headers of every answer: no sniffing of the type, no index, no referrer.
pub(crate) const COMMON_HEADERS: [(&str, &str); 3] = [
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Robots-Tag", "noindex, nofollow"),
];

/// Starts the head of an answer with this status. `keep_alive`: the connection stays open after the
/// answer.
pub(crate) fn link_head(status: (u16, &str), keep_alive: bool, now: Millis) -> ResponseHead {
    let seconds = u64::try_from(now.unix_seconds()).unwrap_or(0);
    let mut head = ResponseHead::new(status, keep_alive);
    head.header("Date", http_date(seconds));
    for (name, value) in COMMON_HEADERS {
        head.header(name, value);
    }
    head
}

/// `Content-Disposition` to save a file as `name`: the exact name as an extended value, and a plain
/// one for old clients.
pub(crate) fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%') || c == ' ' { c } else { '_' }
        })
        .collect();
    // The client shows this name, so no character in it may hide the real extension.
    let exact: String = name.chars().map(|c| if misleads(c) { '_' } else { c }).collect();
    let exact = utf8_percent_encode(&exact, NOT_ATTR);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

/// The media type for the extension of a name.
pub(crate) fn media_type(name: &str) -> String {
    mime_guess::from_path(name).first_or_octet_stream().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_name_survives_the_content_disposition() {
        assert_eq!(
            disposition("Grüße \"1\".mp4"),
            "attachment; filename=\"Gr__e _1_.mp4\"; \
             filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.mp4"
        );
        assert!(!disposition("a\r\nSet-Cookie: x").contains('\n'));
        let turned = disposition("rtl\u{202e}gpm.exe");
        assert!(turned.ends_with("filename*=UTF-8''rtl_gpm.exe"), "{turned}");
    }

    #[test]
    fn types_go_by_names() {
        assert_eq!(media_type("a.MP4"), "video/mp4");
        assert_eq!(media_type("a.mkv"), "video/x-matroska");
        assert_eq!(media_type("a.txt"), "text/plain");
        assert_eq!(media_type("a"), "application/octet-stream");
    }

    #[test]
    fn every_answer_has_a_date_and_the_common_headers() {
        let head = link_head((200, "OK"), false, Millis(1_000_000_000_000));
        let text = String::from_utf8(head.finish_with(b"", false)).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nDate: Sun, 09 Sep 2001 01:46:40 GMT\r\n"));
        for (name, value) in COMMON_HEADERS {
            assert!(text.contains(&format!("\r\n{name}: {value}\r\n")), "{text}");
        }
    }
}
