//! Turns a host's inventory into durable placements: by its difference, in parts. Pure.

use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use roaring::RoaringBitmap;

use super::hosts::HostState;
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::task_book::TaskBook;

/// The approximate largest number of bytes of names in one event: an entry takes 32 KiB.
const NAMES_PER_EVENT: usize = 20 * 1024;

/// The next part of the difference between the list of `host` and its placement in the book. None when
/// they agree or no list was read.
///
/// A copy that arrived after the list was read does not count as missing. If another leader decided by a
/// later list, this one decides nothing.
pub fn next_difference(book: &TaskBook, addr: HostAddr, host: &HostState) -> Option<TaskEvent> {
    let inventory = host.observed.as_ref().filter(|_| !host.is_outdated())?;
    let empty = RoaringBitmap::new();
    let (held, complete) = match book.placement(addr) {
        Some(placement) => (&*placement.files, placement.complete),
        None => (&empty, false),
    };
    let mut missing = held - &inventory.files;
    for copy in host.landed.values().filter(|copy| copy.at >= inventory.at) {
        missing.remove(copy.file.0);
    }
    let new = &inventory.files - held;
    if complete && missing.is_empty() && new.is_empty() {
        return None;
    }
    let mut budget = NAMES_PER_EVENT;
    let mut take = |files: &RoaringBitmap| {
        let mut names: Vec<FileName> = Vec::new();
        for file in files {
            let name = book.names().name(FileId(file));
            let bytes = name.as_bytes().len() + 2;
            if bytes > budget {
                break;
            }
            budget -= bytes;
            names.push(name);
        }
        names
    };
    let (removed, added) = (take(&missing), take(&new));
    let complete = removed.len() as u64 == missing.len() && added.len() as u64 == new.len();
    Some(TaskEvent::InventoryDiffered { host: addr, added, removed, complete })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reelyard_core::clock::Millis;
    use reelyard_core::host::{HostKind, HostRole};
    use reelyard_replication::Piece;

    use super::*;
    use crate::cfw_worker::{HostObserved, Inventory};
    use crate::task_manager::policy::hosts_in_memory::hosts::{HostTable, Landed};
    use crate::task_manager::samples::{host, name};
    use crate::task_manager::settings::HostSetting;

    fn observe(table: &mut HostTable, files: RoaringBitmap, at: i64) {
        let at = Millis(at);
        let inventory = Some(Arc::new(Inventory { files, unreadable_names: 0, at }));
        let (host, kind) = (host(21), HostKind::Cfw);
        table.observe(&HostObserved { host, kind, inventory, disk: None, traffic: None, at });
    }

    fn apply_differences(book: &mut TaskBook, table: &HostTable) -> usize {
        let mut events = 0;
        while let Some(event) = next_difference(book, host(21), table.get(host(21)).unwrap()) {
            assert!(postcard::to_stdvec(&event).unwrap().len() < 30 * 1024);
            book.apply(Millis(9), &event).unwrap();
            events += 1;
        }
        events
    }

    fn yard() -> (TaskBook, HostTable) {
        let role = HostRole::Destination;
        let mut book = TaskBook::default();
        let hosts = vec![(host(21), role)];
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
        (book, HostTable::new(&[HostSetting { addr: host(21), role }]))
    }

    #[test]
    fn a_long_inventory_comes_in_parts_and_is_complete_with_the_last() {
        let (mut book, mut table) = yard();
        let ids = (0..3000).map(|i| book.names().intern(&name(&format!("file-{i:020}.mpg"))).0);
        let files: RoaringBitmap = ids.collect();
        observe(&mut table, files.clone(), 1);
        let first = next_difference(&book, host(21), table.get(host(21)).unwrap()).unwrap();
        book.apply(Millis(9), &first).unwrap();
        assert!(!book.placement(host(21)).unwrap().complete);
        assert!(apply_differences(&mut book, &table) > 2);
        let placement = book.placement(host(21)).unwrap();
        assert!(placement.complete);
        assert_eq!(*placement.files, files);
    }

    #[test]
    fn an_empty_inventory_is_an_inventory() {
        let (mut book, mut table) = yard();
        observe(&mut table, RoaringBitmap::new(), 1);
        assert_eq!(apply_differences(&mut book, &table), 1);
        assert!(book.placement(host(21)).unwrap().complete);
    }

    #[test]
    fn a_list_older_than_the_last_record_decides_nothing() {
        let (mut book, mut table) = yard();
        observe(&mut table, RoaringBitmap::new(), 5);
        let (added, removed) = (vec![name("a.mpg")], vec![]);
        let event = TaskEvent::InventoryDiffered { host: host(21), added, removed, complete: true };
        book.apply(Millis(7), &event).unwrap();
        table.recorded(host(21), Millis(7));
        assert_eq!(apply_differences(&mut book, &table), 0);
        observe(&mut table, RoaringBitmap::new(), 8);
        assert_eq!(apply_differences(&mut book, &table), 1);
        assert!(book.placement(host(21)).unwrap().files.is_empty());
    }

    #[test]
    fn a_copy_that_arrived_after_the_look_stays() {
        let (mut book, mut table) = yard();
        observe(&mut table, RoaringBitmap::new(), 5);
        let file = book.names().intern(&name("a.mpg"));
        book.apply(Millis(6), &TaskEvent::Placed { host: host(21), name: name("a.mpg") }).unwrap();
        table.landed(host(21), Landed { file, size: 1, at: Millis(6), created: None });
        apply_differences(&mut book, &table);
        assert!(book.placement(host(21)).unwrap().files.contains(file.0));
        observe(&mut table, RoaringBitmap::new(), 7);
        apply_differences(&mut book, &table);
        assert!(!book.placement(host(21)).unwrap().files.contains(file.0));
    }
}
