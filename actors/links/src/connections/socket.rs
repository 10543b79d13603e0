//! Sends on a connection: bytes from memory, and files by `sendfile` or encrypted in large pieces.
//!
//! Reelyard has its own code for this because moving bytes is its main task. General servers copy
//! file bodies through user space, and send TLS record by record.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use reelyard_file_server::http_files::minimum_rate::MinimumRateCheck;
use tokio::time::timeout;

use super::client_stream::{CHUNK, ClientStream, SendBlocked};
use crate::access::roots::OpenedShare;
use crate::serving::watch::{DownloadWatch, LOOK_EVERY};

/// Number of bytes after which a download yields to others on its thread.
const TURN: u64 = 8 << 20;

/// Why sending failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendFailure {
    /// The client closed the connection.
    #[error("the client left")]
    Left,
    /// The client read too slowly for too long.
    #[error("the client reads too slowly")]
    TooSlow,
    /// The share ended or was revoked, so the download was cut.
    #[error("the download was cut")]
    Cut,
    /// The source cannot be read, or has changed.
    #[error("it cannot be read completely: {0}")]
    Unreadable(io::Error),
}

/// Time limits for the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Longest time without a byte taken.
    pub(crate) send_timeout: Duration,
    /// Slowest accepted pace in bytes per second.
    pub(crate) least_pace: u64,
}

/// One answer that is being sent.
pub(crate) struct Sending<'s> {
    line: &'s ClientStream,
    watch: Option<DownloadWatch>,
    patience: Patience,
    pace: MinimumRateCheck,
    sent: u64,
    /// Start of the time in which the client took nothing.
    since: Instant,
}

impl<'s> Sending<'s> {
    /// Sends on `line` while `watch` allows it.
    pub(crate) fn new(
        line: &'s ClientStream,
        patience: Patience,
        watch: Option<DownloadWatch>,
    ) -> Self {
        let since = Instant::now();
        let pace = MinimumRateCheck::new(patience.send_timeout, patience.least_pace, since, 0);
        Sending { line, watch, patience, pace, sent: 0, since }
    }

    /// Returns the watch, because bytes that the kernel accepted may still be unsent.
    pub(crate) fn finish(self) -> Option<DownloadWatch> {
        self.watch
    }

    /// Number of sent bytes.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends `bytes`. With `more`, they leave in one packet with the bytes that follow.
    pub(crate) async fn bytes(&mut self, mut bytes: &[u8], more: bool) -> Result<(), SendFailure> {
        while !bytes.is_empty() {
            self.check()?;
            match self.line.try_send(bytes, more) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    self.took(count as u64)?;
                }
                Err(hitch) => self.get_over(hitch).await?,
            }
        }
        if more { Ok(()) } else { self.rest().await }
    }

    /// Sends `range` of a file while its contents stay the same. So a client that gets the whole
    /// range never gets a mixture of two states. Bytes that the kernel accepted cannot be
    /// withdrawn.
    pub(crate) async fn file(
        &mut self,
        of: &OpenedShare,
        range: Range<u64>,
    ) -> Result<(), SendFailure> {
        let (mut position, mut turn) = (range.start, range.start);
        while position < range.end {
            self.check()?;
            if position - turn >= TURN {
                turn = position;
                tokio::task::yield_now().await;
            }
            if range.end - position <= CHUNK
                && !of.is_unchanged().map_err(SendFailure::Unreadable)?
            {
                let changed = io::Error::other("the file changed while it was sent");
                return Err(SendFailure::Unreadable(changed));
            }
            match self.line.try_send_file(&of.file, position, range.end - position) {
                Ok(count) => {
                    position += count;
                    self.took(count)?;
                }
                Err(hitch) => self.get_over(hitch).await?,
            }
        }
        self.rest().await
    }

    /// Sends the bytes that the connection accepted but kept back.
    async fn rest(&mut self) -> Result<(), SendFailure> {
        loop {
            self.check()?;
            match self.line.try_flush() {
                Ok(true) => return Ok(()),
                Ok(false) => self.took(0)?,
                Err(hitch) => self.get_over(hitch).await?,
            }
        }
    }

    async fn get_over(&mut self, hitch: SendBlocked) -> Result<(), SendFailure> {
        match hitch {
            SendBlocked::Full => self.writable().await,
            SendBlocked::Left => Err(SendFailure::Left),
            SendBlocked::Unreadable(error) => Err(SendFailure::Unreadable(error)),
        }
    }

    /// Resets the time limit of the client after a wait for the disk.
    pub(crate) fn waited_for_us(&mut self) {
        let (send_timeout, least_pace) = (self.patience.send_timeout, self.patience.least_pace);
        self.since = Instant::now();
        self.pace = MinimumRateCheck::new(send_timeout, least_pace, self.since, self.sent);
    }

    /// Fails if the download must not continue.
    pub(crate) fn check(&mut self) -> Result<(), SendFailure> {
        let may_go_on = self.watch.as_mut().is_none_or(DownloadWatch::may_go_on);
        if may_go_on { Ok(()) } else { Err(SendFailure::Cut) }
    }

    fn took(&mut self, count: u64) -> Result<(), SendFailure> {
        self.sent += count;
        self.since = Instant::now();
        let arrived = self.sent.saturating_sub(self.line.kept_back());
        if self.pace.is_kept(self.since, arrived) { Ok(()) } else { Err(SendFailure::TooSlow) }
    }

    /// Waits until the client takes more.
    async fn writable(&mut self) -> Result<(), SendFailure> {
        loop {
            match timeout(LOOK_EVERY, self.line.writable()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(_)) => return Err(SendFailure::Left),
                Err(_) => {
                    self.check()?;
                    if self.since.elapsed() >= self.patience.send_timeout {
                        return Err(SendFailure::TooSlow);
                    }
                }
            }
        }
    }
}
