//! A server of fixed documents and files on loopback, for pages that no node renders.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::Result;

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct FixedAnswer {
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Value of `Content-Security-Policy`.
    pub policy: String,
    /// The document or file.
    pub body: Vec<u8>,
}

/// A server that answers each path with a fixed answer. It ends with the process.
pub struct FixedPages {
    addr: SocketAddr,
}

impl FixedPages {
    /// Serves these answers by their paths.
    ///
    /// # Errors
    /// No address is free.
    pub fn start(answers: BTreeMap<String, FixedAnswer>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let answers = Arc::new(answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = Arc::clone(&answers);
                // A browser that leaves early is no fault.
                std::thread::spawn(move || drop(answer(&stream, &answers)));
            }
        });
        Ok(FixedPages { addr })
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }
}

fn answer(stream: &TcpStream, answers: &BTreeMap<String, FixedAnswer>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines.by_ref() {
        if line?.is_empty() {
            break;
        }
    }
    let target = request.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let mut stream = stream;
    let Some(found) = answers.get(path) else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Security-Policy: {}\r\nContent-Length: {}\r\n\
         Cache-Control: max-age=600\r\nConnection: close\r\n\r\n",
        found.content_type,
        found.policy,
        found.body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&found.body)
}
