//! Heads of answers that this module writes without actix.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reelyard_core::clock::Millis;
use reelyard_core::shown_text::misleads;

use super::conditions::http_date;

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
pub(crate) const ALWAYS: [(&str, &str); 3] = [
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Robots-Tag", "noindex, nofollow"),
];

/// The length of the body, and how it is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyLength {
    /// No body and no length: 304.
    NoBody,
    /// A body of this many bytes.
    Bytes(u64),
    /// Unknown length: chunked encoding.
    Chunked,
    /// Unknown length for an HTTP/1.0 client: the body ends when the connection closes.
    UntilClosed,
}

/// Builds the head of an answer.
#[derive(Clone, Debug)]
pub(crate) struct ResponseHead {
    text: String,
    keep_alive: bool,
}

impl ResponseHead {
    /// Starts a head with this status.
    pub(crate) fn new((code, phrase): (u16, &str), keep_alive: bool, now: Millis) -> Self {
        let seconds = u64::try_from(now.unix_seconds()).unwrap_or(0);
        let text = format!("HTTP/1.1 {code} {phrase}\r\nDate: {}\r\n", http_date(seconds));
        let mut head = ResponseHead { text, keep_alive };
        for (name, value) in ALWAYS {
            head.line(name, value);
        }
        head
    }

    /// Adds a header.
    pub(crate) fn line(&mut self, name: &str, value: impl std::fmt::Display) {
        use std::fmt::Write as _;
        // Writing into a String cannot fail.
        let _ = write!(self.text, "{name}: {value}\r\n");
    }

    /// Adds the length of the body and returns the bytes of the head.
    pub(crate) fn finish(mut self, length: BodyLength) -> Vec<u8> {
        match length {
            BodyLength::NoBody => {}
            BodyLength::Bytes(bytes) => self.line("Content-Length", bytes),
            BodyLength::Chunked => self.line("Transfer-Encoding", "chunked"),
            BodyLength::UntilClosed => {}
        }
        self.line("Connection", if self.keep_alive { "keep-alive" } else { "close" });
        self.text += "\r\n";
        self.text.into_bytes()
    }
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
    fn a_head_ends_with_an_empty_line() {
        let mut head = ResponseHead::new((200, "OK"), false, Millis(1_000_000_000_000));
        head.line("ETag", "\"x\"");
        let text = String::from_utf8(head.finish(BodyLength::Bytes(5))).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\nDate: Sun, 09 Sep 2001 01:46:40 GMT\r\n"));
        assert!(text.contains("\r\nETag: \"x\"\r\n") && text.contains("\r\nContent-Length: 5\r\n"));
        assert!(text.ends_with("Connection: close\r\n\r\n"), "{text}");
    }
}
