//! A copy gets its name only when its bytes are hashed, equal to the source's, and synced. An old cfw checks
//! nothing and sends no hash. The invariant excludes its own copies and copies from it.

use std::collections::BTreeSet;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;

use crate::simulation::invariants::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "right bytes";

/// Checks a copy that got its name.
pub fn check(
    versions: &BTreeSet<(FileName, u64)>,
    host: HostAddr,
    name: &FileName,
    content: u64,
    verified: bool,
) -> InvariantCheck {
    let whole = versions.contains(&(name.clone(), content));
    let verdict = match verified && !whole {
        true => Err(format!("{name:?} on {host} is nothing that its master ever was")),
        false => Ok(()),
    };
    (NAME, verdict)
}
