//! The side that a failed copy is blamed on, and the reason in words.

use std::io::ErrorKind;

use reelyard_core::open_files;
use reelyard_protocol::tls::TlsTrouble;
use reelyard_protocol::worker::Blame;
use rustix::io::Errno;

use crate::downloader::fetching::source_link::{AnswerHead, SourceLink};

/// Why a copy was cancelled or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyFault {
    /// It was cancelled: no host and no file is to blame.
    #[error("the copy was cancelled")]
    Cancelled,
    /// This side is to blame, with the reason in words.
    #[error("{1}")]
    Blamed(Blame, String),
}

pub(in crate::downloader) fn changed() -> CopyFault {
    CopyFault::Blamed(Blame::File, "the master was changed while it was copied".to_owned())
}

/// A source that answered with another status than expected.
pub(in crate::downloader) fn refused(
    link: &mut SourceLink,
    head: &AnswerHead,
    what: &str,
) -> CopyFault {
    // The reason in words is optional. Without it the status is used.
    let text = link.read_text(head).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let reason = match text.trim() {
        "" => format!("the source answered with status {} for {what}", head.status),
        text => {
            let text: String = text.chars().take(200).collect();
            format!("the source answered with status {} for {what}: {text}", head.status)
        }
    };
    let blame = if head.status == 404 { Blame::File } else { Blame::Source };
    CopyFault::Blamed(blame, reason)
}

pub(in crate::downloader) fn remote(
    what: impl std::fmt::Display,
    error: &std::io::Error,
) -> CopyFault {
    if open_files::are_exhausted(error) {
        // The source is not the cause.
        let reason = "this worker has no free file descriptor: raise LimitNOFILE".to_owned();
        return CopyFault::Blamed(Blame::Destination, reason);
    }
    let blame = match TlsTrouble::of(error) {
        // Its setting may be wrong as well.
        Some(TlsTrouble::UnknownAuthority | TlsTrouble::NotYetValid) => Blame::Pair,
        _ => Blame::Source,
    };
    CopyFault::Blamed(blame, format!("{what}: {}", in_words(error)))
}

pub(in crate::downloader) fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            "no data arrived within the time limit".to_owned()
        }
        ErrorKind::UnexpectedEof => "the connection was closed".to_owned(),
        _ => match TlsTrouble::of(error) {
            Some(trouble) => tls_in_words(&trouble),
            None => error.to_string(),
        },
    }
}

/// A failure of TLS with its remedy.
fn tls_in_words(trouble: &TlsTrouble) -> String {
    match trouble {
        TlsTrouble::NoTls => {
            format!("{trouble}. Its setting tls.data may just have changed: the node tries again")
        }
        TlsTrouble::UnknownAuthority => format!(
            "{trouble}: set node_ca_file of this destination to the certificate of the authority that signed it"
        ),
        TlsTrouble::Other(_) => trouble.to_string(),
        TlsTrouble::Expired | TlsTrouble::NotYetValid | TlsTrouble::OtherName => {
            format!("{trouble}: {}", trouble.remedy_at_server().unwrap_or_default())
        }
    }
}

pub(in crate::downloader) fn local(error: std::io::Error) -> CopyFault {
    CopyFault::Blamed(Blame::Destination, format!("the destination's disk failed: {error}"))
}

/// A name that the destination cannot store (a directory is there) is blamed on the file; every other
/// error on the disk.
pub(in crate::downloader) fn publishing(error: std::io::Error) -> CopyFault {
    match Errno::from_io_error(&error) {
        Some(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST | Errno::NAMETOOLONG | Errno::INVAL) => {
            CopyFault::Blamed(
                Blame::File,
                format!("the copy cannot be stored under its name: {error}"),
            )
        }
        _ => local(error),
    }
}
