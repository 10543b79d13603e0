//! The catalogue of the demo: real files in a source directory, and the two input files that rank
//! them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::ContentHash;

use super::cancellable::CancellationToken;

/// Prefix of ignored files, as for advertisements.
pub const AD_PREFIX: &str = "MN1";

/// One master, with the expected contents of its copy.
#[derive(Clone, Debug)]
pub struct DemoMaster {
    /// Name in the source directory.
    pub name: FileName,
    /// Size in bytes.
    pub size: u64,
    /// BLAKE3 hash, computed while it was written.
    pub hash: ContentHash,
    /// Whether its prefix is ignored, so that it must not be copied.
    pub ignored: bool,
}

/// Names for a catalogue of `count` files, best first. A few have characters that old programs
/// handle badly; the last is an advertisement.
pub fn invented_names(count: usize) -> Result<Vec<FileName>> {
    let odd = ["opening night (final-cut).mpg", "100%41 real #1?.mpg", "영화-예고편.mpg"];
    let ordinary = count.saturating_sub(odd.len() + 1);
    let mut names: Vec<String> = (1..=ordinary)
        .map(|i| format!("M{i:03}A7SGL1500001_K2026112100{:02}.mpg", i % 60))
        .collect();
    for (i, name) in odd.into_iter().enumerate() {
        names.insert((i * 5 + 2).min(names.len()), name.to_owned());
    }
    names.push(format!("{AD_PREFIX}0001SGL1500001_K20261121000000.mpg"));
    names.into_iter().map(|name| FileName::new(name).context("an invented name")).collect()
}

/// Writes one file for each name into `dir`. Sizes vary around `mean_size`. The bytes are random
/// and not compressible, but the same for the same `seed`.
pub fn write(
    dir: &Path,
    names: &[FileName],
    (mean_size, seed): (u64, u64),
    wanted: &CancellationToken,
) -> Result<Vec<DemoMaster>> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut random = fastrand::Rng::with_seed(seed);
    names
        .iter()
        .map(|name| {
            let size = mean_size / 2 + random.u64(0..=mean_size);
            let path = dir.join(std::ffi::OsStr::from_bytes(name.as_bytes()));
            let hash = write_random(&path, size, &mut random, wanted)
                .with_context(|| format!("cannot write {}", path.display()))?;
            let ignored = name.as_bytes().starts_with(AD_PREFIX.as_bytes());
            Ok(DemoMaster { name: name.clone(), size, hash, ignored })
        })
        .collect()
}

fn write_random(
    path: &Path,
    size: u64,
    random: &mut fastrand::Rng,
    wanted: &CancellationToken,
) -> Result<ContentHash> {
    let mut file = File::create(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; 1 << 20];
    let mut left = size;
    while left > 0 {
        wanted.check()?;
        let length = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        let part = &mut block[..length];
        random.fill(part);
        hasher.update(part);
        file.write_all(part)?;
        left -= length as u64;
    }
    Ok(ContentHash(*hasher.finalize().as_bytes()))
}

/// Writes grade.info, best first.
pub fn write_grade_info(path: &Path, masters: &[DemoMaster]) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(
        out,
        "filename\tweightcount\tbitrate\tgrade\tsumHitCount\thistoryCount\tTargetCopyCount"
    )?;
    for (i, master) in masters.iter().enumerate() {
        out.write_all(master.name.as_bytes())?;
        writeln!(out, "\t{}\t6439600\t1\t{}\t24\t1", 4000 - i.min(3999), 1500 - i.min(1499))?;
    }
    Ok(out.flush()?)
}

/// Writes hitcount.history: sizes, and no file on any destination yet.
pub fn write_hitcount_history(path: &Path, masters: &[DemoMaster]) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "historyheader:1524047082")?;
    for master in masters {
        out.write_all(master.name.as_bytes())?;
        writeln!(out, ",1508301143,6399785,{},,1,0,0,1=1 2", master.size)?;
    }
    Ok(out.flush()?)
}
