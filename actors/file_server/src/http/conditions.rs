//! Conditional requests (RFC 9110, section 13) and byte ranges, as a pure function.

use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::range::{RequestedRange, wanted};
use super::request_head::RequestHead;
use super::response_head::ResponseHead;
use httpdate::{fmt_http_date, parse_http_date};

/// Values that identify one state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// Strong entity tag, including the quotes.
    pub etag: String,
    /// Time of the last change of the file, in Unix seconds.
    pub modified: u64,
}

/// The kind of answer to a request for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionalResponse {
    /// 200: the whole file.
    Whole,
    /// 206: this range of bytes.
    Part(Range<u64>),
    /// 304: the client already has this state.
    NotModified,
    /// 412: a precondition failed.
    Failed,
    /// 416: the range is outside the file.
    Unsatisfiable,
}

impl ConditionalResponse {
    /// Status code and reason phrase.
    pub fn status(&self) -> (u16, &'static str) {
        match self {
            ConditionalResponse::Whole => (200, "OK"),
            ConditionalResponse::Part(_) => (206, "Partial Content"),
            ConditionalResponse::NotModified => (304, "Not Modified"),
            ConditionalResponse::Failed => (412, "Precondition Failed"),
            ConditionalResponse::Unsatisfiable => (416, "Range Not Satisfiable"),
        }
    }

    /// The bytes of a file of `size` bytes that are the body; none for an answer without a body.
    pub fn range(&self, size: u64) -> Option<Range<u64>> {
        match self {
            ConditionalResponse::Whole => Some(0..size),
            ConditionalResponse::Part(range) => Some(range.clone()),
            ConditionalResponse::NotModified
            | ConditionalResponse::Failed
            | ConditionalResponse::Unsatisfiable => None,
        }
    }

    /// Adds `Content-Range` for a file of `size` bytes, if the answer needs it.
    pub fn describe_range(&self, head: &mut ResponseHead, size: u64) {
        match self {
            ConditionalResponse::Part(range) => {
                let last = range.end.saturating_sub(1);
                let value = format_args!("bytes {}-{last}/{size}", range.start);
                head.header("Content-Range", value);
            }
            ConditionalResponse::Unsatisfiable => {
                head.header("Content-Range", format_args!("bytes */{size}"));
            }
            ConditionalResponse::Whole
            | ConditionalResponse::NotModified
            | ConditionalResponse::Failed => {}
        }
    }
}

/// Whether the client wants to resume a download of another state of the file.
pub fn resumes_another(head: &RequestHead<'_>, current: &Validators) -> bool {
    let resumed = head.header("range").and(head.header("if-range"));
    resumed.is_some_and(|value| !is_same(value, current))
}

/// The answer to a GET or HEAD for a file of `size` bytes.
pub fn evaluate(head: &RequestHead<'_>, current: &Validators, size: u64) -> ConditionalResponse {
    if head.header("if-match").is_some() {
        if !head.all("if-match").any(|list| has_tag(list, &current.etag, false)) {
            return ConditionalResponse::Failed;
        }
    } else if date(head, "if-unmodified-since").is_some_and(|since| current.modified > since) {
        return ConditionalResponse::Failed;
    }
    if head.header("if-none-match").is_some() {
        if head.all("if-none-match").any(|list| has_tag(list, &current.etag, true)) {
            return ConditionalResponse::NotModified;
        }
    } else if date(head, "if-modified-since").is_some_and(|since| current.modified <= since) {
        return ConditionalResponse::NotModified;
    }
    let same = head.header("if-range").is_none_or(|value| is_same(value, current));
    // Ranges apply only to GET.
    let range = head.header("range").filter(|_| same && head.method == "GET");
    match wanted(range, size) {
        RequestedRange::Whole => ConditionalResponse::Whole,
        RequestedRange::Part(range) => ConditionalResponse::Part(range),
        RequestedRange::Unsatisfiable => ConditionalResponse::Unsatisfiable,
    }
}

/// Whether a list of entity tags contains this one. Weak comparison is allowed only if bytes of two
/// answers are not combined.
fn has_tag(list: &[u8], etag: &str, weakly: bool) -> bool {
    list.trim_ascii() == b"*"
        || list.split(|&byte| byte == b',').any(|tag| {
            let tag = tag.trim_ascii();
            let opaque = if weakly { tag.strip_prefix(b"W/").unwrap_or(tag) } else { tag };
            opaque == etag.as_bytes()
        })
}

/// Whether `If-Range` matches the current state: the same tag, or exactly the date of the last
/// change.
fn is_same(value: &[u8], current: &Validators) -> bool {
    value == current.etag.as_bytes() || seconds(value) == Some(current.modified)
}

fn date(head: &RequestHead<'_>, name: &str) -> Option<u64> {
    seconds(head.header(name)?)
}

fn seconds(value: &[u8]) -> Option<u64> {
    let time = parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Formats Unix seconds as an HTTP date.
pub fn http_date(seconds: u64) -> String {
    let time: Option<SystemTime> = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    // HTTP dates end with the year 9999.
    const LAST: u64 = 253_402_300_799;
    fmt_http_date(time.filter(|_| seconds <= LAST).unwrap_or(UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(lines: &str) -> ConditionalResponse {
        let text = format!("GET /x HTTP/1.1\r\n{lines}\r\n");
        let head = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
        evaluate(&head, &Validators { etag: "\"a\"".into(), modified: 1_000_000_000 }, 100)
    }

    const SAME: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
    const BEFORE: &str = "Sun, 09 Sep 2001 01:46:39 GMT";

    #[test]
    fn a_client_that_has_it_is_not_sent_it_again() {
        for tags in ["\"a\"", "\"x\", W/\"a\"", "*", "\"x\"\r\nIf-None-Match: \"a\""] {
            let answer = response(&format!("If-None-Match: {tags}\r\n"));
            assert_eq!(answer, ConditionalResponse::NotModified, "{tags}");
        }
        assert_eq!(response("If-None-Match: \"x\"\r\n"), ConditionalResponse::Whole);
        assert_eq!(
            response(&format!("If-Modified-Since: {SAME}\r\n")),
            ConditionalResponse::NotModified
        );
        assert_eq!(
            response(&format!("If-Modified-Since: {BEFORE}\r\n")),
            ConditionalResponse::Whole
        );
        assert_eq!(response("If-Modified-Since: soon\r\n"), ConditionalResponse::Whole);
        // The tag takes precedence.
        let both = format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {SAME}\r\n");
        assert_eq!(response(&both), ConditionalResponse::Whole);
    }

    #[test]
    fn a_failed_precondition_is_reported() {
        assert_eq!(response("If-Match: \"x\"\r\n"), ConditionalResponse::Failed);
        assert_eq!(response("If-Match: W/\"a\"\r\n"), ConditionalResponse::Failed);
        assert_eq!(response("If-Match: \"a\"\r\n"), ConditionalResponse::Whole);
        assert_eq!(response("If-Match: *\r\n"), ConditionalResponse::Whole);
        assert_eq!(
            response(&format!("If-Unmodified-Since: {BEFORE}\r\n")),
            ConditionalResponse::Failed
        );
        assert_eq!(
            response(&format!("If-Unmodified-Since: {SAME}\r\n")),
            ConditionalResponse::Whole
        );
    }

    #[test]
    fn a_range_of_a_changed_file_gets_the_whole_file() {
        assert_eq!(response("Range: bytes=1-2\r\n"), ConditionalResponse::Part(1..3));
        assert_eq!(
            response("Range: bytes=1-2\r\nIf-Range: \"a\"\r\n"),
            ConditionalResponse::Part(1..3)
        );
        assert_eq!(response("Range: bytes=1-2\r\nIf-Range: \"x\"\r\n"), ConditionalResponse::Whole);
        assert_eq!(
            response("Range: bytes=1-2\r\nIf-Range: W/\"a\"\r\n"),
            ConditionalResponse::Whole
        );
        let dated = |date: &str| response(&format!("Range: bytes=1-2\r\nIf-Range: {date}\r\n"));
        assert_eq!(dated(SAME), ConditionalResponse::Part(1..3));
        assert_eq!(dated(BEFORE), ConditionalResponse::Whole);
        assert_eq!(response("Range: bytes=100-\r\n"), ConditionalResponse::Unsatisfiable);
        assert_eq!(response("Range: bytes=0-1,5-6\r\n"), ConditionalResponse::Whole);
    }

    #[test]
    fn dates_are_written_as_http_has_them() {
        assert_eq!(http_date(1_000_000_000), SAME);
        assert_eq!(http_date(u64::MAX), http_date(0));
    }
}
