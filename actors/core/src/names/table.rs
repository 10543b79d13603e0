//! The table that turns each name into a small number once, and forgets names that nothing refers
//! to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use hashbrown::HashTable;
use memchr::memmem::Finder;
use roaring::RoaringBitmap;

use super::hash::{HashedName, NameHasher};
use super::segments::NameSegments;
use super::{BadFileName, FileId, FileName};
use crate::page_order::ItemNumber;

/// From this id on only the journal's own names get one. The process has more names than it can number, and
/// refuses lists with new names.
const LAST_ORDINARY: u32 = u32::MAX - (1 << 24);

/// The id of every name after the last possible one. The id has no name.
const NAMELESS: u32 = u32::MAX;

/// How many names are read under one lock, so that nobody waits for long.
const NAMES_AT_ONCE: usize = 10_000;

/// The text instead of a name that was forgotten.
const FORGOTTEN: &[u8] = b"\x01forgotten name";

/// The names that the process knows, each stored once, so that sets of files are bitmaps and lists of files
/// are four bytes an entry. Ids count up from 0 and are never reused.
///
/// Names are forgotten by [`NameTable::sweep`]. An id that is still in use then appears as forgotten. It
/// never means another file.
///
/// Clones share the table.
#[derive(Clone, Default)]
pub struct NameTable {
    interned: Arc<RwLock<Interned>>,
    hasher: NameHasher,
    pins: Arc<Mutex<Pins>>,
    kept: Arc<Mutex<Vec<Weak<RoaringBitmap>>>>,
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Names that were forgotten.
    pub forgotten: u64,
    /// Names without a reference at the last sweep. The next sweep forgets them if they still have none.
    pub suspects: u64,
    /// Remaining names, including the suspects.
    pub kept: u64,
}

/// Prevents that names are forgotten while ids are collected that no view shows yet. Names that are
/// interned or found while it lives stay for at least one sweep after its end.
#[derive(Debug)]
pub struct NamePin {
    pins: Arc<Mutex<Pins>>,
    born: u64,
}

/// The callers that gather ids.
#[derive(Debug, Default)]
struct Pins {
    /// How many sweeps there were.
    sweeps: u64,
    /// The number of living pins, by the number of sweeps before them.
    alive: BTreeMap<u64, usize>,
    /// The oldest pin that ended since the last sweep.
    ended: Option<u64>,
}

impl Drop for NamePin {
    fn drop(&mut self) {
        let mut pins = lock(&self.pins);
        if let Some(count) = pins.alive.get_mut(&self.born) {
            *count -= 1;
            if *count == 0 {
                pins.alive.remove(&self.born);
            }
        }
        pins.ended = Some(pins.ended.map_or(self.born, |oldest| oldest.min(self.born)));
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Interned {
    names: NameSegments,
    /// Ids by the hash of their name.
    ids: HashTable<u32>,
    /// The ids that have a name.
    present: RoaringBitmap,
    /// Ids without a reference at the last sweep.
    suspects: RoaringBitmap,
    /// A bit for each id that was found since the last sweep, while there are suspects.
    touched: Vec<AtomicU64>,
}

impl NameTable {
    /// A table without names.
    pub fn new() -> Self {
        NameTable::default()
    }

    /// The id of `name`. It gets one if it has none.
    pub fn intern(&self, name: &FileName) -> FileId {
        // Two statements, because the read lock must be released before the write lock is taken.
        let known = self.find(name.as_bytes());
        known.unwrap_or_else(|| {
            let hashed =
                HashedName { name: name.as_bytes(), hash: self.hasher.hash(name.as_bytes()) };
            self.write().intern(hashed, &self.hasher, NAMELESS).unwrap_or(FileId(NAMELESS))
        })
    }

    /// The hasher of this table.
    pub fn hasher(&self) -> NameHasher {
        self.hasher.clone()
    }

    /// Interns many names under one lock; bytes that are not a name get no id.
    pub fn intern_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<Result<FileId, BadFileName>> {
        let mut interning = self.interner();
        names.into_iter().map(|name| interning.intern(name)).collect()
    }

    /// The id of `name` if it is known.
    pub fn find(&self, name: &[u8]) -> Option<FileId> {
        self.lookup().find(name)
    }

    /// The name of `id`; a special name if it was forgotten.
    pub fn name(&self, id: FileId) -> FileName {
        let interned = self.read();
        let name = interned.names.bytes(id.0);
        FileName((if name.is_empty() { FORGOTTEN } else { name }).into())
    }

    /// The files whose names contain a text. No caller waits for long: the table is locked for a few thousand names at
    /// a time.
    pub fn containing(&self, text: &[u8]) -> RoaringBitmap {
        if text.is_empty() {
            return self.read().present.clone();
        }
        let finder = Finder::new(text);
        let segments = self.read().names.count();
        let mut found = Vec::new();
        for segment in 0..segments {
            let of_segment = self.read().names.find_in(segment, &finder);
            found.extend_from_slice(&of_segment);
        }
        RoaringBitmap::from_lsb0_bytes(0, &found)
    }

    /// Shows the name of each file, for an order by name. The table is locked for a few thousand names at a time. The
    /// name of a forgotten file is empty.
    pub fn show_names(&self, files: &[ItemNumber], show: &mut dyn FnMut(&[u8])) {
        for batch in files.chunks(NAMES_AT_ONCE) {
            let interned = self.read();
            batch.iter().for_each(|file| show(interned.names.bytes(*file)));
        }
    }

    /// Whether a file comes before another one in the order of their names.
    pub fn is_before(&self, one: ItemNumber, other: ItemNumber) -> bool {
        let interned = self.read();
        (interned.names.bytes(one), one) < (interned.names.bytes(other), other)
    }

    /// The files of a set whose names fulfil a condition.
    pub fn selected(
        &self,
        files: &RoaringBitmap,
        mut is_wanted: impl FnMut(&[u8]) -> bool,
    ) -> RoaringBitmap {
        let mut found = RoaringBitmap::new();
        let mut files = files.iter().peekable();
        while files.peek().is_some() {
            let interned = self.read();
            for file in files.by_ref().take(NAMES_AT_ONCE) {
                if is_wanted(interned.names.bytes(file)) {
                    // The set is read in ascending order.
                    let _ = found.try_push(file);
                }
            }
        }
        found
    }

    /// How many names are known.
    pub fn len(&self) -> usize {
        self.read().ids.len()
    }

    /// Whether no name is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest id so far.
    pub fn ids_given(&self) -> u32 {
        self.read().names.end()
    }

    /// The approximate number of bytes of the names, their ids and their index.
    pub fn bytes(&self) -> usize {
        let interned = self.read();
        // hashbrown keeps an id and a byte for each slot.
        interned.names.allocated() + interned.ids.capacity() * 8 / 7 * 5
    }

    /// The table, locked for interning many names. Other callers wait meanwhile, so hold it for a batch,
    /// not for a file.
    pub fn interner(&self) -> NameInterner<'_> {
        NameInterner { interned: self.write(), hasher: &self.hasher }
    }

    /// Makes room for `names` names in all, so that the table need not grow step by step.
    pub fn make_room_for(&self, names: usize) {
        let mut interned = self.write();
        let missing = names.saturating_sub(interned.ids.len());
        interned.reserve(missing, &self.hasher);
    }

    /// The table, locked for many look-ups.
    pub fn lookup(&self) -> NameLookup<'_> {
        NameLookup { interned: self.read(), hasher: &self.hasher }
    }

    /// A caller that collects ids over a longer time holds it.
    pub fn pin(&self) -> NamePin {
        let mut pins = lock(&self.pins);
        let born = pins.sweeps;
        *pins.alive.entry(born).or_insert(0) += 1;
        NamePin { pins: Arc::clone(&self.pins), born }
    }

    /// Keeps all of `files` from being forgotten while the set lives. For sets that no view shows.
    pub fn keep(&self, files: &Arc<RoaringBitmap>) {
        let mut kept = lock(&self.kept);
        kept.retain(|files| files.strong_count() > 0);
        kept.push(Arc::downgrade(files));
    }

    /// Forgets names that had no reference at the last sweep, are outside `live`, and were neither interned
    /// nor found in between. Names outside `live` may be removed at the next sweep. Between two sweeps
    /// every id in use must have appeared in one of the views that `live` consists of. A caller that takes
    /// longer holds a [`NamePin`]. While a pin is older than the last sweep, nothing is forgotten, and the
    /// result is none.
    pub fn sweep(&self, live: &RoaringBitmap) -> Option<Swept> {
        let mut interned = self.write();
        let mut pins = lock(&self.pins);
        let oldest = pins.alive.keys().next().copied().into_iter().chain(pins.ended).min();
        if oldest.is_some_and(|born| born < pins.sweeps) {
            pins.ended = None;
            return None;
        }
        let mut live = live.clone();
        for files in lock(&self.kept).iter().filter_map(Weak::upgrade) {
            live |= &*files;
        }
        let forgotten = interned.forget(&live, &self.hasher);
        pins.sweeps += 1;
        pins.ended = None;
        let (suspects, kept) = (interned.suspects.len(), interned.ids.len() as u64);
        Some(Swept { forgotten, suspects, kept })
    }

    // After a panic under the lock the table has at most an unused name, and stays valid.
    fn read(&self) -> RwLockReadGuard<'_, Interned> {
        self.interned.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Interned> {
        self.interned.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`NameTable`] locked for interning a batch.
pub struct NameInterner<'t> {
    interned: RwLockWriteGuard<'t, Interned>,
    hasher: &'t NameHasher,
}

impl NameInterner<'_> {
    /// The id of `name`. It gets one if it has none.
    ///
    /// # Errors
    /// Why it is no name, or `TooManyNames`.
    pub fn intern(&mut self, name: &[u8]) -> Result<FileId, BadFileName> {
        FileName::check(name)?;
        let hashed = HashedName { name, hash: self.hasher.hash(name) };
        let id = self.interned.intern(hashed, self.hasher, LAST_ORDINARY);
        id.ok_or(BadFileName::TooManyNames)
    }
}

/// A [`NameTable`] locked for looking up a batch.
pub struct NameLookup<'t> {
    interned: RwLockReadGuard<'t, Interned>,
    hasher: &'t NameHasher,
}

impl NameLookup<'_> {
    /// The id of `name` if it is known.
    pub fn find(&self, name: &[u8]) -> Option<FileId> {
        self.interned.find(HashedName { name, hash: self.hasher.hash(name) })
    }

    /// The ids of many names, in order. Much faster than single look-ups, because the look-ups do not wait
    /// for each other's memory.
    pub fn find_all<'a>(
        &self,
        names: impl Iterator<Item = HashedName<'a>> + Clone,
    ) -> Vec<Option<FileId>> {
        // The first entry with a similar hash is nearly always the name's own.
        let like = |hashed: HashedName<'_>| self.interned.ids.find(hashed.hash.0, |_| true);
        let mut found: Vec<Option<FileId>> =
            names.clone().map(|hashed| like(hashed).map(|&id| FileId(id))).collect();
        for (id, hashed) in found.iter_mut().zip(names) {
            if id.is_some_and(|id| self.interned.names.bytes(id.0) != hashed.name) {
                *id = self.interned.find(hashed);
            } else if let Some(id) = id {
                self.interned.touch(id.0);
            }
        }
        found
    }

    /// The bytes of the name behind `id`; none if it was forgotten.
    pub fn bytes(&self, id: FileId) -> &[u8] {
        self.interned.names.bytes(id.0)
    }
}

impl fmt::Debug for NameTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NameTable({} names)", self.len())
    }
}

impl Interned {
    fn find(&self, HashedName { name, hash }: HashedName<'_>) -> Option<FileId> {
        let id = *self.ids.find(hash.0, |&id| self.names.bytes(id) == name)?;
        self.touch(id);
        Some(FileId(id))
    }

    /// Records that an id is in use, if a sweep may need to know.
    fn touch(&self, id: u32) {
        if self.suspects.is_empty() {
            return;
        }
        let Some(word) = self.touched.get(id as usize / 64) else { return };
        let bit = 1 << (id % 64);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn was_touched(&self, id: u32) -> bool {
        let word = self.touched.get(id as usize / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & 1 << (id % 64) != 0)
    }

    /// The id of a name; none if it has no id and all ids below `end` are used.
    fn intern(&mut self, hashed: HashedName<'_>, hasher: &NameHasher, end: u32) -> Option<FileId> {
        if let Some(id) = self.find(hashed) {
            return Some(id);
        }
        if self.names.end() >= end {
            return None;
        }
        let id = self.names.push(hashed.name);
        self.present.insert(id);
        let Interned { names, ids, .. } = self;
        let rehash = |&id: &u32| hasher.hash(names.bytes(id)).0;
        ids.insert_unique(hashed.hash.0, id, rehash);
        Some(FileId(id))
    }

    fn reserve(&mut self, names: usize, hasher: &NameHasher) {
        let Interned { names: known, ids, .. } = self;
        ids.reserve(names, |&id| hasher.hash(known.bytes(id)).0);
    }

    /// Forgets the suspects that are not in `live` and were not touched; answers how many. The other
    /// names that are not in `live` are the suspects from now on.
    fn forget(&mut self, live: &RoaringBitmap, hasher: &NameHasher) -> u64 {
        let mut dead = std::mem::take(&mut self.suspects);
        dead -= live;
        let dead: RoaringBitmap = dead.iter().filter(|&id| !self.was_touched(id)).collect();
        let Interned { names, ids, .. } = self;
        for id in &dead {
            let hash = hasher.hash(names.bytes(id)).0;
            if let Ok(entry) = ids.find_entry(hash, |&other| other == id) {
                entry.remove();
            }
        }
        names.forget(&dead);
        if ids.capacity() / 4 > ids.len() {
            let names = &*names;
            ids.shrink_to(ids.len() * 2, |&id| hasher.hash(names.bytes(id)).0);
        }
        self.present -= &dead;
        self.suspects = &self.present - live;
        self.touched = match self.suspects.max() {
            Some(last) => (0..=last / 64).map(|_| AtomicU64::new(0)).collect(),
            None => Vec::new(),
        };
        dead.len()
    }
}

#[cfg(test)]
mod tests;
