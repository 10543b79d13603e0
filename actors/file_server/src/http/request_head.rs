//! The parts of a request head that a file server needs.

/// A request head may be this long, in bytes. The longest path is under 13,000: a directory of
/// 4,096 bytes and a name, all percent-encoded.
pub const LONGEST_HEAD: usize = 16 << 10;

/// A request head may have this many header lines.
pub const MOST_HEADERS: usize = 64;

/// A request head, in the bytes of the request.
#[derive(Clone, Debug)]
pub struct RequestHead<'b> {
    /// Method, as the client sent it.
    pub method: &'b str,
    /// The path exactly as in the request line, without the query.
    pub path: &'b str,
    /// Whether it is HTTP/1.1.
    pub is_1_1: bool,
    /// Whether the client would keep the connection.
    pub keep_alive: bool,
    /// Whether a body follows.
    pub has_body: bool,
    /// How many bytes the head takes.
    pub length: usize,
    headers: Vec<httparse::Header<'b>>,
}

/// Why bytes are not a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHead {
    /// It does not read as one.
    Garbled,
    /// It is too long, or has too many lines.
    TooLong,
    /// The `Host` header is missing or repeated.
    Host,
}

impl BadHead {
    /// Status code and reason phrase of the answer.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            BadHead::TooLong => (431, "Request Header Fields Too Large"),
            BadHead::Garbled | BadHead::Host => (400, "Bad Request"),
        }
    }
}

/// The rule for `Host` headers of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRule {
    /// Exactly one, as HTTP/1.1 requires; HTTP/1.0 may omit it (RFC 9112, 3.2).
    One,
    /// Any number: the server has one name only.
    Any,
}

impl<'b> RequestHead<'b> {
    /// The head at the beginning of `bytes`, or None if it is incomplete.
    pub fn parse(bytes: &'b [u8]) -> Result<Option<Self>, BadHead> {
        let mut room = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut head = httparse::Request::new(&mut room);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() >= LONGEST_HEAD => {
                return Err(BadHead::TooLong);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(BadHead::TooLong),
            Err(_) => return Err(BadHead::Garbled),
        };
        let target = head.path.unwrap_or_default();
        let mut read = RequestHead {
            method: head.method.unwrap_or_default(),
            path: target.split_once('?').map_or(target, |(path, _)| path),
            is_1_1: head.version == Some(1),
            keep_alive: false,
            has_body: false,
            length,
            headers: head.headers.to_vec(),
        };
        read.keep_alive = if read.is_1_1 {
            !read.connection_has(b"close")
        } else {
            read.connection_has(b"keep-alive")
        };
        // A body that is not read would be parsed as the next request. So each such header counts,
        // even if another header denies a body.
        read.has_body = read.headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case("transfer-encoding")
                || header.name.eq_ignore_ascii_case("content-length") && header.value != b"0"
        });
        Ok(Some(read))
    }

    /// Whether the answer has no body.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Checks the `Host` headers.
    ///
    /// # Errors
    ///
    /// [`BadHead::Host`].
    pub fn check_host(&self, rule: HostRule) -> Result<(), BadHead> {
        let hosts = self.all("host").count();
        match rule {
            HostRule::Any => Ok(()),
            HostRule::One if hosts == 1 || hosts == 0 && !self.is_1_1 => Ok(()),
            HostRule::One => Err(BadHead::Host),
        }
    }

    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<&'b [u8]> {
        self.all(name).next()
    }

    /// The values of all headers of this name, in order.
    pub fn all<'h>(&'h self, name: &'h str) -> impl DoubleEndedIterator<Item = &'b [u8]> + 'h {
        let named =
            self.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value)
    }

    /// Length of the request with its body, in bytes; none if its head does not say.
    pub fn length_with_body(&self) -> Option<usize> {
        if !self.has_body {
            return Some(self.length);
        }
        if self.header("transfer-encoding").is_some() {
            return None;
        }
        let mut lengths = self.all("content-length");
        let length = std::str::from_utf8(lengths.next()?).ok()?.parse().ok()?;
        if lengths.next().is_some() { None } else { self.length.checked_add(length) }
    }

    fn connection_has(&self, word: &[u8]) -> bool {
        self.all("connection").any(|value| {
            let mut parts = value.split(|&byte| byte == b',');
            parts.any(|part| part.trim_ascii().eq_ignore_ascii_case(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> RequestHead<'_> {
        RequestHead::parse(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_head_is_read_when_all_of_it_is_there() {
        let text = b"GET /copies/a%23b?x HTTP/1.1\r\nHost: h\r\nrange: bytes=0-1\r\n\r\nGET";
        for cut in 0..text.len() - 3 {
            assert!(RequestHead::parse(&text[..cut]).unwrap().is_none(), "{cut}");
        }
        let head = RequestHead::parse(text).unwrap().unwrap();
        assert_eq!(head.length, text.len() - 3);
        assert_eq!((head.method, head.path), ("GET", "/copies/a%23b"));
        assert_eq!(head.header("Range"), Some(&b"bytes=0-1"[..]));
        assert!(head.keep_alive && head.is_1_1 && !head.has_body);
        assert_eq!(head.header("if-range"), None);
    }

    #[test]
    fn a_request_of_http_1_1_names_one_host() {
        let check = |text: &str| parse(text).check_host(HostRule::One);
        assert_eq!(check("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), Ok(()));
        assert_eq!(check("GET / HTTP/1.0\r\n\r\n"), Ok(()));
        for bad in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"] {
            assert_eq!(check(bad), Err(BadHead::Host), "{bad}");
            assert_eq!(parse(bad).check_host(HostRule::Any), Ok(()), "{bad}");
        }
    }

    #[test]
    fn bodies_are_noticed_also_behind_a_header_that_denies_them() {
        assert!(parse("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n").has_body);
        assert!(parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").has_body);
        let both = "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n";
        assert!(parse(both).has_body);
        assert!(!parse("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n").has_body);
    }

    #[test]
    fn only_the_head_gives_the_length_of_a_request() {
        let length = |lines: &str| {
            let text = format!("POST / HTTP/1.1\r\n{lines}\r\n");
            let head = parse(&text);
            head.length_with_body().map(|length| length - text.len())
        };
        assert_eq!((length(""), length("Content-Length: 0\r\n")), (Some(0), Some(0)));
        assert_eq!(length("Content-Length: 5\r\n"), Some(5));
        for unknown in [
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            "Content-Length: 99999999999999999999999\r\n",
            "Content-Length: five\r\n",
        ] {
            assert_eq!(length(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_garbled_or_overlong_head_is_refused() {
        let refusal = |text: &str| RequestHead::parse(text.as_bytes()).unwrap_err();
        assert_eq!(refusal("\x01\x02\r\n\r\n"), BadHead::Garbled);
        let many = "a: b\r\n".repeat(MOST_HEADERS + 1);
        assert_eq!(refusal(&format!("GET / HTTP/1.1\r\n{many}\r\n")), BadHead::TooLong);
        let long = "a".repeat(LONGEST_HEAD);
        assert_eq!(refusal(&format!("GET /{long}")), BadHead::TooLong);
    }

    #[test]
    fn connections_stay_open_as_the_version_has_it() {
        assert!(parse("GET / HTTP/1.1\r\n\r\n").keep_alive);
        assert!(!parse("GET / HTTP/1.1\r\nConnection: foo, Close\r\n\r\n").keep_alive);
        assert!(
            !parse("GET / HTTP/1.1\r\nConnection: foo\r\nConnection: close\r\n\r\n").keep_alive
        );
        assert!(!parse("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(parse("HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
    }
}
