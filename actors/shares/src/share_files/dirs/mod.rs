//! The share roots on disk: their handles, the paths below them, and moves between those.

mod dir_entry;
mod disk;
#[cfg(test)]
mod disk_tests;
mod open_roots;
#[cfg(test)]
mod open_roots_tests;
mod root_id_file;
mod shared_dirs;
#[cfg(test)]
mod shared_dirs_tests;

pub use disk::{NameInDirectory, ShareFileSystem, SystemFileSystem};
pub use open_roots::{ReachableRoot, RootUnreachable, SharedDir};
pub use root_id_file::{ROOT_ID_FILE, is_root_id_file};
pub use shared_dirs::{IdentifiedRoots, NotMoved, PathPresence, SharedDirs};
pub(super) use shared_dirs::{ParentDirectory, parent};
