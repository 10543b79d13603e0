//! A data port with a selected fault.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use reelyard_protocol::worker::{ContentHash, FileHash};

/// The fault of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceTrouble {
    /// It sends the hash of other bytes.
    WrongHash,
    /// It closes the connection in the middle of the file.
    BreaksOff,
    /// It cannot read the second half of the file, for any client and any number of attempts.
    CannotRead,
    /// It sends half of the bytes and then stops.
    FallsSilent,
    /// The file changes before the source reads the hash.
    FileChanges,
    /// It answers with the status 500.
    Errs,
    /// It sends no length of the file.
    NoLength,
    /// It does not use HTTP.
    Babbles,
    /// It refuses the first connection as busy, and serves all later ones.
    BusyAtFirst,
}

/// Serves 100,000 bytes under every path, with `trouble`. It runs until the process ends.
pub fn start(trouble: SourceTrouble) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("its address");
    let contents = Arc::new(vec![7; 100_000]);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let contents = Arc::clone(&contents);
            // A broken connection ends only its own thread.
            std::thread::spawn(move || {
                if trouble == SourceTrouble::BusyAtFirst && number == 0 {
                    turn_away(&stream)
                } else {
                    serve(&stream, trouble, &contents)
                }
            });
        }
    });
    addr
}

fn turn_away(mut stream: &TcpStream) -> std::io::Result<()> {
    let why = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(why.as_bytes())?;
    // Reads the request to its end: a reset would destroy the answer.
    stream.shutdown(Shutdown::Write)?;
    std::io::copy(&mut stream, &mut std::io::sink()).map(drop)
}

fn serve(stream: &TcpStream, trouble: SourceTrouble, contents: &[u8]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let mut answer = stream;
    while let Some(request) = lines.next().transpose()? {
        let mut is_for_a_range = false;
        while let Some(line) = lines.next().transpose()?.filter(|line| !line.is_empty()) {
            is_for_a_range |= line.starts_with("Range: ");
        }
        let length = contents.len();
        if request.contains("/hashes/") {
            let hash = if trouble == SourceTrouble::WrongHash {
                [9; 32]
            } else {
                *blake3::hash(contents).as_bytes()
            };
            let etag = if trouble == SourceTrouble::FileChanges { "two" } else { "one" };
            let body = FileHash { size: length as u64, blake3: ContentHash(hash) };
            let body = serde_json::to_string(&body)?;
            let head = format!(
                "HTTP/1.1 200 OK\r\nETag: \"{etag}\"\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            answer.write_all((head + &body).as_bytes())?;
            continue;
        }
        let head = format!("HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: {length}\r\n\r\n");
        match trouble {
            SourceTrouble::CannotRead if is_for_a_range => {
                let promise = "HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\n";
                answer.write_all(promise.as_bytes())?;
                return Ok(());
            }
            SourceTrouble::BreaksOff | SourceTrouble::CannotRead => {
                answer.write_all(head.as_bytes())?;
                answer.write_all(&contents[..length / 2])?;
                return Ok(());
            }
            SourceTrouble::FallsSilent => {
                answer.write_all(head.as_bytes())?;
                answer.write_all(&contents[..length / 2])?;
                // Waits until the client closes the connection.
                lines.next().transpose()?;
                return Ok(());
            }
            SourceTrouble::Errs => {
                let why = "HTTP/1.1 500 No\r\nContent-Length: 12\r\n\r\ndisk on fire";
                answer.write_all(why.as_bytes())?;
            }
            SourceTrouble::NoLength => answer.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?,
            SourceTrouble::Babbles => answer.write_all(b"220 ready for mail\r\n\r\n")?,
            SourceTrouble::WrongHash | SourceTrouble::FileChanges | SourceTrouble::BusyAtFirst => {
                answer.write_all(head.as_bytes())?;
                answer.write_all(contents)?;
            }
        }
    }
    Ok(())
}
