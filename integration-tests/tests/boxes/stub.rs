//! A node with scripted answers, or without answers, for cases that a real node rarely shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually_some};
use serde_json::{Value, json};

/// A listener that gives each call to the test.
pub struct StubNode {
    /// The address that clients must call.
    pub addr: SocketAddr,
    calls: mpsc::Receiver<StubCall>,
}

/// A call that waits for its answer. Dropping it closes the connection.
pub struct StubCall {
    /// The path without the prefix of the API.
    pub path: String,
    /// The JSON body of the request; null without one.
    pub body: Value,
    /// The request id in the header, if there is one.
    pub id: Option<String>,
    stream: TcpStream,
}

impl StubNode {
    /// Starts a listener, which ends with the process.
    pub fn start() -> StubNode {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (sender, calls) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(called) = StubCall::read(stream.unwrap()) else { continue };
                if sender.send(called).is_err() {
                    return;
                }
            }
        });
        StubNode { addr, calls }
    }

    /// Waits for the next call.
    pub fn next(&self) -> StubCall {
        self.calls.recv_timeout(PATIENCE).unwrap()
    }

    /// The next call if it has arrived.
    pub fn already(&self) -> Option<StubCall> {
        self.calls.try_recv().ok()
    }

    /// Waits for the next call without blocking a client on this thread.
    pub async fn called(&self) -> StubCall {
        eventually_some("it is called", || async { self.calls.try_recv().ok() }).await
    }
}

impl StubCall {
    fn read(stream: TcpStream) -> Option<StubCall> {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let path = head.split(' ').nth(1)?;
        if path == "/healthz" {
            // The client may have closed the connection.
            let _ = write!(
                &stream,
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            return None;
        }
        let path = path.strip_prefix("/api/v1/")?.to_owned();
        let head = head.to_ascii_lowercase();
        let id = head.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
        let id = id.map(str::to_owned);
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        Some(StubCall { path, body: serde_json::from_slice(&body).ok()?, id, stream })
    }

    /// Answers the call and closes the connection.
    pub fn answer(mut self, status: u16, body: &Value) {
        let body = body.to_string();
        let length = body.len();
        let head = format!("HTTP/1.1 {status} -\r\ncontent-length: {length}\r\nconnection: close");
        // The client may have closed the connection.
        let _ = write!(self.stream, "{head}\r\n\r\n{body}");
    }

    /// Begins a stream of events and closes the connection.
    pub fn begin_events(mut self) {
        let head =
            "HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
        // The client may have closed the connection.
        let _ = write!(self.stream, "{head}\r\n\r\n3\r\n:x\n\r\n");
    }

    /// Answers with a problem of this kind.
    pub fn refuse(self, status: u16, kind: &str) {
        let kind = format!("urn:reelyard:problem:{kind}");
        let problem = json!({ "type": kind, "title": "no", "status": status, "detail": "no" });
        self.answer(status, &problem);
    }

    /// Grants or renews a lease with the remaining time `left`.
    pub fn answer_lease(self, status: u16, left: &str) {
        let mut lease = json!({
            "lease_id": "AAAAAAAAAAAAAAAAAAAAAA",
            "box": 7,
            "token": 1,
            "expires_at": "2030-01-01T00:00:00Z",
            "left": left,
        });
        lease["leases"] = json!([lease]);
        self.answer(status, &lease);
    }
}
