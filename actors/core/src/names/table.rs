//! The table that turns each name into a small number once, and forgets names that nothing refers
//! to.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
};

use hashbrown::{DefaultHashBuilder, HashTable};
use memchr::memmem::Finder;
use roaring::RoaringBitmap;

use super::segments::NameSegments;
use super::{BadFileName, FileId, FileName};
use crate::page_order::{ItemNumber, text_part};

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

/// Hashes names for one [`NameTable`] and its clones, without its lock.
#[derive(Clone, Debug, Default)]
pub struct NameHasher(DefaultHashBuilder);

/// The hash of a name; valid only in the table whose hasher made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHash(u64);

/// A name with its hash.
#[derive(Clone, Copy, Debug)]
pub struct HashedName<'a> {
    /// The bytes of the name.
    pub name: &'a [u8],
    /// The hash of the name.
    pub hash: NameHash,
}

impl NameHasher {
    /// The hash of `name` in this table.
    pub fn hash(&self, name: &[u8]) -> NameHash {
        NameHash(self.0.hash_one(name))
    }
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

    /// The part of each file's name from this offset on, for an order by name. The table is locked for a few thousand
    /// names at a time.
    pub fn name_parts(&self, files: &[ItemNumber], offset: usize, parts: &mut Vec<u64>) {
        for batch in files.chunks(NAMES_AT_ONCE) {
            let interned = self.read();
            parts.extend(batch.iter().map(|file| text_part(interned.names.bytes(*file), offset)));
        }
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
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_a_part_that_is_in_one_name() {
        let table = NameTable::new();
        let names: Vec<String> = (0..9000).map(|number| format!("ab{number}.mpg")).collect();
        let ids = table.intern_all(names.iter().map(|name| name.as_bytes()));
        let dead: RoaringBitmap = [5, 70].into_iter().collect();
        table.sweep(&(0..9000).filter(|id| !dead.contains(*id)).collect());
        table.sweep(&(0..9000).filter(|id| !dead.contains(*id)).collect());
        for text in ["ab5", "5.mpg", "gab", "mpgab1", ".", "899", "b7", "absent", "ab8999.mpg"] {
            let expected: RoaringBitmap = (0..9000_u32)
                .filter(|id| !dead.contains(*id) && names[*id as usize].contains(text))
                .collect();
            assert_eq!(table.containing(text.as_bytes()), expected, "{text}");
            let all = (0..9000).collect();
            let has_text = |name: &[u8]| memchr::memmem::find(name, text.as_bytes()).is_some();
            assert_eq!(table.selected(&all, has_text), expected, "{text}");
        }
        assert_eq!(table.containing(b"").len(), 8998);
        assert!(ids.iter().all(Result::is_ok));
    }

    #[test]
    fn a_name_is_stored_once_and_found_again() {
        let table = NameTable::new();
        let ids = table.intern_all((0..1000).map(|_| &b"same"[..]));
        assert!(ids.iter().all(|id| *id == Ok(FileId(0))));
        let names: Vec<String> = (0..1000).map(|i| format!("n{i}")).collect();
        let ids = table.intern_all(names.iter().map(|name| name.as_bytes()));
        assert_eq!(table.len(), 1001);
        for (name, id) in names.iter().zip(ids) {
            assert_eq!(table.name(id.unwrap()).as_utf8(), Some(name.as_str()));
            assert_eq!(table.find(name.as_bytes()), id.ok());
        }
        assert_eq!(table.find(b"never met"), None);
        let (hasher, reading) = (table.hasher(), table.lookup());
        let asked = names.iter().map(|name| name.as_bytes()).chain([&b"never met"[..], b"same"]);
        let hashed = asked.clone().map(|name| HashedName { name, hash: hasher.hash(name) });
        let expected: Vec<_> = asked.map(|name| reading.find(name)).collect();
        assert_eq!(reading.find_all(hashed), expected);
        drop(reading);
        let new = FileName::new("new").unwrap();
        assert_eq!(table.intern(&new), table.intern(&new));
        assert_eq!(table.len(), 1002);
    }

    fn ids(table: &NameTable, names: std::ops::Range<u32>) -> RoaringBitmap {
        let names: Vec<String> = names.map(|number| format!("{number:036}.mpg")).collect();
        let ids = table.intern_all(names.iter().map(|name| name.as_bytes()));
        ids.into_iter().map(|id| id.unwrap().0).collect()
    }

    #[test]
    fn a_name_that_nothing_refers_to_at_two_sweeps_is_forgotten() {
        let table = NameTable::new();
        let live = ids(&table, 0..10);
        ids(&table, 10..20);
        let swept = |forgotten, suspects, kept| Some(Swept { forgotten, suspects, kept });
        assert_eq!(table.sweep(&live), swept(0, 10, 20));
        // One is found again, one came into a view.
        let name = table.name(FileId(12));
        assert_eq!(table.find(name.as_bytes()), Some(FileId(12)));
        let live = live | RoaringBitmap::from_iter([13]);
        assert_eq!(table.sweep(&live), swept(8, 1, 12));
        assert_eq!(table.find(name.as_bytes()), Some(FileId(12)));
        let gone = FileName::new(format!("{:036}.mpg", 11)).unwrap();
        assert_eq!((table.find(gone.as_bytes()), table.ids_given()), (None, 20));
        // An id that is still held somewhere means no other file, and its name says so.
        assert_eq!(table.name(FileId(11)).as_bytes(), FORGOTTEN);
        assert_eq!(table.lookup().bytes(FileId(11)), b"");
        assert_eq!(table.intern(&gone), FileId(20));
        assert_eq!(table.name(FileId(5)).as_utf8(), Some(&*format!("{:036}.mpg", 5)));
        assert_eq!((table.len(), table.bytes() > 0), (13, true));
    }

    #[test]
    fn pinned_and_kept_names_survive_a_sweep() {
        let table = NameTable::new();
        let kept = Arc::new(ids(&table, 0..5));
        table.keep(&kept);
        let none = RoaringBitmap::new();
        table.sweep(&none).unwrap();
        let pin = table.pin();
        let found = table.find(table.name(FileId(1)).as_bytes());
        assert_eq!(found, Some(FileId(1)));
        let gathered = ids(&table, 5..10);
        assert_eq!(table.sweep(&none).map(|swept| swept.forgotten), Some(0));
        // The pin is older than the last sweep now: no view has the gathered ids yet.
        assert_eq!(table.sweep(&none), None);
        drop(pin);
        assert_eq!(table.sweep(&none), None, "it may have come into a view a moment ago");
        assert_eq!(table.sweep(&gathered).map(|swept| swept.kept), Some(10));
        drop(kept);
        table.sweep(&gathered).unwrap();
        assert_eq!(table.sweep(&gathered).map(|swept| swept.kept), Some(5));
    }

    #[test]
    fn names_that_come_and_go_take_bounded_memory_and_give_it_back() {
        const ROUND: u32 = 10_000;
        let table = NameTable::new();
        let live = ids(&table, 0..1000);
        let before = table.bytes();
        let mut most = 0;
        for round in 1..=40 {
            let listed = ids(&table, round * ROUND..(round + 1) * ROUND);
            table.sweep(&(&live | &listed)).unwrap();
            most = most.max(table.bytes());
        }
        // The listed files, and those listed at the two sweeps before.
        let of_a_name = 40 + 4 + 10;
        let bound = before + 4 * ROUND as usize * of_a_name;
        assert!(most < bound, "{most} bytes of {bound}");
        table.sweep(&live).unwrap();
        table.sweep(&live).unwrap();
        assert_eq!((table.len(), table.ids_given()), (1000, 1000 + 40 * ROUND));
        let left = table.bytes() - before.min(table.bytes());
        assert!(left < 64 * 1024, "{left} bytes more than before");
    }
}
