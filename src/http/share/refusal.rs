//! Why a link is not served, and how that is said. The same for browsers and for programs.

use std::time::Duration;

use reelyard_actors::clock::Millis;
use reelyard_actors::share_expiry::{Ending, ShareError, ShareRefusal};

/// Why a link is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no such link, or none that is remembered.
    Unknown,
    /// It has ended.
    Ended {
        /// When.
        at: Millis,
        /// Why.
        why: Ending,
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

impl Refusal {
    /// The status code and its phrase.
    pub(super) fn status(&self) -> (u16, &'static str) {
        match self {
            Refusal::Unknown | Refusal::Absent | Refusal::OtherKind { .. } => (404, "Not Found"),
            Refusal::Ended { .. } | Refusal::Exhausted | Refusal::Held | Refusal::Replaced => {
                (410, "Gone")
            }
            Refusal::Throttled(_) | Refusal::TooManyArchives => (429, "Too Many Requests"),
            Refusal::Password { .. } => (401, "Unauthorized"),
            Refusal::NotNow(_) => (503, "Service Unavailable"),
            Refusal::Failed | Refusal::NoArchive(_) => (500, "Internal Server Error"),
        }
    }

    /// The title of a page that tells it, and its heading.
    pub(super) fn heading(&self) -> (&'static str, &'static str) {
        match self {
            Refusal::Throttled(_) | Refusal::TooManyArchives => ("Please wait", "Please wait"),
            Refusal::NotNow(_) => ("Not now", "This cannot be answered now"),
            Refusal::Failed | Refusal::NoArchive(_) => ("Not readable", "This cannot be read now"),
            Refusal::Ended { why, .. } => (ended_title(*why), "This link has ended"),
            Refusal::Exhausted | Refusal::Held | Refusal::Replaced => {
                (ended_title(Ending::Exhausted), "No download is left")
            }
            Refusal::Absent | Refusal::OtherKind { .. } => {
                ("Not there now", "Nothing to open here")
            }
            Refusal::Unknown | Refusal::Password { .. } => ("No such link", "Nothing to open here"),
        }
    }

    /// What is told, in words.
    pub(super) fn text(&self) -> String {
        match self {
            Refusal::Unknown => "There is no such link.".into(),
            Refusal::Ended { at, why } => format!("{} It ended at {at}.", ended(*why)),
            Refusal::Exhausted => "All downloads of this link were taken.".into(),
            Refusal::Held => HELD.into(),
            Refusal::Replaced => {
                "All downloads of this link were taken, one of them from here. What that one was of \
                 was replaced since: it cannot go on, and none can begin anew."
                    .into()
            }
            Refusal::Throttled(_) => "Too many tries. Please wait.".into(),
            Refusal::TooManyArchives => {
                "Too many archives are on their way to this address. Please wait for one.".into()
            }
            Refusal::Password { wrong: false } => "This link asks for a password.".into(),
            Refusal::Password { wrong: true } => "This is not the password of this link.".into(),
            Refusal::Absent => "What this link stands for is not there now.".into(),
            Refusal::OtherKind { instead } => format!("Ask for /{instead} of this link instead."),
            Refusal::NotNow(why) => format!("Not now: {why}."),
            Refusal::Failed => "What this link stands for cannot be read now.".into(),
            Refusal::NoArchive(why) => format!("No archive can be made of this directory: {why}."),
        }
    }

    /// After how many seconds asking again makes sense.
    pub(super) fn retry_after(&self) -> Option<u64> {
        match self {
            // Rounded up: a second too early would be refused again.
            Refusal::Throttled(wait) => Some(wait.as_secs() + 1),
            Refusal::NotNow(_) => Some(1),
            Refusal::TooManyArchives => Some(10),
            _ => None,
        }
    }
}

/// What somebody is told who has taken a download of a file, where none is left.
pub(super) const HELD: &str = "All downloads of this link were taken, one of them from here. That one \
    can be resumed where it stopped, in the list of downloads of a browser or by a download manager; \
    none can begin anew.";

/// The title of a page about a link that has ended.
fn ended_title(why: Ending) -> &'static str {
    match why {
        Ending::Expired => "Link expired",
        Ending::Exhausted => "All downloads taken",
        Ending::Revoked => "Link taken back",
        Ending::Removed => "File removed",
        Ending::RootGone => "No longer shared",
        Ending::Evicted => "Link ended",
    }
}

fn ended(why: Ending) -> &'static str {
    match why {
        Ending::Expired => "This link has expired.",
        Ending::Exhausted => "All downloads of this link were taken.",
        Ending::Revoked => "This link was taken back.",
        Ending::Removed => "What this link stood for was removed.",
        Ending::RootGone => "What this link stood for is no longer shared.",
        Ending::Evicted => "This link had to make room for others.",
    }
}

impl Refusal {
    /// Of a download that was to be counted, at `now`.
    pub(super) fn of(error: ShareError, now: Millis) -> Self {
        match error {
            ShareError::Refused(ShareRefusal::Unknown) => Refusal::Unknown,
            ShareError::Refused(ShareRefusal::Exhausted) => Refusal::Exhausted,
            ShareError::Refused(ShareRefusal::Ended { why }) => Refusal::Ended { at: now, why },
            // Who has the link has no use for what ails the yard's disks or its leader.
            _ => Refusal::NotNow("try again in a moment".to_owned()),
        }
    }
}
