//! Why a connection between nodes is refused, as a stable word and as a sentence.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The reason of a refusal. Its word is sent, counted and shown, and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// The caller is of another cluster.
    AnotherCluster,
    /// The caller expects another node here, or another store of this node.
    AnotherNode,
    /// The caller has the number of a member, and another store than that member.
    AnotherStore,
    /// The caller was a member, and was removed.
    Removed,
    /// Both programs know no common version of the calls between nodes.
    Protocol,
    /// Both programs know no common format level.
    FormatLevel,
    /// The times of elections differ.
    Timing,
    /// The certificate is of an unknown authority, has ended, or names another host.
    Certificate,
    /// One side uses TLS, and the other one does not.
    Tls,
    /// The bytes are no greeting.
    Garbage,
    /// The other side took too long to greet.
    Slow,
    /// There are too many connections.
    Busy,
    /// This program does not know the reason: the other one has a later version.
    Unknown,
}

impl RefusalKind {
    /// All kinds.
    pub const ALL: [RefusalKind; 13] = [
        RefusalKind::AnotherCluster,
        RefusalKind::AnotherNode,
        RefusalKind::AnotherStore,
        RefusalKind::Removed,
        RefusalKind::Protocol,
        RefusalKind::FormatLevel,
        RefusalKind::Timing,
        RefusalKind::Certificate,
        RefusalKind::Tls,
        RefusalKind::Garbage,
        RefusalKind::Slow,
        RefusalKind::Busy,
        RefusalKind::Unknown,
    ];

    /// The stable word for this kind.
    pub fn word(self) -> &'static str {
        match self {
            RefusalKind::AnotherCluster => "another-cluster",
            RefusalKind::AnotherNode => "another-node",
            RefusalKind::AnotherStore => "another-store",
            RefusalKind::Removed => "removed",
            RefusalKind::Protocol => "protocol",
            RefusalKind::FormatLevel => "format-level",
            RefusalKind::Timing => "timing",
            RefusalKind::Certificate => "certificate",
            RefusalKind::Tls => "tls",
            RefusalKind::Garbage => "garbage",
            RefusalKind::Slow => "slow",
            RefusalKind::Busy => "busy",
            RefusalKind::Unknown => "unknown",
        }
    }

    fn read(word: &str) -> Self {
        let known = RefusalKind::ALL.into_iter().find(|kind| kind.word() == word);
        known.unwrap_or(RefusalKind::Unknown)
    }
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for RefusalKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for RefusalKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(RefusalKind::read(&word))
    }
}

/// A refused connection. All versions of the protocol send it in this form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{why}")]
pub struct ConnectionRefusal {
    /// The reason, for counters.
    pub kind: RefusalKind,
    /// The reason for a person, with the values that differ and the remedy.
    pub why: String,
}

impl ConnectionRefusal {
    /// A refusal for this reason.
    pub fn new(kind: RefusalKind, why: impl Into<String>) -> Self {
        ConnectionRefusal { kind, why: why.into() }
    }
}
