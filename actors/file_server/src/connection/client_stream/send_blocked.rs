//! Why a connection accepts no bytes.

use std::io::{self, ErrorKind};

/// Why a connection accepts no bytes now.
#[derive(Debug)]
pub(crate) enum SendBlocked {
    /// The send buffer is full until the client reads.
    Full,
    /// The client closed the connection.
    Left,
    /// The source of the bytes cannot be read.
    Unreadable(io::Error),
}

impl SendBlocked {
    /// The file is shorter than before. The connection closes before the announced length, so the
    /// client notices.
    pub(super) fn truncated() -> Self {
        SendBlocked::Unreadable(ErrorKind::UnexpectedEof.into())
    }

    /// The failure of a write to a socket; none if the write was only interrupted.
    pub(super) fn of_socket(error: &io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::WouldBlock => Some(SendBlocked::Full),
            ErrorKind::Interrupted => None,
            _ => Some(SendBlocked::Left),
        }
    }

    /// The failure of `sendfile`, which the file or the client can cause; none if it was only
    /// interrupted.
    pub(super) fn of_sendfile(error: io::Error) -> Option<Self> {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
        match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut => {
                Some(SendBlocked::Left)
            }
            ErrorKind::WouldBlock => Some(SendBlocked::Full),
            ErrorKind::Interrupted => None,
            _ => Some(SendBlocked::Unreadable(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_failing_disk_differs_from_a_client_that_left() {
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::TIMEDOUT] {
            let blocked = SendBlocked::of_sendfile(errno.into());
            assert!(matches!(blocked, Some(SendBlocked::Left)), "{errno}");
        }
        for errno in [Errno::IO, Errno::STALE] {
            let blocked = SendBlocked::of_sendfile(errno.into());
            assert!(matches!(blocked, Some(SendBlocked::Unreadable(_))), "{errno}");
        }
        assert!(matches!(SendBlocked::of_sendfile(Errno::AGAIN.into()), Some(SendBlocked::Full)));
        assert!(SendBlocked::of_sendfile(Errno::INTR.into()).is_none());
    }
}
