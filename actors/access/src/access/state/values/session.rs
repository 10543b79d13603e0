//! A session. Pure, except for its last use.

use std::fmt;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use super::last_use::UseCell;
use super::user_agent::UserAgent;
use crate::rights::{Subject, TokenName, UserName};
use crate::secrets::SessionHash;
use reelyard_core::address_range::CallerAddress;

/// The user or token whose rights a session has. Postcard numbers the variants in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SessionSubject {
    /// A user who logged in with a password or a link.
    User(UserName),
    /// The holder of a token.
    Token(TokenName),
}

impl fmt::Display for SessionSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Subject::from(self).fmt(f)
    }
}

impl From<&SessionSubject> for Subject {
    fn from(subject: &SessionSubject) -> Self {
        match subject {
            SessionSubject::User(name) => Subject::User(name.clone()),
            SessionSubject::Token(name) => Subject::Token(name.clone()),
        }
    }
}

/// A login, until it ends.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) hash: SessionHash,
    /// The user or token whose rights it has.
    pub subject: SessionSubject,
    /// When it began.
    pub created_at: Millis,
    /// It ends at this instant at the latest.
    pub ends_at: Millis,
    /// The use in the journal.
    pub(in crate::access) recorded_use: Millis,
    /// The address at its beginning.
    pub address: CallerAddress,
    /// The program at its beginning.
    pub user_agent: UserAgent,
    pub(in crate::access) uses: Arc<UseCell>,
}

impl Session {
    /// The id of the session in lists: the beginning of its hash in hexadecimal. It gives no access.
    pub fn id(&self) -> String {
        let [a, b, c, d, e, f, ..] = self.hash.as_bytes();
        format!("{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{f:02x}")
    }

    /// The hash of its secret, by which requests to the owner name it.
    pub fn hash(&self) -> SessionHash {
        self.hash
    }

    /// When it was last used.
    pub fn last_seen_at(&self) -> Millis {
        let last = self.uses.last();
        last.map_or(self.recorded_use, |last| last.at.max(self.recorded_use))
    }
}
