//! The client side of a data port: one HTTP/1.1 connection to a source. It uses plain blocking sockets, so
//! that file bodies are read in large pieces straight into the writer's buffer, or decrypted into it.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use reelyard_protocol::signed_call::{CHALLENGE_HEADER, Challenge};
use reelyard_protocol::tls::ClientTls;
use reelyard_protocol::worker::{CONTENT_HASH_HEADER, ContentHash};

use super::source_stream::{SourcePort, SourceStream};
use crate::downloader::copying::cancel::CopyCancellation;

/// The longest answer head that is read.
const LONGEST_HEAD: usize = 16 << 10;

/// The longest answer that is kept in memory: a hash, `/info`, a reason.
const LONGEST_TEXT: u64 = 64 << 10;

/// How long a source may take.
#[derive(Clone, Copy, Debug)]
pub struct SourceTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// Longest wait for the next byte. A source may hold a request for a hash up to five seconds, so this
    /// must not be shorter.
    pub silence: Duration,
}

impl Default for SourceTimeouts {
    fn default() -> Self {
        SourceTimeouts { connect: Duration::from_secs(5), silence: Duration::from_secs(30) }
    }
}

/// A connection to a source.
pub struct SourceLink {
    stream: SourceStream,
    /// How many requests are not answered yet.
    unanswered: usize,
    /// Bytes received after the last head and not yet used.
    ahead: Vec<u8>,
    is_slowed: bool,
}

/// Status and headers of a source's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerHead {
    /// The status code.
    pub status: u16,
    /// How many bytes of body follow.
    pub length: u64,
    /// The entity tag, quotes included.
    pub etag: Option<String>,
    /// The hash of the whole file, if the source knows it.
    pub hash: Option<ContentHash>,
    /// For a part: its start, and the size of the whole file.
    pub part: Option<(u64, u64)>,
    /// The challenge to sign, if the source requires a signature.
    pub challenge: Option<Challenge>,
    /// Whether another request may follow on this connection.
    pub keep_alive: bool,
}

impl SourceLink {
    /// Connects. `cancel` can end the connection. A source with TLS needs a certificate that `tls` accepts.
    pub fn connect(
        port: SourcePort,
        tls: &ClientTls,
        timeouts: SourceTimeouts,
        cancel: &CopyCancellation,
    ) -> io::Result<Self> {
        let stream = Arc::new(TcpStream::connect_timeout(&port.addr, timeouts.connect)?);
        stream.set_read_timeout(Some(timeouts.silence))?;
        stream.set_write_timeout(Some(timeouts.silence))?;
        stream.set_nodelay(true)?;
        cancel.watch(&stream)?;
        let stream = match port.tls {
            true => SourceStream::with_tls(stream, port.addr, tls)?,
            false => SourceStream::Plain(stream),
        };
        Ok(SourceLink { stream, unanswered: 0, ahead: Vec::new(), is_slowed: false })
    }

    /// Lets another copy's `cancel` end the connection too.
    pub fn watch(&self, cancel: &CopyCancellation) -> io::Result<()> {
        cancel.watch(self.stream.socket())
    }

    /// Whether no answer is expected, and no unexpected byte arrived. Such a connection can take another
    /// request.
    pub fn is_idle(&self) -> bool {
        self.unanswered == 0 && self.ahead.is_empty()
    }

    /// How many answers are still to come.
    pub fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// Limits the bytes that the source may send ahead of the reader to about `bytes`, from now on.
    pub fn limit_ahead(&mut self, bytes: usize) -> io::Result<()> {
        self.is_slowed = true;
        Ok(rustix::net::sockopt::set_socket_recv_buffer_size(&**self.stream.socket(), bytes)?)
    }

    /// Whether that was done.
    pub fn is_slowed(&self) -> bool {
        self.is_slowed
    }

    /// Sends [requests](request). They are answered in their order, and each answer's body must be
    /// read to its end before the next answer.
    pub fn send(&mut self, requests: &[String]) -> io::Result<()> {
        self.unanswered += requests.len();
        self.stream.send(requests.concat().as_bytes())
    }

    /// Reads the head of the next answer.
    pub fn answer(&mut self) -> io::Result<AnswerHead> {
        loop {
            if let Some((head, length)) = parse_head(&self.ahead)? {
                self.ahead.drain(..length);
                self.unanswered = self.unanswered.saturating_sub(1);
                return Ok(head);
            }
            if self.ahead.len() >= LONGEST_HEAD {
                return Err(garbled("the head of its answer is too long"));
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.ahead.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads some of the body into `buffer`, which must not be longer than the rest of the body.
    pub fn read_body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.ahead.is_empty() {
            let count = buffer.len().min(self.ahead.len());
            buffer[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Ok(count);
        }
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Reads a whole short body.
    pub fn read_text(&mut self, head: &AnswerHead) -> io::Result<Vec<u8>> {
        if head.length > LONGEST_TEXT {
            return Err(garbled("its answer is too long"));
        }
        let mut text = vec![0; usize::try_from(head.length).unwrap_or(0)];
        let mut filled = 0;
        while filled < text.len() {
            filled += self.read_body(&mut text[filled..])?;
        }
        Ok(text)
    }
}

/// The text of a GET with further headers, if any.
pub fn request(host: SocketAddr, path: &str, headers: &[(&str, &str)]) -> String {
    let mut request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request + "\r\n"
}

fn garbled(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

fn parse_head(bytes: &[u8]) -> io::Result<Option<(AnswerHead, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(garbled(&format!("its answer is not valid HTTP: {error}"))),
    };
    let header = |name: &str| {
        let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let body = header("content-length").and_then(|value| value.trim().parse().ok());
    let Some(body) = body else { return Err(garbled("its answer has no Content-Length")) };
    let closes = header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    let answer = AnswerHead {
        status: head.code.unwrap_or_default(),
        length: body,
        etag: header("etag").map(str::to_owned),
        hash: header(CONTENT_HASH_HEADER)
            .and_then(|hex| blake3::Hash::from_hex(hex.trim()).ok())
            .map(|hash| ContentHash(*hash.as_bytes())),
        part: header("content-range").and_then(part),
        challenge: header(CHALLENGE_HEADER).and_then(|value| value.trim().parse().ok()),
        keep_alive: head.version == Some(1) && !closes,
    };
    Ok(Some((answer, length)))
}

/// Start of the part and size of the whole file, from a `Content-Range`.
fn part(value: &str) -> Option<(u64, u64)> {
    let (range, size) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    Some((first.parse().ok()?, size.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_when_all_of_it_is_there() {
        let text = b"HTTP/1.1 206 Partial\r\ncontent-length: 5\r\nETag: \"x\"\r\n\
            Content-Range: bytes 7-11/12\r\n\r\nhello";
        assert_eq!(parse_head(&text[..20]).unwrap(), None);
        let (head, length) = parse_head(text).unwrap().unwrap();
        assert_eq!(&text[length..], b"hello");
        let etag = Some("\"x\"".to_owned());
        let part = Some((7, 12));
        let expected = AnswerHead {
            status: 206,
            length: 5,
            etag,
            hash: None,
            part,
            challenge: None,
            keep_alive: true,
        };
        assert_eq!(head, expected);
    }

    #[test]
    fn an_answer_without_a_length_or_sense_is_refused() {
        assert!(parse_head(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
        assert!(parse_head(b"SSH-2.0-OpenSSH\r\n\r\n").is_err());
    }
}
