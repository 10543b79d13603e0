//! Names of files, and the table that turns each into a small number once.

use std::borrow::Cow;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::{DefaultHashBuilder, HashTable};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The longest name a file system takes, in bytes.
pub const LONGEST_NAME: usize = 255;

/// The name of a file without any directory: bytes, as on disk. Never empty, `.` or `..`, no `/`,
/// no NUL, at most [`LONGEST_NAME`] bytes: a name can therefore never leave its directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Box<[u8]>);

/// Why some bytes are not a [`FileName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
pub enum BadFileName {
    /// No bytes at all.
    #[error("the name is empty")]
    Empty,
    /// `.` or `..`.
    #[error("\".\" and \"..\" are directories, not file names")]
    Dots,
    /// It holds a `/`.
    #[error("the name contains a \"/\": it would leave its directory")]
    Slash,
    /// It holds a NUL byte.
    #[error("the name contains a NUL byte")]
    Nul,
    /// It is longer than a file system allows.
    #[error("the name is longer than 255 bytes")]
    TooLong,
}

impl FileName {
    /// Checks `bytes`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, BadFileName> {
        let bytes = bytes.into();
        FileName::check(&bytes)?;
        Ok(FileName(bytes.into_boxed_slice()))
    }

    /// Whether `bytes` can be a name, without making one.
    pub fn check(bytes: &[u8]) -> Result<(), BadFileName> {
        match bytes {
            [] => Err(BadFileName::Empty),
            b"." | b".." => Err(BadFileName::Dots),
            _ if bytes.len() > LONGEST_NAME => Err(BadFileName::TooLong),
            _ if bytes.contains(&b'/') => Err(BadFileName::Slash),
            _ if bytes.contains(&0) => Err(BadFileName::Nul),
            _ => Ok(()),
        }
    }

    /// Reads the percent-encoded form that URLs carry.
    pub fn from_percent(text: &str) -> Result<Self, BadFileName> {
        FileName::new(percent_decode(text.as_bytes()).collect::<Vec<u8>>())
    }

    /// The bytes, as on disk.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The name as text, if it is UTF-8.
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The form for URLs: every byte outside `A-Z a-z 0-9 - . _ ~` percent-encoded.
    pub fn to_percent(&self) -> String {
        percent_encode(&self.0, UNRESERVED_KEPT).to_string()
    }

    /// The form for people and JSON: the text itself, or percent-encoded when it is not UTF-8.
    pub fn shown(&self) -> ShownName {
        match self.as_utf8() {
            Some(text) => ShownName { name: text.to_owned(), percent_encoded: false },
            None => ShownName { name: self.to_percent(), percent_encoded: true },
        }
    }
}

/// What RFC 3986 leaves alone in a path segment.
const UNRESERVED_KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name as JSON shows it: bytes that are not UTF-8 percent-encoded, beside a flag that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ShownName {
    /// The text, or the percent-encoded bytes.
    pub name: String,
    /// Whether `name` is percent-encoded because the bytes are not UTF-8. Absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percent_encoded: bool,
}

// In JSON a name is written as it is shown.
impl PartialSchema for FileName {
    fn schema() -> RefOr<Schema> {
        ShownName::schema()
    }
}

impl ToSchema for FileName {
    fn name() -> Cow<'static, str> {
        ShownName::name()
    }
}

impl TryFrom<ShownName> for FileName {
    type Error = BadFileName;

    fn try_from(shown: ShownName) -> Result<Self, BadFileName> {
        if shown.percent_encoded {
            FileName::from_percent(&shown.name)
        } else {
            FileName::new(shown.name)
        }
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown().name)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown().name)
    }
}

// Compact formats carry the bytes; JSON goes through `ShownName` and says when it had to encode.
impl Serialize for FileName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.shown().serialize(serializer)
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = if deserializer.is_human_readable() {
            FileName::try_from(ShownName::deserialize(deserializer)?)
        } else {
            FileName::new(Vec::<u8>::deserialize(deserializer)?)
        };
        name.map_err(serde::de::Error::custom)
    }
}

/// The number of a name within one run of the process. Never stored, never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Every name the process has met, each stored once. Ids count up from 0 and are never taken back,
/// so that sets of files are bitmaps and lists of files are four bytes an entry.
///
/// Clones share the table.
#[derive(Clone, Default)]
pub struct NameTable {
    interned: Arc<RwLock<Interned>>,
    hasher: NameHasher,
}

/// Hashes names for one [`NameTable`] and its clones, without its lock.
#[derive(Clone, Debug, Default)]
pub struct NameHasher(DefaultHashBuilder);

/// The hash of a name; means something only to the table whose hasher made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHash(u64);

/// A name and its hash.
#[derive(Clone, Copy, Debug)]
pub struct HashedName<'a> {
    /// The bytes.
    pub name: &'a [u8],
    /// Their hash.
    pub hash: NameHash,
}

impl NameHasher {
    /// The hash of `name`.
    pub fn hash(&self, name: &[u8]) -> NameHash {
        NameHash(self.0.hash_one(name))
    }
}

#[derive(Default)]
struct Interned {
    /// All names, one behind the other.
    arena: Vec<u8>,
    /// Where name `id` ends in `arena`; it starts where the one before ends.
    ends: Vec<u64>,
    /// Ids by the hash of their name.
    ids: HashTable<u32>,
}

impl NameTable {
    /// An empty table.
    pub fn new() -> Self {
        NameTable::default()
    }

    /// The id of `name`, given now if it had none.
    pub fn intern(&self, name: &FileName) -> FileId {
        // Two statements: the lock for reading must be gone before the one for writing is wanted.
        let known = self.find(name.as_bytes());
        known.unwrap_or_else(|| {
            let hashed =
                HashedName { name: name.as_bytes(), hash: self.hasher.hash(name.as_bytes()) };
            self.write().intern(hashed, &self.hasher)
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
        let mut interning = self.interning();
        names.into_iter().map(|name| interning.intern(name)).collect()
    }

    /// The id of `name` if it was ever met.
    pub fn find(&self, name: &[u8]) -> Option<FileId> {
        self.reading().find(name)
    }

    /// The name behind `id`.
    ///
    /// # Panics
    /// When `id` comes from another table: ids are only ever made by this one.
    pub fn name(&self, id: FileId) -> FileName {
        FileName(self.read().bytes(id.0).into())
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.read().ends.len()
    }

    /// Whether no name was met yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table held for interning many names under one lock. Nobody else gets at the table
    /// meanwhile, so hold it for a batch, not for a file.
    pub fn interning(&self) -> Interning<'_> {
        Interning { interned: self.write(), hasher: &self.hasher }
    }

    /// Makes room for `names` names in all, so that the table need not grow step by step.
    pub fn make_room_for(&self, names: usize) {
        let mut interned = self.write();
        let missing = names.saturating_sub(interned.ends.len());
        interned.reserve(missing, &self.hasher);
    }

    /// The table held for many look-ups under one lock.
    pub fn reading(&self) -> Reading<'_> {
        Reading { interned: self.read(), hasher: &self.hasher }
    }

    // A panic while the lock was held leaves at worst an unused name behind: the table stays good.
    fn read(&self) -> RwLockReadGuard<'_, Interned> {
        self.interned.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Interned> {
        self.interned.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`NameTable`] locked for interning a batch.
pub struct Interning<'t> {
    interned: RwLockWriteGuard<'t, Interned>,
    hasher: &'t NameHasher,
}

impl Interning<'_> {
    /// The id of `name`, given now if it had none.
    pub fn intern(&mut self, name: &[u8]) -> Result<FileId, BadFileName> {
        FileName::check(name)?;
        let hashed = HashedName { name, hash: self.hasher.hash(name) };
        Ok(self.interned.intern(hashed, self.hasher))
    }
}

/// A [`NameTable`] locked for looking up a batch.
pub struct Reading<'t> {
    interned: RwLockReadGuard<'t, Interned>,
    hasher: &'t NameHasher,
}

impl Reading<'_> {
    /// The id of `name` if it was ever met.
    pub fn find(&self, name: &[u8]) -> Option<FileId> {
        self.interned.find(HashedName { name, hash: self.hasher.hash(name) })
    }

    /// The ids of many names, in order. Much faster than one by one: the look-ups do not wait for
    /// each other's memory.
    pub fn find_all<'a>(
        &self,
        names: impl Iterator<Item = HashedName<'a>> + Clone,
    ) -> Vec<Option<FileId>> {
        // The first entry whose hash looks alike is nearly always the name's own.
        let like = |hashed: HashedName<'_>| self.interned.ids.find(hashed.hash.0, |_| true);
        let mut found: Vec<Option<FileId>> =
            names.clone().map(|hashed| like(hashed).map(|&id| FileId(id))).collect();
        for (id, hashed) in found.iter_mut().zip(names) {
            if id.is_some_and(|id| self.interned.bytes(id.0) != hashed.name) {
                *id = self.interned.find(hashed);
            }
        }
        found
    }

    /// The bytes of the name behind `id`.
    ///
    /// # Panics
    /// When `id` comes from another table.
    pub fn bytes(&self, id: FileId) -> &[u8] {
        self.interned.bytes(id.0)
    }
}

impl fmt::Debug for NameTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NameTable({} names)", self.len())
    }
}

impl Interned {
    fn bytes(&self, id: u32) -> &[u8] {
        name_at(&self.arena, &self.ends, id)
    }

    fn find(&self, HashedName { name, hash }: HashedName<'_>) -> Option<FileId> {
        self.ids.find(hash.0, |&id| self.bytes(id) == name).map(|&id| FileId(id))
    }

    fn intern(&mut self, hashed: HashedName<'_>, hasher: &NameHasher) -> FileId {
        if let Some(id) = self.find(hashed) {
            return id;
        }
        let id = u32::try_from(self.ends.len()).unwrap_or_else(|_| {
            // Four thousand million names of 40 bytes would need 200 GB: memory ends first.
            panic!("more than u32::MAX file names")
        });
        self.arena.extend_from_slice(hashed.name);
        self.ends.push(self.arena.len() as u64);
        let Interned { arena, ends, ids } = self;
        let rehash = |&id: &u32| hasher.hash(name_at(arena, ends, id)).0;
        ids.insert_unique(hashed.hash.0, id, rehash);
        FileId(id)
    }

    fn reserve(&mut self, names: usize, hasher: &NameHasher) {
        let Interned { arena, ends, ids } = self;
        ids.reserve(names, |&id| hasher.hash(name_at(arena, ends, id)).0);
        ends.reserve(names);
    }
}

/// The bytes of name `id`.
fn name_at<'a>(arena: &'a [u8], ends: &[u64], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &arena[start..ends[id] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_directory() {
        use BadFileName::*;
        let long = vec![b'x'; 256];
        let refused: [(&[u8], BadFileName); 7] = [
            (b"", Empty),
            (b".", Dots),
            (b"..", Dots),
            (b"../x.mpg", Slash),
            (b"/etc/passwd", Slash),
            (b"a\0b", Nul),
            (&long, TooLong),
        ];
        for (bytes, why) in refused {
            assert_eq!(FileName::new(bytes), Err(why), "{bytes:?}");
        }
        assert!(FileName::new("..x").is_ok());
        assert!(FileName::new(vec![b'x'; 255]).is_ok());
    }

    #[test]
    fn hostile_names_survive_the_percent_form() {
        for bytes in [&b"a#b.mpg"[..], b"c?d.mpg", b"%411.mpg", b" sp ace ", b"\xff\xfe", b"a\nb"] {
            let name = FileName::new(bytes).unwrap();
            assert_eq!(FileName::from_percent(&name.to_percent()).unwrap(), name);
        }
        assert_eq!(FileName::new("%41").unwrap().to_percent(), "%2541");
    }

    #[test]
    fn json_shows_text_or_says_that_it_encoded() {
        let json = |bytes: &[u8]| serde_json::to_string(&FileName::new(bytes).unwrap()).unwrap();
        assert_eq!(json(b"%41"), r#"{"name":"%41"}"#);
        assert_eq!(json(b"\xff"), r#"{"name":"%FF","percent_encoded":true}"#);
        for bytes in [&b"%41"[..], b"\xff", b"plain.mpg"] {
            let name = FileName::new(bytes).unwrap();
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<FileName>(&json).unwrap(), name);
            let compact = postcard::to_stdvec(&name).unwrap();
            assert_eq!(postcard::from_bytes::<FileName>(&compact).unwrap(), name);
        }
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
        let (hasher, reading) = (table.hasher(), table.reading());
        let asked = names.iter().map(|name| name.as_bytes()).chain([&b"never met"[..], b"same"]);
        let hashed = asked.clone().map(|name| HashedName { name, hash: hasher.hash(name) });
        let expected: Vec<_> = asked.map(|name| reading.find(name)).collect();
        assert_eq!(reading.find_all(hashed), expected);
        drop(reading);
        let new = FileName::new("new").unwrap();
        assert_eq!(table.intern(&new), table.intern(&new));
        assert_eq!(table.len(), 1002);
    }
}
