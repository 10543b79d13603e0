//! The bytes of a file, with its hash if it is known or cheap.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use reelyard_core::traffic::ByteCount;
use reelyard_protocol::worker::{CONTENT_HASH_HEADER, ContentHash};

use super::backends::{FileHashes, SendProgress};
use crate::connection::sending::{FileBody, SendFailure};
use crate::file_fingerprint::FileFingerprint;
use crate::http::conditions::{ConditionalResponse, Validators, evaluate};
use crate::http::response_head::{BodyLength, ResponseHead};
use crate::server::ServedRequest;
use crate::thread_memory::ThreadMemory;
use crate::tree_hash::GROUP;

/// Files up to this size are read, hashed and sent in one step. For them a separate hashing thread and a
/// second request for the hash would be most of the work.
const SMALL: u64 = GROUP as u64;

/// The answer to a request for the bytes of a file.
pub(super) struct FileAnswer<'p> {
    pub(super) file: File,
    pub(super) fingerprint: FileFingerprint,
    pub(super) hashes: &'p dyn FileHashes,
    /// Counts the bytes of files sent.
    pub(super) bytes: &'p ByteCount,
}

/// A file that is hashed while it is sent.
struct FollowedFile<'a> {
    file: &'a File,
    bytes: &'a ByteCount,
    /// None if the hash is known or cannot be computed now.
    hasher: Option<Box<dyn SendProgress>>,
}

impl FileAnswer<'_> {
    /// Sends the bytes that the request wants.
    pub(super) async fn send(&self, request: &ServedRequest<'_>) -> Result<(), SendFailure> {
        let size = self.fingerprint.size;
        let current = Validators {
            etag: self.fingerprint.to_string(),
            modified: u64::try_from(self.fingerprint.modified.0).unwrap_or(0),
        };
        let response = evaluate(request.head, &current, size);
        let mut head = ResponseHead::new(response.status(), request.head.keep_alive);
        response.describe_range(&mut head, size);
        let Some(range) = response.range(size) else {
            return request.send(&without_file(head, &response, &current, request)).await;
        };
        head.header("Content-Type", "application/octet-stream");
        head.header("Accept-Ranges", "bytes");
        head.header("ETag", &current.etag);
        let length = range.end - range.start;
        if request.head.is_head() || length == 0 {
            return request.send(&head.finish(BodyLength::Bytes(length))).await;
        }
        if length == size
            && size <= SMALL
            && let Some(bytes) = self.read_small().map_err(SendFailure::Unreadable)?
        {
            return self.send_small(request, head, &bytes).await;
        }
        let hash = self.hashes.known(&self.fingerprint);
        if let Some(hash) = hash {
            head.header(CONTENT_HASH_HEADER, hash);
        }
        let hasher = match hash {
            Some(_) => None,
            None => self.hashes.start_hashing(&self.file, self.fingerprint),
        };
        let body = FollowedFile { file: &self.file, bytes: self.bytes, hasher };
        let mut sending = request.sending(None);
        sending.bytes(&head.finish(BodyLength::Bytes(length)), true).await?;
        sending.file(&body, range).await
    }

    /// Sends all bytes of a small file with their hash.
    async fn send_small(
        &self,
        request: &ServedRequest<'_>,
        mut head: ResponseHead,
        bytes: &[u8],
    ) -> Result<(), SendFailure> {
        // Computed each time: to store the hash and to look it up would take longer.
        let hash = ContentHash(*blake3::hash(bytes).as_bytes());
        head.header(CONTENT_HASH_HEADER, hash);
        let length = bytes.len() as u64;
        let head = head.finish(BodyLength::Bytes(length));
        request.sending(None).head_and_body(&head, bytes).await?;
        self.bytes.add(length);
        Ok(())
    }

    /// All bytes of a small file; none if it was changed while they were read.
    fn read_small(&self) -> io::Result<Option<ThreadMemory>> {
        let mut bytes = ThreadMemory::of(usize::try_from(self.fingerprint.size).unwrap_or(0));
        match self.file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let is_same = FileFingerprint::from(&self.file.metadata()?) == self.fingerprint;
        Ok(is_same.then_some(bytes))
    }
}

/// The bytes of an answer that has no part of the file.
fn without_file(
    mut head: ResponseHead,
    response: &ConditionalResponse,
    current: &Validators,
    request: &ServedRequest<'_>,
) -> Vec<u8> {
    let text = match response {
        ConditionalResponse::NotModified => {
            head.header("ETag", &current.etag);
            return head.finish(BodyLength::NoBody);
        }
        ConditionalResponse::Unsatisfiable => "the requested range is outside the file\n",
        _ => "the file is not the one that the request describes\n",
    };
    head.header("Content-Type", "text/plain;charset=UTF-8");
    head.finish_with(text.as_bytes(), request.head.is_head())
}

impl FileBody for FollowedFile<'_> {
    fn file(&self) -> &File {
        self.file
    }

    /// The client compares the hash of the received bytes with that of the file, so a change shows there.
    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn record_sent(&self, count: u64, position: u64) {
        self.bytes.add(count);
        if let Some(hasher) = &self.hasher {
            hasher.sent(position);
        }
    }
}
