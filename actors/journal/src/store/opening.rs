//! Opens a store only if it has everything that it is known to have had.

use std::fs::File;
use std::path::Path;

use crate::store::database::head::StoreHead;
use crate::store::database::sled_database::SLED;
use crate::store::database::sled_database::guarded;
use crate::store::database::snapshot_chunks;
use crate::store::database::trees::{Trees, inspect};
use crate::store::disk::durability_mark::{self, MarkState};
use crate::store::disk::identity_file::StoreIdentity;
use crate::store::{OpenError, StoreError};

/// Opens the store in `dir` if it has no fault.
pub(crate) fn open_whole(dir: &Path, node: u64) -> Result<(Trees, File), OpenError> {
    let failed = |error: StoreError| OpenError::of_store(dir, error);
    let found = durability_mark::find(dir).map_err(|error| failed(error.into()))?;
    let (seen, log_file) = inspect(&dir.join(SLED)).map_err(failed)?;
    let head = seen.trees.head();
    check_identity(dir, node, &found)?;
    check_mark(dir, &found, &head, seen.trees.log.end())?;
    if let Some(fault) = seen.fault {
        return Err(failed(fault));
    }
    head.check_purged().map_err(failed)?;
    match head.node {
        Some(found) if found != node => {
            return Err(OpenError::AnotherNode { dir: dir.to_owned(), found, asked: node });
        }
        _ => seen.trees.change_head(|head| head.node = Some(node)),
    }
    if seen.unfinished > 0 {
        tracing::info!(
            rows = seen.unfinished,
            "an unfinished write to the journal was rolled back"
        );
    }
    guarded(|| seen.trees.tidy().and_then(|()| snapshot_chunks::drop_abandoned(&seen.trees)))
        .map_err(failed)?;
    Ok((seen.trees, log_file))
}

/// Refuses a store of another node, one that has no number yet, and one that was emptied beside its identity.
fn check_identity(dir: &Path, asked: u64, found: &MarkState) -> Result<(), OpenError> {
    let identity =
        StoreIdentity::read(dir).map_err(|error| OpenError::of_store(dir, error.into()))?;
    let Some(identity) = identity else { return Ok(()) };
    match identity.member {
        None => Err(OpenError::NotJoined { dir: dir.to_owned() }),
        Some((_, found)) if found != asked => {
            Err(OpenError::AnotherNode { dir: dir.to_owned(), found, asked })
        }
        Some(_) if identity.was_used && *found == MarkState::Nothing => {
            Err(OpenError::NoMark { dir: dir.to_owned() })
        }
        Some(_) => Ok(()),
    }
}

/// Refuses a store that is older than its last known durable state.
pub(crate) fn check_mark(
    dir: &Path,
    found: &MarkState,
    head: &StoreHead,
    log_end: u64,
) -> Result<(), OpenError> {
    let lost =
        |missing: u64, what: String| Err(OpenError::Lost { dir: dir.to_owned(), missing, what });
    match found {
        MarkState::Nothing if head.is_empty() && log_end == 0 => Ok(()),
        MarkState::Nothing | MarkState::Damaged => Err(OpenError::NoMark { dir: dir.to_owned() }),
        MarkState::Former { log_end: marked } if log_end < *marked => {
            lost(marked - log_end, format!("its log ends before entry {log_end}"))
        }
        MarkState::Mark(mark) if head.sequence < mark.sequence => {
            lost(mark.log_end.saturating_sub(log_end), loss(mark, head, log_end))
        }
        MarkState::Former { .. } | MarkState::Mark(_) => Ok(()),
    }
}

/// Describes the loss of a store.
pub(crate) fn loss(
    mark: &durability_mark::DurabilityMark,
    head: &StoreHead,
    log_end: u64,
) -> String {
    let mut lost =
        vec![format!("its last flush is {}, but the mark says {}", head.sequence, mark.sequence)];
    if log_end < mark.log_end {
        let (from, to) = (log_end, mark.log_end - 1);
        lost.push(format!("log entries {from} to {to} are missing"));
    }
    if head.vote != mark.vote {
        lost.push("its vote is older than the one in the mark".to_owned());
    }
    let snapshot = head.snapshot.as_ref().map(|snapshot| snapshot.index);
    if let Some(marked) = mark.snapshot.filter(|&marked| snapshot != Some(marked)) {
        lost.push(format!("its snapshot of entry {marked} is missing"));
    }
    lost.join(", ")
}
