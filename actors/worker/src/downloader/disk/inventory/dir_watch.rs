//! The kernel's notifications about names in an open directory.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use reelyard_core::mounts;
use rustix::fs::fstatfs;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// Bytes of events read at a time; the longest event takes less than 300.
const BUFFER: usize = 16 << 10;

/// A watch over one directory, even if it is moved.
///
/// The kernel queues a change before the call that made it returns. So [`DirWatch::drain`] reports every
/// change that was complete when it was called.
#[derive(Debug)]
pub struct DirWatch {
    inotify: OwnedFd,
}

impl DirWatch {
    /// Watches `dir`. Fails on file systems where other machines make changes that the kernel does not
    /// report.
    pub fn over(dir: impl AsFd) -> io::Result<Self> {
        if let Some(kind) = mounts::unwatchable_kind(&fstatfs(&dir)?) {
            let why = format!("it is on {kind}, where changes by other machines are not reported");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        // The open directory itself, because another directory may be at its path now.
        let path = format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd());
        let names = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        let contents = WatchFlags::CLOSE_WRITE;
        add_watch(&inotify, path, names | contents | WatchFlags::ONLYDIR)?;
        Ok(DirWatch { inotify })
    }

    /// Reports the name of every change since the last call; false if the kernel dropped some.
    pub fn drain(&mut self, mut changed: impl FnMut(&[u8])) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        let mut is_whole = true;
        loop {
            match events.next() {
                Ok(event) => {
                    let lost = ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
                    is_whole &= !event.events().intersects(lost);
                    if let Some(name) = event.file_name() {
                        changed(name.to_bytes());
                    }
                }
                Err(Errno::AGAIN) => return Ok(is_whole),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
