//! Examines a store that no node has open, and repairs a store that has lost its end.
//!
//! sled changes a database when it opens it, and may treat unreadable parts as free space. So a
//! copy is examined.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use reelyard_core::private_dir;

use super::report::{Condition, StoreReport};
use crate::raft;
use crate::store::database::new_database::remove_tree;
use crate::store::database::rewrite;
use crate::store::database::sled_database::SLED;
use crate::store::database::sled_database::guarded;
use crate::store::database::snapshot_chunks;
use crate::store::database::trees::inspect;
use crate::store::disk::disk_space;
use crate::store::disk::durability_mark::{self, MarkFile, MarkState};
use crate::store::disk::identity_file::{BadIdentity, StoreIdentity};
use crate::store::disk::lock::DirectoryLock;
use crate::store::{OpenError, SkippedEntries, StoreError};

/// Why an operation on a store is not possible.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// There is no store.
    #[error("there is no store in {}", .0.display())]
    NoStore(PathBuf),
    /// A process has it open.
    #[error("the store in {} is in use: stop the node that runs on it first", .0.display())]
    InUse(PathBuf),
    /// The copy for the examination could not be created.
    #[error("the store cannot be copied to {}, where {} bytes are needed: {why}; name another directory \
        with --scratch", .dir.display(), .bytes)]
    NoCopy {
        /// The place for the copy.
        dir: PathBuf,
        /// How large it is.
        bytes: u64,
        /// The error of the file system.
        why: String,
    },
    /// Accepting a loss does not help, or this node must not do it.
    #[error("{0}")]
    NotAcceptable(String),
    /// The store cannot be read or written.
    #[error("{0}")]
    Store(String),
}

impl From<StoreError> for UpkeepError {
    fn from(error: StoreError) -> Self {
        UpkeepError::Store(error.to_string())
    }
}

impl From<io::Error> for UpkeepError {
    fn from(error: io::Error) -> Self {
        UpkeepError::Store(error.to_string())
    }
}

/// Checks the whole store in `dir`, on a copy in `scratch` or beside the store. Blocks.
pub fn check(dir: &Path, scratch: Option<&Path>) -> Result<StoreReport, UpkeepError> {
    let _lock = lock(dir)?;
    let found = durability_mark::find(dir)?;
    let copy = DatabaseCopy::make(dir, scratch.unwrap_or(dir))?;
    let mut report = StoreReport {
        dir: dir.to_owned(),
        disk_bytes: rewrite::size(dir)?,
        reserve_bytes: disk_space::held(dir)?,
        ..StoreReport::empty()
    };
    match inspect(&copy.sled()) {
        Ok((seen, _)) => report.describe(&seen, &found),
        Err(error) => report.fault(Condition::Damaged, error.to_string()),
    }
    if let Err(error) = StoreIdentity::read(dir) {
        report.fault(Condition::Lost, format!("the file `identity` cannot be read: {error}"));
    }
    match SkippedEntries::read(dir) {
        Ok(skipped) => report.skipped = skipped.into_entries(),
        Err(error) => report.fault(Condition::Damaged, error.to_string()),
    }
    Ok(report)
}

/// Continues with the rest of the store in `dir`: its end becomes the end of the log. Answers its
/// condition before. A store without damage is not changed. Blocks.
pub fn accept_loss(dir: &Path, scratch: Option<&Path>) -> Result<StoreReport, UpkeepError> {
    let report = check(dir, scratch)?;
    let refused = |why: &str| Err(UpkeepError::NotAcceptable(why.to_owned()));
    match report.condition {
        Condition::Whole => return Ok(report),
        Condition::Damaged => {
            return refused(
                "the damage is not at the end of the store, so no usable data remains: restore it from a \
                 backup",
            );
        }
        Condition::Lost => {}
    }
    let Some(node) = report.node else {
        return refused(
            "the store has no usable data: remove its directory to start with an empty store",
        );
    };
    if report.voters.iter().any(|voter| *voter != node) {
        return refused(
            "this node is one of several voting nodes: continuing with less than it acknowledged could \
             lose that data on all nodes. Remove it by `reelyard cluster remove`, empty its directory, and join \
             again",
        );
    }
    let _lock = lock(dir)?;
    let marked = match durability_mark::find(dir)? {
        MarkState::Mark(mark) => mark,
        MarkState::Nothing | MarkState::Damaged | MarkState::Former { .. } => {
            durability_mark::DurabilityMark::default()
        }
    };
    if let Err(BadIdentity::Damaged) = StoreIdentity::read(dir) {
        // The next start gives the store another one.
        StoreIdentity::remove(dir)?;
    }
    let (seen, log_file) = inspect(&dir.join(SLED))?;
    let trees = seen.trees;
    let head = guarded(|| {
        let votes = [trees.head().vote, marked.vote];
        let vote = raft::raised_vote(node, votes.iter().flatten().map(Vec::as_slice))
            .map_err(|error| StoreError::Io(error.to_string()))?;
        trees.change_head(|head| {
            head.sequence = head.sequence.max(marked.sequence);
            head.vote = Some(vote);
        });
        // The head is written first. Rows behind its end are removed only afterwards.
        trees.seal()?;
        trees.tidy()?;
        snapshot_chunks::drop_abandoned(&trees)?;
        trees.db.flush()?;
        log_file.sync_data()?;
        Ok(trees.head())
    })?;
    MarkFile::create(dir, &head.mark())?;
    Ok(report)
}

/// Takes the lock of an existing store that no process has open.
pub(crate) fn lock(dir: &Path) -> Result<DirectoryLock, UpkeepError> {
    if !is_store(dir) {
        return Err(UpkeepError::NoStore(dir.to_owned()));
    }
    let lock = DirectoryLock::acquire(dir, Duration::ZERO).map_err(|error| match error {
        OpenError::InUse { dir } => UpkeepError::InUse(dir),
        error => UpkeepError::Store(error.to_string()),
    })?;
    rewrite::finish(dir)?;
    Ok(lock)
}

/// Whether anything in `dir` belongs to a store.
pub(crate) fn is_store(dir: &Path) -> bool {
    ["sled", "sled.old", "sled.new", "mark", "watermark"].iter().any(|name| dir.join(name).exists())
}

/// The beginning of the name of a copy's directory. The number of the process follows.
const COPY: &str = "checking-";

/// A copy of a store's database, removed when it is dropped.
pub(crate) struct DatabaseCopy {
    dir: PathBuf,
}

impl DatabaseCopy {
    pub(crate) fn make(dir: &Path, scratch: &Path) -> Result<Self, UpkeepError> {
        drop_stale(scratch);
        let copied = DatabaseCopy { dir: scratch.join(format!("{COPY}{}", std::process::id())) };
        let from = dir.join(SLED);
        let made = remove_tree(&copied.dir)
            .and_then(|()| private_dir::create(&copied.dir))
            .and_then(|()| if from.exists() { copy_tree(&from, &copied.sled()) } else { Ok(()) });
        made.map_err(|error| UpkeepError::NoCopy {
            dir: scratch.to_owned(),
            bytes: rewrite::size(dir).unwrap_or(0),
            why: error.to_string(),
        })?;
        Ok(copied)
    }

    pub(crate) fn sled(&self) -> PathBuf {
        self.dir.join(SLED)
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.dir) {
            tracing::warn!(dir = %self.dir.display(), %error, "a temporary copy of the store could not be removed");
        }
    }
}

/// Removes the copies of processes that ended before they could.
fn drop_stale(scratch: &Path) {
    let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(COPY));
        let Some(process) = process.and_then(|process| process.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new(&format!("/proc/{process}")).exists()
            && let Err(error) = remove_tree(&entry.path())
        {
            let dir = entry.path();
            tracing::warn!(dir = %dir.display(), %error, "a temporary copy of the store could not be removed");
        }
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_processes_that_are_gone_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let alive = format!("{COPY}{}", std::process::id());
        // No process has so high a number.
        let stale = format!("{COPY}{}", u32::MAX);
        for name in [alive.as_str(), stale.as_str(), "checking-nobody", "sled"] {
            fs::create_dir_all(dir.path().join(name).join("sled")).unwrap();
        }
        drop_stale(dir.path());
        let left = [alive.as_str(), stale.as_str(), "checking-nobody", "sled"];
        let left = left.map(|name| dir.path().join(name).exists());
        assert_eq!(left, [true, false, true, true]);
    }
}
