//! The file of each path of a data port. Nothing else is reachable.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use reelyard_core::names::FileName;
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;

use super::backends::CopyDirectory;
use crate::open_regular::open_regular;

/// The directories a worker serves from.
#[derive(Clone, Debug, Default)]
pub struct DataPortRoutes {
    /// Opened again for each request: a file system may be mounted there later, or again.
    source_dirs: Vec<PathBuf>,
    base_dir: Option<Arc<dyn CopyDirectory>>,
}

/// The file that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedFile {
    /// A master: its directory, as the path names it, and its name.
    Master(Vec<u8>, FileName),
    /// A copy in the base directory.
    Copy(FileName),
}

/// The parts of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedFileRequest {
    /// Whether the path requests the file's hash instead of its bytes.
    pub hash: bool,
    /// The file that the path names.
    pub file: ServedFile,
}

/// Why a file is not served.
#[derive(Debug)]
pub enum FileNotServed {
    /// The file does not exist, or is not visible here (404).
    Absent(&'static str),
    /// Nothing is served from its directory here (421): the configuration that names this host as its
    /// source is wrong.
    Elsewhere(&'static str),
    /// It cannot be opened (500).
    Failed(io::Error),
}

impl DataPortRoutes {
    /// Masters from `source_dirs`, copies from `base_dir`.
    pub fn new(source_dirs: Vec<PathBuf>, base_dir: Option<Arc<dyn CopyDirectory>>) -> Self {
        DataPortRoutes { source_dirs, base_dir }
    }

    /// Opens `wanted`, if a route leads to it and it is a regular file.
    pub fn open(&self, wanted: &ServedFile) -> Result<File, FileNotServed> {
        let opened = match wanted {
            ServedFile::Copy(name) => match &self.base_dir {
                Some(base) => base.open_file(name),
                None => return Err(FileNotServed::Absent("this worker keeps no copies")),
            },
            ServedFile::Master(dir, name) => {
                let path = without_slashes(dir);
                let listed =
                    |source: &&PathBuf| without_slashes(source.as_os_str().as_bytes()) == path;
                match self.source_dirs.iter().find(listed) {
                    Some(source) => return open_master(source, name),
                    None => {
                        return Err(FileNotServed::Elsewhere("no source directory of this worker"));
                    }
                }
            }
        };
        opened.map_err(why_not)
    }
}

/// Opens a master. If its directory is missing, or is empty because nothing is mounted there, that is
/// no fault of the file.
fn open_master(source: &Path, name: &FileName) -> Result<File, FileNotServed> {
    let dir = open_dir(source).map_err(FileNotServed::Failed)?;
    let opened = open_regular(&dir, name);
    if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        && is_empty(&dir).map_err(FileNotServed::Failed)?
    {
        let why = "the source directory is empty: is its file system mounted?";
        return Err(FileNotServed::Failed(io::Error::other(why)));
    }
    opened.map_err(why_not)
}

fn is_empty(dir: &OwnedFd) -> io::Result<bool> {
    for entry in Dir::read_from(dir)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a file that cannot be opened is itself the reason, or the disk it is on.
fn why_not(error: io::Error) -> FileNotServed {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => FileNotServed::Absent("no such file"),
        Some(Errno::ACCESS | Errno::PERM) => FileNotServed::Absent("the worker may not read it"),
        // The error for opening a symlink, a socket or a device without following it.
        Some(Errno::LOOP | Errno::NXIO) => FileNotServed::Absent("it is not a regular file"),
        None if error.kind() == io::ErrorKind::InvalidInput => {
            FileNotServed::Absent("it is not a regular file")
        }
        _ => FileNotServed::Failed(error),
    }
}

fn open_dir(dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, dir, flags, Mode::empty()).map_err(|error| {
        io::Error::other(format!("the source directory cannot be opened: {error}"))
    })
}

/// `/data/` and `/data` are the same directory.
fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    &path[..end]
}

impl ServedFileRequest {
    /// Takes apart the path of a request line. It is percent-decoded once, after it was split.
    pub fn parse(path: &str) -> Option<ServedFileRequest> {
        let (hash, path) = match path.strip_prefix("/hashes/") {
            Some(rest) => (true, rest),
            None => (false, path.strip_prefix('/')?),
        };
        let (kind, rest) = path.split_once('/')?;
        let decoded: Vec<u8> = percent_decode_str(rest).collect();
        let file = match kind {
            "copies" => ServedFile::Copy(FileName::new(decoded).ok()?),
            "masters" => {
                let slash = decoded.iter().rposition(|&byte| byte == b'/')?;
                let name = FileName::new(&decoded[slash + 1..]).ok()?;
                if decoded[0] != b'/' {
                    return None;
                }
                ServedFile::Master(decoded[..=slash].to_vec(), name)
            }
            _ => return None,
        };
        Some(ServedFileRequest { hash, file })
    }
}

/// The path that asks a data port for the master `name` in `dir`; with `hash`, for its hash.
pub fn master_path(dir: &str, name: &FileName, hash: bool) -> String {
    let dir = dir.trim_end_matches('/');
    let dir: String = dir.split('/').map(|part| percent_of(part) + "%2F").collect();
    format!("{}/masters/{dir}{}", if hash { "/hashes" } else { "" }, name.to_percent())
}

/// Whether this is the path of a master's hash.
pub fn is_hash_path(path: &str) -> bool {
    path.starts_with("/hashes/")
}

fn percent_of(part: &str) -> String {
    percent_encoding::utf8_percent_encode(part, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(bytes: &[u8]) -> FileName {
        FileName::new(bytes).unwrap()
    }

    #[test]
    fn a_path_and_its_parts_are_the_same_thing() {
        for bytes in [&b"a#b.mpg"[..], b"c?d.mpg", b"%411.mpg", b" x ", b"\xff\xfe", b"n\nl"] {
            for dir in ["/data2", "/data2/", "/a b/c%d", "/"] {
                for hash in [false, true] {
                    let path = master_path(dir, &name(bytes), hash);
                    let asked = ServedFileRequest::parse(&path).unwrap();
                    let dir = format!("{}/", dir.trim_end_matches('/')).into_bytes();
                    assert_eq!(
                        asked,
                        ServedFileRequest { hash, file: ServedFile::Master(dir, name(bytes)) }
                    );
                }
            }
        }
        let copy = ServedFileRequest::parse("/copies/%2541").unwrap();
        assert_eq!(copy, ServedFileRequest { hash: false, file: ServedFile::Copy(name(b"%41")) });
        for bad in [
            "",
            "/",
            "/copies",
            "/copies/",
            "/copies/..",
            "/copies/a%2Fb",
            "/copies/%00",
            "/masters/data/x",
            "/masters/",
            "/masters/%2Fdata%2F..",
            "/other/x",
            "/hashes/x",
        ] {
            assert_eq!(ServedFileRequest::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_regular_files_directly_in_a_listed_directory_are_served() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("data");
        std::fs::create_dir_all(dir.join("sub")).unwrap();
        std::fs::write(dir.join("x"), b"x").unwrap();
        std::fs::write(dir.join("sub/y"), b"y").unwrap();
        std::fs::write(place.path().join("secret"), b"s").unwrap();
        std::os::unix::fs::symlink("../secret", dir.join("link")).unwrap();
        let routes = DataPortRoutes::new(vec![dir.clone()], None);
        let open = |dir: &std::path::Path, bytes: &[u8]| {
            let mut path = dir.as_os_str().as_bytes().to_vec();
            path.push(b'/');
            routes.open(&ServedFile::Master(path, name(bytes)))
        };
        assert!(open(&dir, b"x").is_ok());
        assert!(matches!(open(&dir, b"absent"), Err(FileNotServed::Absent(_))));
        assert!(matches!(open(&dir, b"link"), Err(FileNotServed::Absent(_))));
        assert!(matches!(open(&dir, b"sub"), Err(FileNotServed::Absent(_))));
        assert!(matches!(open(&dir.join("sub"), b"y"), Err(FileNotServed::Elsewhere(_))));
        assert!(matches!(open(place.path(), b"secret"), Err(FileNotServed::Elsewhere(_))));
        assert!(matches!(open(&dir.join(".."), b"secret"), Err(FileNotServed::Elsewhere(_))));
        assert!(matches!(
            routes.open(&ServedFile::Copy(name(b"x"))),
            Err(FileNotServed::Absent(_))
        ));
    }

    #[test]
    fn a_file_without_read_permission_is_no_fault_of_its_disk() {
        let shown = |errno: Errno| why_not(io::Error::from(errno));
        assert!(matches!(
            shown(Errno::ACCESS),
            FileNotServed::Absent("the worker may not read it")
        ));
        assert!(matches!(shown(Errno::IO), FileNotServed::Failed(_)));
    }
}
