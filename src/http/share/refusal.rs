//! Why a link is not served, and how that is said. The same for browsers and for programs.

use std::time::Duration;

use reelyard_actors::clock::Millis;
use reelyard_actors::share_expiry::{ShareEnding, ShareError, ShareRefusal};

/// Why a link is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkRefusal {
    /// There is no such link, or none that is remembered.
    Unknown,
    /// It has ended.
    Ended {
        /// When.
        at: Millis,
        /// Why.
        why: ShareEnding,
    },
    /// All its downloads were taken.
    Exhausted,
    /// They were, one of them by who asks: that can be resumed, and no other begins.
    Held,
    /// The same, but the file is another since: that cannot be resumed either.
    Replaced,
    /// Too much was tried.
    Throttled(Duration),
    /// This address fetches as many archives as one may at a time.
    TooManyArchives,
    /// A password is needed, and none was given or a wrong one.
    Password {
        /// Whether one was given.
        wrong: bool,
    },
    /// The link is good but what it stands for is not there now.
    Absent,
    /// It is a directory and a file was asked for, or the other way round.
    OtherKind {
        /// What is to be asked for instead.
        instead: &'static str,
    },
    /// This node cannot answer now.
    NotNow(String),
    /// The disk, or the system.
    Failed,
    /// A directory cannot be an archive, in words.
    NoArchive(String),
}

impl LinkRefusal {
    /// The status code and its phrase.
    pub(super) fn status(&self) -> (u16, &'static str) {
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

    /// The title of a page that tells it, and its heading.
    pub(super) fn heading(&self) -> (&'static str, &'static str) {
        match self {
            LinkRefusal::Throttled(_) | LinkRefusal::TooManyArchives => {
                ("Please wait", "Please wait")
            }
            LinkRefusal::NotNow(_) => ("Not now", "This link is not available now"),
            LinkRefusal::Failed | LinkRefusal::NoArchive(_) => {
                ("Not readable", "This link cannot be read now")
            }
            LinkRefusal::Ended { why, .. } => (ended_title(*why), "This link has ended"),
            LinkRefusal::Exhausted | LinkRefusal::Held | LinkRefusal::Replaced => {
                (ended_title(ShareEnding::Exhausted), "No download is left")
            }
            LinkRefusal::Absent | LinkRefusal::OtherKind { .. } => {
                ("Not available now", "Nothing to open here")
            }
            LinkRefusal::Unknown | LinkRefusal::Password { .. } => {
                ("Unknown link", "Nothing to open here")
            }
        }
    }

    /// What is told, in words.
    pub(super) fn text(&self) -> String {
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
            LinkRefusal::OtherKind { instead } => format!("Use /{instead} of this link instead."),
            LinkRefusal::NotNow(why) => format!("Not now: {why}."),
            LinkRefusal::Failed => "The shared file or directory cannot be read now.".into(),
            LinkRefusal::NoArchive(why) => {
                format!("Cannot make an archive of this directory: {why}.")
            }
        }
    }

    /// After how many seconds asking again makes sense.
    pub(super) fn retry_after(&self) -> Option<u64> {
        match self {
            // Rounded up: a second too early would be refused again.
            LinkRefusal::Throttled(wait) => Some(wait.as_secs() + 1),
            LinkRefusal::NotNow(_) => Some(1),
            LinkRefusal::TooManyArchives => Some(10),
            _ => None,
        }
    }
}

/// What somebody is told who has taken a download of a file, where none is left.
pub(super) const HELD: &str = "All downloads of this link are used, one of them by you. You can resume it \
    in the list of downloads of your browser, or with a download manager. No new one can start.";

/// The title of a page about a link that has ended.
fn ended_title(why: ShareEnding) -> &'static str {
    match why {
        ShareEnding::Expired => "Link expired",
        ShareEnding::Exhausted => "All downloads used",
        ShareEnding::Revoked => "Link revoked",
        ShareEnding::Removed => "File removed",
        ShareEnding::RootGone => "No longer shared",
        ShareEnding::Evicted => "Link ended",
    }
}

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
    /// Of a download that was to be counted, at `now`.
    pub(super) fn of(error: ShareError, now: Millis) -> Self {
        match error {
            ShareError::Refused(ShareRefusal::Unknown) => LinkRefusal::Unknown,
            ShareError::Refused(ShareRefusal::Exhausted) => LinkRefusal::Exhausted,
            ShareError::Refused(ShareRefusal::Ended { why }) => LinkRefusal::Ended { at: now, why },
            // Who has the link has no use for what ails the yard's disks or its leader.
            _ => LinkRefusal::NotNow("try again in a moment".to_owned()),
        }
    }
}
