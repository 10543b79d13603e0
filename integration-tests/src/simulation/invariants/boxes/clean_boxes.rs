//! A box is made ready for a holder only when it is clean. A repeated call for the same lease finds the dirt of its
//! own first run.

use reelyard_protocol::boxes::FenceToken;

use crate::simulation::invariants::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "clean boxes";

/// Checks a box that is made ready for the lease of `token`. `used_by` is the lease that left it dirty.
pub fn check(
    box_id: u32,
    token: Option<FenceToken>,
    used_by: Option<Option<FenceToken>>,
) -> InvariantCheck {
    let verdict = match used_by {
        Some(used_by) if used_by != token => {
            Err(format!("box {box_id} is prepared for {token:?}, and {used_by:?} left it dirty"))
        }
        _ => Ok(()),
    };
    (NAME, verdict)
}
