//! An input file that is read completely whenever it has changed.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::ContentHash;

use super::input_contents::InputContents;
use crate::catalog::single_flight::LookProgress;
use crate::catalog::views::{CatalogInputState, CatalogInputView};

/// Identifies one state of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Inode, and the change time in seconds and nanoseconds.
    changed: (i64, i64),
}

/// The least age of a file at its reading for its stamp to be trusted. Two writes within one tick of a file
/// system's clock leave the same stamp.
const SURE_AFTER: Duration = Duration::from_secs(2);

/// How often a file that changes while it is read is read again in one look.
const ATTEMPTS: usize = 3;

/// Bytes read at a time. The table of names is locked while one chunk is parsed.
const CHUNK: usize = 256 << 10;

/// How long a changed file is not read, so that its writer can finish.
#[derive(Clone, Copy, Debug)]
pub struct FileDebounce {
    /// It must be unchanged for this long before it is read.
    pub quiet: Duration,
    /// A file that keeps changing is read after this time.
    pub limit: Duration,
}

/// A file, its stamp at the last read, and the result of the last check.
#[derive(Debug)]
pub struct WatchedFile {
    path: PathBuf,
    debounce: FileDebounce,
    read: Option<LastRead>,
    /// The stamp as this process sees it, and the time since when it is unchanged.
    seen: Option<(FileStamp, Millis)>,
    /// A change that was seen and not read yet.
    unread: Option<Unread>,
    /// Whether the contents differ between the last two readings.
    is_new: bool,
    view: CatalogInputView,
    progress: LookProgress,
}

/// A file that has changed since it was last read.
#[derive(Clone, Copy, Debug)]
struct Unread {
    stamp: FileStamp,
    /// Since when it is unchanged.
    still: Millis,
    /// Since when it has been changing.
    changing: Millis,
}

/// Options of one check.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileLookOptions {
    /// Whether to read the file even if it did not change.
    pub forced: bool,
    /// Whether it was renamed into place. Then it is read at once.
    pub replaced: bool,
}

/// The action of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileLookAction {
    Nothing,
    /// The stamp equals that of the last reading, but proves nothing: the contents may have changed.
    Comparing,
    Reading,
    /// It keeps changing, so its current state is read.
    ReadingDisturbed,
}

#[derive(Clone, Copy, Debug)]
struct LastRead {
    stamp: FileStamp,
    /// Whether an equal stamp proves equal contents.
    sure: bool,
    contents: blake3::Hash,
}

/// One reading of the whole file.
struct WholeFileRead {
    last: LastRead,
    modified: Millis,
    /// Whether the file was changed meanwhile.
    disturbed: bool,
}

impl WatchedFile {
    /// A file that was not read yet.
    pub fn new(path: PathBuf, debounce: FileDebounce) -> Self {
        let view = CatalogInputView::of(&path);
        WatchedFile {
            path,
            debounce,
            read: None,
            seen: None,
            unread: None,
            is_new: false,
            view,
            progress: LookProgress::default(),
        }
    }

    /// Counts its steps there.
    pub fn with_progress(self, progress: LookProgress) -> Self {
        WatchedFile { progress, ..self }
    }

    /// Path of the file, as configured.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The result of the last look.
    pub fn view(&self) -> &CatalogInputView {
        &self.view
    }

    /// The same, to add the tally of its rows.
    pub fn view_mut(&mut self) -> &mut CatalogInputView {
        &mut self.view
    }

    /// The content in use, once it is read and its rows are counted.
    pub fn contents(&self) -> Option<InputContents> {
        let (read, modified) = (self.read.as_ref()?, self.view.modified?);
        let digest = ContentHash(*read.contents.as_bytes());
        Some(InputContents { digest, rows: self.view.tally.rows, modified })
    }

    /// When a file that is being written must be checked again at the latest.
    pub fn next_look(&self) -> Option<Millis> {
        let unread = self.unread.filter(|_| !self.debounce.quiet.is_zero())?;
        let quiet_end = unread.still.after(self.debounce.quiet);
        let limit = unread.changing.after(self.debounce.limit);
        // The time limit had no effect, because not even an incomplete reading was possible.
        Some(if limit > unread.still { quiet_end.min(limit) } else { quiet_end })
    }

    /// Whether the last reading found other contents than the one before it.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether a check with these options would read the file, according to its stamp.
    pub fn would_read(&mut self, now: Millis, asked: FileLookOptions) -> bool {
        let due = stamp_of(&self.path).map(|stamp| self.due(stamp, now, asked));
        matches!(due, Ok(FileLookAction::Reading | FileLookAction::ReadingDisturbed))
    }

    /// Checks the file at `now`. If it changed, or if a read is forced, its bytes are fed to a reader
    /// from `start`. Answers that reader if there were new contents; the view shows why not.
    pub fn look<R>(
        &mut self,
        now: Millis,
        asked: FileLookOptions,
        start: impl FnMut() -> R,
        feed: impl FnMut(&mut R, &[u8]),
    ) -> Option<R> {
        let looked = stamp_of(&self.path).and_then(|stamp| match self.due(stamp, now, asked) {
            FileLookAction::Nothing => Ok(None),
            FileLookAction::Comparing if self.compare(now)? => Ok(None),
            due => self.read(now, due == FileLookAction::ReadingDisturbed, start, feed),
        });
        let taken = match looked {
            Ok(Some((reader, reading))) => {
                self.apply_read(reading, now, asked.forced).then_some(reader)
            }
            Ok(None) => None,
            Err(error) => {
                self.unread = None;
                self.view.state = CatalogInputState::of_error(&error);
                None
            }
        };
        if self.view.state == CatalogInputState::Ok {
            self.view.good_at = Some(now);
        }
        taken
    }

    /// The action for the current state of the file.
    fn due(&mut self, stamp: FileStamp, now: Millis, asked: FileLookOptions) -> FileLookAction {
        if self.seen.is_none_or(|(seen, _)| seen != stamp) {
            self.seen = Some((stamp, now));
        }
        if let Some(read) = self.read.as_ref().filter(|read| read.stamp == stamp) {
            self.unread = None;
            self.view.state = CatalogInputState::Ok;
            return match () {
                () if asked.forced => FileLookAction::Reading,
                () if read.sure => FileLookAction::Nothing,
                () => FileLookAction::Comparing,
            };
        }
        let before = self.unread;
        let still = before.filter(|unread| unread.stamp == stamp).map_or(now, |seen| seen.still);
        let changing = before.map_or(now, |seen| seen.changing);
        self.unread = Some(Unread { stamp, still, changing });
        self.view.state = CatalogInputState::Changing;
        let is_still = now.since(still) >= self.debounce.quiet;
        // Before the first check, no change can have been seen.
        let is_unseen = before.is_none_or(|seen| seen.stamp == stamp && seen.changing == now);
        let was_still = self.read.is_none() && is_unseen && stamp.is_old(self.debounce.quiet);
        match () {
            () if asked.replaced || is_still || was_still => FileLookAction::Reading,
            () if now.since(changing) >= self.debounce.limit => FileLookAction::ReadingDisturbed,
            () => FileLookAction::Nothing,
        }
    }

    /// Whether the contents equal those of the last reading.
    fn compare(&mut self, now: Millis) -> io::Result<bool> {
        // This also holds if the time of a file is far ahead, because a later write changes it.
        let was_seen = self.seen.filter(|(_, since)| now.since(*since) >= SURE_AFTER);
        let Some(read) = &mut self.read else { return Ok(false) };
        match read_file(&self.path, false, |_| {})? {
            Some(reading) if reading.last.contents == read.contents => {
                *read = reading.last;
                read.sure |= was_seen.is_some_and(|(stamp, _)| stamp == read.stamp);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Reads the file; none if it was disturbed each time, and `even_disturbed` does not hold.
    fn read<R>(
        &mut self,
        now: Millis,
        even_disturbed: bool,
        mut start: impl FnMut() -> R,
        mut feed: impl FnMut(&mut R, &[u8]),
    ) -> io::Result<Option<(R, WholeFileRead)>> {
        for attempt in 1..=ATTEMPTS {
            let mut reader = start();
            let take_it = even_disturbed && attempt == ATTEMPTS;
            let progress = &self.progress;
            let feed = |chunk: &[u8]| {
                progress.advance();
                feed(&mut reader, chunk);
            };
            if let Some(reading) = read_file(&self.path, take_it, feed)? {
                return Ok(Some((reader, reading)));
            }
        }
        self.view.state = CatalogInputState::Changing;
        if let Some(unread) = &mut self.unread {
            unread.still = now;
        }
        Ok(None)
    }

    /// Records a reading. Answers whether its contents are new or were requested.
    fn apply_read(&mut self, reading: WholeFileRead, now: Millis, is_forced: bool) -> bool {
        let before = self.read.as_ref().map(|read| read.contents);
        self.is_new = before != Some(reading.last.contents);
        self.read = Some(reading.last);
        self.view.read_at = Some(now);
        self.view.modified = Some(reading.modified);
        self.unread = reading.disturbed.then_some(Unread {
            stamp: reading.last.stamp,
            still: now,
            changing: now,
        });
        self.view.state =
            if reading.disturbed { CatalogInputState::Changing } else { CatalogInputState::Ok };
        self.is_new || is_forced
    }
}

impl FileStamp {
    /// Whether neither the file nor its inode was changed for `time`, by this machine's clock.
    fn is_old(&self, time: Duration) -> bool {
        let (seconds, nanos) = self.changed.max(self.modified);
        let changed = u64::try_from(seconds).ok().and_then(|seconds| {
            let nanos = u32::try_from(nanos).unwrap_or(0);
            SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
        });
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        age.is_some_and(|age| age >= time)
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

/// Reads the file to its end; none if it was changed or replaced meanwhile. With `even_disturbed`
/// none only if it was cut or replaced.
fn read_file(
    path: &Path,
    even_disturbed: bool,
    mut feed: impl FnMut(&[u8]),
) -> io::Result<Option<WholeFileRead>> {
    let begun = SystemTime::now();
    // The path is checked first: opening a FIFO would wait for a writer.
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
    let after = [stamp(&metadata)?, stamp_of(path)?];
    let disturbed = after.iter().any(|stamp| *stamp != expected);
    let is_grown = |stamp: &FileStamp| {
        (stamp.device, stamp.inode) == (expected.device, expected.inode)
            && stamp.size >= expected.size
    };
    if disturbed && !(even_disturbed && after.iter().all(is_grown)) {
        return Ok(None);
    }
    let modified = metadata.modified()?;
    let sure = !disturbed && begun.duration_since(modified).is_ok_and(|age| age >= SURE_AFTER);
    let last = LastRead { stamp: expected, sure, contents: contents.finalize() };
    Ok(Some(WholeFileRead { last, modified: Millis::from(modified), disturbed }))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;

    const NOW: Millis = Millis(1_000_000);

    fn file_at(path: &Path, quiet: u64, limit: u64) -> WatchedFile {
        let debounce =
            FileDebounce { quiet: Duration::from_secs(quiet), limit: Duration::from_secs(limit) };
        WatchedFile::new(path.to_owned(), debounce)
    }

    fn look_for(file: &mut WatchedFile, now: Millis, asked: FileLookOptions) -> Option<Vec<u8>> {
        file.look(now, asked, Vec::new, |read, chunk| read.extend_from_slice(chunk))
    }

    fn look(file: &mut WatchedFile, now: Millis) -> Option<Vec<u8>> {
        look_for(file, now, FileLookOptions::default())
    }

    fn seconds(seconds: u64) -> Millis {
        NOW.after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_file_is_returned_when_its_contents_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let mut file = file_at(&path, 0, 0);
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, CatalogInputState::Missing);

        fs::write(&path, "one").unwrap();
        assert_eq!(look(&mut file, NOW), Some(b"one".to_vec()));
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, CatalogInputState::Ok);
        // The same size within the same tick: the change is noticed in any case.
        fs::write(&path, "two").unwrap();
        assert_eq!(look(&mut file, NOW), Some(b"two".to_vec()));
        // A new inode with the old contents is nothing new.
        fs::write(dir.path().join("other"), "two").unwrap();
        fs::rename(dir.path().join("other"), &path).unwrap();
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.view().state, CatalogInputState::Ok);
        let is_forced = look_for(&mut file, NOW, FileLookOptions { forced: true, replaced: false });
        assert_eq!(is_forced, Some(b"two".to_vec()));
    }

    #[test]
    fn a_file_that_is_being_written_is_left_until_it_keeps_still() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let mut file = file_at(&path, 3600, 36_000);
        fs::write(&path, "one").unwrap();
        // Young as it is, it may not be whole: the first look waits too.
        assert_eq!(look(&mut file, NOW), None);
        assert_eq!(file.next_look(), Some(seconds(3600)));
        assert_eq!(look(&mut file, seconds(3600)), Some(b"one".to_vec()));
        assert_eq!(file.next_look(), None);

        fs::write(&path, "one tw").unwrap();
        assert_eq!(look(&mut file, seconds(4000)), None);
        assert_eq!(file.view().state, CatalogInputState::Changing);
        assert_eq!(file.view().good_at, Some(seconds(3600)), "it is not what is in use any more");
        fs::write(&path, "one two").unwrap();
        assert_eq!(look(&mut file, seconds(7600)), None);
        assert_eq!(file.next_look(), Some(seconds(11_200)));
        assert_eq!(look(&mut file, seconds(11_200)), Some(b"one two".to_vec()));
        assert_eq!(look(&mut file, seconds(11_300)), None);
        let view = file.view();
        assert_eq!(
            (view.read_at, view.good_at),
            (Some(seconds(11_200)), Some(seconds(11_300))),
            "unchanged, it was found to be as it was read"
        );
    }

    #[test]
    fn a_file_that_has_kept_still_is_read_at_the_first_look() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        fs::write(&path, "one").unwrap();
        let stamp = stamp_of(&path).unwrap();
        while !stamp.is_old(Duration::from_millis(2)) {
            std::thread::yield_now();
        }
        let debounce =
            FileDebounce { quiet: Duration::from_millis(1), limit: Duration::from_secs(1) };
        let mut file = WatchedFile::new(path, debounce);
        assert_eq!(look(&mut file, NOW), Some(b"one".to_vec()));
    }

    #[test]
    fn a_file_put_into_place_as_a_whole_is_read_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let mut file = file_at(&path, 3600, 36_000);
        fs::write(&path, "one").unwrap();
        let replaced = FileLookOptions { forced: false, replaced: true };
        assert_eq!(look_for(&mut file, NOW, replaced), Some(b"one".to_vec()));
    }

    #[test]
    fn a_file_that_never_keeps_still_is_read_after_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let mut file = file_at(&path, 60, 600);
        fs::write(&path, "0").unwrap();
        assert_eq!(look(&mut file, NOW), None);
        for second in (30..600).step_by(30) {
            fs::write(&path, vec![b'x'; second as usize]).unwrap();
            assert_eq!(look(&mut file, seconds(second)), None);
        }
        // The writer continues while the file is read.
        fs::write(&path, "last").unwrap();
        let is_fresh = Cell::new(false);
        let start = || {
            is_fresh.set(true);
            Vec::new()
        };
        let feed = |read: &mut Vec<u8>, chunk: &[u8]| {
            read.extend_from_slice(chunk);
            if is_fresh.replace(false) {
                let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
                io::Write::write_all(&mut file, b"y").unwrap();
            }
        };
        let read = file.look(seconds(600), FileLookOptions::default(), start, feed);
        assert!(read.is_some_and(|read| read.starts_with(b"last")));
        assert_eq!(file.next_look(), Some(seconds(660)), "the rest is waited for");
        assert_eq!(file.view().state, CatalogInputState::Changing);
    }

    #[test]
    fn a_time_in_the_future_is_trusted_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        fs::write(&path, "one").unwrap();
        let ahead = SystemTime::now() + Duration::from_secs(3600);
        File::open(&path).unwrap().set_modified(ahead).unwrap();
        let mut file = file_at(&path, 0, 0);
        assert_eq!(look(&mut file, NOW), Some(b"one".to_vec()));
        let mut is_sure = |now| {
            assert_eq!(look(&mut file, now), None);
            file.read.unwrap().sure
        };
        assert_eq!([0, 1, 2].map(|second| is_sure(seconds(second))), [false, false, true]);
        fs::write(&path, "two").unwrap();
        assert_eq!(look(&mut file, seconds(3)), Some(b"two".to_vec()));
    }

    #[test]
    fn an_irregular_file_is_unreadable_and_gets_no_next_look() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = file_at(dir.path(), 1, 1);
        assert_eq!(look(&mut file, NOW), None);
        assert!(matches!(file.view().state, CatalogInputState::Unreadable { .. }));
        assert_eq!(file.next_look(), None);
    }
}
