//! Lets the owners of a stopped node skip an entry that its program cannot apply.

use std::path::Path;

use super::upkeep::{DatabaseCopy, UpkeepError, lock};
use crate::raft;
use crate::store::database::sled_database::guarded;
use crate::store::database::trees::inspect;
use crate::store::{SkippedEntries, SkippedEntry};

/// Lets no owner apply the entry at `index` of the store in `dir`. Each node has to skip it, or their states differ. The
/// entry is read from a copy in `scratch`, or beside the store. Blocks.
pub fn skip(
    dir: &Path,
    scratch: Option<&Path>,
    (index, reason): (u64, &str),
) -> Result<SkippedEntry, UpkeepError> {
    let _lock = lock(dir)?;
    let known = SkippedEntries::read(dir)?;
    let copy = DatabaseCopy::make(dir, scratch.unwrap_or(dir))?;
    let (seen, _) = inspect(&copy.sled())?;
    let rows = guarded(|| seen.trees.log.read(index..index.saturating_add(1)))?;
    let Some((_, stored)) = rows.first() else {
        return Err(UpkeepError::NotAcceptable(format!(
            "the log of the store has no entry {index}: see `reelyard store check`"
        )));
    };
    if !raft::has_commits(stored) {
        return Err(UpkeepError::NotAcceptable(format!(
            "entry {index} has no events, so no owner applies it"
        )));
    }
    let entry = SkippedEntry::of(index, stored, reason);
    known.add(dir, entry.clone())?;
    Ok(entry)
}
