//! The events of the piece, with their outcomes and refusals.
//!
//! **Invariant:** every value that depends on a setting or a clock is in the event. Examples are the end of a
//! lock and the end of a session. So `apply` gives the same result on nodes with different configurations.

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use super::constants::{MOST_RANGES, MOST_TOKENS, MOST_USERS};
use super::values::session::SessionSubject;
use super::values::user_agent::UserAgent;
use crate::rights::{BadRights, Rights, Role, TokenName, UserName};
use crate::secrets::{LinkHash, SessionHash, TokenHash, UserPasswordHash};
use reelyard_core::address_range::{AddressRange, CallerAddress};

/// One event. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessEvent {
    /// A user was added.
    UserAdded(Box<NewUser>),
    /// A user got another role. A weaker one ends the user's sessions.
    UserRoleSet {
        /// The user to change.
        name: UserName,
        /// The new role.
        role: Role,
        /// The caller, for the history.
        by: String,
    },
    /// A user got another password. The user's sessions end.
    UserPasswordSet {
        /// The user to change.
        name: UserName,
        /// The hash of the new password.
        password: UserPasswordHash,
        /// The caller, for the history.
        by: String,
    },
    /// A user cannot log in until enabled again. The user's sessions end.
    UserDisabled {
        /// The user to change.
        name: UserName,
        /// The caller, for the history.
        by: String,
    },
    /// A user can log in again.
    UserEnabled {
        /// The user to change.
        name: UserName,
        /// The caller, for the history.
        by: String,
    },
    /// A user and the user's sessions are gone. The name may be used again.
    UserRemoved {
        /// The user to remove.
        name: UserName,
        /// The caller, for the history.
        by: String,
    },
    /// A user cannot log in for a while, because of wrong passwords. Running sessions continue.
    UserLocked {
        /// The user to lock.
        name: UserName,
        /// The end of the lock.
        until: Millis,
    },
    /// An administrator ended the lock of a user.
    UserUnlocked {
        /// The user to unlock.
        name: UserName,
        /// The caller, for the history.
        by: String,
    },
    /// A token was created.
    TokenCreated(Box<NewToken>),
    /// A token is gone, and the sessions that it began. The name may be used again.
    TokenRevoked {
        /// The token to remove.
        name: TokenName,
        /// The caller, for the history.
        by: String,
    },
    /// A token got another secret. The sessions that it began end.
    TokenRotated(Box<RotatedToken>),
    /// These tokens expired long ago. A token with another generation or a later end stays.
    TokensForgotten {
        /// The tokens with their generations.
        tokens: Vec<(TokenName, u64)>,
    },
    /// Tokens were used.
    UsesRecorded {
        /// The last use of each token.
        uses: Vec<RecordedUse>,
    },
    /// A session began.
    SessionBegun(Box<NewSession>),
    /// Sessions were used.
    SessionsSeen {
        /// The last use of each session.
        seen: Vec<(SessionHash, Millis)>,
    },
    /// These sessions ended at the request of their holder, or for lack of use.
    SessionsEnded {
        /// The sessions to remove.
        sessions: Vec<SessionHash>,
        /// The caller, or the owner itself.
        by: String,
    },
    /// All sessions and login links of a user or token end.
    SessionsOfEnded {
        /// The user or token.
        subject: SessionSubject,
        /// The caller, for the history.
        by: String,
    },
    /// A login link was issued.
    LoginLinkIssued {
        /// The hash of its secret.
        hash: LinkHash,
        /// The user or token whose rights its session gets.
        subject: SessionSubject,
        /// The generation of the subject at the decision.
        generation: u64,
        /// From this instant on it is refused.
        expires_at: Millis,
        /// The caller, for the history.
        by: String,
    },
    /// These login links expired.
    LoginLinksForgotten {
        /// The links to remove.
        links: Vec<LinkHash>,
    },
}

/// A user at the creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUser {
    /// The unique name.
    pub name: UserName,
    /// The first role.
    pub role: Role,
    /// The hash of the password; none if one is set later.
    pub password: Option<UserPasswordHash>,
    /// The caller, for the history.
    pub by: String,
}

/// A token at its creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// The unique name.
    pub name: TokenName,
    /// The hash of its text.
    pub hash: TokenHash,
    /// The rights of its holder.
    pub rights: Rights,
    /// From this instant on it is refused; none without an end.
    pub expires_at: Option<Millis>,
    /// The only addresses from which it is accepted; empty for any address.
    pub addresses: Vec<AddressRange>,
    /// The caller, for the history.
    pub by: String,
}

/// A token with another secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotatedToken {
    /// The token to change.
    pub name: TokenName,
    /// The hash of its new text.
    pub hash: TokenHash,
    /// From this instant on it is refused; none without an end.
    pub expires_at: Option<Millis>,
    /// The only addresses from which it is accepted; empty for any address.
    pub addresses: Vec<AddressRange>,
    /// The caller, for the history.
    pub by: String,
}

/// The last use of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedUse {
    /// The token.
    pub name: TokenName,
    /// Its generation. The use of an earlier secret is not recorded.
    pub generation: u64,
    /// The time of the check.
    pub at: Millis,
    /// The address of the caller.
    pub address: CallerAddress,
}

/// A session at its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// The hash of its secret.
    pub hash: SessionHash,
    /// The user or token whose rights it has.
    pub subject: SessionSubject,
    /// The generation of the subject that the login saw.
    pub generation: u64,
    /// The login link that began it. The link is used up.
    pub link: Option<LinkHash>,
    /// It ends at this instant at the latest.
    pub ends_at: Millis,
    /// The address of the caller.
    pub address: CallerAddress,
    /// The program of the caller.
    pub user_agent: UserAgent,
}

/// The effect of an applied event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessOutcome {
    /// It changed the piece.
    Applied,
    /// The piece was so already.
    AlreadySo,
}

/// Why a request was refused, or an event changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum AccessRefusal {
    /// No such user.
    #[error("no user is named {name}")]
    UnknownUser {
        /// The requested name.
        name: UserName,
    },
    /// No such token.
    #[error("no token is named {name}")]
    UnknownToken {
        /// The requested name.
        name: TokenName,
    },
    /// Another user has the name.
    #[error("a user named {name} exists already: choose another name, or change that user")]
    UserExists {
        /// The requested name.
        name: UserName,
    },
    /// Another token has the name.
    #[error("a token named {name} exists already: rotate or revoke it, or choose another name")]
    TokenExists {
        /// The requested name.
        name: TokenName,
    },
    /// The system gives this name.
    #[error("the name {name} is reserved: choose another one")]
    Reserved {
        /// The requested name.
        name: TokenName,
    },
    /// A worker's token needs the name of its host, and no other token may have such a name.
    #[error(
        "the token of a worker is named worker/IP:PORT, and no other token: the name {name} does not match"
    )]
    NameOfWorker {
        /// The requested name.
        name: TokenName,
    },
    /// The rights allow nothing, or are too many.
    #[error(transparent)]
    Rights(#[from] BadRights),
    /// Too many address ranges.
    #[error("a token has at most {MOST_RANGES} address ranges, not {count}: use larger networks")]
    TooManyRanges {
        /// The number of ranges.
        count: u64,
    },
    /// The token would expire at once.
    #[error("the token would be expired: give an end in the future")]
    ExpiresInPast,
    /// A token of this secret exists.
    #[error("this secret is in use: draw another one")]
    SecretInUse,
    /// The limit of users is reached.
    #[error("there are {MOST_USERS} users, which is the limit: remove some")]
    TooManyUsers,
    /// The limit of tokens is reached.
    #[error("there are {MOST_TOKENS} tokens, which is the limit: revoke some")]
    TooManyTokens,
    /// Callers do not remove, disable or weaken themselves.
    #[error("{subject} cannot remove, disable or weaken itself: another administrator must do it")]
    Yourself {
        /// The caller.
        subject: String,
    },
    /// The caller would grant rights that it does not have.
    #[error("{subject} cannot grant more than its own rights: this needs an administrator")]
    MoreThanOwn {
        /// The caller.
        subject: String,
    },
    /// Without this credential nobody could administrate the yard.
    #[error(
        "{subject} is the last administrator: first add another admin, either a user with a password or a token \
         without an end"
    )]
    LastAdmin {
        /// The user or token.
        subject: SessionSubject,
    },
    /// The user cannot log in.
    #[error("the user {name} is disabled: an administrator can enable it")]
    Disabled {
        /// The user.
        name: UserName,
    },
    /// Too many wrong passwords.
    #[error(
        "the user {name} is locked after wrong passwords: wait, or ask an administrator to unlock it"
    )]
    Locked {
        /// The user.
        name: UserName,
        /// The end of the lock.
        until: Millis,
    },
    /// The user has no password.
    #[error("the user {name} has no password: an administrator can set one")]
    NoPassword {
        /// The user.
        name: UserName,
    },
    /// The password or token changed during the login.
    #[error("the credentials changed during the login: log in again")]
    CredentialsChanged,
    /// No such token, or it has expired.
    #[error("the token is unknown or expired: ask an administrator for another one")]
    TokenNotValid,
    /// Workers have no sessions.
    #[error("the token of a worker begins no session: use the token of a person")]
    WorkerSession,
    /// The link was used, has expired, or never existed.
    #[error("the login link was used or has expired: ask for another one")]
    LinkNotValid,
    /// A session with this secret exists.
    #[error("another request used this request id: choose another one")]
    OtherRequest,
}
