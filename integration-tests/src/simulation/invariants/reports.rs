//! "`Done` and `Failed` are kept by the worker until they were taken": what a worker forgets is on
//! record.

use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Report, Said};

use super::InvariantCheck;
use crate::simulation::judge::JudgeRecord;

/// Its name.
pub const NAME: &str = "reports arrive";

/// A worker forgot a report.
pub fn check(record: &JudgeRecord, host: HostAddr, report: &Report) -> InvariantCheck {
    let (task, name) = (report.task, &report.name);
    let lost = match report.said {
        Said::Done { .. } | Said::DoneUnverified { .. } => {
            !record.confirmed.contains_key(&(host, name.clone()))
        }
        Said::Failed { .. } => record.open.contains_key(&task),
        Said::Working | Said::Progress { .. } => false,
    };
    let what = || format!("{host} forgot how {task} of {name:?} ended, and nobody knows");
    (NAME, if lost { Err(what()) } else { Ok(()) })
}
