//! Why a credential is refused, in words for its holder.

use reelyard_core::clock::Millis;

use crate::secrets::BadTokenText;

/// Why a token is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    /// The text is no token.
    #[error(transparent)]
    Malformed(#[from] BadTokenText),
    /// No token has this text.
    #[error(
        "the token is unknown: it was revoked or rotated, or belongs to another yard. Ask for a new one"
    )]
    Unknown,
    /// Its end has passed.
    #[error("the token expired at {0}: ask for a new one, or have it rotated")]
    Expired(Millis),
    /// The caller's address is in none of its ranges.
    #[error(
        "the token is not accepted from this address: use it on its own host, or have its addresses changed"
    )]
    OutsideItsAddresses,
    /// The node has just started.
    #[error("this node has not read its store yet: try again in a moment")]
    NotReady,
}

/// Why a session is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefused {
    /// No session has this secret.
    #[error("the session is unknown or has ended: log in again")]
    Unknown,
    /// It was not used for too long, or is too old.
    #[error("the session has ended for lack of use or because of its age: log in again")]
    Ended,
    /// Its token does not admit the caller's address.
    #[error("the token of the session is not accepted from this address: log in again here")]
    OutsideItsAddresses,
    /// The node has just started.
    #[error("this node has not read its store yet: try again in a moment")]
    NotReady,
}

/// Why no password is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginRefused {
    /// Too many wrong passwords.
    #[error(
        "the account is locked after wrong passwords until {0}: wait, or ask an administrator to unlock it"
    )]
    Locked(Millis),
    /// The node has just started.
    #[error("this node has not read its store yet: try again in a moment")]
    NotReady,
}
