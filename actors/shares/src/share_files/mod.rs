#![doc = include_str!("README.md")]

mod actor;
mod dirs;
mod messages;

pub use actor::{ShareFiles, ShareFilesCollaborators};
pub use dirs::{
    NameInDirectory, NotMoved, PathPresence, ReachableRoot, RootUnreachable, ShareFileSystem,
    SharedDir, SharedDirs, SystemFileSystem,
};
pub use messages::*;
