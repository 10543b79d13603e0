//! The piece as rows of a snapshot. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::back_off::{BackOff, Blamed};
use super::messages::Task;
use super::state::{Placement, TaskBook, Tasks};
use crate::clock::Millis;
use crate::event::PieceId;
use crate::host::{HostAddr, HostRole};
use crate::journal::{FrozenPiece, UnreadableEvent};
use crate::names::{FileId, FileName, NameTable};

/// The first byte of each row.
const ROW_VERSION: u8 = 1;

/// How many bytes of names one row holds, about.
const NAMES_PER_ROW: usize = 64 * 1024;

/// One row. Postcard numbers the variants in this order: new ones go to the end.
#[derive(Serialize, Deserialize)]
enum Row {
    Hosts(Vec<(HostAddr, HostRole)>),
    Open(Box<Task>),
    Ended(Box<Task>),
    BackOff(Blamed, BackOff),
    /// A part of what a host holds; every row of a host says whether all of it is known.
    Placement {
        host: HostAddr,
        complete: bool,
        confirmed: Millis,
        names: Vec<FileName>,
    },
}

/// The piece at one index: shared shards.
pub(super) struct FrozenBook {
    names: NameTable,
    hosts: Arc<BTreeMap<HostAddr, HostRole>>,
    open: Arc<Tasks>,
    ended: Arc<Tasks>,
    back_offs: Arc<BTreeMap<Blamed, BackOff>>,
    placements: BTreeMap<HostAddr, Placement>,
}

impl FrozenBook {
    pub(super) fn of(book: &TaskBook) -> Self {
        FrozenBook {
            names: book.names.clone(),
            hosts: Arc::clone(&book.hosts),
            open: Arc::clone(&book.open),
            ended: Arc::clone(&book.ended),
            back_offs: Arc::clone(&book.back_offs),
            placements: book.placements.clone(),
        }
    }
}

impl FrozenPiece for FrozenBook {
    fn write(&self, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: &Row| row(&encode(content));
        put(&Row::Hosts(self.hosts.iter().map(|(host, role)| (*host, *role)).collect()));
        for task in self.open.values() {
            put(&Row::Open(Box::new(Task::clone(task))));
        }
        for task in self.ended.values() {
            put(&Row::Ended(Box::new(Task::clone(task))));
        }
        for (blamed, back_off) in self.back_offs.iter() {
            put(&Row::BackOff(blamed.clone(), back_off.clone()));
        }
        for (host, placement) in &self.placements {
            self.write_placement(*host, placement, &mut put);
        }
    }
}

impl FrozenBook {
    fn write_placement(&self, host: HostAddr, placement: &Placement, put: &mut dyn FnMut(&Row)) {
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
                put(&Row::Placement { host, complete, confirmed, names });
            }
        }
        put(&Row::Placement { host, complete, confirmed, names });
    }
}

#[allow(clippy::expect_used)]
fn encode(row: &Row) -> Vec<u8> {
    // Postcard into a growing vector fails only for sequences of unknown length: rows hold none.
    postcard::to_extend(row, vec![ROW_VERSION]).expect("rows encode")
}

/// Takes back one row that a frozen book wrote.
pub(super) fn thaw_row(book: &mut TaskBook, row: &[u8]) -> Result<(), UnreadableEvent> {
    let piece = PieceId::Tasks;
    let row: Row = match row.split_first() {
        Some((&ROW_VERSION, body)) => postcard::from_bytes(body)
            .map_err(|error| UnreadableEvent::Body { piece, error: error.to_string() })?,
        Some((&version, _)) => return Err(UnreadableEvent::Version { piece, version }),
        None => return Err(UnreadableEvent::Body { piece, error: "an empty row".to_owned() }),
    };
    match row {
        Row::Hosts(hosts) => book.hosts = Arc::new(hosts.into_iter().collect()),
        Row::Open(task) => book.put_open(*task),
        Row::Ended(task) => book.put_ended(*task),
        Row::BackOff(blamed, back_off) => {
            Arc::make_mut(&mut book.back_offs).insert(blamed, back_off);
        }
        Row::Placement { host, complete, confirmed, names } => {
            let ids = book.names.intern_all(names.iter().map(FileName::as_bytes));
            let placement = book.placements.entry(host).or_default();
            Arc::make_mut(&mut placement.files).extend(ids.into_iter().flatten().map(|id| id.0));
            placement.complete = complete;
            placement.confirmed = confirmed;
        }
    }
    Ok(())
}
