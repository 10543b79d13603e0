//! Requests to a node over plain connections. A test asks often while it waits, and a process of curl costs ten times
//! the processor time. Tests of the API itself use curl, as an external program.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// Longest wait for the next bytes of an answer. A node answers much earlier.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// An answer of a node. The default has the status 0, as curl shows a node that does not answer.
#[derive(Clone, Debug, Default)]
pub struct PlainAnswer {
    /// The status code.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The text after the empty line.
    pub body: String,
}

impl PlainAnswer {
    /// Reads a whole answer: a status line, headers, an empty line and a body.
    pub fn read(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(PlainAnswer { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// A header of the answer, if it has one.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Whether the node did not refuse the request.
    pub fn is_success(&self) -> bool {
        self.status < 400
    }

    /// The body, if it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }
}

/// Sends a request on a connection of its own. `header` is a line, or empty. A body is JSON.
///
/// # Errors
/// The node sends no whole answer.
pub fn send(
    node: SocketAddr,
    (method, path): (&str, &str),
    header: &str,
    body: &str,
) -> Result<PlainAnswer> {
    let mut stream = TcpStream::connect(node).context("connect")?;
    stream.set_read_timeout(Some(ANSWER_TIME))?;
    let length = body.len();
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json" };
    let more: String = [header, kind]
        .into_iter()
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\r\n"))
        .collect();
    // The end of an answer to HTTP/1.0 closes the connection. A stream still comes in chunks: use curl for one.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {node}\r\nAccept: */*\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).context("send")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).context("read")?;
    PlainAnswer::read(&String::from_utf8_lossy(&answer)).context("no whole answer")
}

/// A `GET` with this header, or with none if it is empty.
///
/// # Errors
/// As [`send`].
pub fn get(node: SocketAddr, path: &str, header: &str) -> Result<PlainAnswer> {
    send(node, ("GET", path), header, "")
}
