//! Sending on a connection: heads and other bytes from memory, files by the kernel's `sendfile`.
//!
//! Our own because moving bytes is what Reelyard is for: the general servers copy file bodies
//! through user space.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::time::{Duration, Instant};

use reelyard_actors::http_files::pace::LeastPace;
use rustix::fs::sendfile;
use rustix::net::{SendFlags, send};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::watch::{LOOK_EVERY, Watch};

/// The most that one `sendfile` is asked for.
const CHUNK: u64 = 1 << 20;

/// Bytes after which others on this thread get their turn.
const TURN: u64 = 8 << 20;

/// Why sending broke off.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The client left.
    #[error("the client left")]
    Left,
    /// The client took too little for too long.
    #[error("the client takes too little")]
    TooSlow,
    /// The download may not go on.
    #[error("the download was cut")]
    Cut,
    /// What was to be sent cannot be read, or is not what it was.
    #[error("it cannot be read to its end: {0}")]
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
    stream: &'s TcpStream,
    watch: Option<Watch>,
    patience: Patience,
    pace: LeastPace,
    sent: u64,
    /// Since when the client has taken nothing.
    since: Instant,
}

impl<'s> Sending<'s> {
    /// Sends on `stream`, as long as `watch` has nothing against it.
    pub(super) fn new(stream: &'s TcpStream, patience: Patience, watch: Option<Watch>) -> Self {
        let since = Instant::now();
        let pace = LeastPace::new(patience.send_timeout, patience.least_pace, since, 0);
        Sending { stream, watch, patience, pace, sent: 0, since }
    }

    /// How many bytes were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends `bytes`; with `more`, they leave in one packet with what follows.
    pub(super) async fn bytes(&mut self, mut bytes: &[u8], more: bool) -> Result<(), Broken> {
        let flags = SendFlags::NOSIGNAL | if more { SendFlags::MORE } else { SendFlags::empty() };
        let stream = self.stream;
        while !bytes.is_empty() {
            self.check()?;
            let trying = || send(stream, bytes, flags).map_err(io::Error::from);
            match stream.try_io(Interest::WRITABLE, trying) {
                Ok(count) => {
                    bytes = &bytes[count..];
                    self.took(count as u64)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable().await?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken::Left),
            }
        }
        Ok(())
    }

    /// Sends `range` of `file` from the page cache to the socket, without passing through here.
    pub(super) async fn file(&mut self, file: &File, range: Range<u64>) -> Result<(), Broken> {
        let stream = self.stream;
        let (mut position, mut turn) = (range.start, range.start);
        while position < range.end {
            self.check()?;
            if position - turn >= TURN {
                turn = position;
                tokio::task::yield_now().await;
            }
            let before = position;
            let count = usize::try_from((range.end - position).min(CHUNK)).unwrap_or(usize::MAX);
            let trying =
                || sendfile(stream, file, Some(&mut position), count).map_err(io::Error::from);
            match stream.try_io(Interest::WRITABLE, trying) {
                // The file was cut short: the connection is closed before the promised length,
                // which the client notices.
                Ok(0) => return Err(Broken::Unreadable(ErrorKind::UnexpectedEof.into())),
                Ok(_) => self.took(position - before)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable().await?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_of_the_client(&error) => return Err(Broken::Left),
                Err(error) => return Err(Broken::Unreadable(error)),
            }
        }
        Ok(())
    }

    /// The client had nothing to take, for want of bytes: that does not count against it.
    pub(super) fn waited_for_us(&mut self) {
        let (send_timeout, least_pace) = (self.patience.send_timeout, self.patience.least_pace);
        self.since = Instant::now();
        self.pace = LeastPace::new(send_timeout, least_pace, self.since, self.sent);
    }

    /// Whether it may go on.
    pub(super) fn check(&mut self) -> Result<(), Broken> {
        let may_go_on = self.watch.as_mut().is_none_or(Watch::may_go_on);
        if may_go_on { Ok(()) } else { Err(Broken::Cut) }
    }

    fn took(&mut self, count: u64) -> Result<(), Broken> {
        self.sent += count;
        self.since = Instant::now();
        if self.pace.is_kept(self.since, self.sent) { Ok(()) } else { Err(Broken::TooSlow) }
    }

    /// Waits until the client takes more.
    async fn writable(&mut self) -> Result<(), Broken> {
        loop {
            match timeout(LOOK_EVERY, self.stream.writable()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(_)) => return Err(Broken::Left),
                Err(_) => {
                    self.check()?;
                    if self.since.elapsed() >= self.patience.send_timeout {
                        return Err(Broken::TooSlow);
                    }
                }
            }
        }
    }
}

/// Whether sending a file broke off because of the client, and not for want of the file.
fn is_of_the_client(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_disk_is_told_apart_from_a_client_that_left() {
        use rustix::io::Errno;
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::TIMEDOUT] {
            assert!(is_of_the_client(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::STALE] {
            assert!(!is_of_the_client(&errno.into()), "{errno}");
        }
    }
}
