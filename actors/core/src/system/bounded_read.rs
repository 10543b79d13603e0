//! Reads files that an operator names, with limits for size and time.
//!
//! Regular files are always allowed. A pipe, such as `<(command)` or `/dev/stdin`, is allowed for a
//! file that is read once. These are a configuration file, an old configuration to import, and an
//! event log to simulate.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, major, minor};

/// Largest size in bytes: more than any configuration has.
const MOST: u64 = 16 << 20;

/// Time limit for a pipe.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval of the reads of an empty pipe.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The kinds of files that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// A regular file.
    File,
    /// A regular file, or a pipe with a writer.
    FileOrPipe,
}

/// Reads the whole file.
///
/// # Errors
///
/// The file has another kind, is too large, or does not end in time.
pub fn read(path: &Path, source: InputSource) -> io::Result<Vec<u8>> {
    let mut file = open(path, source)?;
    let deadline = Instant::now() + PATIENCE;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16 << 10]);
    let is_pipe = file.metadata()?.file_type().is_fifo();
    set_blocking(&file, !is_pipe)?;
    loop {
        match file.read(&mut buffer) {
            Ok(0) if is_pipe && bytes.is_empty() => {
                return Err(io::Error::other("it is a pipe without data: no process wrote to it"));
            }
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() >= deadline {
                    let seconds = PATIENCE.as_secs();
                    let why =
                        format!("it is a pipe, and its writer did not close it within {seconds} s");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                std::thread::sleep(LOOK_EVERY);
            }
            Err(error) => return Err(error),
        }
        if bytes.len() as u64 > MOST {
            let why = format!("it is larger than {} MiB", MOST >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
    }
}

/// Reads the whole file as text. See [`read`].
///
/// # Errors
///
/// Those of [`read`], or the file is not UTF-8.
pub fn read_text(path: &Path, source: InputSource) -> io::Result<String> {
    String::from_utf8(read(path, source)?).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("is not UTF-8: {}", error.utf8_error()))
    })
}

/// Opens the file for one read.
///
/// # Errors
///
/// The file has another kind.
pub fn open(path: &Path, source: InputSource) -> io::Result<File> {
    // Without NONBLOCK, opening a pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let seen = file.metadata()?;
    let kind = seen.file_type();
    let what = match kind {
        kind if kind.is_file() => return Ok(file),
        kind if kind.is_fifo() && source == InputSource::FileOrPipe => {
            set_blocking(&file, true)?;
            return Ok(file);
        }
        // /dev/null is allowed: it is empty.
        kind if kind.is_char_device() && (major(seen.rdev()), minor(seen.rdev())) == (1, 3) => {
            return Ok(file);
        }
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    let wanted = match source {
        InputSource::File => "expected a regular file",
        InputSource::FileOrPipe => "expected a regular file or a pipe",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}: {wanted}")))
}

fn set_blocking(file: &File, is_blocking: bool) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    let wanted = if is_blocking { flags - OFlags::NONBLOCK } else { flags | OFlags::NONBLOCK };
    Ok(fcntl_setfl(file, wanted)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn refused(path: &Path, source: InputSource) -> String {
        read(path, source).unwrap_err().to_string()
    }

    #[test]
    fn an_endless_or_irregular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let began = Instant::now();
        assert!(refused(&pipe, InputSource::File).contains("it is a pipe"));
        assert!(refused(&pipe, InputSource::FileOrPipe).contains("no process wrote to it"));
        for source in [InputSource::File, InputSource::FileOrPipe] {
            assert!(refused(dir.path(), source).contains("a directory"));
            assert!(refused(Path::new("/dev/zero"), source).contains("a device"));
            assert_eq!(read(Path::new("/dev/null"), source).unwrap(), b"");
        }
        assert!(began.elapsed() < PATIENCE, "it waited");
        let large = dir.path().join("large");
        File::create(&large).unwrap().set_len(MOST + 1).unwrap();
        assert!(refused(&large, InputSource::File).contains("larger than 16 MiB"));
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let writing = std::thread::spawn(move || {
            for part in ["one ", "two"] {
                writer.write_all(part.as_bytes()).unwrap();
                std::thread::yield_now();
            }
        });
        assert_eq!(read_text(Path::new(&path), InputSource::FileOrPipe).unwrap(), "one two");
        writing.join().unwrap();
    }
}
