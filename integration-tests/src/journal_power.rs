//! Pulling the plug on a journal, and damaging what it left: what is on a disk after a power loss
//! is what was synced, and any part of what was written since.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use reelyard_journal::StoreObserver;

/// The unit in which a disk keeps or loses what was written.
const PAGE: usize = 4096;

/// Watches the store of a journal, and knows what of it is durable.
#[derive(Debug)]
pub struct Plug {
    dir: PathBuf,
    durable: Mutex<Durable>,
}

#[derive(Debug, Default)]
struct Durable {
    /// sled's data file when it was last synced.
    db: Vec<u8>,
    /// The mark when it was last synced.
    mark: Vec<u8>,
    /// How often each was.
    syncs: u64,
}

impl Plug {
    /// A plug for the store in `dir`, as it stands there.
    pub fn of(dir: &Path) -> Arc<Self> {
        let durable = Durable { db: read(&dir.join(DB)), mark: read(&dir.join(MARK)), syncs: 0 };
        Arc::new(Plug { dir: dir.to_owned(), durable: Mutex::new(durable) })
    }

    /// How often the store was synced since.
    pub fn syncs(&self) -> u64 {
        self.durable().syncs
    }

    /// Pulls the plug: makes `image` what the disk holds afterwards, as chance has it. The store
    /// itself goes on.
    ///
    /// # Panics
    /// When files cannot be copied.
    pub fn pull(&self, image: &Path, rng: &mut Rng) {
        // Nothing becomes durable meanwhile.
        let durable = self.durable();
        copy_tree(&self.dir.join("sled"), &image.join("sled"));
        let db = after_power_loss(&durable.db, &read(&self.dir.join(DB)), rng);
        write(&image.join(DB), &db);
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

/// Each page that was written since the last sync is there, or is not, or is there in part.
fn after_power_loss(synced: &[u8], written: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut left = synced.to_vec();
    // The length is lost with what it is the length of, or kept without it.
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
            // In sectors.
            _ => rng.usize(0..=page.len() / 512) * 512,
        };
        let page = page.start..page.start + kept.min(page.len());
        left[page.clone()].copy_from_slice(&written[page]);
    }
    left
}

/// What is done to the files of a store that nobody has open.
#[derive(Clone, Debug)]
pub struct Damage {
    /// Which file, relative to the store.
    pub file: PathBuf,
    /// What, in words.
    pub what: String,
}

/// Damages one file of the store in `dir`, somewhere where something is written.
///
/// # Panics
/// When files cannot be read or written.
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

/// Copies a directory with all that is in it.
///
/// # Panics
/// When files cannot be copied.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|error| panic!("{to:?}: {error}"));
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else if let Err(error) = fs::copy(entry.path(), &target) {
            // sled removes its former snapshot whenever it likes.
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{target:?}: {error}");
        }
    }
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
}
