//! Simulates power losses and disk damage for a journal. After a power loss a disk holds everything that was
//! synced and any part of later writes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use reelyard_journal::StoreObserver;

/// The unit in which a disk keeps or loses writes.
const PAGE: usize = 4096;

/// Observes the store of a journal and records its durable content.
#[derive(Debug)]
pub struct Plug {
    dir: PathBuf,
    durable: Mutex<Durable>,
}

#[derive(Debug, Default)]
struct Durable {
    /// The content of sled's data file at the last sync.
    db: Vec<u8>,
    /// The content of the mark file at the last sync.
    mark: Vec<u8>,
    /// The number of syncs of both files.
    syncs: u64,
}

impl Plug {
    /// Observes the store in `dir` from its present content on.
    pub fn of(dir: &Path) -> Arc<Self> {
        let durable = Durable { db: read(&dir.join(DB)), mark: read(&dir.join(MARK)), syncs: 0 };
        Arc::new(Plug { dir: dir.to_owned(), durable: Mutex::new(durable) })
    }

    /// The number of syncs so far.
    pub fn syncs(&self) -> u64 {
        self.durable().syncs
    }

    /// Simulates a power loss: makes `image` a random state that the disk may hold afterwards. The store
    /// itself continues.
    ///
    /// # Panics
    /// Panics when files cannot be copied.
    pub fn pull(&self, image: &Path, rng: &mut Rng) {
        // No data becomes durable while this runs.
        let durable = self.durable();
        copy_tree(&self.dir.join("sled"), &image.join("sled"));
        copy(&self.dir.join(IDENTITY), &image.join(IDENTITY));
        let db = after_power_loss(&durable.db, &read(&self.dir.join(DB)), rng);
        write_sparse(&image.join(DB), &db);
        let mark = after_power_loss(&durable.mark, &read(&self.dir.join(MARK)), rng);
        write(&image.join(MARK), &mark);
    }

    fn durable(&self) -> MutexGuard<'_, Durable> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreObserver for Plug {
    fn store_synced(&self) {
        let mut durable = self.durable();
        durable.db = read(&self.dir.join(DB));
        durable.syncs += 1;
    }

    fn mark_synced(&self) {
        self.durable().mark = read(&self.dir.join(MARK));
    }
}

const DB: &str = "sled/db";
const MARK: &str = "mark";
const IDENTITY: &str = "identity";

/// Keeps, drops or tears each page that was written since the last sync.
fn after_power_loss(synced: &[u8], written: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut left = synced.to_vec();
    // The disk loses or keeps the new length independently of the data.
    let length = if rng.bool() { written.len() } else { synced.len() };
    left.resize(length.max(synced.len()), 0);
    let all_or_nothing = rng.u8(0..4);
    for start in (0..left.len().min(written.len())).step_by(PAGE) {
        let page = start..(start + PAGE).min(left.len()).min(written.len());
        if left[page.clone()] == written[page.clone()] {
            continue;
        }
        let kept = match (all_or_nothing, rng.u8(0..3)) {
            (0, _) | (2.., 0) => 0,
            (1, _) | (2.., 1) => page.len(),
            // A torn page keeps whole sectors.
            _ => rng.usize(0..=page.len() / 512) * 512,
        };
        let page = page.start..page.start + kept.min(page.len());
        left[page.clone()].copy_from_slice(&written[page]);
    }
    left
}

/// One change to the files of a closed store.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The damaged file, relative to the store.
    pub file: PathBuf,
    /// A description of the damage.
    pub what: String,
}

/// Damages used bytes of one file of the store in `dir`.
///
/// # Panics
/// Panics when files cannot be read or written.
pub fn damage(dir: &Path, rng: &mut Rng) -> Damage {
    let mut files = Vec::new();
    list(dir, dir, &mut files);
    let others: Vec<_> = files.iter().filter(|file| **file != Path::new(DB)).cloned().collect();
    let file = if others.is_empty() || rng.u8(0..10) < 7 {
        PathBuf::from(DB)
    } else {
        rng.choice(others).unwrap_or_default()
    };
    let path = dir.join(&file);
    let mut bytes = read(&path);
    let written: Vec<usize> = (0..bytes.len().div_ceil(PAGE))
        .map(|page| page * PAGE)
        .filter(|&start| bytes[start..].iter().take(PAGE).any(|&byte| byte != 0))
        .collect();
    let page = rng.choice(written).unwrap_or(0);
    let at = (page + rng.usize(0..PAGE)).min(bytes.len().saturating_sub(1));
    let what = match rng.u8(0..10) {
        _ if bytes.is_empty() => {
            fs::remove_file(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            return Damage { file, what: "removed".to_owned() };
        }
        0..=4 => {
            bytes[at] ^= 1 << rng.u8(0..8);
            format!("a bit flipped at {at}")
        }
        5..=6 => {
            let end = (page + PAGE).min(bytes.len());
            bytes[page..end].fill(0);
            format!("zeros from {page} to {end}")
        }
        7..=8 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        _ => {
            let end = (at + 64).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte = rng.u8(..));
            format!("garbage from {at} to {end}")
        }
    };
    write(&path, &bytes);
    Damage { file, what }
}

fn list(root: &Path, dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(root, &path, files);
        } else if let Ok(file) = path.strip_prefix(root)
            && !["lock", "reserve"].iter().any(|name| file == Path::new(name))
        {
            files.push(file.to_owned());
        }
    }
}

/// Copies a directory with all its content.
///
/// # Panics
/// Panics when files cannot be copied.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|error| panic!("{to:?}: {error}"));
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            copy(&entry.path(), &target);
        }
    }
}

/// Copies a file, if it is there: sled may remove its previous snapshot at any time.
fn copy(from: &Path, to: &Path) {
    if let Err(error) = fs::copy(from, to) {
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{to:?}: {error}");
    }
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

/// Writes a file with holes in place of zeros, as sled leaves many of them.
fn write_sparse(path: &Path, bytes: &[u8]) {
    let written = File::create(path).and_then(|file| {
        file.set_len(bytes.len() as u64)?;
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            if page.iter().any(|byte| *byte != 0) {
                file.write_all_at(page, (number * PAGE) as u64)?;
            }
        }
        Ok(())
    });
    written.unwrap_or_else(|error| panic!("{path:?}: {error}"));
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
}
