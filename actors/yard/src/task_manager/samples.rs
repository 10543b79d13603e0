//! Values that the unit tests of this folder share.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;

use crate::task_manager::state::event::NewTask;
use crate::task_manager::state::task::Task;

/// A host with this last number.
pub fn host(last: u8) -> HostAddr {
    format!("10.0.0.{last}:8888").parse().unwrap()
}

/// A file name from a valid `text`.
pub fn name(text: &str) -> FileName {
    FileName::new(text).unwrap()
}

/// A planned copy of `text` from host 1 to host 21.
pub fn new_task(id: i64, text: &str) -> NewTask {
    NewTask {
        id: TaskId(id),
        name: name(text),
        dir: "/data".to_owned(),
        source: host(1),
        destination: host(21),
        grade: 1,
        hits: 0,
        size: 1000,
        copy_speed: None,
        source_cap: 1,
        asked_by: None,
    }
}

/// The same as a ready task, created at the beginning of time.
pub fn task(id: i64, text: &str) -> Task {
    new_task(id, text).into_task(Millis(0))
}
