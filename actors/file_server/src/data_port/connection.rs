//! One connection of the data port: request after request, each answered before the next is read.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reelyard_protocol::worker::{CONTENT_HASH_HEADER, ContentHash, FileHash};
use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::DataPortShared;
use super::backends::Hashed;
use super::connection_limiter::DataPortConnectionSlot;
use super::request::{DataPortRequest, DataPortRequestError, RequestReader};
use super::routes::{FileNotServed, ServedFileRequest};
use crate::file_fingerprint::FileFingerprint;
use crate::http_files::minimum_rate::MinimumRateCheck;
use crate::http_files::range::{RequestedRange, wanted};
use crate::thread_memory::ThreadMemory;
use crate::ticket::TicketKey;
use crate::tree_hash::GROUP;

/// The most that one `sendfile` is asked for: long enough to cost nothing, short enough that the
/// hasher behind it is never far.
const CHUNK: u64 = 1 << 20;

/// The bytes that a slow client gets at a time, so that its pace shows.
const SLOW_CHUNK: u64 = 64 << 10;

/// A client that needs longer for a chunk is slow.
const SLOW: Duration = Duration::from_secs(1);

/// Files up to this size are read, hashed and sent in one step. For them a hashing thread beside the
/// sender, and a second request for the hash, would be most of the work.
const SMALL: u64 = GROUP as u64;

/// How long a request for a hash that is being computed is held before it is answered 202.
const HASH_PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client until it leaves, errs, or the port stops.
pub(super) fn serve(stream: TcpStream, place: &DataPortConnectionSlot, shared: &DataPortShared) {
    let set_up = stream
        .set_write_timeout(Some(shared.limits.send_timeout))
        .and_then(|()| stream.set_nodelay(true));
    if set_up.is_err() {
        return;
    }
    let mut reader = RequestReader::new();
    loop {
        place.is_idle(true);
        let next = reader.next(&stream, shared.limits.request_timeout);
        place.is_idle(false);
        let kept = match next {
            Ok(request) => {
                shared.requests.fetch_add(1, Ordering::Relaxed);
                let answered = answer(&stream, place, shared, &request);
                if let Err(error) = &answered
                    && !is_of_the_client(error)
                {
                    tracing::warn!(path = request.path, %error, "a file cannot be read to its end");
                }
                answered.is_ok() && request.keep_alive
            }
            Err(DataPortRequestError::Gone) => false,
            Err(why) => {
                shared.requests.fetch_add(1, Ordering::Relaxed);
                let _ = refuse_unread(&stream, why);
                false
            }
        };
        if !kept || shared.stopping.load(Ordering::SeqCst) {
            let _ = stream.shutdown(Shutdown::Write);
            return;
        }
    }
}

/// Whether an answer broke off because its client left or took nothing more, and not for want of
/// the file.
fn is_of_the_client(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, WouldBlock};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | TimedOut | WouldBlock)
}

fn refuse_unread(stream: &TcpStream, why: DataPortRequestError) -> io::Result<()> {
    let (status, text) = match why {
        DataPortRequestError::TooLong => {
            ("431 Request Header Fields Too Large", "the request head is too long")
        }
        DataPortRequestError::Method => {
            ("405 Method Not Allowed\r\nAllow: GET, HEAD", "only GET and HEAD are served here")
        }
        DataPortRequestError::Garbled | DataPortRequestError::Gone => {
            ("400 Bad Request", "this is not a valid request")
        }
    };
    DataPortResponseHead { status, keep_alive: false, head_only: false, extra: String::new() }
        .with_text(stream, text)
}

fn answer(
    stream: &TcpStream,
    place: &DataPortConnectionSlot,
    shared: &DataPortShared,
    request: &DataPortRequest,
) -> io::Result<()> {
    let head = |status| DataPortResponseHead {
        status,
        keep_alive: request.keep_alive,
        head_only: request.head_only,
        extra: String::new(),
    };
    if let Some(token) = &*shared.token.now() {
        let (key, ticket) = (TicketKey::of(token), request.ticket.as_deref());
        // As the client connected to it, also where the port listens at every address.
        let port = stream.local_addr()?;
        if !key.admits(port, request.path.as_bytes(), ticket, shared.clock.now()) {
            shared.refused_ticket.fetch_add(1, Ordering::Relaxed);
            return head("403 Forbidden").with_text(stream, "a valid ticket is needed");
        }
    }
    let Some(asked) = ServedFileRequest::parse(&request.path) else {
        return head("404 Not Found").with_text(stream, "nothing is served under this path");
    };
    let file = match shared.routes.open(&asked.file) {
        Ok(file) => file,
        Err(FileNotServed::Absent(why)) => return head("404 Not Found").with_text(stream, why),
        Err(FileNotServed::Elsewhere(why)) => {
            return head("421 Misdirected Request").with_text(stream, why);
        }
        Err(FileNotServed::Failed(error)) => {
            tracing::warn!(path = request.path, %error, "a file cannot be opened for a client");
            return head("500 Internal Server Error").with_text(stream, &error.to_string());
        }
    };
    let identity = FileFingerprint::from(&file.metadata()?);
    if asked.hash {
        answer_hash(stream, shared, &file, identity, &head)
    } else {
        answer_bytes((stream, place), shared, request, &file, identity, &head)
    }
}

fn answer_hash<'a>(
    stream: &TcpStream,
    shared: &DataPortShared,
    file: &File,
    identity: FileFingerprint,
    head: &impl Fn(&'static str) -> DataPortResponseHead<'a>,
) -> io::Result<()> {
    match shared.hashes.hash_of(file, identity, HASH_PATIENCE) {
        Hashed::Known(hash) => {
            let answer = FileHash { size: identity.size, blake3: hash };
            let mut head = head("200 OK");
            head.extra = format!("Content-Type: application/json\r\nETag: {identity}\r\n");
            head.with_body(stream, &serde_json::to_vec(&answer)?)
        }
        Hashed::UnderWay => {
            head("202 Accepted").with_text(stream, "the hash is being computed, ask again")
        }
        Hashed::Changed => {
            head("409 Conflict").with_text(stream, "the file was changed while it was read")
        }
        Hashed::Failed(why) => head("500 Internal Server Error").with_text(stream, &why),
    }
}

fn answer_bytes<'a>(
    (stream, place): (&TcpStream, &DataPortConnectionSlot),
    shared: &DataPortShared,
    request: &DataPortRequest,
    file: &File,
    identity: FileFingerprint,
    head: &impl Fn(&'static str) -> DataPortResponseHead<'a>,
) -> io::Result<()> {
    let etag = identity.to_string();
    // A range of the former content of the file is useless to the client.
    let same = request.if_range.as_deref().is_none_or(|value| value == etag.as_bytes());
    let asked_range = request.range.as_deref().filter(|_| same);
    let size = identity.size;
    let (mut head, range) = match wanted(asked_range, size) {
        RequestedRange::Whole => (head("200 OK"), 0..size),
        RequestedRange::Part(range) => {
            let mut head = head("206 Partial Content");
            head.extra =
                format!("Content-Range: bytes {}-{}/{size}\r\n", range.start, range.end - 1);
            (head, range)
        }
        RequestedRange::Unsatisfiable => {
            let mut head = head("416 Range Not Satisfiable");
            head.extra = format!("Content-Range: bytes */{size}\r\n");
            return head.with_text(stream, "the requested range is outside the file");
        }
    };
    head.extra += &format!(
        "Content-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\nETag: {etag}\r\n"
    );
    let length = range.end - range.start;
    if request.head_only || length == 0 {
        return send_all(stream, head.text(length).as_bytes(), SendFlags::empty());
    }
    if length == size
        && size <= SMALL
        && let Some(bytes) = read_small(file, &identity)?
    {
        // Computed each time: to store the hash and to look it up would take longer.
        let hash = ContentHash(*blake3::hash(&bytes).as_bytes());
        head.extra += &format!("{CONTENT_HASH_HEADER}: {hash}\r\n");
        send_with(stream, head.text(length).as_bytes(), &bytes)?;
        shared.bytes.add(length);
        return Ok(());
    }
    let following = match shared.hashes.known(&identity) {
        Some(hash) => {
            head.extra += &format!("{CONTENT_HASH_HEADER}: {hash}\r\n");
            None
        }
        None => shared.hashes.follow(file, identity),
    };
    // `MORE`: the head leaves in one packet with the first bytes of the file.
    send_all(stream, head.text(length).as_bytes(), SendFlags::MORE)?;
    send_range((stream, place), shared, file, range, |sent, position| {
        shared.bytes.add(sent);
        if let Some(following) = &following {
            following.sent(position);
        }
    })
}

/// All bytes of a small file; none if it was changed while they were read.
fn read_small(file: &File, identity: &FileFingerprint) -> io::Result<Option<ThreadMemory>> {
    let mut bytes = ThreadMemory::of(usize::try_from(identity.size).unwrap_or(0));
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let is_same = FileFingerprint::from(&file.metadata()?) == *identity;
    Ok(is_same.then_some(bytes))
}

/// Sends `range` of `file` from the page cache to the socket, without passing through here.
fn send_range(
    (stream, place): (&TcpStream, &DataPortConnectionSlot),
    shared: &DataPortShared,
    file: &File,
    range: Range<u64>,
    sent: impl Fn(u64, u64),
) -> io::Result<()> {
    let mut position = range.start;
    let mut chunk = SLOW_CHUNK;
    let limits = &shared.limits;
    let mut pace =
        MinimumRateCheck::new(limits.send_timeout, limits.least_pace, Instant::now(), range.start);
    while position < range.end {
        let count = usize::try_from((range.end - position).min(chunk)).unwrap_or(usize::MAX);
        let (before, began) = (position, Instant::now());
        place.takes_a_piece();
        match sendfile(stream, file, Some(&mut position), count) {
            // The file was cut short: the connection is closed before the promised length, which
            // the client notices.
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                sent(position - before, position);
                chunk = if began.elapsed() > SLOW { SLOW_CHUNK } else { CHUNK };
                if !pace.is_kept(Instant::now(), position) {
                    return Err(ErrorKind::TimedOut.into());
                }
            }
            Err(Errno::INTR) => {}
            // Also a client that took nothing for the whole send time-out.
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends a head and all of its body, if the socket takes both at once.
fn send_with(mut stream: &TcpStream, head: &[u8], body: &[u8]) -> io::Result<()> {
    let sent = loop {
        match stream.write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            sent => break sent?,
        }
    };
    send_all(stream, head.get(sent..).unwrap_or_default(), SendFlags::MORE)?;
    send_all(stream, &body[sent.saturating_sub(head.len())..], SendFlags::empty())
}

fn send_all(stream: &TcpStream, mut bytes: &[u8], flags: SendFlags) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(stream, bytes, flags | SendFlags::NOSIGNAL) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The head of an answer.
struct DataPortResponseHead<'a> {
    /// Code and phrase.
    status: &'a str,
    keep_alive: bool,
    head_only: bool,
    /// Further header lines, each with its end.
    extra: String,
}

impl DataPortResponseHead<'_> {
    fn text(&self, length: u64) -> String {
        let connection = if self.keep_alive { "keep-alive" } else { "close" };
        format!(
            "HTTP/1.1 {}\r\n{}Content-Length: {length}\r\nConnection: {connection}\r\n\r\n",
            self.status, self.extra
        )
    }

    fn with_text(mut self, stream: &TcpStream, text: &str) -> io::Result<()> {
        self.extra += "Content-Type: text/plain;charset=UTF-8\r\n";
        self.with_body(stream, format!("{text}\n").as_bytes())
    }

    fn with_body(self, mut stream: &TcpStream, body: &[u8]) -> io::Result<()> {
        let mut answer = self.text(body.len() as u64).into_bytes();
        if !self.head_only {
            answer.extend_from_slice(body);
        }
        stream.write_all(&answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_disk_differs_from_a_client_that_left() {
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::AGAIN, Errno::TIMEDOUT] {
            assert!(is_of_the_client(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::STALE] {
            assert!(!is_of_the_client(&errno.into()), "{errno}");
        }
    }
}
