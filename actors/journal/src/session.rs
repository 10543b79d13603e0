//! The session in which the proposer may propose.

use reelyard_replication::Leadership;

/// Leadership and its session, which decide what the proposer may propose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProposerSession {
    pub(crate) leadership: Leadership,
    /// Grows with each new session, also within one epoch. Commits of earlier sessions are not
    /// proposed in later ones.
    pub(crate) number: u64,
}
