//! An input file that is read as a whole whenever it has changed.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::view::{InputState, InputView};
use crate::clock::Millis;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Of the inode, seconds and nanoseconds.
    changed: (i64, i64),
}

/// How young a file may be when it is read for its stamp to be trusted afterwards: two writes
/// within one tick of a file system's clock leave the same stamp.
const SURE_AFTER: Duration = Duration::from_secs(2);

/// How often a file that changes while it is read is read again in one look.
const ATTEMPTS: usize = 3;

/// Bytes read at a time; the table of names is locked for as long as one chunk takes to parse.
const CHUNK: usize = 256 << 10;

/// A file, what it was when it was last read, and what became of the last look.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    settle: Duration,
    read: Option<LastRead>,
    /// A change that was seen, and since when the file has kept still.
    seen: Option<(FileStamp, Millis)>,
    view: InputView,
}

#[derive(Debug)]
struct LastRead {
    stamp: FileStamp,
    /// Whether an equal stamp proves equal contents.
    sure: bool,
    contents: blake3::Hash,
}

/// One reading that was not disturbed.
struct Reading {
    last: LastRead,
    modified: Millis,
}

impl WatchedFile {
    /// A file that was not read yet.
    pub fn new(path: PathBuf, settle: Duration) -> Self {
        let view = InputView::of(&path);
        WatchedFile { path, settle, read: None, seen: None, view }
    }

    /// What became of the last look.
    pub fn view(&self) -> &InputView {
        &self.view
    }

    /// The same, to add what the rows amounted to.
    pub fn view_mut(&mut self) -> &mut InputView {
        &mut self.view
    }

    /// Looks at the file at `now` and reads it if it changed, or if `anew` asks for it, by feeding
    /// its bytes to a reader from `start`. Answers that reader if there were new contents; the
    /// view says why not.
    pub fn look<R>(
        &mut self,
        now: Millis,
        anew: bool,
        start: impl Fn() -> R,
        mut feed: impl FnMut(&mut R, &[u8]),
    ) -> Option<R> {
        let looked = stamp_of(&self.path).and_then(|stamp| {
            if !self.is_due(stamp, now, anew) {
                return Ok(None);
            }
            for _ in 0..ATTEMPTS {
                let mut reader = start();
                if let Some(reading) = read_file(&self.path, |chunk| feed(&mut reader, chunk))? {
                    return Ok(Some((reader, reading)));
                }
            }
            self.view.state = InputState::Changing;
            Ok(None)
        });
        match looked {
            Ok(None) => None,
            Ok(Some((reader, reading))) => self.take(reading, now, anew).then_some(reader),
            Err(error) => {
                self.seen = None;
                self.view.state = InputState::of_error(&error);
                None
            }
        }
    }

    /// Whether the file is to be read now.
    fn is_due(&mut self, stamp: FileStamp, now: Millis, anew: bool) -> bool {
        let Some(read) = &self.read else { return true };
        if read.stamp == stamp {
            self.seen = None;
            self.view.state = InputState::Ok;
            return anew || !read.sure;
        }
        let since = match self.seen {
            Some((seen, since)) if seen == stamp => since,
            _ => now,
        };
        self.seen = Some((stamp, since));
        self.view.state = InputState::Changing;
        now.since(since) >= self.settle
    }

    /// Takes note of a reading; whether its contents are new or were asked for.
    fn take(&mut self, reading: Reading, now: Millis, anew: bool) -> bool {
        let is_new = self.read.as_ref().is_none_or(|read| read.contents != reading.last.contents);
        self.read = Some(reading.last);
        self.seen = None;
        self.view.state = InputState::Ok;
        self.view.read_at = Some(now);
        self.view.modified = Some(reading.modified);
        is_new || anew
    }
}

fn stamp_of(path: &Path) -> io::Result<FileStamp> {
    stamp(&std::fs::metadata(path)?)
}

fn stamp(metadata: &Metadata) -> io::Result<FileStamp> {
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(FileStamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Reads the file to its end; none if it was changed or replaced meanwhile.
fn read_file(path: &Path, mut feed: impl FnMut(&[u8])) -> io::Result<Option<Reading>> {
    let begun = SystemTime::now();
    // Looked at by its path first: opening a FIFO would wait for a writer.
    let expected = stamp_of(path)?;
    let mut file = File::open(path)?;
    let mut contents = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                contents.update(&chunk[..length]);
                feed(&chunk[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let metadata = file.metadata()?;
    if stamp(&metadata)? != expected || stamp_of(path)? != expected {
        return Ok(None);
    }
    let modified = metadata.modified()?;
    let sure = begun.duration_since(modified).is_ok_and(|age| age >= SURE_AFTER);
    let last = LastRead { stamp: expected, sure, contents: contents.finalize() };
    Ok(Some(Reading { last, modified: Millis::from(modified) }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn look(file: &mut WatchedFile, now: Millis) -> Option<Vec<u8>> {
        file.look(now, false, Vec::new, |read, chunk| read.extend_from_slice(chunk))
    }

    #[test]
    fn a_file_is_told_when_its_contents_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let mut file = WatchedFile::new(path.clone(), Duration::ZERO);
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, InputState::Missing);

        fs::write(&path, "one").unwrap();
        assert_eq!(look(&mut file, NOW), Some(b"one".to_vec()));
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, InputState::Ok);
        // Same size within the same tick: seen all the same.
        fs::write(&path, "two").unwrap();
        assert_eq!(look(&mut file, NOW), Some(b"two".to_vec()));
        // A new inode with the old contents is nothing new.
        fs::write(dir.path().join("other"), "two").unwrap();
        fs::rename(dir.path().join("other"), &path).unwrap();
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, InputState::Ok);
        let anew = file.look(NOW, true, Vec::new, |read, chunk| read.extend_from_slice(chunk));
        assert_eq!(anew, Some(b"two".to_vec()));
    }

    #[test]
    fn a_file_that_is_being_written_is_left_until_it_keeps_still() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let mut file = WatchedFile::new(path.clone(), Duration::from_secs(1));
        fs::write(&path, "one").unwrap();
        assert_eq!(look(&mut file, NOW), Some(b"one".to_vec()));
        fs::write(&path, "one tw").unwrap();
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, InputState::Changing);
        fs::write(&path, "one two").unwrap();
        let later = NOW.after(Duration::from_secs(1));
        assert_eq!(look(&mut file, later), None);
        let still = later.after(Duration::from_secs(1));
        assert_eq!(look(&mut file, still), Some(b"one two".to_vec()));
    }

    #[test]
    fn what_is_no_file_is_unreadable_and_never_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = WatchedFile::new(dir.path().to_owned(), Duration::ZERO);
        assert_eq!(look(&mut file, NOW), None);
        assert!(matches!(file.view().state, InputState::Unreadable { .. }));
    }
}
