//! A link that begins one session. Pure.

use reelyard_core::clock::Millis;

use super::session::SessionSubject;

/// A login link that was not used yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::access) struct LoginLink {
    /// The user or token whose rights its session gets.
    pub(in crate::access) subject: SessionSubject,
    /// The generation of the subject. A later one ends the link.
    pub(in crate::access) generation: u64,
    /// From this instant on it is refused.
    pub(in crate::access) expires_at: Millis,
}
