//! Invitations: tokens with the scope `cluster:join`, which expire after minutes.

use std::net::IpAddr;

use reelyard_access::rights::AccessScope;
use reelyard_core::clock::Clock;

use crate::node::actors::Wiring;

/// Why a secret is no invitation.
#[derive(Debug, thiserror::Error)]
pub enum NotInvited {
    /// The secret is unknown or expired.
    #[error(
        "the secret is not valid: it is mistyped, or too old. \"reelyard cluster invite\" makes another one"
    )]
    UnknownSecret,
    /// A token with other rights.
    #[error(
        "the secret is a token without the scope cluster:join: use the secret of \"reelyard cluster invite\""
    )]
    OtherRights,
}

/// Checks the secret of a node at `from`.
///
/// # Errors
/// The secret is no invitation.
pub fn check(secret: &str, from: IpAddr, actors: &Wiring, clock: &Clock) -> Result<(), NotInvited> {
    let view = actors.access_views.load();
    let caller = view
        .authenticate_token(secret, from, clock.now())
        .map_err(|_| NotInvited::UnknownSecret)?;
    if caller.rights.allow(&AccessScope::ClusterJoin) {
        Ok(())
    } else {
        Err(NotInvited::OtherRights)
    }
}
