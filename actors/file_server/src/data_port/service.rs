//! The service of a data port: it checks tickets, opens files, and answers with their bytes or hashes.

use std::borrow::Cow;
use std::fs::File;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::token::SharedToken;
use reelyard_protocol::worker::FileHash;

use super::backends::{FileHashes, Hashed};
use super::counters::DataPortCounts;
use super::file_answer::FileAnswer;
use super::routes::{DataPortRoutes, FileNotServed, ServedFileRequest};
use crate::certificate::Certificate;
use crate::connection::sending::SendFailure;
use crate::file_fingerprint::FileFingerprint;
use crate::http::request_head::{BadHead, RequestHead};
use crate::http::response_head::ResponseHead;
use crate::server::{Answered, FileService, ServedRequest};
use crate::ticket::{TICKET_HEADER, TicketKey};

/// How long a request for a hash that is being computed is held before it is answered 202.
const HASH_PATIENCE: Duration = Duration::from_secs(5);

const NOT_FOUND: (u16, &str) = (404, "Not Found");
const SERVER_ERROR: (u16, &str) = (500, "Internal Server Error");

/// Serves the files of a worker.
pub(super) struct DataPortService {
    pub(super) routes: DataPortRoutes,
    pub(super) hashes: Arc<dyn FileHashes>,
    /// None: no token, no tickets.
    pub(super) token: LiveSetting<Option<SharedToken>>,
    /// None: no TLS.
    pub(super) certificate: LiveSetting<Option<Certificate>>,
    pub(super) clock: Clock,
    pub(super) counts: Arc<DataPortCounts>,
}

/// A short answer without a file.
struct TextAnswer {
    status: (u16, &'static str),
    text: Cow<'static, str>,
}

impl FileService for DataPortService {
    async fn answer(&self, request: &ServedRequest<'_>) -> Result<Answered, SendFailure> {
        self.counts.requests.one();
        let head = request.head;
        if let Some(refusal) = refuse_method(head) {
            request.send(&refusal).await?;
            return Ok(Answered::Sent { keep_alive: false, watch: None });
        }
        let sent = self.answer_reading(request).await;
        if let Err(SendFailure::Unreadable(error)) = &sent {
            tracing::warn!(path = head.path, %error, "a file cannot be read to its end");
        }
        sent.map(|()| Answered::Sent { keep_alive: head.keep_alive, watch: None })
    }

    fn refuse_unread(&self, bad: BadHead) -> Vec<u8> {
        self.counts.requests.one();
        let text = match bad {
            BadHead::TooLong => "the request head is too long",
            BadHead::Garbled | BadHead::Host => "this is not a valid request",
        };
        text_answer(ResponseHead::new(bad.status(), false), text, false)
    }

    fn limited_client(&self, peer: IpAddr) -> Option<IpAddr> {
        Some(peer)
    }

    fn certificate(&self) -> Option<Certificate> {
        Option::clone(&self.certificate.now())
    }
}

impl DataPortService {
    /// Answers a request that reads.
    async fn answer_reading(&self, request: &ServedRequest<'_>) -> Result<(), SendFailure> {
        let head = request.head;
        let (file, wants_hash) = match self.open(request) {
            Ok(opened) => opened,
            Err(refusal) => return request.send(&refusal.finish(head)).await,
        };
        let metadata = file.metadata().map_err(SendFailure::Unreadable)?;
        let fingerprint = FileFingerprint::from(&metadata);
        if wants_hash {
            return self.answer_hash(request, file, fingerprint).await;
        }
        let (hashes, bytes) = (&*self.hashes, &self.counts.bytes);
        FileAnswer { file, fingerprint, hashes, bytes }.send(request).await
    }

    fn check_ticket(&self, request: &ServedRequest<'_>) -> Result<(), TextAnswer> {
        let Some(token) = &*self.token.now() else { return Ok(()) };
        let (key, now) = (TicketKey::of(token), self.clock.now());
        let (path, ticket) = (request.head.path.as_bytes(), request.head.header(TICKET_HEADER));
        // The address to which the client connected, even if the port listens at every address.
        let port = request.local_addr();
        if port.is_some_and(|port| key.admits(port, path, ticket, now)) {
            return Ok(());
        }
        self.counts.refused_ticket.one();
        Err(TextAnswer::new((403, "Forbidden"), "a valid ticket is needed"))
    }

    /// The wanted file, and whether its hash is wanted. Blocks on the disk.
    fn open(&self, request: &ServedRequest<'_>) -> Result<(File, bool), TextAnswer> {
        self.check_ticket(request)?;
        let path = request.head.path;
        let Some(wanted) = ServedFileRequest::parse(path) else {
            return Err(TextAnswer::new(NOT_FOUND, "nothing is served under this path"));
        };
        match self.routes.open(&wanted.file) {
            Ok(file) => Ok((file, wanted.hash)),
            Err(FileNotServed::Absent(why)) => Err(TextAnswer::new(NOT_FOUND, why)),
            Err(FileNotServed::Elsewhere(why)) => {
                Err(TextAnswer::new((421, "Misdirected Request"), why))
            }
            Err(FileNotServed::Failed(error)) => {
                tracing::warn!(path, %error, "a file cannot be opened for a client");
                Err(TextAnswer::new(SERVER_ERROR, error.to_string()))
            }
        }
    }

    /// Answers with the hash of a file. A thread that serves no connection waits for it.
    async fn answer_hash(
        &self,
        request: &ServedRequest<'_>,
        file: File,
        fingerprint: FileFingerprint,
    ) -> Result<(), SendFailure> {
        let hashes = Arc::clone(&self.hashes);
        let hashing =
            tokio::task::spawn_blocking(move || hashes.hash_of(&file, fingerprint, HASH_PATIENCE));
        let hashed = hashing.await.unwrap_or_else(|error| Hashed::Failed(error.to_string()));
        let answer = match hashed {
            Hashed::Known(blake3) => {
                let body = serde_json::to_vec(&FileHash { size: fingerprint.size, blake3 });
                let body = body.map_err(|error| SendFailure::Unreadable(error.into()))?;
                let mut head = ResponseHead::new((200, "OK"), request.head.keep_alive);
                head.header("Content-Type", "application/json");
                head.header("ETag", fingerprint);
                head.finish_with(&body, request.head.is_head())
            }
            Hashed::UnderWay => {
                let text = "the hash is being computed, ask again";
                TextAnswer::new((202, "Accepted"), text).finish(request.head)
            }
            Hashed::Changed => {
                let text = "the file was changed while it was read";
                TextAnswer::new((409, "Conflict"), text).finish(request.head)
            }
            Hashed::Failed(why) => TextAnswer::new(SERVER_ERROR, why).finish(request.head),
        };
        request.send(&answer).await
    }
}

impl TextAnswer {
    fn new(status: (u16, &'static str), text: impl Into<Cow<'static, str>>) -> Self {
        TextAnswer { status, text: text.into() }
    }

    /// The bytes of the whole answer to this request.
    fn finish(&self, head: &RequestHead<'_>) -> Vec<u8> {
        let of_answer = ResponseHead::new(self.status, head.keep_alive);
        text_answer(of_answer, &self.text, head.is_head())
    }
}

/// The answer to a request that this port does not serve, whatever its path. The connection is closed after
/// it: a body may follow.
fn refuse_method(head: &RequestHead<'_>) -> Option<Vec<u8>> {
    if head.has_body {
        let of_answer = ResponseHead::new((400, "Bad Request"), false);
        return Some(text_answer(of_answer, "this is not a valid request", head.is_head()));
    }
    if !matches!(head.method, "GET" | "HEAD") {
        let mut of_answer = ResponseHead::new((405, "Method Not Allowed"), false);
        of_answer.header("Allow", "GET, HEAD");
        return Some(text_answer(of_answer, "only GET and HEAD are served here", false));
    }
    None
}

/// The bytes of a whole answer with a line of text.
fn text_answer(mut head: ResponseHead, text: &str, is_head: bool) -> Vec<u8> {
    head.header("Content-Type", "text/plain;charset=UTF-8");
    head.finish_with(format!("{text}\n").as_bytes(), is_head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_requests_are_served() {
        let refusal = |text: &str| {
            let head = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
            refuse_method(&head).map(|answer| String::from_utf8(answer).unwrap())
        };
        for method in ["GET", "HEAD"] {
            assert_eq!(refusal(&format!("{method} /x HTTP/1.1\r\n\r\n")), None);
        }
        for method in ["PUT", "DELETE"] {
            let answer = refusal(&format!("{method} /x HTTP/1.1\r\n\r\n")).unwrap();
            assert!(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{answer}");
            assert!(answer.contains("\r\nAllow: GET, HEAD\r\n"), "{answer}");
        }
        let with_body = refusal("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n").unwrap();
        assert!(with_body.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{with_body}");
        assert!(with_body.contains("\r\nConnection: close\r\n"), "{with_body}");
        let to_head = refusal("HEAD / HTTP/1.1\r\nContent-Length: 5\r\n\r\n").unwrap();
        assert!(to_head.ends_with("\r\n\r\n"), "{to_head}");
    }
}
