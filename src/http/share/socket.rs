//! Sending on a connection: heads and other bytes from memory, files by the kernel's `sendfile`, or
//! encrypted in large pieces.
//!
//! Our own because moving bytes is what Reelyard is for: the general servers copy file bodies
//! through user space, and under TLS record by record.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use reelyard_actors::http_files::minimum_rate::MinimumRateCheck;
use tokio::time::timeout;

use super::client_stream::{CHUNK, ClientStream, SendBlocked};
use super::roots::OpenedShare;
use super::watch::{DownloadWatch, LOOK_EVERY};

/// Bytes after which others on this thread get their turn.
const TURN: u64 = 8 << 20;

/// Why sending broke off.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendFailure {
    /// The client left.
    #[error("the client left")]
    Left,
    /// The client took too little for too long.
    #[error("the client reads too slowly")]
    TooSlow,
    /// The download may not go on.
    #[error("the download was cut")]
    Cut,
    /// What was to be sent cannot be read, or is not what it was.
    #[error("it cannot be read completely: {0}")]
    Unreadable(io::Error),
}

/// What a client must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long it may take no byte.
    pub(super) send_timeout: Duration,
    /// What it must take at least, in bytes per second.
    pub(super) least_pace: u64,
}

/// One answer on its way.
pub(super) struct Sending<'s> {
    line: &'s ClientStream,
    watch: Option<DownloadWatch>,
    patience: Patience,
    pace: MinimumRateCheck,
    sent: u64,
    /// Since when the client has taken nothing.
    since: Instant,
}

impl<'s> Sending<'s> {
    /// Sends on `line`, as long as `watch` has nothing against it.
    pub(super) fn new(
        line: &'s ClientStream,
        patience: Patience,
        watch: Option<DownloadWatch>,
    ) -> Self {
        let since = Instant::now();
        let pace = MinimumRateCheck::new(patience.send_timeout, patience.least_pace, since, 0);
        Sending { line, watch, patience, pace, sent: 0, since }
    }

    /// All was handed over, which does not mean that it has left: what goes on watching.
    pub(super) fn finish(self) -> Option<DownloadWatch> {
        self.watch
    }

    /// How many bytes were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends `bytes`; with `more`, they leave in one packet with what follows.
    pub(super) async fn bytes(&mut self, mut bytes: &[u8], more: bool) -> Result<(), SendFailure> {
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

    /// Sends `range` of a file, as long as it is what it was when it was opened: whoever gets all of
    /// the range has no mixture. What the kernel has taken is out of reach.
    pub(super) async fn file(
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

    /// Sends what the line has taken and kept back.
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

    /// The client had nothing to take, for want of bytes: that does not count against it.
    pub(super) fn waited_for_us(&mut self) {
        let (send_timeout, least_pace) = (self.patience.send_timeout, self.patience.least_pace);
        self.since = Instant::now();
        self.pace = MinimumRateCheck::new(send_timeout, least_pace, self.since, self.sent);
    }

    /// Whether it may go on.
    pub(super) fn check(&mut self) -> Result<(), SendFailure> {
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
