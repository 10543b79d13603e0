//! Why a link is refused, with the status and the text for programs.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{ShareEnding, ShareError, ShareKind, ShareRefusal};

/// Why a link is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkRefusal {
    /// The link does not exist, or its end is no longer remembered.
    Unknown,
    /// The share has ended.
    Ended {
        /// Time of the end.
        at: Millis,
        /// Cause of the end.
        why: ShareEnding,
    },
    /// No download is left.
    Exhausted,
    /// No download is left, but this client has one and can resume it.
    Held,
    /// Like `Held`, but the file was replaced, so the download cannot be resumed.
    Replaced,
    /// Too many wrong attempts. The value is the wait until the next one.
    Throttled(Duration),
    /// This address has its largest number of concurrent archives.
    TooManyArchives,
    /// A password is required.
    Password {
        /// Whether a wrong password was sent; false if none was sent.
        wrong: bool,
    },
    /// The link is valid, but its file does not exist now.
    Absent,
    /// The request was for a file and the share is a directory, or the reverse.
    OtherKind {
        /// The kind that the share has.
        instead: ShareKind,
    },
    /// This node cannot serve links now; the reason as text.
    NotNow(String),
    /// The disk or the system failed.
    Failed,
    /// No archive of the directory is possible; the reason as text.
    NoArchive(String),
}

impl LinkRefusal {
    /// Status code and reason phrase.
    pub(crate) fn status(&self) -> (u16, &'static str) {
        match self {
            LinkRefusal::Unknown | LinkRefusal::Absent | LinkRefusal::OtherKind { .. } => {
                (404, "Not Found")
            }
            LinkRefusal::Ended { .. }
            | LinkRefusal::Exhausted
            | LinkRefusal::Held
            | LinkRefusal::Replaced => (410, "Gone"),
            LinkRefusal::Throttled(_) | LinkRefusal::TooManyArchives => (429, "Too Many Requests"),
            LinkRefusal::Password { .. } => (401, "Unauthorized"),
            LinkRefusal::NotNow(_) => (503, "Service Unavailable"),
            LinkRefusal::Failed | LinkRefusal::NoArchive(_) => (500, "Internal Server Error"),
        }
    }

    /// The text for programs; pages have their own words.
    pub(crate) fn text(&self) -> String {
        match self {
            LinkRefusal::Unknown => "This link does not exist.".into(),
            LinkRefusal::Ended { at, why } => format!("{} It ended at {at}.", ended(*why)),
            LinkRefusal::Exhausted => "All downloads of this link are used.".into(),
            LinkRefusal::Held => HELD.into(),
            LinkRefusal::Replaced => {
                "All downloads of this link are used, one of them by you. The file was replaced \
                 since then: your download cannot be resumed, and no new one can start."
                    .into()
            }
            LinkRefusal::Throttled(_) => "Too many attempts. Please wait.".into(),
            LinkRefusal::TooManyArchives => {
                "Too many archives are being sent to this address. Please wait for one to end."
                    .into()
            }
            LinkRefusal::Password { wrong: false } => "This link needs a password.".into(),
            LinkRefusal::Password { wrong: true } => "The password is wrong.".into(),
            LinkRefusal::Absent => "The shared file or directory does not exist now.".into(),
            LinkRefusal::OtherKind { instead } => {
                let segment = match instead {
                    ShareKind::File => "file",
                    ShareKind::Directory => "zip",
                };
                format!("Use /{segment} of this link instead.")
            }
            LinkRefusal::NotNow(why) => format!("Not now: {why}."),
            LinkRefusal::Failed => "The shared file or directory cannot be read now.".into(),
            LinkRefusal::NoArchive(why) => {
                format!("Cannot make an archive of this directory: {why}.")
            }
        }
    }

    /// Value of Retry-After in seconds; none if a retry does not help.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            // Rounded up, because a retry a second too early would fail.
            LinkRefusal::Throttled(wait) => Some(wait.as_secs() + 1),
            LinkRefusal::NotNow(_) => Some(1),
            LinkRefusal::TooManyArchives => Some(10),
            _ => None,
        }
    }
}

/// The text for a client that has a counted download when none is left.
const HELD: &str = "All downloads of this link are used, one of them by you. You can resume it \
    in the list of downloads of your browser, or with a download manager. No new one can start.";

fn ended(why: ShareEnding) -> &'static str {
    match why {
        ShareEnding::Expired => "This link has expired.",
        ShareEnding::Exhausted => "All downloads of this link are used.",
        ShareEnding::Revoked => "This link was revoked.",
        ShareEnding::Removed => "The shared file or directory was removed.",
        ShareEnding::RootGone => "This path is no longer shared.",
        ShareEnding::Evicted => "This link ended to make room for newer links.",
    }
}

impl LinkRefusal {
    /// The refusal for a download that was not counted, at `now`.
    pub(crate) fn of(error: ShareError, now: Millis) -> Self {
        match error {
            ShareError::Refused(ShareRefusal::Unknown) => LinkRefusal::Unknown,
            ShareError::Refused(ShareRefusal::Exhausted) => LinkRefusal::Exhausted,
            ShareError::Refused(ShareRefusal::Ended { why }) => LinkRefusal::Ended { at: now, why },
            // A visitor does not need to know problems of the disk or the leader.
            _ => LinkRefusal::NotNow("try again in a moment".to_owned()),
        }
    }
}
