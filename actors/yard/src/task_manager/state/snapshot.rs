//! The piece as rows of a snapshot. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::YardId;
use reelyard_core::names::{FileId, FileName, NamePin, NameTable};
use reelyard_protocol::worker::TaskId;
use reelyard_replication::stored::{RowVersions, encode_row, read_row};
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::backoff::Blamed;
use super::event::RecordedInputs;
use super::hosts::host_record::HostRecord;
use super::recorded_inputs::InputsOnRecord;
use super::stored::{StoredBackOff, StoredCopyRecord, StoredHostRecord, StoredTask};
use super::task_book::{Placement, TaskBook, TasksById};
use crate::task_manager::state::copy_record::CopyRecord;
use crate::task_manager::state::task::Task;

/// The first byte of each row. Version 1 was in no release and in no kept store. Its programs also wrote
/// events with fewer fields, so such a store is refused.
const ROW_VERSIONS: RowVersions = 2..=2;

/// The approximate largest number of bytes of names in one row.
const NAMES_PER_ROW: usize = 64 * 1024;

/// One row. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Serialize, Deserialize)]
pub(super) enum TaskSnapshotRow {
    Hosts(Vec<(HostAddr, StoredHostRecord)>),
    Open(Box<StoredTask>),
    Ended(Box<StoredTask>),
    BackOff(Blamed, StoredBackOff),
    /// A part of the files of a host. Every row of a host says whether all of them are known.
    Placement {
        host: HostAddr,
        complete: bool,
        confirmed: Millis,
        names: Vec<FileName>,
    },
    /// The destination of the task that was created last.
    LastPlannedTo(HostAddr),
    /// The highest number among the tasks that were forgotten.
    ForgottenTo(TaskId),
    /// The id of the cluster.
    Cluster(YardId),
    /// The number of the first line of the history that follows.
    HistoryFrom(u64),
    /// One line, oldest first.
    History(Box<StoredCopyRecord>),
    /// The inputs on record, and when they were recorded.
    Inputs(Millis, RecordedInputs),
}

/// The piece at one index: shared shards.
pub(in crate::task_manager) struct FrozenTaskBook {
    names: NameTable,
    /// The live book may drop a file before its name is written.
    _pin: NamePin,
    hosts: Arc<BTreeMap<HostAddr, HostRecord>>,
    open: Arc<TasksById>,
    ended: Arc<TasksById>,
    back_offs: Arc<BTreeMap<Blamed, BackOff>>,
    placements: BTreeMap<HostAddr, Placement>,
    last_planned_to: Option<HostAddr>,
    forgotten_to: Option<TaskId>,
    cluster: Option<YardId>,
    history: BoundedLog<CopyRecord>,
    inputs: Option<InputsOnRecord>,
}

impl FrozenTaskBook {
    pub(in crate::task_manager) fn of(book: &TaskBook) -> Self {
        FrozenTaskBook {
            names: book.names.clone(),
            _pin: book.names.pin(),
            hosts: Arc::clone(&book.hosts),
            open: Arc::clone(&book.open),
            ended: Arc::clone(&book.ended),
            back_offs: Arc::clone(&book.back_offs),
            placements: book.placements.clone(),
            last_planned_to: book.last_planned_to,
            forgotten_to: book.forgotten_to,
            cluster: book.cluster,
            history: book.history.clone(),
            inputs: book.inputs,
        }
    }
}

impl FrozenPiece for FrozenTaskBook {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: &TaskSnapshotRow| row(&encode_row(&ROW_VERSIONS, content));
        put(&TaskSnapshotRow::Hosts(
            self.hosts.iter().map(|(host, record)| (*host, (*record).into())).collect(),
        ));
        for task in self.open.values() {
            put(&TaskSnapshotRow::Open(Box::new(Task::clone(task).into())));
        }
        for task in self.ended.values() {
            put(&TaskSnapshotRow::Ended(Box::new(Task::clone(task).into())));
        }
        for (blamed, back_off) in self.back_offs.iter() {
            put(&TaskSnapshotRow::BackOff(blamed.clone(), back_off.clone().into()));
        }
        for (host, placement) in &self.placements {
            self.write_placement(*host, placement, &mut put);
        }
        if let Some(host) = self.last_planned_to {
            put(&TaskSnapshotRow::LastPlannedTo(host));
        }
        if let Some(id) = self.forgotten_to {
            put(&TaskSnapshotRow::ForgottenTo(id));
        }
        if let Some(cluster) = self.cluster {
            put(&TaskSnapshotRow::Cluster(cluster));
        }
        if let Some(InputsOnRecord { at, inputs }) = self.inputs {
            put(&TaskSnapshotRow::Inputs(at, inputs));
        }
        put(&TaskSnapshotRow::HistoryFrom(self.history.first()));
        for (_, line) in self.history.oldest_first() {
            let stored = StoredCopyRecord::of(line, self.names.name(line.file));
            put(&TaskSnapshotRow::History(Box::new(stored)));
        }
    }
}

impl FrozenTaskBook {
    fn write_placement(
        &self,
        host: HostAddr,
        placement: &Placement,
        put: &mut dyn FnMut(&TaskSnapshotRow),
    ) {
        let Placement { files, complete, confirmed } = placement;
        let (complete, confirmed) = (*complete, *confirmed);
        let mut names = Vec::new();
        let mut bytes = 0;
        for file in files.iter() {
            let name = self.names.name(FileId(file));
            bytes += name.as_bytes().len() + 2;
            names.push(name);
            if bytes >= NAMES_PER_ROW {
                bytes = 0;
                let names = std::mem::take(&mut names);
                put(&TaskSnapshotRow::Placement { host, complete, confirmed, names });
            }
        }
        put(&TaskSnapshotRow::Placement { host, complete, confirmed, names });
    }
}

/// Restores one row that a frozen book wrote.
pub(in crate::task_manager) fn thaw_row(
    book: &mut TaskBook,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    match read_row(PieceId::Tasks, &ROW_VERSIONS, row)? {
        TaskSnapshotRow::Hosts(hosts) => {
            let hosts = hosts.into_iter().map(|(host, record)| (host, record.into()));
            book.hosts = Arc::new(hosts.collect());
        }
        TaskSnapshotRow::Open(task) => book.insert_open((*task).into()),
        TaskSnapshotRow::Ended(task) => book.insert_ended((*task).into()),
        TaskSnapshotRow::BackOff(blamed, back_off) => {
            Arc::make_mut(&mut book.back_offs).insert(blamed, back_off.into());
        }
        TaskSnapshotRow::Placement { host, complete, confirmed, names } => {
            let ids = book.names.intern_all(names.iter().map(FileName::as_bytes));
            let placement = book.placements.entry(host).or_default();
            Arc::make_mut(&mut placement.files).extend(ids.into_iter().flatten().map(|id| id.0));
            placement.complete = complete;
            placement.confirmed = confirmed;
        }
        TaskSnapshotRow::LastPlannedTo(host) => book.last_planned_to = Some(host),
        TaskSnapshotRow::ForgottenTo(id) => book.forgotten_to = Some(id),
        TaskSnapshotRow::Cluster(cluster) => book.cluster = Some(cluster),
        TaskSnapshotRow::HistoryFrom(first) => book.history = BoundedLog::starting_at(first),
        TaskSnapshotRow::Inputs(at, inputs) => book.inputs = Some(InputsOnRecord { at, inputs }),
        TaskSnapshotRow::History(row) => {
            let file = book.file(row.name());
            book.history.push(row.into_record(file));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::{HostMode, HostRole};
    use reelyard_replication::{InstallStage, Ownership, Piece};
    use roaring::RoaringBitmap;

    use super::*;
    use crate::task_manager::samples::{host, name, new_task};
    use crate::task_manager::state::backoff::BackingOff;
    use crate::task_manager::state::event::{GivenUp, NewTask, TaskEnding, TaskEvent};

    fn rows(book: &TaskBook) -> Vec<Vec<u8>> {
        let mut rows = Vec::new();
        book.freeze().write(&mut |row| rows.push(row.to_vec()));
        rows
    }

    /// A book with something of everything; its table has met other names before.
    fn book() -> TaskBook {
        let names = NameTable::new();
        names.intern(&name("met before"));
        let mut book = TaskBook::new(names);
        let mut apply = |event| book.apply(Millis(7), &event).unwrap();
        let hosts = vec![(host(1), HostRole::Source), (host(21), HostRole::Both)];
        apply(TaskEvent::HostsConfigured { hosts });
        apply(TaskEvent::Created(new_task(1, "a.mpg")));
        let blamed = Blamed::Pair(host(1), host(21));
        let ending = TaskEnding { how: GivenUp::Failed, reason: "torn".to_owned(), blame: None };
        let back_off = Some(BackingOff { blamed, until: Millis(99) });
        apply(TaskEvent::Ended { id: TaskId(1), ending, back_off });
        apply(TaskEvent::Created(new_task(2, "b.mpg")));
        apply(TaskEvent::ClusterNamed { cluster: YardId(77) });
        apply(TaskEvent::ClusterNamed { cluster: YardId(78) });
        apply(TaskEvent::Created(NewTask { source_cap: 2, ..new_task(3, "c.mpg") }));
        let ending = TaskEnding { how: GivenUp::Cancelled, reason: String::new(), blame: None };
        apply(TaskEvent::Ended { id: TaskId(3), ending, back_off: None });
        apply(TaskEvent::Forgot { tasks: vec![TaskId(3), TaskId(99)], back_offs: Vec::new() });
        let asked_by = || "op".to_owned();
        let (added, role) = (host(22), HostRole::Destination);
        apply(TaskEvent::HostAdded { host: added, role, asked_by: asked_by() });
        apply(TaskEvent::HostSilent { host: added, since: Millis(3) });
        apply(TaskEvent::HostLost { host: added });
        let inputs =
            RecordedInputs { node: 3, grade_info: None, hitcount_history: None, masters: 5 };
        apply(TaskEvent::InputsRecorded(inputs));
        let mode = HostMode::Draining;
        apply(TaskEvent::HostModeSet { host: host(21), mode, asked_by: asked_by() });
        let added = (0..5000).map(|i| name(&format!("{i:0>40}"))).collect();
        let removed = Vec::new();
        apply(TaskEvent::InventoryDiffered { host: host(21), added, removed, complete: true });
        book
    }

    #[test]
    fn a_book_comes_back_from_its_rows_in_another_process() {
        let book = book();
        let rows = rows(&book);
        assert!(rows.len() > 5 && rows.iter().all(|row| row.len() < 1 << 20));
        let mut thawed = TaskBook::new(NameTable::new());
        for row in &rows {
            thawed.thaw(row).unwrap();
        }
        assert_eq!((thawed.hosts(), thawed.open()), (book.hosts(), book.open()));
        assert_eq!((thawed.ended(), thawed.back_offs()), (book.ended(), book.back_offs()));
        assert_eq!(thawed.open_for(thawed.file(&name("b.mpg"))), Some(TaskId(2)));
        let named = |book: &TaskBook| {
            let files = &book.placement(host(21)).unwrap().files;
            let mut names: Vec<FileName> =
                files.iter().map(|file| book.names.name(FileId(file))).collect();
            names.sort();
            names
        };
        assert_eq!(named(&thawed).len(), 5000);
        assert_eq!(named(&thawed), named(&book));
        assert!(thawed.placement(host(21)).unwrap().complete);
        assert_eq!(thawed.last_planned_to(), Some(host(21)));
        let ended = |book: &TaskBook| -> Vec<_> {
            let lines = book.history().oldest_first();
            lines.map(|(n, line)| (n, line.task, book.names.name(line.file), line.at)).collect()
        };
        assert_eq!(ended(&thawed), ended(&book));
        assert_eq!(thawed.history().len(), 2);
        assert_eq!(thawed.cluster(), Some(YardId(77)), "a cluster keeps its first id");
        assert_eq!(thawed.inputs(), book.inputs());
        assert_eq!(
            thawed.inputs().map(|known| (known.at, known.inputs.masters)),
            Some((Millis(7), 5))
        );
        assert_eq!(thawed.forgotten_to(), Some(TaskId(3)), "not what it never had");
    }

    #[test]
    fn a_frozen_book_stays_as_it_was() {
        let mut book = book();
        let frozen = book.freeze();
        let before = rows(&book);
        book.apply(Millis(8), &TaskEvent::Began { id: TaskId(2) }).unwrap();
        book.apply(Millis(8), &TaskEvent::Placed { host: host(21), name: name("z") }).unwrap();
        let mut after = Vec::new();
        frozen.write(&mut |row| after.push(row.to_vec()));
        assert_eq!(after, before);
    }

    #[test]
    fn names_stay_until_a_frozen_book_is_written() {
        let book = book();
        let (frozen, before) = (book.freeze(), rows(&book));
        for _ in 0..3 {
            book.names.sweep(&RoaringBitmap::new());
        }
        let mut after = Vec::new();
        frozen.write(&mut |row| after.push(row.to_vec()));
        assert!(after == before, "every name is there");
    }

    #[test]
    fn names_stay_while_a_book_is_installed() {
        let names = NameTable::new();
        let mut owned = Ownership::new(TaskBook::new(names.clone()));
        let mut rows = Vec::new();
        Ownership::new(book()).freeze().write(&mut |row| rows.push(row.to_vec()));
        owned.install_part(1, InstallStage::Begin).unwrap();
        for row in rows {
            owned.install_part(1, InstallStage::Rows(vec![row])).unwrap();
            names.sweep(&RoaringBitmap::new());
        }
        owned.install_part(1, InstallStage::End).unwrap();
        let held = &owned.piece().placement(host(21)).unwrap().files;
        assert_eq!(held.len(), 5000);
        let named = |file: u32| names.find(names.name(FileId(file)).as_bytes());
        assert!(held.iter().all(|file| named(file) == Some(FileId(file))), "none is forgotten");
    }

    #[test]
    fn a_row_of_another_version_is_reported() {
        let result = TaskBook::default().thaw(&[9, 0]);
        assert!(matches!(result, Err(UnreadableEvent::Version { version: 9, .. })));
    }
}
