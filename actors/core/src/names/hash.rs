//! Hashes of names, which callers make without the lock of the table.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

/// Hashes names for one `NameTable` and its clones, without its lock.
#[derive(Clone, Debug, Default)]
pub struct NameHasher(DefaultHashBuilder);

/// The hash of a name; valid only in the table whose hasher made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHash(pub(super) u64);

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
