#![doc = include_str!("README.md")]

mod actor;
mod dirs;
mod elsewhere;
mod messages;
mod settings;
mod views;

pub use actor::{ShareFiles, ShareFilesCollaborators};
pub use dirs::{
    NameInDirectory, NotMoved, PathPresence, ROOT_ID_FILE, ReachableRoot, RootUnreachable,
    ShareFileSystem, SharedDir, SharedDirs, SystemFileSystem, is_root_id_file,
};
pub use elsewhere::{FilesElsewhere, NowhereElse};
pub use messages::*;
pub use settings::ShareFilesSettings;
pub use views::{ShareFilesView, UnsettledMove};
