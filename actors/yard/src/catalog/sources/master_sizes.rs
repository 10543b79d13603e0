//! The known sizes of masters, for the order of files and for displays.

use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;
use reelyard_core::names::FileId;

use crate::catalog::messages::MasterLook;

/// How many sizes are kept. Beyond that all are forgotten, and read again when they are needed.
const MOST: usize = 1 << 16;

/// Sizes in bytes, as last seen. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MasterSizes(Arc<RwLock<HashMap<FileId, u64>>>);

impl MasterSizes {
    /// The size of the master of `file`, if it was looked up.
    pub fn get(&self, file: FileId) -> Option<u64> {
        // A panic under the lock leaves each size complete.
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&file).copied()
    }

    /// All known sizes as they are now, for a look at many files.
    pub fn all(&self) -> HashMap<FileId, u64> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the results of checks.
    pub(in crate::catalog) fn learn(&self, looks: &[(FileId, MasterLook)]) {
        let mut sizes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (file, look) in looks {
            match look {
                MasterLook::Found { size, .. } => {
                    if sizes.len() >= MOST {
                        sizes.clear();
                    }
                    sizes.insert(*file, *size);
                }
                MasterLook::Absent => {
                    sizes.remove(file);
                }
                MasterLook::Unknown => {}
            }
        }
    }
}
