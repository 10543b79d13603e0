//! "What a host was last confirmed to hold counts until that host says otherwise, also while it is
//! down": no copy is planned of a file that some host is on record to hold.
//!
//! A second copy may still come to be, and is counted in [`Exceptions`](super::Exceptions):
//!
//! - *late*: its task had been given up (silent for too long, its host down) or taken back, and the
//!   host had not heard of it yet, or could not (an old cfw never does);
//! - *untold*: the file lay on a host that nobody had been able to ask (a host never listed is waited
//!   for only so long), that had got it late, or whose files were changed by hand since.

use reelyard_yard::task_manager::NewTask;

use super::InvariantCheck;
use crate::simulation::judge::JudgeRecord;

/// Its name.
pub const NAME: &str = "one copy";

/// A task was created.
pub fn check(record: &JudgeRecord, task: &NewTask) -> InvariantCheck {
    let holder = record.holders.get(&task.name).and_then(|holders| holders.first());
    let told = holder.map(|host| format!("{} copies {:?}, which {host} holds", task.id, task.name));
    (NAME, told.map_or(Ok(()), Err))
}
