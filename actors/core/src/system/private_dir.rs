//! Directories of this program's own data: only their owner may read them.
//!
//! The umask decides the mode of a file that is created in them, and sled sets no other mode. Therefore
//! existing files are narrowed each time, and the directory protects later ones.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

const DIRECTORY: u32 = 0o700;
const FILE: u32 = 0o600;
/// The bits of the group and of others.
const OTHERS: u32 = 0o077;

/// Creates a directory and its missing parents, for their owner only. An existing directory stays as it is.
///
/// # Errors
/// Those of mkdir(2).
pub fn create(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(dir)
}

/// Removes the rights of group and others from the entries of `dir`. If all names in `dir` begin with one of
/// `ours`, it does the same for `dir` itself. Otherwise the operator may have chosen a directory that others
/// need, such as `/var/lib`. Logs entries that had wider rights, and entries that cannot be changed.
pub fn narrow(dir: &Path, ours: &[&str]) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut is_ours = true;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if ours.iter().any(|one| name.to_string_lossy().starts_with(one)) {
            narrow_tree(&entry.path());
        } else {
            is_ours = false;
        }
    }
    match narrow_one(dir) {
        Ok(None) => {}
        _ if !is_ours => tracing::warn!(
            dir = %dir.display(),
            "other users can read this directory, and it contains foreign files: use a separate \
             directory, or chmod 700"
        ),
        Ok(Some(mode)) => match fs::set_permissions(dir, Permissions::from_mode(mode)) {
            Ok(()) => tracing::info!(
                dir = %dir.display(),
                mode = format!("{mode:o}"),
                "directory closed to other users"
            ),
            Err(error) => tracing::warn!(
                dir = %dir.display(), %error,
                "other users can read this directory, and its mode cannot be changed: chmod 700 it \
                 and let this user own it"
            ),
        },
        Err(error) => tracing::warn!(dir = %dir.display(), %error, "the mode cannot be read"),
    }
}

/// The mode that it should have, if its mode is wider.
fn narrow_one(path: &Path) -> io::Result<Option<u32>> {
    let seen = fs::symlink_metadata(path)?;
    let narrow = match seen.file_type() {
        kind if kind.is_dir() => DIRECTORY,
        kind if kind.is_file() => FILE,
        // The target of a symlink is not ours.
        _ => return Ok(None),
    };
    Ok((seen.mode() & OTHERS != 0).then_some(narrow))
}

/// Narrows a file, or a directory with everything in it. A failure is ignored: no other user reaches the
/// file below a narrow directory.
fn narrow_tree(path: &Path) {
    if let Ok(Some(mode)) = narrow_one(path) {
        let _ = fs::set_permissions(path, Permissions::from_mode(mode));
    }
    let is_dir = fs::symlink_metadata(path).is_ok_and(|seen| seen.is_dir());
    if is_dir && let Ok(entries) = fs::read_dir(path) {
        entries.flatten().for_each(|entry| narrow_tree(&entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_created_directory_is_private_to_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("a/b");
        create(&dir).unwrap();
        create(&dir).unwrap();
        assert_eq!([mode(&dir), mode(&place.path().join("a"))], [0o700; 2]);
    }

    #[test]
    fn wide_permissions_are_narrowed_except_on_shared_directories() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let wide = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        fs::create_dir_all(at("db/blobs")).unwrap();
        fs::write(at("db/blobs/1"), "").unwrap();
        fs::write(at("outside"), "").unwrap();
        std::os::unix::fs::symlink(at("outside"), at("db/link")).unwrap();
        for (name, mode) in [("", 0o755), ("db", 0o755), ("db/blobs/1", 0o644), ("outside", 0o644)]
        {
            wide(&at(name), mode).unwrap();
        }
        narrow(place.path(), &["db"]);
        assert_eq!(
            [mode(&at("db")), mode(&at("db/blobs")), mode(&at("db/blobs/1"))],
            [0o700, 0o700, 0o600]
        );
        assert_eq!([mode(&at("outside")), mode(&at(""))], [0o644, 0o755], "another's");
        fs::remove_file(at("outside")).unwrap();
        narrow(place.path(), &["db"]);
        assert_eq!(mode(&at("")), 0o700);
    }
}
