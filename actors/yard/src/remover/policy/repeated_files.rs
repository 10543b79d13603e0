//! Tracks the files that more than one host lists, change by change. Nearly every file has one copy. A
//! round over thousands of hosts must not examine all files to find those with more. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::host::HostAddr;
use reelyard_core::names::{ByFile, FileId};
use roaring::RoaringBitmap;

use crate::cfw_worker::Inventory;

/// How many of the added hosts list each file.
///
/// **Invariant:** `copies` counts the files of `counted`, and `repeated` has those with more than
/// one.
#[derive(Clone, Debug)]
pub struct RepeatedFiles {
    /// The counted list of each host.
    counted: BTreeMap<HostAddr, Arc<Inventory>>,
    /// Number of listing hosts, by file number.
    copies: ByFile<u16>,
    repeated: RoaringBitmap,
}

impl Default for RepeatedFiles {
    fn default() -> Self {
        let (counted, repeated) = (BTreeMap::new(), RoaringBitmap::new());
        RepeatedFiles { counted, copies: ByFile::new(0), repeated }
    }
}

impl RepeatedFiles {
    /// Sets the files that a host lists from now on; none if its list does not count.
    pub fn set(&mut self, addr: HostAddr, lists: Option<&Arc<Inventory>>) {
        let before = self.counted.get(&addr);
        if before.map(Arc::as_ptr) == lists.map(Arc::as_ptr) {
            return;
        }
        let before = match lists {
            Some(lists) => self.counted.insert(addr, Arc::clone(lists)),
            None => self.counted.remove(&addr),
        };
        match (before, lists) {
            (Some(before), Some(lists)) => {
                self.add(&(&lists.files - &before.files));
                self.remove(&(&before.files - &lists.files));
            }
            (Some(before), None) => self.remove(&before.files),
            (None, Some(lists)) => self.add(&lists.files),
            (None, None) => {}
        }
    }

    /// The hosts that are counted.
    pub fn hosts(&self) -> impl Iterator<Item = HostAddr> {
        self.counted.keys().copied()
    }

    /// The files that more than one of them lists.
    pub fn files(&self) -> &RoaringBitmap {
        &self.repeated
    }

    /// How many of them list a file.
    pub fn copies(&self, file: FileId) -> usize {
        usize::from(self.copies.get(file))
    }

    fn add(&mut self, files: &RoaringBitmap) {
        for file in files {
            let copies = self.copies.get(FileId(file)).saturating_add(1);
            self.copies.set(FileId(file), copies);
            if copies == 2 {
                self.repeated.insert(file);
            }
        }
    }

    fn remove(&mut self, files: &RoaringBitmap) {
        for file in files {
            let copies = self.copies.get(FileId(file)).saturating_sub(1);
            self.copies.set(FileId(file), copies);
            if copies == 1 {
                self.repeated.remove(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::remover::samples::host;

    proptest! {
        #[test]
        fn repeated_files_are_listed_by_two_hosts(
            changes in proptest::collection::vec(
                (1_u8..4, proptest::option::of(proptest::collection::btree_set(0_u32..6, 0..6))),
                0..20,
            ),
        ) {
            let mut repeats = RepeatedFiles::default();
            let mut lists = BTreeMap::new();
            for (number, files) in changes {
                let inventory = files.map(|files| {
                    let files = files.into_iter().collect();
                    Arc::new(Inventory { files, ..Inventory::default() })
                });
                repeats.set(host(number), inventory.as_ref());
                lists.insert(number, inventory);
            }
            let lists = || lists.values().flatten();
            let listed = |file: &u32| lists().filter(|list| list.files.contains(*file)).count();
            let expected: RoaringBitmap = (0..6).filter(|file| listed(file) > 1).collect();
            prop_assert_eq!(repeats.files(), &expected);
            let copies = |file: u32| repeats.copies(FileId(file));
            prop_assert!((0..6).all(|file| copies(file) == listed(&file)));
            prop_assert_eq!(repeats.hosts().count(), lists().count());
        }
    }
}
