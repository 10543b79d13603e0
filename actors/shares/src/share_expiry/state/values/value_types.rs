//! The value types of a share: its kind, deadline, owner and end.

use std::fmt;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::text::SharedText;

/// The longest name of an owner, in bytes. Part of the event version.
pub const LONGEST_OWNER: usize = 200;

/// The longest note, in bytes. Part of the event version.
pub const LONGEST_NOTE: usize = 2000;

/// The longest hash of a password, in bytes. Part of the event version.
pub const LONGEST_PASSWORD_HASH: usize = 512;

/// The kind of a shared path.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ShareKind {
    /// One regular file.
    File,
    /// A directory with all that is in it.
    Directory,
}

/// When a share ends: an instant, or never. Never is later than any instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(i64);

impl Deadline {
    /// The share has no deadline.
    pub const NEVER: Deadline = Deadline(i64::MAX);

    /// A deadline at this instant. The end of time itself is never.
    pub fn at(instant: Millis) -> Self {
        Deadline(instant.0)
    }

    /// The instant, if there is one.
    pub fn instant(self) -> Option<Millis> {
        (self != Deadline::NEVER).then_some(Millis(self.0))
    }

    /// Whether it has not come at `now`.
    pub fn is_after(self, now: Millis) -> bool {
        self == Deadline::NEVER || now.0 < self.0
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instant() {
            Some(Millis(at)) => write!(f, "Deadline({at})"),
            None => f.write_str("Deadline(never)"),
        }
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instant() {
            Some(at) => at.fmt(f),
            None => f.pad("never"),
        }
    }
}

impl Serialize for Deadline {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.instant().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Deadline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let instant = Option::<Millis>::deserialize(deserializer)?;
        Ok(instant.map_or(Deadline::NEVER, Deadline::at))
    }
}

/// A text that is too long, or contains control characters that are not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{what} must be a text of 1 to {longest} bytes without control characters")]
pub struct BadShareText {
    /// The kind of text that was expected.
    pub what: String,
    /// How many bytes it may have.
    pub longest: usize,
}

fn check(what: &str, text: &str, longest: usize, lines: bool) -> Result<(), BadShareText> {
    let fits = |c: char| !c.is_control() || (lines && matches!(c, '\n' | '\r' | '\t'));
    let good = (1..=longest).contains(&text.len()) && text.chars().all(fits);
    if good { Ok(()) } else { Err(BadShareText { what: what.to_owned(), longest }) }
}

/// The owner of a share. Shares of one owner share the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ShareOwner(pub(in crate::share_expiry) SharedText);

impl ShareOwner {
    /// Checks and keeps `text`.
    pub fn new(text: &str) -> Result<Self, BadShareText> {
        check("an owner", text, LONGEST_OWNER, false).map(|()| ShareOwner(SharedText::new(text)))
    }

    /// The owner as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for ShareOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<'de> Deserialize<'de> for ShareOwner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        ShareOwner::new(&text).map_err(de::Error::custom)
    }
}

/// The owner's note on a share, for people who manage it. Users of the link do not see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ShareNote(Box<str>);

impl ShareNote {
    /// Checks and keeps `text`.
    pub fn new(text: &str) -> Result<Self, BadShareText> {
        check("a note", text, LONGEST_NOTE, true).map(|()| ShareNote(text.into()))
    }

    /// The note as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ShareNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        ShareNote::new(&text).map_err(de::Error::custom)
    }
}

/// A hashed password as a PHC text. `Debug` hides the hash.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PasswordHash(Box<str>);

impl PasswordHash {
    /// Checks the form of a PHC text. Only the verifier finds out whether it can be used.
    pub fn new(phc: &str) -> Result<Self, BadShareText> {
        let checked = check("the hash of a password", phc, LONGEST_PASSWORD_HASH, false);
        checked.map(|()| PasswordHash(phc.into()))
    }

    /// The PHC text, for the verification of a password.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(not shown)")
    }
}

impl<'de> Deserialize<'de> for PasswordHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        PasswordHash::new(&text).map_err(de::Error::custom)
    }
}

/// The reasons for the end of a share.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ShareEnding {
    /// Its deadline has passed.
    Expired,
    /// Its last download was counted.
    Exhausted,
    /// A caller revoked it.
    Revoked,
    /// Its file was removed.
    Removed,
    /// Its root is no longer configured.
    RootGone,
    /// It was evicted to make room for other shares.
    Evicted,
}

impl ShareEnding {
    /// Every ending, for counters.
    pub const ALL: [ShareEnding; 6] = [
        ShareEnding::Expired,
        ShareEnding::Exhausted,
        ShareEnding::Revoked,
        ShareEnding::Removed,
        ShareEnding::RootGone,
        ShareEnding::Evicted,
    ];

    /// The ending as its stable word.
    pub fn word(self) -> &'static str {
        match self {
            ShareEnding::Expired => "expired",
            ShareEnding::Exhausted => "exhausted",
            ShareEnding::Revoked => "revoked",
            ShareEnding::Removed => "removed",
            ShareEnding::RootGone => "root_gone",
            ShareEnding::Evicted => "evicted",
        }
    }
}

/// The record of an ended share, which is kept for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// When it ended, in milliseconds. If all downloads were counted: the end of the time in which
    /// they could be resumed.
    pub ended: Millis,
    /// Why the share ended.
    pub why: ShareEnding,
    /// The deadline that it had.
    pub deadline: Deadline,
    /// The number of the notification about it.
    pub number: u64,
    /// Whether running downloads are cut, because it was revoked hard.
    pub cut: bool,
}

impl Tombstone {
    /// When the link was first refused: at its deadline, if the deadline ended it. A later reclaim
    /// changes nothing for readers.
    pub fn refused_since(&self) -> Millis {
        match (self.why, self.deadline.instant()) {
            (ShareEnding::Expired, Some(deadline)) => deadline.min(self.ended),
            _ => self.ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_share_is_refused_since_its_deadline() {
        let tombstone =
            |why, deadline| Tombstone { ended: Millis(900), why, deadline, number: 1, cut: false };
        let at = Deadline::at(Millis(500));
        assert_eq!(tombstone(ShareEnding::Expired, at).refused_since(), Millis(500));
        assert_eq!(tombstone(ShareEnding::Revoked, at).refused_since(), Millis(900));
        assert_eq!(tombstone(ShareEnding::Removed, Deadline::NEVER).refused_since(), Millis(900));
    }

    #[test]
    fn never_is_after_every_instant() {
        assert!(Deadline::NEVER > Deadline::at(Millis(i64::MAX - 1)));
        assert!(Deadline::NEVER.is_after(Millis(i64::MAX)));
        let at = Deadline::at(Millis(5));
        assert!(at.is_after(Millis(4)) && !at.is_after(Millis(5)));
        for deadline in [at, Deadline::NEVER] {
            let bytes = postcard::to_stdvec(&deadline).unwrap();
            assert_eq!(postcard::from_bytes::<Deadline>(&bytes).unwrap(), deadline);
        }
        assert_eq!(serde_json::to_string(&Deadline::NEVER).unwrap(), "null");
    }

    #[test]
    fn a_password_hash_never_prints_and_texts_have_their_bounds() {
        let hash = PasswordHash::new("$argon2id$v=19$secret").unwrap();
        assert!(!format!("{hash:?}").contains("secret"));
        assert!(ShareOwner::new("").is_err() && ShareOwner::new("a\nb").is_err());
        assert!(ShareOwner::new(&"a".repeat(LONGEST_OWNER)).is_ok());
        assert!(ShareOwner::new(&"a".repeat(LONGEST_OWNER + 1)).is_err());
        assert!(ShareNote::new("two\nlines").is_ok() && ShareNote::new("bell\u{7}").is_err());
    }
}
