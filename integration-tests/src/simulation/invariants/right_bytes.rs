//! "A copy appears under its name only when its bytes are hashed, equal to the source's, and synced."
//! An old cfw checks nothing (spec D2) and tells no hash: of what it fetches, and of what is fetched
//! from it, this is not promised.

use std::collections::BTreeSet;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;

use super::InvariantCheck;

/// Its name.
pub const NAME: &str = "right bytes";

/// A copy got its name.
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
