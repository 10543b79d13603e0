//! The last confirmed holdings of a host count until the host reports otherwise, also while it is down. No
//! copy is planned of a file that some host holds by the record.
//!
//! A second copy is still possible. [`Exceptions`](crate::simulation::invariants::Exceptions) counts these cases:
//!
//! - *late*: the task was abandoned (no sign of life, host down) or withdrawn. The host had not received that
//!   yet, or could not: an old cfw never does.
//! - *unasked*: no node had been able to ask the host of the file, because the wait for a host without a
//!   list is limited. Or the host got the file late, or its files were changed by hand.

use reelyard_yard::task_manager::NewTask;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::JudgeRecord;

/// The name of the invariant in a violation.
pub const NAME: &str = "one copy";

/// Checks a new task.
pub fn check(record: &JudgeRecord, task: &NewTask) -> InvariantCheck {
    let holder = record.holders.get(&task.name).and_then(|holders| holders.first());
    let message =
        holder.map(|host| format!("{} copies {:?}, which {host} holds", task.id, task.name));
    (NAME, message.map_or(Ok(()), Err))
}
