//! The messages of the AccessActor. Requests that only read use the [`AccessView`](super::AccessView).
//!
//! The caller of each change must be known: decisions refuse rights that the caller does not have. Secrets are
//! drawn and hashed before the message is sent, and passwords on a thread for blocking work.

use std::sync::Arc;

use actix::Message;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_replication::CommitError;

use crate::access::state::event::AccessRefusal;
use crate::access::state::values::session::{Session, SessionSubject};
use crate::access::state::values::token::Token;
use crate::access::state::values::user::User;
use crate::access::state::values::user_agent::UserAgent;
use crate::rights::{Caller, Rights, Role, TokenName, UserName};
use crate::secrets::{LinkHash, SessionHash, TokenHash, UserPasswordHash};
use reelyard_core::address_range::{AddressRange, CallerAddress};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] AccessRefusal),
    /// The token was created or rotated by an earlier attempt of this request, with another secret.
    #[error(
        "an earlier attempt of this request changed the token {name}, and its secret is not stored: rotate the token"
    )]
    SecretNotStored {
        /// The token.
        name: TokenName,
    },
    /// It has no outcome, or this node does not lead.
    #[error(transparent)]
    Journal(#[from] CommitError),
}

/// Adds a user. Answers the user.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<User>, AccessError>")]
pub struct AddUser {
    /// The unique name.
    pub name: UserName,
    /// The first role. The caller must have all its scopes.
    pub role: Role,
    /// The hash of the password. A user without one cannot log in before one is set.
    pub password: Option<UserPasswordHash>,
    /// The caller, for the rules and the audit.
    pub by: Caller,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// The new value of one part of a user.
#[derive(Clone, Debug)]
pub enum UserChange {
    /// Another role. A weaker one ends the user's sessions.
    Role(Role),
    /// Another password. It ends the user's sessions, and a lock.
    Password(UserPasswordHash),
    /// The user cannot log in, and all sessions of the user end.
    Disable,
    /// The user can log in again.
    Enable,
    /// Ends the lock after wrong passwords.
    Unlock,
}

/// Changes a user. Answers the changed user.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<User>, AccessError>")]
pub struct ChangeUser {
    /// The user to change.
    pub name: UserName,
    /// The new value.
    pub change: UserChange,
    /// The caller, for the rules and the audit.
    pub by: Caller,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Removes a user, and ends the user's sessions. The name may be used again.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), AccessError>")]
pub struct RemoveUser {
    /// The user to remove.
    pub name: UserName,
    /// The caller, for the rules and the audit.
    pub by: Caller,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Creates a token. Answers the token. A repetition with the same idempotency key and another secret is refused
/// with [`AccessError::SecretNotStored`].
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Token>, AccessError>")]
pub struct CreateToken {
    /// The unique name: [`TokenName::of_worker`] for a worker.
    pub name: TokenName,
    /// The hash of its text.
    pub hash: TokenHash,
    /// The rights of its holder. The caller must have them.
    pub rights: Rights,
    /// From this instant on it is refused; none without an end.
    pub expires_at: Option<Millis>,
    /// The only addresses from which it is accepted; empty for any address.
    pub addresses: Vec<AddressRange>,
    /// Whether the token replaces that of the same worker. Without it a second one is refused.
    pub replace: bool,
    /// The caller, for the rules and the audit.
    pub by: Caller,
    /// The idempotency key of the request. Its content must not contain the secret.
    pub request: RequestId,
}

/// The end of a rotated token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewTokenEnd {
    /// The end of the former secret.
    #[default]
    Same,
    /// No end.
    Never,
    /// At this instant.
    At(Millis),
}

/// Gives a token another secret. The former one is refused at once, and the sessions that it began end. Answers
/// the token, or an error as [`CreateToken`] does.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Token>, AccessError>")]
pub struct RotateToken {
    /// The token to change.
    pub name: TokenName,
    /// The hash of its new text.
    pub hash: TokenHash,
    /// When the new secret expires.
    pub end: NewTokenEnd,
    /// The caller, for the rules and the audit. It must have the rights of the token.
    pub by: Caller,
    /// The idempotency key of the request. Its content must not contain the secret.
    pub request: RequestId,
}

/// Removes a token, and ends the sessions that it began. The name may be used again.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), AccessError>")]
pub struct RevokeToken {
    /// The token to remove.
    pub name: TokenName,
    /// The caller, for the rules and the audit.
    pub by: Caller,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Creates the token of the first administrator, if nobody can administrate the yard. Answers whether it did.
///
/// The node draws the token, writes and syncs its file, and then sends this.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<bool, AccessError>")]
pub struct EnsureAdmin {
    /// The hash of its text.
    pub hash: TokenHash,
}

/// Gives the administrator's token another secret, and creates the token if it is gone: the way back after it was
/// lost. Only a command on the host of the node sends this.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), AccessError>")]
pub struct RecoverAdmin {
    /// The hash of its new text.
    pub hash: TokenHash,
}

/// Issues a link that begins one session. Answers the instant at which it expires.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Millis, AccessError>")]
pub struct IssueLoginLink {
    /// The hash of its secret.
    pub hash: LinkHash,
    /// The user or token whose rights the session gets. The caller must have them.
    pub subject: SessionSubject,
    /// The caller, for the rules and the audit.
    pub by: Caller,
}

/// The proof with which a session begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginProof {
    /// The caller checked the password of this user.
    Password {
        /// The user.
        name: UserName,
        /// The generation of the [`PasswordLogin`](super::PasswordLogin) that was checked.
        generation: u64,
    },
    /// The caller checked the token with this hash.
    Token(TokenHash),
    /// The secret of a login link with this hash. The link is used up.
    Link(LinkHash),
}

/// Begins a session. Answers it.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Session>, AccessError>")]
pub struct BeginSession {
    /// Why the caller may begin one.
    pub proof: LoginProof,
    /// The hash of the session's secret.
    pub hash: SessionHash,
    /// The address of the caller.
    pub address: CallerAddress,
    /// The program of the caller.
    pub user_agent: UserAgent,
}

/// Ends one session, at the request of its holder. Answers whether there was one.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, AccessError>")]
pub struct EndSession {
    /// The session to end.
    pub hash: SessionHash,
    /// The caller, for the audit.
    pub by: Caller,
}

/// Ends all sessions and login links of a user or token. Answers whether there was one.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, AccessError>")]
pub struct EndSessionsOf {
    /// The user or token.
    pub subject: SessionSubject,
    /// The caller, for the audit.
    pub by: Caller,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Reports a wrong password. Too many in a row lock the account. Answers the end of a lock that begins now.
/// Names without a user are ignored.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<Millis>, AccessError>")]
pub struct ReportWrongPassword {
    /// The name that the caller gave.
    pub name: UserName,
}
