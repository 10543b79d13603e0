//! Moves of shared files. A move is recorded from before the rename of its file until every share has
//! followed.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use reelyard_core::event::RequestId;
use serde::{Deserialize, Serialize};

use crate::share_expiry::state::values::path::{RootName, SharePath};

/// The current or new place of a file: a root, and a path below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareLocation {
    /// The root of the path.
    pub root: RootName,
    /// The path below it.
    pub path: SharePath,
}

impl ShareLocation {
    /// Whether this is `directory` or something below it.
    pub fn is_within(&self, directory: &ShareLocation) -> bool {
        self.root == directory.root && self.path.is_within(&directory.path)
    }

    /// Whether one of the two paths is within the other.
    pub fn touches(&self, other: &ShareLocation) -> bool {
        self.is_within(other) || other.is_within(self)
    }
}

impl fmt::Display for ShareLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.root, self.path)
    }
}

/// The identity of a file that may have another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedFileIdentity {
    /// The device it is on. Its number may differ after a restart of the machine.
    pub device: u64,
    /// Its inode number there.
    pub inode: u64,
    /// The time of its creation, in nanoseconds, if the file system reports it.
    pub born: Option<i64>,
}

impl SharedFileIdentity {
    /// Whether this is the same file.
    pub fn is(&self, other: &SharedFileIdentity) -> bool {
        let device_counts = self.born.is_none() || other.born.is_none();
        self.inode == other.inode
            && if device_counts { self.device == other.device } else { self.born == other.born }
    }
}

/// A requested move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMove {
    /// Where the file or directory is.
    pub from: ShareLocation,
    /// The new path of the file.
    pub to: ShareLocation,
    /// The identity of the file.
    pub file: SharedFileIdentity,
    /// The caller's name, for the audit.
    pub by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// A recorded move that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMove {
    /// Its position among all moves, from 0.
    pub number: u64,
    /// The request of the move.
    pub new: NewMove,
    /// The current step of the move.
    pub stage: MoveStage,
    /// How many events have moved shares.
    pub parts: u32,
    /// How many shares have followed.
    pub followed: u64,
    /// How many have ended by it.
    pub ended: u64,
}

/// The steps of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MoveStage {
    /// The file is about to be renamed, or was just renamed: only the disk knows.
    Begun,
    /// The file was moved. The shares of the replaced file end now.
    Clearing,
    /// The shares of the old path follow to the new one.
    Following,
    /// The file is at neither path, and the shares of the old path end.
    Lost,
}

/// The outcome of a move on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MoveEnd {
    /// The file is at the new path.
    Moved,
    /// The file is still at the old path.
    NotMoved(MoveRefused),
    /// The file is at neither path.
    Lost,
}

/// The result of a finished move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Moved {
    /// How many shares have followed.
    pub followed: u64,
    /// How many shares of the replaced file have ended.
    pub ended: u64,
}

/// Why a move was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum MoveRefused {
    /// A root has no other name than the one in the configuration.
    #[error("a root itself cannot be moved: expected a path below it")]
    Root,
    /// No root has this name.
    #[error("no share root has this name; add it to [share.roots] and reload")]
    NoRoot,
    /// Both paths are the same.
    #[error("the two paths are the same file")]
    Same,
    /// A directory would become its own parent.
    #[error("a directory cannot be moved into itself")]
    IntoItself,
    /// The file at the new path is a directory that contains the old path.
    #[error("the directory at the new path contains the old path")]
    OntoItsHolder,
    /// There is nothing at the old path.
    #[error("the file or directory does not exist")]
    NoSource,
    /// The target directory does not exist.
    #[error("its parent directory does not exist")]
    NoDirectory,
    /// Something is at the new path.
    #[error("the new path already exists; set overwrite to replace it")]
    TargetExists,
    /// An overwritten directory must be empty.
    #[error("the directory at the new path is not empty")]
    TargetNotEmpty,
    /// A file cannot replace a directory, nor a directory a file.
    #[error("one of the two is a file and the other a directory")]
    OtherKind,
    /// Neither a file nor a directory.
    #[error("it is neither a file nor a directory")]
    Special,
    /// One of the paths contains a symlink.
    #[error("the path contains a symbolic link: give the path without one")]
    Symlink,
    /// The two are on different file systems.
    #[error("the two paths are on different file systems: copy the file, and share the copy")]
    OtherFileSystem,
    /// The system does not allow it.
    #[error("the operating system refused the move (permission denied or a read-only file system)")]
    Denied,
    /// A path is too long for the file system.
    #[error("the new path is longer than the file system allows")]
    TooLong,
    /// Another move affects the same paths.
    #[error("the path, or one above or below it, is being moved: try again in a moment")]
    BeingMoved,
    /// The largest number of moves is running.
    #[error("too many moves are under way: try again in a moment")]
    TooMany,
    /// The node was stopped before it was moved.
    #[error("the node stopped before the move: try again")]
    Interrupted,
    /// An error of the disk or the system, with its number.
    #[error("it cannot be moved: {}", std::io::Error::from_raw_os_error(*.0))]
    Failed(i32),
    /// The file system cannot rename without a risk of overwriting a file.
    #[error(
        "this file system cannot rename without possibly overwriting a file: set overwrite if no \
         other program writes to the new path"
    )]
    NoSafeRename,
    /// A root is it, or is below it.
    #[error(
        "a share root is at this path or below it, and its configured path would become wrong: \
         change the configuration first"
    )]
    HoldsRoot,
    /// Another directory, or none, is at the path of a root.
    #[error(
        "the directory of a root is missing or was just replaced: check that it exists and is \
         mounted, and try again in a moment"
    )]
    RootAway,
}

/// The place where to search for the file of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedLocation {
    /// At the path of the share.
    AsRecorded,
    /// It was moved there, and the share is about to follow.
    At(ShareLocation),
    /// It is missing, and the share is about to end.
    Gone,
    /// The share's own path if the file of this move is still there, otherwise the new path.
    Either(Arc<PendingMove>, ShareLocation),
    /// At the path of the share, unless the file of this move has replaced it.
    Unless(Arc<PendingMove>),
}

impl NewMove {
    /// Checks everything that can be refused without reading the disk.
    pub(in crate::share_expiry) fn check(&self) -> Result<(), MoveRefused> {
        let NewMove { from, to, .. } = self;
        if from.path.as_str().is_empty() || to.path.as_str().is_empty() {
            Err(MoveRefused::Root)
        } else if from == to {
            Err(MoveRefused::Same)
        } else if to.is_within(from) {
            Err(MoveRefused::IntoItself)
        } else if from.is_within(to) {
            Err(MoveRefused::OntoItsHolder)
        } else {
            Ok(())
        }
    }

    /// Whether the paths of this and another move overlap.
    pub(in crate::share_expiry) fn touches(&self, place: &ShareLocation) -> bool {
        self.from.touches(place) || self.to.touches(place)
    }

    /// The new place of a path within `from`; none if the new path would be too long.
    pub(in crate::share_expiry) fn carried(&self, path: &SharePath) -> Option<ShareLocation> {
        let path = path.moved(&self.from.path, &self.to.path).ok()?;
        Some(ShareLocation { root: self.to.root.clone(), path })
    }
}

impl PendingMove {
    /// The place of the file of a share at this path, if this move affects it.
    fn resolve_location(self: &Arc<Self>, place: &ShareLocation) -> ResolvedLocation {
        let new = &self.new;
        if place.is_within(&new.from) {
            return match (self.stage, new.carried(&place.path)) {
                (MoveStage::Begun, Some(carried)) => {
                    ResolvedLocation::Either(Arc::clone(self), carried)
                }
                (MoveStage::Clearing | MoveStage::Following, Some(carried)) => {
                    ResolvedLocation::At(carried)
                }
                (MoveStage::Lost, _) | (_, None) => ResolvedLocation::Gone,
            };
        }
        match self.stage {
            _ if !place.is_within(&new.to) => ResolvedLocation::AsRecorded,
            MoveStage::Begun => ResolvedLocation::Unless(Arc::clone(self)),
            MoveStage::Clearing => ResolvedLocation::Gone,
            MoveStage::Following | MoveStage::Lost => ResolvedLocation::AsRecorded,
        }
    }
}

/// The running moves. Readers see them while the table changes.
#[derive(Default)]
pub(in crate::share_expiry) struct PendingMoves(ArcSwap<Vec<Arc<PendingMove>>>);

impl PendingMoves {
    /// All of them, in the order in which they began.
    pub(in crate::share_expiry) fn all(&self) -> Arc<Vec<Arc<PendingMove>>> {
        self.0.load_full()
    }

    /// The move of this number.
    pub(in crate::share_expiry) fn get(&self, number: u64) -> Option<Arc<PendingMove>> {
        self.0.load().iter().find(|moving| moving.number == number).cloned()
    }

    /// Replaces the move with its number, or appends it.
    pub(in crate::share_expiry) fn insert(&self, moving: PendingMove) {
        let mut all = Vec::clone(&self.0.load());
        let moving = Arc::new(moving);
        match all.iter_mut().find(|other| other.number == moving.number) {
            Some(other) => *other = moving,
            None => all.push(moving),
        }
        self.0.store(Arc::new(all));
    }

    /// Removes a move that has ended.
    pub(in crate::share_expiry) fn remove(&self, number: u64) {
        let mut all = Vec::clone(&self.0.load());
        all.retain(|moving| moving.number != number);
        self.0.store(Arc::new(all));
    }

    /// The place of the file of a share at this path.
    pub(in crate::share_expiry) fn resolve_location(
        &self,
        root: &RootName,
        path: &SharePath,
    ) -> ResolvedLocation {
        let all = self.0.load();
        if all.is_empty() {
            return ResolvedLocation::AsRecorded;
        }
        let place = ShareLocation { root: root.clone(), path: path.clone() };
        // No two of them affect the same path.
        let mut resolved = all.iter().map(|moving| moving.resolve_location(&place));
        resolved
            .find(|resolved| *resolved != ResolvedLocation::AsRecorded)
            .unwrap_or(ResolvedLocation::AsRecorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::{new_move, path, root};

    fn moving(stage: MoveStage) -> PendingMoves {
        let moves = PendingMoves::default();
        let new = new_move("old", "new");
        moves.insert(PendingMove { number: 3, new, stage, parts: 0, followed: 0, ended: 0 });
        moves
    }

    fn resolved(stage: MoveStage, at: &str) -> ResolvedLocation {
        moving(stage).resolve_location(&root(), &path(at))
    }

    #[test]
    fn a_path_resolves_to_every_possible_place_during_a_move() {
        use MoveStage::{Begun, Clearing, Following, Lost};
        let there = |at: &str| ShareLocation { root: root(), path: path(at) };
        for stage in [Begun, Clearing, Following, Lost] {
            for other in ["oldest", "b", ""] {
                assert_eq!(
                    resolved(stage, other),
                    ResolvedLocation::AsRecorded,
                    "{stage:?} {other}"
                );
            }
        }
        assert!(
            matches!(resolved(Begun, "old/a"), ResolvedLocation::Either(_, at) if at == there("new/a"))
        );
        assert!(matches!(resolved(Begun, "new"), ResolvedLocation::Unless(_)));
        for stage in [Clearing, Following] {
            assert_eq!(resolved(stage, "old"), ResolvedLocation::At(there("new")));
        }
        assert_eq!(resolved(Clearing, "new/a"), ResolvedLocation::Gone);
        assert_eq!(resolved(Following, "new/a"), ResolvedLocation::AsRecorded);
        assert_eq!(resolved(Lost, "old/a"), ResolvedLocation::Gone);
        assert_eq!(resolved(Lost, "new"), ResolvedLocation::AsRecorded);
        let moves = moving(Begun);
        moves.remove(3);
        assert_eq!(moves.resolve_location(&root(), &path("old")), ResolvedLocation::AsRecorded);
    }

    #[test]
    fn a_file_is_recognised_by_its_birth_time_or_by_its_device() {
        let file = SharedFileIdentity { device: 1, inode: 7, born: Some(5) };
        assert!(file.is(&SharedFileIdentity { device: 2, ..file }));
        assert!(!file.is(&SharedFileIdentity { born: Some(6), ..file }));
        assert!(!file.is(&SharedFileIdentity { inode: 8, ..file }));
        let without_birth = SharedFileIdentity { born: None, ..file };
        assert!(
            without_birth.is(&file) && !without_birth.is(&SharedFileIdentity { device: 2, ..file })
        );
    }

    #[test]
    fn a_senseless_move_is_refused_before_disk_access() {
        for (from, to, why) in [
            ("", "a", MoveRefused::Root),
            ("a", "", MoveRefused::Root),
            ("a", "a", MoveRefused::Same),
            ("a", "a/b", MoveRefused::IntoItself),
            ("a/b", "a", MoveRefused::OntoItsHolder),
        ] {
            assert_eq!(new_move(from, to).check(), Err(why), "{from} {to}");
        }
        assert_eq!(new_move("a", "ab").check(), Ok(()));
    }
}
