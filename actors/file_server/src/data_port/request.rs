//! Reading one request head from a client of the data port.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::http_files::request_head::{BadHead, RequestHead};
use crate::ticket::TICKET_HEADER;

/// The parts of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPortRequest {
    /// `HEAD`: everything but the bytes.
    pub head_only: bool,
    /// The path of the request line, without a query.
    pub path: String,
    /// The value of `Range`.
    pub range: Option<Vec<u8>>,
    /// The value of `If-Range`.
    pub if_range: Option<Vec<u8>>,
    /// The value of `Reelyard-Ticket`.
    pub ticket: Option<Vec<u8>>,
    /// Whether the connection remains open afterwards.
    pub keep_alive: bool,
}

/// Why there is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPortRequestError {
    /// The client is gone, or silent for too long. Nothing to answer.
    Gone,
    /// It does not read as a request (400).
    Garbled,
    /// The head is too long (431).
    TooLong,
    /// A method other than GET and HEAD (405).
    Method,
}

/// Reads request after request from one connection.
pub struct RequestReader {
    /// Bytes received and not yet used.
    buffer: Vec<u8>,
}

impl RequestReader {
    /// A reader for a new connection.
    pub fn new() -> Self {
        RequestReader { buffer: Vec::with_capacity(1024) }
    }

    /// The next request. The client has `timeout` for all of it, however slowly it drips.
    pub fn next(
        &mut self,
        mut stream: &TcpStream,
        timeout: Duration,
    ) -> Result<DataPortRequest, DataPortRequestError> {
        let until = Instant::now() + timeout;
        loop {
            if let Some((request, length)) = parse(&self.buffer)? {
                self.buffer.drain(..length);
                return Ok(request);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(DataPortRequestError::Gone);
            }
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk) {
                Ok(0) => return Err(DataPortRequestError::Gone),
                Ok(read) => self.buffer.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(DataPortRequestError::Gone),
            }
        }
    }
}

/// The request at the beginning of `bytes` and its length, or None when it is not all there.
fn parse(bytes: &[u8]) -> Result<Option<(DataPortRequest, usize)>, DataPortRequestError> {
    let head = match RequestHead::parse(bytes) {
        Ok(Some(head)) => head,
        Ok(None) => return Ok(None),
        Err(BadHead::TooLong) => return Err(DataPortRequestError::TooLong),
        Err(BadHead::Garbled) => return Err(DataPortRequestError::Garbled),
    };
    if head.has_body {
        return Err(DataPortRequestError::Garbled);
    }
    let head_only = match head.method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(DataPortRequestError::Method),
    };
    let header = |name| head.header(name).map(<[u8]>::to_vec);
    let request = DataPortRequest {
        head_only,
        path: head.path.to_owned(),
        range: header("range"),
        if_range: header("if-range"),
        ticket: header(TICKET_HEADER),
        keep_alive: head.keep_alive,
    };
    Ok(Some((request, head.length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_files::request_head::MOST_HEADERS;

    #[test]
    fn a_request_is_read_when_all_of_it_is_there() {
        let text = b"GET /copies/a%23b?x HTTP/1.1\r\nHost: h\r\nRange: bytes=0-1\r\n\r\nGET";
        let (request, length) = parse(text).unwrap().unwrap();
        assert_eq!(length, text.len() - 3);
        assert_eq!(request.path, "/copies/a%23b");
        assert_eq!(request.range.as_deref(), Some(&b"bytes=0-1"[..]));
        assert!(request.keep_alive && !request.head_only && request.ticket.is_none());
    }

    #[test]
    fn only_reading_requests_are_accepted() {
        let refusal = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert_eq!(refusal("PUT /x HTTP/1.1\r\n\r\n"), DataPortRequestError::Method);
        assert_eq!(refusal("DELETE /x HTTP/1.1\r\n\r\n"), DataPortRequestError::Method);
        assert_eq!(refusal("\x01\x02\r\n\r\n"), DataPortRequestError::Garbled);
        assert_eq!(
            refusal("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"),
            DataPortRequestError::Garbled
        );
        let many = "a: b\r\n".repeat(MOST_HEADERS + 1);
        assert_eq!(
            refusal(&format!("GET / HTTP/1.1\r\n{many}\r\n")),
            DataPortRequestError::TooLong
        );
    }
}
