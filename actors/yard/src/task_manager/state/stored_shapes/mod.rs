//! The shapes of all types that events, outcomes, refusals and snapshot rows of tasks consist of.

use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::Blame;
use reelyard_replication::check_stored_shapes;

use super::backoff::Blamed;
use super::event::{GivenUp, TaskEvent, TaskOutcome, TaskRefusal};
use super::snapshot::TaskSnapshotRow;
use super::task::TaskState;

#[test]
fn stored_shapes_of_tasks_stay() {
    let host: HostAddr = "10.0.0.1:8888".parse().unwrap();
    let file = FileName::new("a.mpg").unwrap();
    check_stored_shapes!(
        "kept.txt",
        values: [host, file],
        types: [
            HostRole,
            HostMode,
            Blame,
            Blamed,
            GivenUp,
            TaskState,
            TaskEvent,
            TaskOutcome,
            TaskRefusal,
            TaskSnapshotRow,
        ],
    );
}
