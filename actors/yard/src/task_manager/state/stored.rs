//! The stored forms of tasks, hosts and backoffs. Pure.
//!
//! **Invariant:** a stored form never changes: snapshots of all earlier versions hold it.

use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostMode, HostRole};
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::worker::{Blame, ContentHash, TaskId};
use reelyard_replication::stored_form;
use serde::{Deserialize, Serialize};

use super::copy_record::CopyRecord;
use super::hosts::host_record::HostRecord;
use super::task::{Task, TaskState};

/// The stored reason of a copy that was not compared with its source. Earlier programs wrote a sentence.
const UNVERIFIED: &str = "unverified";

/// The stored reason: a copy in state `Done` has one only if it is unverified.
fn stored_reason(is_unverified: bool, reason: Option<String>) -> Option<String> {
    if is_unverified { Some(UNVERIFIED.to_owned()) } else { reason }
}

/// The reason, and whether the copy is unverified.
fn read_reason(state: TaskState, stored: Option<String>) -> (Option<String>, bool) {
    match state {
        TaskState::Done => (None, stored.is_some()),
        _ => (stored, false),
    }
}

/// A task, open or ended.
#[derive(Serialize, Deserialize)]
pub(in crate::task_manager) struct StoredTask {
    id: TaskId,
    name: FileName,
    dir: String,
    source: HostAddr,
    destination: HostAddr,
    grade: u32,
    hits: u32,
    size: u64,
    copy_speed: Option<BitsPerSecond>,
    state: TaskState,
    created: Millis,
    changed: Millis,
    claimed_done: bool,
    reason: Option<String>,
    blame: Option<Blame>,
    hash: Option<ContentHash>,
    asked_by: Option<String>,
}

impl From<Task> for StoredTask {
    fn from(task: Task) -> Self {
        let Task {
            id,
            name,
            dir,
            source,
            destination,
            grade,
            hits,
            size,
            copy_speed,
            state,
            created,
            changed,
            claimed_done,
            reason,
            is_unverified,
            blame,
            hash,
            asked_by,
        } = task;
        let reason = stored_reason(is_unverified, reason);
        StoredTask {
            id,
            name,
            dir,
            source,
            destination,
            grade,
            hits,
            size,
            copy_speed,
            state,
            created,
            changed,
            claimed_done,
            reason,
            blame,
            hash,
            asked_by,
        }
    }
}

impl From<StoredTask> for Task {
    fn from(stored: StoredTask) -> Self {
        let StoredTask {
            id,
            name,
            dir,
            source,
            destination,
            grade,
            hits,
            size,
            copy_speed,
            state,
            created,
            changed,
            claimed_done,
            reason,
            blame,
            hash,
            asked_by,
        } = stored;
        let (reason, is_unverified) = read_reason(state, reason);
        Task {
            id,
            name,
            dir,
            source,
            destination,
            grade,
            hits,
            size,
            copy_speed,
            state,
            created,
            changed,
            claimed_done,
            reason,
            is_unverified,
            blame,
            hash,
            asked_by,
        }
    }
}

stored_form! {
    /// The stored fields of a host.
    pub(in crate::task_manager) struct StoredHostRecord of HostRecord {
        role: HostRole,
        mode: HostMode,
        configured: bool,
        silent_since: Option<Millis>,
        lost: bool,
    }
}

stored_form! {
    /// The failures of one party of copies.
    pub(in crate::task_manager) struct StoredBackOff of BackOff {
        failures: u32,
        since: Millis,
        until: Millis,
        reason: String,
    }
}

/// The record of one ended copy, with the name of its file.
#[derive(Serialize, Deserialize)]
pub(in crate::task_manager) struct StoredCopyRecord {
    task: TaskId,
    name: FileName,
    source: HostAddr,
    destination: HostAddr,
    grade: u32,
    hits: u32,
    size: u64,
    state: TaskState,
    reason: Option<String>,
    blame: Option<Blame>,
    asked_by: Option<String>,
    planned: Millis,
    at: Millis,
}

impl StoredCopyRecord {
    pub(in crate::task_manager) fn of(record: &CopyRecord, name: FileName) -> Self {
        let CopyRecord {
            task,
            file: _,
            source,
            destination,
            grade,
            hits,
            size,
            state,
            reason,
            is_unverified,
            blame,
            asked_by,
            planned,
            at,
        } = record.clone();
        let reason = stored_reason(is_unverified, reason);
        StoredCopyRecord {
            task,
            name,
            source,
            destination,
            grade,
            hits,
            size,
            state,
            reason,
            blame,
            asked_by,
            planned,
            at,
        }
    }

    pub(in crate::task_manager) fn name(&self) -> &FileName {
        &self.name
    }

    pub(in crate::task_manager) fn into_record(self, file: FileId) -> CopyRecord {
        let (reason, is_unverified) = read_reason(self.state, self.reason);
        CopyRecord {
            task: self.task,
            file,
            source: self.source,
            destination: self.destination,
            grade: self.grade,
            hits: self.hits,
            size: self.size,
            state: self.state,
            reason,
            is_unverified,
            blame: self.blame,
            asked_by: self.asked_by,
            planned: self.planned,
            at: self.at,
        }
    }
}
