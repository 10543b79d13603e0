//! Stores reports in a worker's state store until it is killed: `worker_report_keeper DIR LAST`. Prints the
//! number of each durable report.

use std::io::Write;

use anyhow::Context;
use reelyard_core::clock::Millis;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{ContentHash, Report, ReportedState, TaskId};
use reelyard_worker::kept_state::state_store::StateStore;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().context("expected the store's directory")?;
    let last: i64 = arguments.next().context("expected the last number")?.parse()?;
    let store = StateStore::open(dir.as_ref())?;
    let name = FileName::new("E.mpg")?;
    for task in last + 1.. {
        let state = ReportedState::Done { size: 1, hash: ContentHash([1; 32]) };
        let report = Report { task: TaskId(task), name: name.clone(), at: Millis(task), state };
        store.keep_reports(&[&report])?;
        writeln!(std::io::stdout(), "{task}")?;
    }
    Ok(())
}
