//! An acknowledged commit is never lost or applied in part, and a repeated request is safe.

use reelyard_core::event::RequestId;
use reelyard_replication::CommitAnswer;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::JudgeRecord;
use crate::simulation::raft::replica::Replica;

/// The name of the invariant in a violation.
pub const NAME: &str = "acknowledged";

/// Checks that the history contains an acknowledged commit completely, with this number of outcomes. Returns
/// its index and term.
///
/// # Errors
/// Describes the violation.
pub fn check(
    record: &JudgeRecord,
    request: RequestId,
    outcomes: usize,
) -> Result<(u64, u64), String> {
    let Some(&(index, events)) = record.requests.get(&request) else {
        return Err(format!("{request} was acknowledged but never applied"));
    };
    if events != outcomes {
        return Err(format!("{request} has {events} events and {outcomes} outcomes"));
    }
    let term = record.history.get(index as usize - 1).map_or(0, |entry| entry.term);
    Ok((index, term))
}

/// Checks that acknowledged commits are durable on a majority.
pub fn check_durable<'a>(
    at: (u64, u64),
    replicas: impl ExactSizeIterator<Item = &'a Replica>,
) -> InvariantCheck {
    let all = replicas.len();
    let having = replicas.filter(|replica| replica.holds(at.0, at.1)).count();
    let verdict = if having * 2 > all {
        Ok(())
    } else {
        Err(format!("entry {} was acknowledged and is on {having} of {all} nodes", at.0))
    };
    (NAME, verdict)
}

/// Checks that a repeated request gets its first answer.
pub fn check_repeated(
    request: RequestId,
    before: &CommitAnswer,
    now: &CommitAnswer,
) -> InvariantCheck {
    let verdict = if before == now {
        Ok(())
    } else {
        Err(format!("{request} was answered {before:?} and then {now:?}"))
    };
    (NAME, verdict)
}
