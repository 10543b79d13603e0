//! The directory entries that a path leads through. If any of them is replaced, the path leads elsewhere.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// How many symbolic links a path may lead through, as for the kernel.
const MOST_LINKS: usize = 40;

/// A path followed entry by entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathEntries {
    /// Every visited entry, each in the real directory that contains it. The last one is the first that
    /// does not exist.
    pub entries: Vec<PathBuf>,
    /// The target of the path, without any link in it. None while there is no target.
    pub end: Option<PathBuf>,
}

/// Follows `path` through every directory and symbolic link.
pub fn resolve_path(path: &Path) -> PathEntries {
    let mut followed = PathEntries::default();
    let Ok(absolute) = std::path::absolute(path) else { return followed };
    let mut ahead = steps(&absolute);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = ahead.pop_front() {
        let name = match step {
            PathStep::Root => {
                at = PathBuf::from("/");
                continue;
            }
            PathStep::Up => {
                at.pop();
                continue;
            }
            PathStep::Into(name) => name,
        };
        let entry = at.join(name);
        followed.entries.push(entry.clone());
        match fs::read_link(&entry) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                let mut through = steps(&target);
                through.append(&mut ahead);
                ahead = through;
            }
            // It exists and is no link.
            Err(error) if error.kind() == ErrorKind::InvalidInput => at = entry,
            _ => return followed,
        }
    }
    followed.end = Some(at);
    followed
}

enum PathStep {
    Root,
    Up,
    Into(OsString),
}

fn steps(path: &Path) -> VecDeque<PathStep> {
    let step = |component| match component {
        Component::RootDir => Some(PathStep::Root),
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Into(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_and_directory_on_the_way_is_an_entry() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("v1/in")).unwrap();
        fs::write(root.join("v1/in/real"), "x").unwrap();
        symlink("v1", root.join("current")).unwrap();
        symlink("in/real", root.join("v1/grade")).unwrap();

        let followed = resolve_path(&root.join("current/../current/grade"));
        let met: Vec<_> =
            followed.entries.iter().filter_map(|p| p.strip_prefix(&root).ok()).collect();
        // Up from behind a link leads to the parent of where the link leads to.
        let expected = ["", "current", "v1", "current", "v1", "v1/grade", "v1/in", "v1/in/real"]
            .map(Path::new);
        assert_eq!(met, expected);
        assert_eq!(followed.end, Some(root.join("v1/in/real")));
    }

    #[test]
    fn a_missing_entry_ends_the_path() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let followed = resolve_path(&root.join("gone/grade"));
        assert_eq!(followed.entries.last(), Some(&root.join("gone")));
        assert_eq!(followed.end, None);
        symlink("loop", root.join("loop")).unwrap();
        assert_eq!(resolve_path(&root.join("loop/x")).end, None);
    }
}
