//! The names in the source directories. Pure.

use std::sync::Arc;

use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

/// The names in the source directories at the last listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Masters {
    /// Every name that some source directory holds, except directories. A symbolic link counts as its
    /// target, as in cfm.
    pub files: RoaringBitmap,
    /// The files of each directory, in the order of the search. Empty if there is only one directory,
    /// which has all of `files`.
    pub by_dir: Vec<(String, Arc<RoaringBitmap>)>,
    /// Directories that could not be listed, with the reason. `files` still has their last good listing.
    /// While there is such a directory, absence from `files` does not prove that a master is missing.
    pub unlisted: Vec<(String, String)>,
}

impl Masters {
    /// The directory from which a name is copied: the first that has it.
    pub fn dir_of(&self, file: FileId) -> Option<&str> {
        let (dir, _) = self.by_dir.iter().find(|(_, files)| files.contains(file.0))?;
        Some(dir)
    }
}
