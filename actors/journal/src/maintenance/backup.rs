//! A store as one file: its whole content and nothing else, checked from end to end.
//!
//! The file begins with the words `REELYARD STORE` and a version byte. Items follow: a kind byte, two
//! little-endian `u64` as the key, the length as a little-endian `u32`, and the stored bytes. The end is
//! the kind byte zero and the CRC-32C of everything before, little-endian.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use reelyard_core::private_dir;
use serde::Serialize;

use super::report::{Condition, members};
use super::upkeep::{self, DatabaseCopy, UpkeepError};
use crate::raft;
use crate::store::database::head::StoreHead;
use crate::store::database::new_database::{NewDatabase, StoreItem, each_item};
use crate::store::database::sled_database::{SLED, guarded};
use crate::store::database::trees::inspect;
use crate::store::disk::durability_mark::{self, MarkFile};
use crate::store::disk::identity_file::StoreIdentity;
use crate::store::disk::lock::DirectoryLock;
use crate::store::{SkippedEntries, StoreError};

pub(super) const MAGIC: &[u8] = b"REELYARD STORE";
/// The version of the items and of the head in the file. Rows and chunks have versions of their own.
pub(super) const VERSION: u8 = 1;

const END: u8 = 0;
const HEAD: u8 = 1;
const ROW: u8 = 2;
const CHUNK: u8 = 3;

/// Most bytes of one item; a larger length means damage.
const LONGEST: usize = 64 * 1024;

/// Content of a backup.
#[derive(Clone, Debug, Serialize)]
pub struct BackupSummary {
    /// Path of the backup.
    pub file: PathBuf,
    /// Size of the backup in bytes.
    pub bytes: u64,
    /// Node to which the saved store belongs.
    pub node: Option<u64>,
    /// Log index of the snapshot in it.
    pub snapshot: Option<u64>,
    /// The last log entry in it.
    pub last_log: Option<u64>,
    /// Whether the restored node forms a cluster without the other members.
    pub is_alone: bool,
}

/// The members of a restored store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoredMembers {
    /// Those of the backup. It must have only one voter.
    Kept,
    /// Only the node of the backup.
    Alone,
}

/// Why a store was not backed up or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store cannot be examined.
    #[error(transparent)]
    Store(#[from] UpkeepError),
    /// The store is damaged: a backup of it would look valid.
    #[error("the store is incomplete or damaged: {0}; run `reelyard store check`")]
    NotWhole(String),
    /// The file cannot be written or read.
    #[error("{}: {why}", .file.display())]
    File {
        /// Path of the backup.
        file: PathBuf,
        /// Description of the damage.
        why: String,
    },
    /// There is a store already.
    #[error("{} already has a store: move it away first", .0.display())]
    Exists(PathBuf),
    /// The node is one of several.
    #[error(
        "the backup is from one of several voting nodes: restoring it could lose changes that the nodes \
         acknowledged after it. Let the node join again with an empty directory instead, so that it copies its state \
         from the others. If most voters are gone for good, and none of the others runs: --alone"
    )]
    OneOfSeveral,
}

/// Writes the content of the store in `dir` to `target`. If `target` is a directory, it creates a file
/// there. The store is checked first, on a copy in `scratch` or beside the store. Blocks.
pub fn back_up(
    dir: &Path,
    target: &Path,
    scratch: Option<&Path>,
) -> Result<BackupSummary, BackupError> {
    let report = upkeep::check(dir, scratch)?;
    if report.condition != Condition::Whole {
        let faults: Vec<_> = report.faults.into_iter().map(|fault| fault.what).collect();
        return Err(BackupError::NotWhole(faults.join("; ")));
    }
    let (Some(node), flush) = (report.node, report.flush) else {
        return Err(UpkeepError::NoStore(dir.to_owned()).into());
    };
    let file = if target.is_dir() {
        target.join(format!("reelyard-node-{node}-flush-{flush}.backup"))
    } else {
        target.to_owned()
    };
    let _lock = upkeep::lock(dir)?;
    let copy = DatabaseCopy::make(dir, scratch.unwrap_or(dir))?;
    let (seen, _) = inspect(&copy.sled()).map_err(UpkeepError::from)?;
    let head = seen.trees.head();
    let failed = |why: String| BackupError::File { file: file.clone(), why };
    let partial = file.with_extension("partial");
    let written = (|| {
        let mut out = ChecksummedStream::new(BufWriter::new(create_private(&partial)?));
        out.write_all(MAGIC)?;
        out.write_all(&[VERSION])?;
        let encoded =
            postcard::to_stdvec(&head).map_err(|error| StoreError::Io(error.to_string()))?;
        write_item(&mut out, HEAD, (0, 0), &encoded)?;
        each_item(&seen.trees, |item| match item {
            // A row that was never acknowledged.
            StoreItem::Row { index, .. } if index >= seen.trees.log.end() => Ok(()),
            StoreItem::Row { index, record } => write_item(&mut out, ROW, (index, 0), &record),
            StoreItem::Chunk { number, chunk, record } => {
                write_item(&mut out, CHUNK, (number, chunk), &record)
            }
        })?;
        out.write_all(&[END])?;
        let checksum = out.checksum;
        out.write_all(&checksum.to_le_bytes())?;
        let written = out.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        written.sync_all()?;
        fs::rename(&partial, &file)?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok::<u64, StoreError>(written.metadata()?.len())
    })();
    let bytes = written.map_err(|error| {
        // A partial file is useless, and a failed removal changes nothing.
        let _ = fs::remove_file(&partial);
        failed(error.to_string())
    })?;
    Ok(summary(&file, bytes, &head))
}

/// Creates a store in `dir` from the backup in `file`. `dir` must have no store. Its term begins above
/// all terms in which the node may have led since. It gets another identity at its first start. Blocks.
pub fn restore(
    file: &Path,
    dir: &Path,
    kept: RestoredMembers,
) -> Result<BackupSummary, BackupError> {
    let failed = |why: String| BackupError::File { file: file.to_owned(), why };
    // The whole backup is read before anything is written.
    let mut head = None;
    read_items(file, |kind, _, bytes| {
        if kind == HEAD {
            head = Some(bytes);
        }
        Ok(())
    })
    .map_err(|error| match error {
        StoreError::Io(why) => failed(format!("cannot be read: {why}")),
        other => failed(other.to_string()),
    })?;
    let head: Option<StoreHead> = head.and_then(|head| postcard::from_bytes(&head).ok());
    let Some(mut head) = head else {
        return Err(failed("it is not a backup that this version of reelyard can read".to_owned()));
    };
    private_dir::create(dir).map_err(UpkeepError::from)?;
    let _lock = DirectoryLock::acquire(dir, std::time::Duration::ZERO)
        .map_err(|_| UpkeepError::InUse(dir.to_owned()))?;
    if upkeep::is_store(dir) {
        return Err(BackupError::Exists(dir.to_owned()));
    }
    let made = make(file, dir, &mut head, kept);
    if made.is_err() {
        // There was no store before, and a partial one is useless.
        let _ = crate::store::database::new_database::remove_tree(&dir.join("sled.new"));
    }
    let is_alone = made?;
    let bytes = fs::metadata(file).map_or(0, |found| found.len());
    Ok(BackupSummary { is_alone, ..summary(file, bytes, &head) })
}

/// Makes the store. Answers whether its node is without the other members of the backup.
fn make(
    file: &Path,
    dir: &Path,
    head: &mut StoreHead,
    kept: RestoredMembers,
) -> Result<bool, BackupError> {
    let failed = |error: StoreError| BackupError::Store(error.into());
    let new = dir.join("sled.new");
    let votes = head.vote.iter().map(Vec::as_slice);
    let vote = raft::raised_vote(head.node.unwrap_or_default(), votes);
    head.vote = Some(vote.map_err(|error| failed(StoreError::Io(error.to_string())))?);
    StoreIdentity::remove(dir).map_err(|error| failed(error.into()))?;
    // It names entries of another log.
    SkippedEntries::remove(dir).map_err(|error| failed(error.into()))?;
    let mut fresh = NewDatabase::create(&new).map_err(failed)?;
    read_items(file, |kind, (a, b), record| match kind {
        ROW => fresh.add(StoreItem::Row { index: a, record }),
        CHUNK => fresh.add(StoreItem::Chunk { number: a, chunk: b, record }),
        _ => Ok(()),
    })
    .map_err(failed)?;
    fresh.finish(head).map_err(failed)?;
    let (seen, log_file) = inspect(&new).map_err(failed)?;
    if let Some(fault) = seen.fault {
        return Err(BackupError::NotWhole(fault.to_string()));
    }
    let end = seen.trees.log.end();
    let members = members(&seen.trees, head, seen.first, end).map_err(failed)?;
    let is_alone = match kept {
        RestoredMembers::Kept if members.voters.len() > 1 => return Err(BackupError::OneOfSeveral),
        RestoredMembers::Kept => false,
        RestoredMembers::Alone => head.node.is_some_and(|node| members.voters != [node]),
    };
    if is_alone {
        let (node, vote) =
            (head.node.unwrap_or_default(), head.vote.as_deref().unwrap_or_default());
        let entry = raft::lone_member_entry(end, node, members.numbers_given, vote);
        let entry = entry.map_err(|error| failed(StoreError::Io(error.to_string())))?;
        let added = guarded(|| {
            seen.trees.log.append(&[(end, entry)])?;
            seen.trees.seal()?;
            seen.trees.db.flush()?;
            log_file.sync_data()?;
            Ok(seen.trees.head())
        });
        *head = added.map_err(failed)?;
    }
    drop(seen);
    let finished = MarkFile::create(dir, &head.mark())
        .and_then(|_| fs::rename(&new, dir.join(SLED)))
        .and_then(|()| File::open(dir)?.sync_all());
    finished.map_err(|error| failed(error.into()))?;
    Ok(is_alone)
}

fn summary(file: &Path, bytes: u64, head: &StoreHead) -> BackupSummary {
    let durability_mark::DurabilityMark { log_end, snapshot, .. } = head.mark();
    BackupSummary {
        file: file.to_owned(),
        bytes,
        node: head.node,
        snapshot,
        last_log: log_end.checked_sub(1),
        is_alone: false,
    }
}

fn write_item(
    out: &mut impl Write,
    kind: u8,
    (a, b): (u64, u64),
    bytes: &[u8],
) -> Result<(), StoreError> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    out.write_all(&[kind])?;
    out.write_all(&a.to_le_bytes())?;
    out.write_all(&b.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    Ok(out.write_all(bytes)?)
}

/// Creates a file that only its owner can read, because a backup holds the secrets of all links.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // An existing file keeps its mode.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Passes each item of a backup to `take`, and checks the whole backup.
fn read_items(
    file: &Path,
    mut take: impl FnMut(u8, (u64, u64), Vec<u8>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let bad = |why: &str| StoreError::Io(why.to_owned());
    // It is read twice, and opening a pipe would block.
    if !fs::metadata(file)?.is_file() {
        return Err(bad("it is not a regular file"));
    }
    let mut input = ChecksummedStream::new(BufReader::new(File::open(file)?));
    let mut start = [0; MAGIC.len() + 1];
    input.read_exact(&mut start).map_err(|_| bad("it is not a backup of a store"))?;
    match start.split_last() {
        Some((&VERSION, MAGIC)) => {}
        Some((&version, MAGIC)) => {
            return Err(bad(&format!(
                "its version {version} is not known to this version of reelyard: restore it with the version that wrote it"
            )));
        }
        _ => return Err(bad("it is not a backup of a store")),
    }
    let cut = |_: io::Error| bad("it is cut short");
    loop {
        let kind = input.number::<1>().map_err(cut)?[0];
        if kind == END {
            break;
        }
        let a = u64::from_le_bytes(input.number().map_err(cut)?);
        let b = u64::from_le_bytes(input.number().map_err(cut)?);
        let length = u32::from_le_bytes(input.number().map_err(cut)?) as usize;
        if length > LONGEST {
            return Err(bad("it is damaged: an item is too long"));
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes).map_err(cut)?;
        take(kind, (a, b), bytes)?;
    }
    let computed = input.checksum;
    if u32::from_le_bytes(input.number().map_err(cut)?) != computed {
        return Err(bad("it is damaged: its checksum does not match"));
    }
    if input.read(&mut [0])? > 0 {
        return Err(bad("it is damaged: it has data after its end"));
    }
    Ok(())
}

/// Reads or writes, and computes the checksum of the bytes.
struct ChecksummedStream<T> {
    inner: T,
    checksum: u32,
}

impl<T> ChecksummedStream<T> {
    fn new(inner: T) -> Self {
        ChecksummedStream { inner, checksum: 0 }
    }
}

impl<T: Read> ChecksummedStream<T> {
    fn number<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes).map(|()| bytes)
    }
}

impl<T: Read> Read for ChecksummedStream<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.checksum = crc32c::crc32c_append(self.checksum, &buffer[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for ChecksummedStream<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.checksum = crc32c::crc32c_append(self.checksum, &bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
