//! Compares the copy with the master's hash, and blames a side for bytes that did not arrive.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use reelyard_file_server::data_port::master_path;
use reelyard_protocol::worker::{Blame, FileHash};

use super::attempt::{CommittedCopy, Copying, FetchAttemptFailure};
use super::fetcher::Fetcher;
use super::unfinished_copy::UnfinishedCopy;
use crate::downloader::fetching::fault::{CopyFault, changed, refused, remote};
use crate::downloader::fetching::source_link::{AnswerHead, SourceLink};

/// The longest wait for the source's hash after its last byte, in addition to the time for its size at
/// [`SLOWEST_HASH`].
const HASH_PATIENCE: Duration = Duration::from_secs(60);

/// The slowest disk of a source for hashing, in bytes per second.
const SLOWEST_HASH: u64 = 20 << 20;

impl Fetcher {
    /// Compares the copy with the hash of the source. While the source is still computing it, `progress`
    /// is called.
    pub(super) fn compare(
        &self,
        copying: &Copying<'_>,
        mut link: SourceLink,
        unfinished: &UnfinishedCopy,
    ) -> Result<CommittedCopy, FetchAttemptFailure> {
        let copied = unfinished.copied();
        let path = master_path(&copying.order.dir, &copying.order.name, true);
        let until =
            Instant::now() + HASH_PATIENCE + Duration::from_secs(copied.size / SLOWEST_HASH);
        let off = |error| FetchAttemptFailure::Off {
            doing: "its hash did not arrive".to_owned(),
            error,
            arrived: copied.size,
        };
        loop {
            let head = self.ask(&mut link, copying, &path, &[])?;
            match head.status {
                200 => {
                    let text = link.read_text(&head).map_err(off)?;
                    verdict(unfinished.etag(), &head, &text, copied)?;
                    self.links.put_back(copying, link, &head);
                    return Ok(copied);
                }
                202 if Instant::now() < until => {
                    (copying.progress)(copied.size);
                    link.read_text(&head).map_err(off)?;
                    if !head.keep_alive {
                        link = self.connect(copying)?;
                    }
                }
                202 => {
                    let reason =
                        "the source did not hash the master within the time limit".to_owned();
                    return Err(CopyFault::Blamed(Blame::Source, reason).into());
                }
                409 => return Err(changed().into()),
                503 => return Err(FetchAttemptFailure::Busy),
                _ => return Err(refused(&mut link, &head, "the master's hash").into()),
            }
        }
    }

    /// The failure of a source that again closes the connection at the same byte: it cannot read the file
    /// there. Then the file backs off, and the source is free for others.
    pub(super) fn cannot_be_read(
        &self,
        copying: &Copying<'_>,
        error: &io::Error,
        arrived: u64,
        size: u64,
    ) -> Option<CopyFault> {
        let closed = error.kind() == ErrorKind::UnexpectedEof && !copying.cancel.is_cancelled();
        if !closed || arrived == size || !self.has_no_byte_at(copying, arrived) {
            return None;
        }
        let reason = format!("the source cannot read the master after byte {arrived} of {size}");
        Some(CopyFault::Blamed(Blame::File, reason))
    }

    /// Whether a source promises the byte at `position` and then does not send it, or has none.
    fn has_no_byte_at(&self, copying: &Copying<'_>, position: u64) -> bool {
        let Ok(mut link) = self.connect(copying) else { return false };
        let range = format!("bytes={position}-{position}");
        match self.ask(&mut link, copying, &copying.path, &[("Range", &range)]) {
            Ok(head) if head.status == 206 => link
                .read_body(&mut [0])
                .is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof),
            Ok(head) => head.status == 416,
            Err(_) => false,
        }
    }
}

/// A source that was lost while it was `doing` something.
pub(super) fn off(doing: &str, error: &io::Error) -> CopyFault {
    remote(doing, error)
}

fn verdict(
    etag: Option<&str>,
    head: &AnswerHead,
    text: &[u8],
    copied: CommittedCopy,
) -> Result<(), FetchAttemptFailure> {
    let Ok(source) = serde_json::from_slice::<FileHash>(text) else {
        let reason = "the source's answer about the master's hash cannot be read".to_owned();
        return Err(CopyFault::Blamed(Blame::Source, reason).into());
    };
    // The tag is the file's identity. Another tag means another file.
    if head.etag.as_deref() != etag || source.size != copied.size {
        return Err(changed().into());
    }
    if source.blake3 != copied.hash {
        let reason = format!(
            "the copy differs from the master: blake3 {} here, {} at the source",
            copied.hash, source.blake3
        );
        return Err(FetchAttemptFailure::Wrong(CopyFault::Blamed(Blame::Pair, reason)));
    }
    Ok(())
}
