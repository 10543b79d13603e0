//! Samples of the events of tasks.

use reelyard_core::host::{BitsPerSecond, HostMode, HostRole};
use reelyard_core::manager::YardId;
use reelyard_protocol::worker::{Blame, ContentHash, TaskId};
use reelyard_yard::task_manager::{
    BackingOff, Blamed, GivenUp, NewTask, RecordedFile, RecordedInputs, TaskEnding, TaskEvent,
};

use super::{after, file, host, other_host};

/// A task that the planner creates without a limit.
fn planned(id: i64) -> NewTask {
    NewTask {
        id: TaskId(id),
        name: file(&format!("film-{id}.mpg")),
        dir: "/masters".to_owned(),
        source: host(11),
        destination: host(21),
        grade: 7,
        hits: 0,
        size: 5_000_000_000,
        copy_speed: None,
        source_cap: 20,
        asked_by: None,
    }
}

fn ended(id: i64, how: GivenUp, blame: Option<Blame>, blamed: Option<Blamed>) -> TaskEvent {
    let ending = TaskEnding { how, reason: "no room".to_owned(), blame };
    let back_off = blamed.map(|blamed| BackingOff { blamed, until: after(60_000) });
    TaskEvent::Ended { id: TaskId(id), ending, back_off }
}

/// Samples in the order in which they apply. Append new ones: the stored rows depend on the order.
pub fn task_samples() -> Vec<(&'static str, TaskEvent)> {
    let asked_by = || "operator".to_owned();
    let (blame, blamed) = (Some(Blame::Destination), || Some(Blamed::Destination(host(21))));
    let (hash, other) = (ContentHash([0xa5; 32]), other_host());
    let urgent = NewTask {
        grade: 0,
        hits: 300,
        copy_speed: Some(BitsPerSecond(8_000_000)),
        source: other,
        asked_by: Some(asked_by()),
        ..planned(2)
    };
    let hosts = vec![
        (host(11), HostRole::Source),
        (host(21), HostRole::Destination),
        (host(22), HostRole::Both),
    ];
    let back_offs = vec![Blamed::Source(host(11))];
    let mode = |host, mode| TaskEvent::HostModeSet { host, mode, asked_by: asked_by() };
    let differed = |added: &[&str], removed: &[&str], complete| TaskEvent::InventoryDiffered {
        host: host(21),
        added: added.iter().map(|name| file(name)).collect(),
        removed: removed.iter().map(|name| file(name)).collect(),
        complete,
    };
    vec![
        ("hosts-configured", TaskEvent::HostsConfigured { hosts }),
        ("cluster-named", TaskEvent::ClusterNamed { cluster: YardId(0x1234_5678) }),
        (
            "host-added",
            TaskEvent::HostAdded { host: other, role: HostRole::Both, asked_by: asked_by() },
        ),
        ("created", TaskEvent::Created(planned(1))),
        ("created-by-request", TaskEvent::Created(urgent)),
        ("began", TaskEvent::Began { id: TaskId(1) }),
        ("claimed", TaskEvent::Claimed { id: TaskId(1) }),
        (
            "completed",
            TaskEvent::Completed { id: TaskId(1), size: Some(5_000_000_000), hash: Some(hash) },
        ),
        ("completed-by-inventory", TaskEvent::Completed { id: TaskId(2), size: None, hash: None }),
        ("created-third", TaskEvent::Created(planned(3))),
        ("completed-unverified", TaskEvent::CompletedUnverified { id: TaskId(3), size: 7, hash }),
        ("created-fourth", TaskEvent::Created(planned(4))),
        (
            "failed-by-source",
            ended(4, GivenUp::Failed, Some(Blame::Source), back_offs.first().cloned()),
        ),
        ("created-fifth", TaskEvent::Created(planned(5))),
        (
            "failed-by-pair",
            ended(5, GivenUp::Failed, Some(Blame::Pair), Some(Blamed::Pair(host(11), host(21)))),
        ),
        ("created-sixth", TaskEvent::Created(planned(6))),
        (
            "timed-out",
            ended(
                6,
                GivenUp::Timeout,
                Some(Blame::Destination),
                Some(Blamed::Destination(host(21))),
            ),
        ),
        ("created-seventh", TaskEvent::Created(planned(7))),
        (
            "failed-by-file",
            ended(7, GivenUp::Failed, Some(Blame::File), Some(Blamed::File(file("film-7.mpg")))),
        ),
        ("created-eighth", TaskEvent::Created(planned(8))),
        ("cancelled", ended(8, GivenUp::Cancelled, None, None)),
        ("placed", TaskEvent::Placed { host: host(22), name: file("found.mpg") }),
        ("inventory-differed", differed(&["a.mpg", "b\u{fe}.mpg"], &["film-1.mpg"], false)),
        ("inventory-complete", differed(&[], &[], true)),
        ("forgot", TaskEvent::Forgot { tasks: vec![TaskId(8)], back_offs }),
        ("draining", mode(host(22), HostMode::Draining)),
        ("maintenance", mode(host(11), HostMode::Maintenance)),
        ("active", mode(host(11), HostMode::Active)),
        ("host-silent", TaskEvent::HostSilent { host: host(21), since: after(500) }),
        ("host-lost", TaskEvent::HostLost { host: host(21) }),
        ("host-recovered", TaskEvent::HostRecovered { host: host(21) }),
        ("host-removed", TaskEvent::HostRemoved { host: other, asked_by: asked_by() }),
        ("history-forgotten", TaskEvent::HistoryForgotten { before: 1 }),
        (
            "hosts-named",
            TaskEvent::HostsNamed {
                named: vec![(host(23), HostRole::Source)],
                dropped: vec![host(22)],
            },
        ),
        ("host-silent-again", TaskEvent::HostSilent { host: host(23), since: after(600) }),
        ("created-last", TaskEvent::Created(planned(9))),
        ("began-without-task", TaskEvent::Began { id: TaskId(99) }),
        (
            "completed-unverified-last",
            TaskEvent::CompletedUnverified { id: TaskId(9), size: 7, hash },
        ),
        // Two failures of a host and a success: half of the failures stay.
        ("created-tenth", TaskEvent::Created(planned(10))),
        ("failed-by-destination", ended(10, GivenUp::Failed, blame, blamed())),
        ("created-eleventh", TaskEvent::Created(planned(11))),
        ("failed-by-destination-again", ended(11, GivenUp::Failed, blame, blamed())),
        ("created-twelfth", TaskEvent::Created(planned(12))),
        ("completed-on-probation", TaskEvent::Completed { id: TaskId(12), size: None, hash: None }),
        (
            "inputs-recorded",
            TaskEvent::InputsRecorded(RecordedInputs {
                node: 2,
                grade_info: Some(RecordedFile { digest: hash, rows: 100_000, modified: after(0) }),
                hitcount_history: None,
                masters: 90_000,
            }),
        ),
    ]
}
