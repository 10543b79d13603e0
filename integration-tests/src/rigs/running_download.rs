//! A download of a link that a test holds open.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Result;

/// Longest wait for the next bytes of an answer.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// A request for a link whose body is not read yet.
pub struct RunningDownload(TcpStream);

impl RunningDownload {
    /// Sends the request.
    ///
    /// # Errors
    /// The server does not accept it.
    pub fn begin(server: SocketAddr, method: &str, path: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(ANSWER_TIME))?;
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: links\r\nConnection: close\r\n\r\n")?;
        Ok(RunningDownload(stream))
    }

    /// The head of the answer.
    ///
    /// # Errors
    /// The server sends none.
    pub fn head(&self) -> Result<String> {
        // Byte by byte, so that the body stays unread.
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            (&self.0).read_exact(&mut byte)?;
            head.extend(byte);
        }
        Ok(String::from_utf8(head)?)
    }

    /// Reads until the server ends the connection. Answers the bytes of the body.
    pub fn rest(mut self) -> u64 {
        let (mut bytes, mut part) = (0, vec![0; 1 << 20]);
        // A reset is an end too.
        while let Ok(read @ 1..) = self.0.read(&mut part) {
            bytes += read as u64;
        }
        bytes
    }
}
