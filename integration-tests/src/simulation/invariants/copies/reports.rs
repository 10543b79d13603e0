//! A worker keeps `Done` and `Failed` until a node accepts them: the record contains every report that a
//! worker deletes.

use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Report, ReportedState};

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::JudgeRecord;

/// The name of the invariant in a violation.
pub const NAME: &str = "reports arrive";

/// Checks a report that a worker deleted.
pub fn check(record: &JudgeRecord, host: HostAddr, report: &Report) -> InvariantCheck {
    let (task, name) = (report.task, &report.name);
    let lost = match report.state {
        ReportedState::Done { .. } | ReportedState::DoneUnverified { .. } => {
            !record.confirmed.contains_key(&(host, name.clone()))
        }
        ReportedState::Failed { .. } => record.open.contains_key(&task),
        ReportedState::Working | ReportedState::Progress { .. } => false,
    };
    let what = || format!("{host} forgot how {task} of {name:?} ended, and no record has it");
    (NAME, if lost { Err(what()) } else { Ok(()) })
}
