//! Sends on a connection: bytes from memory, and files by `sendfile` or encrypted in large chunks.
//!
//! Reelyard has its own code because moving bytes is its main task. General servers copy file
//! bodies through user space, and send TLS record by record.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::client_stream::{CHUNK, ClientStream, SendBlocked};
use super::limiter::ConnectionSlot;
use super::watch::{CHECK_EVERY, SendWatch};
use crate::http::minimum_rate::MinimumRateCheck;

/// Number of bytes after which an answer yields to others on its thread.
const TURN: u64 = 8 << 20;

/// Why sending failed.
#[derive(Debug, thiserror::Error)]
pub enum SendFailure {
    /// The client closed the connection.
    #[error("the client left")]
    Left,
    /// The client read too slowly for too long.
    #[error("the client reads too slowly")]
    TooSlow,
    /// The watch ended the answer.
    #[error("the answer was cut")]
    Cut,
    /// The source cannot be read, or has changed.
    #[error("it cannot be read completely: {0}")]
    Unreadable(io::Error),
}

/// How slowly a client may take an answer.
#[derive(Clone, Copy, Debug)]
pub struct SendLimits {
    /// Longest time without a byte taken.
    pub send_timeout: Duration,
    /// Slowest accepted rate in bytes per second, averaged over `send_timeout`.
    pub minimum_rate: u64,
}

/// The file of an answer.
pub trait FileBody: Sync {
    /// The open file.
    fn file(&self) -> &File;

    /// Whether the contents are unchanged since the beginning. Called before the last chunk is
    /// sent.
    ///
    /// # Errors
    ///
    /// The state of the file cannot be read.
    fn is_unchanged(&self) -> io::Result<bool>;

    /// The connection accepted `count` more bytes, which end at `position`.
    fn record_sent(&self, count: u64, position: u64);
}

/// One answer that is being sent.
pub struct Sending<'s> {
    stream: &'s ClientStream,
    slot: &'s ConnectionSlot,
    limits: SendLimits,
    watch: Option<Box<dyn SendWatch>>,
    rate: MinimumRateCheck,
    sent: u64,
    /// Start of the time in which the client took nothing.
    last_progress: Instant,
    /// Whether the slot knows that the client takes nothing.
    is_marked_blocked: bool,
}

impl<'s> Sending<'s> {
    /// Sends on `stream` while `watch` allows it.
    pub(crate) fn new(
        stream: &'s ClientStream,
        slot: &'s ConnectionSlot,
        limits: SendLimits,
        watch: Option<Box<dyn SendWatch>>,
    ) -> Self {
        let now = Instant::now();
        Sending {
            stream,
            slot,
            limits,
            watch,
            rate: MinimumRateCheck::new(limits.send_timeout, limits.minimum_rate, now, 0),
            sent: 0,
            last_progress: now,
            is_marked_blocked: false,
        }
    }

    /// Returns the watch, because bytes that the kernel accepted may still be unsent.
    pub fn finish(self) -> Option<Box<dyn SendWatch>> {
        self.watch
    }

    /// Number of sent bytes.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends `bytes`. With `more`, they leave in one packet with the bytes that follow.
    ///
    /// # Errors
    ///
    /// The client left or is too slow, or the watch ended the answer.
    pub async fn bytes(&mut self, mut bytes: &[u8], more: bool) -> Result<(), SendFailure> {
        while !bytes.is_empty() {
            self.check()?;
            match self.stream.try_send(bytes, more) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    self.record_progress(count as u64)?;
                }
                Err(blocked) => self.wait_out(blocked).await?,
            }
        }
        if more { Ok(()) } else { self.flush().await }
    }

    /// Sends a head and all of its body, at once if the connection accepts both.
    ///
    /// # Errors
    ///
    /// As for [`Sending::bytes`].
    pub async fn head_and_body(&mut self, head: &[u8], body: &[u8]) -> Result<(), SendFailure> {
        let count = self.stream.try_send_both(head, body).unwrap_or(0);
        self.record_progress(count as u64)?;
        self.bytes(head.get(count..).unwrap_or_default(), true).await?;
        self.bytes(&body[count.saturating_sub(head.len())..], false).await
    }

    /// Sends `range` of a file while its contents stay the same. So a client that gets the whole
    /// range never gets a mixture of two states. Bytes that the kernel accepted cannot be
    /// withdrawn.
    ///
    /// # Errors
    ///
    /// As for [`Sending::bytes`], or the file cannot be read or has changed.
    pub async fn file(
        &mut self,
        body: &impl FileBody,
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
                && !body.is_unchanged().map_err(SendFailure::Unreadable)?
            {
                let changed = io::Error::other("the file changed while it was sent");
                return Err(SendFailure::Unreadable(changed));
            }
            match self.stream.try_send_file(body.file(), position, range.end - position) {
                Ok(count) => {
                    position += count;
                    body.record_sent(count, position);
                    self.record_progress(count)?;
                }
                Err(blocked) => self.wait_out(blocked).await?,
            }
        }
        self.flush().await
    }

    /// Sends the bytes that the connection accepted but has not given to its socket.
    async fn flush(&mut self) -> Result<(), SendFailure> {
        loop {
            self.check()?;
            match self.stream.try_flush() {
                Ok(true) => return Ok(()),
                Ok(false) => self.record_progress(0)?,
                Err(blocked) => self.wait_out(blocked).await?,
            }
        }
    }

    /// Waits until the connection accepts bytes again, if the client only has to read.
    async fn wait_out(&mut self, blocked: SendBlocked) -> Result<(), SendFailure> {
        match blocked {
            SendBlocked::Full => self.writable().await,
            SendBlocked::Left => Err(SendFailure::Left),
            SendBlocked::Unreadable(error) => Err(SendFailure::Unreadable(error)),
        }
    }

    /// Resets the time limit of the client after a wait for the disk.
    pub fn restart_time_limit(&mut self) {
        let SendLimits { send_timeout, minimum_rate } = self.limits;
        self.last_progress = Instant::now();
        self.rate =
            MinimumRateCheck::new(send_timeout, minimum_rate, self.last_progress, self.sent);
    }

    /// Fails if the watch ends the answer.
    ///
    /// # Errors
    ///
    /// [`SendFailure::Cut`].
    pub fn check(&mut self) -> Result<(), SendFailure> {
        let may_continue = match &mut self.watch {
            Some(watch) => watch.may_continue(),
            None => true,
        };
        if may_continue { Ok(()) } else { Err(SendFailure::Cut) }
    }

    /// Fails if the connection was reset. A client that only sent its end may still read.
    ///
    /// # Errors
    ///
    /// [`SendFailure::Left`].
    pub fn check_client(&self) -> Result<(), SendFailure> {
        if self.stream.has_failed() { Err(SendFailure::Left) } else { Ok(()) }
    }

    fn record_progress(&mut self, count: u64) -> Result<(), SendFailure> {
        self.sent += count;
        self.last_progress = Instant::now();
        if self.is_marked_blocked {
            self.is_marked_blocked = false;
            self.slot.mark_busy();
        }
        let taken = self.sent.saturating_sub(self.stream.unsent());
        if self.rate.is_kept(self.last_progress, taken) {
            Ok(())
        } else {
            Err(SendFailure::TooSlow)
        }
    }

    /// Waits until the client takes more.
    async fn writable(&mut self) -> Result<(), SendFailure> {
        loop {
            match timeout(CHECK_EVERY, self.stream.writable()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(_)) => return Err(SendFailure::Left),
                Err(_) => {
                    self.check()?;
                    if self.last_progress.elapsed() >= self.limits.send_timeout {
                        return Err(SendFailure::TooSlow);
                    }
                    if !self.is_marked_blocked {
                        self.is_marked_blocked = true;
                        self.slot.mark_blocked(self.last_progress);
                    }
                }
            }
        }
    }
}
