//! Finding the outcome of an unfinished move on the disk.

use std::os::fd::AsFd;

use rustix::fs::FileType;

use crate::share_expiry::{MoveEnd, MoveRefused, NewMove, ShareLocation};
use crate::share_files::dirs::{ParentDirectory, SharedDirs, parent};

impl SharedDirs {
    /// The outcome of a recorded move.
    ///
    /// # Errors
    /// Why the outcome is unknown.
    pub fn move_outcome(&self, new: &NewMove) -> Result<MoveEnd, String> {
        let to_text = |why: MoveRefused| why.to_string();
        let is_at = |place: &ShareLocation| match self.parent_of(place) {
            Ok(Some(parent)) => {
                // The observed state must survive a power loss, too.
                self.disk.sync(parent.dir.as_fd()).map_err(|error| error.to_string())?;
                parent.is_at(&new.file).map_err(to_text)
            }
            // No file can be at a path whose root is missing.
            Ok(None) | Err(MoveRefused::NoRoot | MoveRefused::Symlink) => Ok(false),
            Err(why) => Err(to_text(why)),
        };
        let is_empty = |place: &ShareLocation| match self.parent_of(place) {
            Ok(Some(parent)) => Ok(parent.entry().map_err(to_text)?.is_none()),
            Ok(None) | Err(MoveRefused::NoRoot | MoveRefused::Symlink) => Ok(true),
            Err(why) => Err(to_text(why)),
        };
        if is_at(&new.to)? {
            self.remove_old_name(new)?;
            return Ok(MoveEnd::Moved);
        }
        // If another file replaced it without a move, the links refer to that file.
        if is_at(&new.from)? || (!is_empty(&new.from)? && is_empty(&new.to)?) {
            return Ok(MoveEnd::NotMoved(MoveRefused::Interrupted));
        }
        for ShareLocation { root, .. } in [&new.from, &new.to] {
            if let Some(why) = self.unreachable(root, true) {
                return Err(format!("{root}: {why}"));
            }
        }
        Ok(MoveEnd::Lost)
    }

    /// If a file was moved by a link, its old name may still exist.
    fn remove_old_name(&self, new: &NewMove) -> Result<(), String> {
        let to_text = |why: MoveRefused| why.to_string();
        let source = match self.parent_of(&new.from) {
            Ok(Some(source)) => source,
            // No file can be at a path whose root is missing.
            Ok(None) | Err(MoveRefused::NoRoot | MoveRefused::Symlink) => return Ok(()),
            Err(why) => return Err(to_text(why)),
        };
        let Some(entry) = source.entry().map_err(to_text)? else { return Ok(()) };
        // A file with only one name is visible under two paths.
        let is_link = entry.kind == FileType::RegularFile && entry.names > 1;
        if is_link && entry.identity.is(&new.file) {
            let unlinked = self.disk.unlink(source.slot());
            let done = unlinked.and_then(|()| self.disk.sync(source.dir.as_fd()));
            done.map_err(|errno| format!("its old name cannot be removed: {errno}"))?;
        }
        Ok(())
    }

    fn parent_of<'a>(
        &self,
        place: &'a ShareLocation,
    ) -> Result<Option<ParentDirectory<'a>>, MoveRefused> {
        parent(&self.reached(&place.root)?, place)
    }
}
