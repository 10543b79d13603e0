//! Heads of answers.

use std::fmt::{Display, Write as _};

/// The length of the body, and how it is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
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
pub struct ResponseHead {
    text: String,
    keep_alive: bool,
}

impl ResponseHead {
    /// Starts a head with this status. `keep_alive`: the connection stays open after the answer.
    pub fn new((code, phrase): (u16, &str), keep_alive: bool) -> Self {
        ResponseHead { text: format!("HTTP/1.1 {code} {phrase}\r\n"), keep_alive }
    }

    /// Adds a header.
    pub fn header(&mut self, name: &str, value: impl Display) {
        // Writing into a String cannot fail.
        let _ = write!(self.text, "{name}: {value}\r\n");
    }

    /// Adds the length of the body and returns the bytes of the head.
    pub fn finish(mut self, length: BodyLength) -> Vec<u8> {
        match length {
            BodyLength::Bytes(bytes) => self.header("Content-Length", bytes),
            BodyLength::Chunked => self.header("Transfer-Encoding", "chunked"),
            BodyLength::NoBody | BodyLength::UntilClosed => {}
        }
        self.header("Connection", if self.keep_alive { "keep-alive" } else { "close" });
        self.text += "\r\n";
        self.text.into_bytes()
    }

    /// Returns the bytes of the whole answer. The answer to a HEAD request has no body.
    pub fn finish_with(self, body: &[u8], is_head: bool) -> Vec<u8> {
        let mut answer = self.finish(BodyLength::Bytes(body.len() as u64));
        if !is_head {
            answer.extend_from_slice(body);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_an_empty_line() {
        let mut head = ResponseHead::new((200, "OK"), false);
        head.header("ETag", "\"x\"");
        let text = String::from_utf8(head.finish(BodyLength::Bytes(5))).unwrap();
        let lines = "ETag: \"x\"\r\nContent-Length: 5\r\nConnection: close\r\n\r\n";
        assert_eq!(text, format!("HTTP/1.1 200 OK\r\n{lines}"));
    }

    #[test]
    fn the_answer_to_head_announces_a_body_that_it_does_not_have() {
        let answer = |is_head| {
            let head = ResponseHead::new((404, "Not Found"), true);
            String::from_utf8(head.finish_with(b"no\n", is_head)).unwrap()
        };
        let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(answer(true), head);
        assert_eq!(answer(false), format!("{head}no\n"));
    }
}
