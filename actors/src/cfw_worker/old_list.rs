//! The list of an old cfw, which is all that it can be asked for: read once, and only compared as
//! long as it stays the same. Pure.

use std::sync::Arc;

use super::listing::{BadList, ListForm, ListReader, Listed};
use crate::names::NameTable;

/// A list that was read, and what tells it from another one.
#[derive(Debug)]
pub struct KnownList {
    length: u64,
    hash: blake3::Hash,
    listed: Listed,
}

impl KnownList {
    /// Reads a list from its `pieces`; `before` itself if it has the very same bytes.
    pub fn read(
        pieces: &[impl AsRef<[u8]>],
        before: Option<Arc<KnownList>>,
        names: NameTable,
    ) -> Result<Arc<Self>, BadList> {
        let mut hasher = blake3::Hasher::new();
        for piece in pieces {
            hasher.update(piece.as_ref());
        }
        let (length, hash) = (hasher.count(), hasher.finalize());
        let is_same = |list: &Arc<KnownList>| (list.length, list.hash) == (length, hash);
        if let Some(before) = before.filter(is_same) {
            return Ok(before);
        }
        let mut reader = ListReader::new(ListForm::Names, names);
        for piece in pieces {
            reader.push(piece.as_ref())?;
        }
        Ok(Arc::new(KnownList { length, hash, listed: reader.finish()? }))
    }

    /// What it lists.
    pub fn listed(&self) -> &Listed {
        &self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_again_only_if_it_changed() {
        let names = NameTable::new();
        let read = |pieces: &[&str], before: Option<&Arc<KnownList>>| {
            KnownList::read(pieces, before.cloned(), names.clone()).unwrap()
        };
        let first = read(&["a\nb", "\n"], None);
        assert_eq!(first.listed().files.len(), 2);
        assert!(Arc::ptr_eq(&first, &read(&["a\n", "b\n"], Some(&first))));
        let other = read(&["a\nc\n"], Some(&first));
        assert_eq!(other.listed().files.iter().collect::<Vec<_>>(), [0, 2]);
        let torn = KnownList::read(&["a\nb"], Some(first), names.clone());
        assert!(matches!(torn, Err(BadList::Torn { .. })));
    }
}
