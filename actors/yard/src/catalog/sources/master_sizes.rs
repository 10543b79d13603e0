//! The known sizes of masters, for the order of files and for displays.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;
use reelyard_core::names::FileId;

use crate::catalog::messages::MasterLook;

/// How many sizes are kept. Beyond that each new one replaces the oldest, which is read again when it is needed.
const MOST: usize = 1 << 16;

/// Sizes in bytes, as last seen. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MasterSizes(Arc<RwLock<KnownSizes>>);

#[derive(Debug, Default)]
struct KnownSizes {
    sizes: HashMap<FileId, u64>,
    /// The files in the order of their first looks. Some may have no size any more.
    looked: VecDeque<FileId>,
}

impl KnownSizes {
    fn insert(&mut self, file: FileId, size: u64) {
        if self.sizes.insert(file, size).is_some() {
            return;
        }
        self.looked.push_back(file);
        while self.looked.len() > MOST {
            if let Some(oldest) = self.looked.pop_front() {
                self.sizes.remove(&oldest);
            }
        }
    }
}

impl MasterSizes {
    /// The size of the master of `file`, if it was looked up.
    pub fn get(&self, file: FileId) -> Option<u64> {
        // A panic under the lock leaves each size complete.
        self.0.read().unwrap_or_else(PoisonError::into_inner).sizes.get(&file).copied()
    }

    /// All known sizes as they are now, for a look at many files.
    pub fn all(&self) -> HashMap<FileId, u64> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).sizes.clone()
    }

    /// Takes the results of checks.
    pub(in crate::catalog) fn learn(&self, looks: &[(FileId, MasterLook)]) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (file, look) in looks {
            match look {
                MasterLook::Found { size, .. } => known.insert(*file, *size),
                MasterLook::Absent => {
                    known.sizes.remove(file);
                }
                MasterLook::Unknown => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;

    use super::*;

    #[test]
    fn a_new_size_replaces_the_oldest() {
        let sizes = MasterSizes::default();
        let most = u32::try_from(MOST).unwrap();
        let look = |file, size| {
            let (dir, modified) = ("/films".into(), Millis(0));
            (FileId(file), MasterLook::Found { dir, size, modified })
        };
        sizes.learn(&(0..most).map(|file| look(file, 1)).collect::<Vec<_>>());
        sizes.learn(&[look(0, 2)]);
        assert!((0..most).all(|file| sizes.get(FileId(file)).is_some()));
        sizes.learn(&[look(most, 3)]);
        let left = (0..=most).filter(|file| sizes.get(FileId(*file)).is_some()).count();
        assert_eq!((left, sizes.get(FileId(0)), sizes.get(FileId(most))), (MOST, None, Some(3)));
    }
}
