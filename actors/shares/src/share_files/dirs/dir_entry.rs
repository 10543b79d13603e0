//! One entry of a directory, and opening paths that stay beneath a directory.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statx};
use rustix::io::Errno;

use crate::share_expiry::SharedFileIdentity;

/// How often an opening is tried again while another program renames directories above the
/// path.
const TRIES: usize = 16;

/// Something in a directory.
#[derive(Clone, Copy)]
pub(in crate::share_files) struct SharedDirEntry {
    pub(in crate::share_files) identity: SharedFileIdentity,
    pub(in crate::share_files) kind: FileType,
    /// How many hard links it has.
    pub(in crate::share_files) names: u32,
}

/// The identity of the file at `name` in `dir`, or of `dir` itself without a name.
pub(in crate::share_files) fn entry(dir: impl AsFd, name: &str) -> Result<SharedDirEntry, Errno> {
    stat_entry(dir, name, AtFlags::empty())
}

/// The same, with the server's current entry and not a cached one.
pub(in crate::share_files) fn entry_now(
    dir: impl AsFd,
    name: &str,
) -> Result<SharedDirEntry, Errno> {
    stat_entry(dir, name, AtFlags::STATX_FORCE_SYNC)
}

fn stat_entry(dir: impl AsFd, name: &str, how: AtFlags) -> Result<SharedDirEntry, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | how;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let attributes = statx(dir, name, flags, wanted)?;
    let has_birth_time = attributes.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born = attributes.stx_btime;
    let nanos = || born.tv_sec.saturating_mul(1_000_000_000).saturating_add(born.tv_nsec.into());
    let identity = SharedFileIdentity {
        device: u64::from(attributes.stx_dev_major) << 32 | u64::from(attributes.stx_dev_minor),
        inode: attributes.stx_ino,
        born: has_birth_time.then(nanos),
    };
    let kind = FileType::from_raw_mode(attributes.stx_mode.into());
    Ok(SharedDirEntry { identity, kind, names: attributes.stx_nlink })
}

impl SharedFileIdentity {
    /// The identity of an open file.
    pub fn of(file: impl AsFd) -> std::io::Result<Self> {
        Ok(entry(file, "")?.identity)
    }
}

pub(in crate::share_files) fn beneath(
    dir: impl AsFd,
    path: &str,
    flags: OFlags,
    how: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() { "." } else { path };
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..TRIES {
        opened = openat2(&dir, path, flags | OFlags::CLOEXEC, Mode::empty(), how);
        if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    opened
}
