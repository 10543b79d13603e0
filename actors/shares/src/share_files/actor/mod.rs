//! The actor of the shared files, its passes and its moves.

mod missing;
mod move_outcome;
mod moves;
mod roots;
mod share_files_actor;
mod sweep;
mod waiters;

pub use share_files_actor::{ShareFiles, ShareFilesCollaborators};
