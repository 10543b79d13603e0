//! The result of the demo: every expected copy is read back and hashed.

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use reelyard_api::TaskView;
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_protocol::worker::ContentHash;
use reelyard_yard::task_manager::TaskState;

use super::cancellable::CancellationToken;
use super::masters::DemoMaster;

/// Result for one master.
pub struct MasterResult {
    /// The file name in its source directory.
    pub name: NameText,
    /// Its size in bytes.
    pub size: u64,
    /// Destinations with the file, each with whether its bytes are right.
    pub copies: Vec<(HostAddr, bool)>,
    /// Number of copies that were planned.
    pub tries: usize,
    /// Its rising hits when it was planned.
    pub hits: u32,
    /// Number of better-ranked files that were planned after this one.
    pub overtook: usize,
    /// Whether it is an advertisement, which gets no copy.
    pub ignored: bool,
}

/// The results of all masters.
pub struct DemoResult {
    /// The masters, best rank first.
    pub rows: Vec<MasterResult>,
    /// Each failed copy with its reason.
    pub failures: Vec<String>,
}

impl DemoResult {
    /// Reads every copy back. `masters` are sorted by rank.
    pub fn reach(
        masters: &[DemoMaster],
        tasks: &[TaskView],
        destinations: &[(HostAddr, PathBuf)],
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let mut first_planned = HashMap::new();
        for task in tasks {
            first_planned.entry(&task.name.name).or_insert(task.created);
        }
        let mut rows = Vec::new();
        for (rank, master) in masters.iter().enumerate() {
            let name = master.name.to_text();
            let own: Vec<&TaskView> = tasks.iter().filter(|task| task.name == name).collect();
            let planned = first_planned.get(&name.name);
            let better = masters[..rank].iter().filter(|better| !better.ignored);
            let overtook = better
                .filter(|better| match (planned, first_planned.get(&better.name.to_text().name)) {
                    (Some(own), Some(better)) => own < better,
                    _ => false,
                })
                .count();
            rows.push(MasterResult {
                copies: copies_of(master, destinations, wanted)?,
                tries: own.len(),
                hits: own.iter().map(|task| task.hits).max().unwrap_or(0),
                overtook,
                name,
                size: master.size,
                ignored: master.ignored,
            });
        }
        let failures = tasks
            .iter()
            .filter(|task| matches!(task.state, TaskState::Failed | TaskState::Timeout))
            .map(|task| {
                let reason = task.reason.as_deref().unwrap_or("no reason given");
                format!("{}: {} -> {}: {reason}", task.name.name, task.source, task.destination)
            })
            .collect();
        Ok(DemoResult { rows, failures })
    }

    /// Whether every expected copy exists exactly once with the right bytes, and no other copy
    /// exists.
    pub fn is_good(&self) -> bool {
        self.rows.iter().all(MasterResult::is_good)
    }
}

impl MasterResult {
    /// Whether it has the copies that it needs, and no other.
    pub fn is_good(&self) -> bool {
        match self.copies.as_slice() {
            [] => self.ignored,
            [(_, right)] => *right && !self.ignored,
            _ => false,
        }
    }

    /// The result in a word.
    pub fn word(&self) -> &'static str {
        match self.copies.as_slice() {
            [] if self.ignored => "ignored",
            [] => "MISSING",
            _ if self.ignored => "COPIED, BUT IGNORED",
            [(_, true)] => "blake3",
            [(_, false)] => "WRONG BYTES",
            _ => "TWICE",
        }
    }
}

fn copies_of(
    master: &DemoMaster,
    destinations: &[(HostAddr, PathBuf)],
    wanted: &CancellationToken,
) -> Result<Vec<(HostAddr, bool)>> {
    let mut copies = Vec::new();
    for (host, dir) in destinations {
        let path = dir.join(std::ffi::OsStr::from_bytes(master.name.as_bytes()));
        if path.symlink_metadata().is_ok() {
            copies.push((*host, hash_file(&path, wanted)? == (master.size, master.hash)));
        }
    }
    Ok(copies)
}

fn hash_file(path: &Path, wanted: &CancellationToken) -> Result<(u64, ContentHash)> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; 1 << 20];
    loop {
        wanted.check()?;
        match file.read(&mut block)? {
            0 => break,
            length => hasher.update(&block[..length]),
        };
    }
    Ok((hasher.count(), ContentHash(*hasher.finalize().as_bytes())))
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileName;

    use super::*;

    /// A yard with one destination that holds a copy of a master with these bytes.
    fn verdict(ignored: bool, copies: &[&[u8]]) -> bool {
        let master = DemoMaster {
            name: FileName::new("m.mpg").unwrap(),
            size: 3,
            hash: ContentHash(*blake3::hash(b"abc").as_bytes()),
            ignored,
        };
        let dirs: Vec<_> = copies.iter().map(|_| tempfile::tempdir().unwrap()).collect();
        let mut destinations = Vec::new();
        for (i, (dir, bytes)) in dirs.iter().zip(copies).enumerate() {
            std::fs::write(dir.path().join("m.mpg"), bytes).unwrap();
            destinations
                .push((format!("127.0.0.{}:1", i + 1).parse().unwrap(), dir.path().to_owned()));
        }
        DemoResult::reach(&[master], &[], &destinations, &CancellationToken::default())
            .unwrap()
            .is_good()
    }

    #[test]
    fn only_one_copy_with_the_right_bytes_is_good() {
        assert!(verdict(false, &[b"abc"]));
        assert!(!verdict(false, &[]), "it is missing");
        assert!(!verdict(false, &[b"abd"]), "its bytes are wrong");
        assert!(!verdict(false, &[b"abc", b"abc"]), "it is there twice");
    }

    #[test]
    fn an_advertisement_is_to_be_nowhere() {
        assert!(verdict(true, &[]));
        assert!(!verdict(true, &[b"abc"]));
    }
}
