//! Checks that an archive can be complete, before a download is counted for it.

use std::fs::File;
use std::io::{self, ErrorKind};

use super::tree::{self, ArchiveVisitor, NoArchive};
use crate::access::roots::OpenedShare;

/// Opens everything that belongs into the archive of the directory `top` with the name `name`, and
/// reads no contents. It stops when no client waits any more.
pub(super) fn check_archive(
    top: &File,
    name: &str,
    is_awaited: impl Fn() -> bool,
) -> Result<(), NoArchive> {
    tree::walk(top, name, &mut ArchivePrecheck(is_awaited))
}

struct ArchivePrecheck<F>(F);

impl<F: Fn() -> bool> ArchiveVisitor for ArchivePrecheck<F> {
    fn goes_on(&self) -> io::Result<()> {
        if (self.0)() { Ok(()) } else { Err(ErrorKind::BrokenPipe.into()) }
    }

    fn directory(&mut self, _: &File, _: &str) -> io::Result<()> {
        self.goes_on()
    }

    /// The file is already open: nothing else needs a check.
    fn file(&mut self, _: &OpenedShare, _: &str) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_be_only_as_long_as_an_archive_takes_it() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("dir")).unwrap();
        std::fs::write(place.path().join("dir/file"), b"x").unwrap();
        let top = File::open(place.path()).unwrap();
        let check = |name: usize| check_archive(&top, &"n".repeat(name), || true);
        let longest = usize::from(u16::MAX) - "/dir/file".len();
        assert!(check(longest).is_ok());
        assert!(matches!(check(longest + 1), Err(NoArchive::TooLong)));
    }

    #[test]
    fn the_precheck_ends_when_no_client_waits_for_it() {
        let place = tempfile::tempdir().unwrap();
        let ended = check_archive(&File::open(place.path()).unwrap(), "top", || false);
        assert!(matches!(ended, Err(NoArchive::Failed(_))));
    }
}
