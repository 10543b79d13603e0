//! The bytes of a checkpoint. Written and read in parts, so that memory never holds all of it.
//!
//! The first words name the form, and the next byte is its version. Blocks follow, each with its length as
//! a little-endian `u32`: first the [`StoredSummary`], then blocks of [`StoredFile`]. A block of length 0
//! ends them. The last 32 bytes are the BLAKE3 hash of everything before.
//!
//! Files have names here, because their numbers are those of one process.

use std::io::{self, ErrorKind, Read, Write};

use jiff::civil::Date;
use reelyard_core::names::{FileId, NameTable};
use serde::{Deserialize, Serialize};

use super::counted_demand::{CountedDemand, CountedLogs};
use super::log_position::LogPosition;
use super::sum_conversion::SumConversion;
use crate::catalog::popularity::demand_memory::{DemandMemory, DemandSummary, FileMemory};
use crate::catalog::popularity::half_lives::{HalfLives, KEPT, PerHalfLife};
use crate::catalog::popularity::served_requests::{ServedRequests, ServedSlot};

const FIRST_WORDS: &[u8] = b"reelyard demand\n";

/// The version that is written. Version 1 is read too. It differs only in the half-lives with "auto".
pub(super) const VERSION: u8 = 2;

/// How many files one block has. The table of names is locked while one block is built.
const FILES_IN_BLOCK: usize = 4096;

/// The largest block in bytes: above [`FILES_IN_BLOCK`] files with the longest names.
const LARGEST_BLOCK: usize = 4 << 20;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointFault {
    /// There is no checkpoint.
    #[error("it does not exist")]
    Missing,
    /// The operating system refused the read.
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is not complete, or its checksum does not match.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// Another version of the program wrote it.
    #[error(
        "its version is {0}, and this program knows versions up to {VERSION}: to keep this memory, start the \
         version of reelyard that wrote it"
    )]
    UnknownVersion(u8),
}

#[derive(Serialize, Deserialize)]
struct StoredSummary {
    half_lives: [f64; KEPT],
    totals: [f64; KEPT],
    evidence: [f64; KEPT],
    reference: i64,
    observed: Option<(i64, i64)>,
    ordered: u64,
    served: Vec<StoredSlot>,
    logs: Vec<StoredLog>,
}

#[derive(Serialize, Deserialize)]
struct StoredSlot {
    number: i64,
    requests: u32,
    served: u32,
}

#[derive(Serialize, Deserialize)]
struct StoredLog {
    year: i16,
    month: i8,
    day: i8,
    positions: Vec<StoredPosition>,
}

#[derive(Serialize, Deserialize)]
struct StoredPosition {
    inode: u64,
    offset: u64,
    lines: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct StoredFile<'a> {
    name: &'a [u8],
    sums: [f32; KEPT],
    since_hour: u32,
}

/// Writes a checkpoint to `sink`. Files whose names were forgotten are left out.
pub(super) fn write(
    sink: impl Write,
    memory: &mut DemandMemory,
    served: &ServedRequests,
    logs: &CountedLogs,
    names: &NameTable,
) -> io::Result<()> {
    let mut output = HashedOutput { sink, hasher: blake3::Hasher::new() };
    output.write(FIRST_WORDS)?;
    output.write(&[VERSION])?;
    let summary = StoredSummary::of(memory, served, logs);
    output.write_block(&postcard::to_allocvec(&summary).map_err(io::Error::other)?)?;
    let files: Vec<FileId> = memory.files().collect();
    for files in files.chunks(FILES_IN_BLOCK) {
        let block = {
            let names = names.lookup();
            let mut rows: Vec<StoredFile<'_>> = Vec::with_capacity(files.len());
            for file in files {
                let FileMemory { sums, since_hour } = memory.of_file(*file);
                let name = names.bytes(*file);
                if !name.is_empty() {
                    rows.push(StoredFile { name, sums, since_hour });
                }
            }
            postcard::to_allocvec(&rows).map_err(io::Error::other)?
        };
        output.write_block(&block)?;
    }
    output.write(&0_u32.to_le_bytes())?;
    let hash = output.hasher.finalize();
    output.sink.write_all(hash.as_bytes())?;
    output.sink.flush()
}

/// Reads a checkpoint from `source`. Each of its files gets a number: an input may name it only later. The sweep of
/// names forgets those that stay unknown. Sums of other half-lives are converted.
pub(super) fn read(
    source: impl Read,
    names: &NameTable,
    half_lives: HalfLives,
) -> Result<CountedDemand, CheckpointFault> {
    let mut input = HashedInput { source, hasher: blake3::Hasher::new() };
    let mut first_words = [0; FIRST_WORDS.len()];
    input.read(&mut first_words)?;
    if first_words != FIRST_WORDS {
        return Err(CheckpointFault::Damaged("its first bytes are not those of a checkpoint"));
    }
    let mut version = [0];
    input.read(&mut version)?;
    if !(1..=VERSION).contains(&version[0]) {
        return Err(CheckpointFault::UnknownVersion(version[0]));
    }
    let block = input.read_block()?.ok_or(CheckpointFault::Damaged("it has no summary"))?;
    let mut summary: StoredSummary = decode(&block)?;
    let StoredSummary { half_lives: stored, reference, observed, .. } = summary;
    let conversion = SumConversion::of(stored, half_lives, reference, observed);
    if let Some(conversion) = &conversion {
        let since = observed.map_or(0, |(oldest, _)| oldest);
        summary.totals = conversion.convert(summary.totals, since);
        // The comparison of half-lives begins again.
        summary.evidence = PerHalfLife::default();
    }
    let mut counted = summary.into_counted(half_lives)?;
    while let Some(block) = input.read_block()? {
        let rows: Vec<StoredFile<'_>> = decode(&block)?;
        let mut interning = names.interner();
        for StoredFile { name, sums, since_hour } in rows {
            let Ok(file) = interning.intern(name) else { continue };
            let sums = match &conversion {
                Some(conversion) => conversion.convert_file(sums, since_hour),
                None => sums,
            };
            counted.memory.set_file(file, FileMemory { sums, since_hour });
        }
    }
    let expected = input.hasher.finalize();
    let mut hash = [0; blake3::OUT_LEN];
    input.read(&mut hash)?;
    if expected != hash {
        return Err(CheckpointFault::Damaged("its checksum does not match"));
    }
    Ok(counted)
}

fn decode<'a, T: Deserialize<'a>>(block: &'a [u8]) -> Result<T, CheckpointFault> {
    postcard::from_bytes(block).map_err(|_| CheckpointFault::Damaged("a block cannot be decoded"))
}

impl StoredSummary {
    fn of(memory: &mut DemandMemory, served: &ServedRequests, logs: &CountedLogs) -> Self {
        let DemandSummary { totals, evidence, reference, observed, ordered } = memory.summary();
        let half_lives = memory.half_lives();
        let slot =
            |ServedSlot { number, requests, served }| StoredSlot { number, requests, served };
        StoredSummary {
            half_lives: std::array::from_fn(|index| half_lives.days(index)),
            totals,
            evidence,
            reference,
            observed,
            ordered: ordered as u64,
            served: served.slots().map(slot).collect(),
            logs: logs.iter().map(StoredLog::of).collect(),
        }
    }

    /// The content without its files.
    fn into_counted(self, half_lives: HalfLives) -> Result<CountedDemand, CheckpointFault> {
        let StoredSummary { totals, evidence, reference, observed, ordered, served, logs, .. } =
            self;
        let ordered = usize::try_from(ordered).unwrap_or(usize::MAX);
        let mut memory = DemandMemory::new(half_lives);
        memory.set_summary(DemandSummary { totals, evidence, reference, observed, ordered });
        let slot =
            |StoredSlot { number, requests, served }| ServedSlot { number, requests, served };
        let served = ServedRequests::of(served.into_iter().map(slot));
        let logs = logs.into_iter().map(StoredLog::into_counted).collect::<Result<_, _>>()?;
        Ok(CountedDemand { memory, served, logs })
    }
}

impl StoredLog {
    fn of((day, positions): (&Date, &Vec<LogPosition>)) -> Self {
        let stored = |position: &LogPosition| {
            let LogPosition { inode, offset, lines, head, tail } = position.clone();
            StoredPosition { inode, offset, lines, head, tail }
        };
        let positions = positions.iter().map(stored).collect();
        StoredLog { year: day.year(), month: day.month(), day: day.day(), positions }
    }

    fn into_counted(self) -> Result<(Date, Vec<LogPosition>), CheckpointFault> {
        let day = Date::new(self.year, self.month, self.day)
            .map_err(|_| CheckpointFault::Damaged("it has a day that no calendar has"))?;
        let position = |stored: StoredPosition| {
            let StoredPosition { inode, offset, lines, head, tail } = stored;
            LogPosition { inode, offset, lines, head, tail }
        };
        Ok((day, self.positions.into_iter().map(position).collect()))
    }
}

/// A sink that hashes what it gets.
struct HashedOutput<W> {
    sink: W,
    hasher: blake3::Hasher,
}

impl<W: Write> HashedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.sink.write_all(bytes)
    }

    fn write_block(&mut self, block: &[u8]) -> io::Result<()> {
        let length = u32::try_from(block.len()).ok().filter(|_| block.len() <= LARGEST_BLOCK);
        let length = length.ok_or_else(|| io::Error::other("a block is too large"))?;
        self.write(&length.to_le_bytes())?;
        self.write(block)
    }
}

/// A source that hashes what it gives.
struct HashedInput<R> {
    source: R,
    hasher: blake3::Hasher,
}

impl<R: Read> HashedInput<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), CheckpointFault> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => CheckpointFault::Damaged("it is cut short"),
            _ => CheckpointFault::Unreadable(error),
        })?;
        self.hasher.update(bytes);
        Ok(())
    }

    /// The next block; none after the last.
    fn read_block(&mut self) -> Result<Option<Vec<u8>>, CheckpointFault> {
        let mut length = [0; 4];
        self.read(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            return Ok(None);
        }
        if length > LARGEST_BLOCK {
            return Err(CheckpointFault::Damaged("a block is too large"));
        }
        let mut block = vec![0; length];
        self.read(&mut block)?;
        Ok(Some(block))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reelyard_core::clock::Millis;

    use super::*;
    use crate::settings::popularity::HalfLife;

    const DAY: Duration = Duration::from_secs(86_400);

    /// The bytes of a checkpoint with one file, one slot and one log, a line for each version. A program that
    /// cannot read them loses the demand of running nodes at an upgrade.
    const KEPT_BYTES: &str = include_str!("kept_checkpoint.txt");

    fn half_lives() -> HalfLives {
        HalfLives::of(HalfLife::Auto)
    }

    fn sample() -> (NameTable, CountedDemand) {
        let names = NameTable::new();
        let file = names.intern_all([&b"first.mpg"[..]]).remove(0).unwrap();
        let mut memory = DemandMemory::new(half_lives());
        let at = Millis::from_unix_seconds(1_780_000_000);
        memory.request(file, at);
        let counted = memory.summary();
        let evidence = [-4.0, -3.0, -2.0, -1.0];
        memory.set_summary(DemandSummary { evidence, ordered: 1, ..counted });
        memory.set_file(file, FileMemory { since_hour: 494_444, ..memory.of_file(file) });
        let mut served = ServedRequests::default();
        served.count(at, true);
        let position = LogPosition {
            inode: 9,
            offset: 70,
            head: b"0x40".to_vec(),
            tail: b"st\n".to_vec(),
            lines: 1,
        };
        let day = Date::new(2026, 5, 28).unwrap();
        (names, CountedDemand { memory, served, logs: [(day, vec![position])].into() })
    }

    fn bytes(names: &NameTable, counted: &mut CountedDemand) -> Vec<u8> {
        let mut bytes = Vec::new();
        let CountedDemand { memory, served, logs } = counted;
        write(&mut bytes, memory, served, logs, names).unwrap();
        bytes
    }

    fn digits(version: u8) -> &'static str {
        KEPT_BYTES.lines().nth(usize::from(version) - 1).unwrap()
    }

    fn kept(version: u8) -> Vec<u8> {
        let digits = digits(version).as_bytes().chunks(2);
        digits
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn stored_bytes_of_the_checkpoint_stay() {
        let (names, mut counted) = sample();
        let written: String =
            bytes(&names, &mut counted).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, digits(VERSION));
        assert_eq!(KEPT_BYTES.lines().count(), usize::from(VERSION));
        let file = names.find(b"first.mpg").unwrap();
        for version in 1..=VERSION {
            let mut read = read(&kept(version)[..], &names, half_lives()).unwrap();
            let (found, expected) = (read.memory.of_file(file), counted.memory.of_file(file));
            assert_eq!(found.since_hour, expected.since_hour, "{version}");
            for (sum, expected) in found.sums.iter().zip(expected.sums) {
                // The only request is the newest, so it weighs the same with each half-life.
                assert!((sum - expected).abs() < 0.01, "{version}: {sum} {expected}");
            }
            let (summary, expected) = (read.memory.summary(), counted.memory.summary());
            assert_eq!(summary.totals, expected.totals, "{version}");
            assert_eq!(summary.observed, expected.observed, "{version}");
            assert_eq!((&read.served, &read.logs), (&counted.served, &counted.logs));
        }
        let first = read(&kept(1)[..], &names, half_lives()).unwrap().memory.summary();
        assert_eq!(first.evidence, [0.0; KEPT], "they are of other half-lives");
    }

    #[test]
    fn every_damage_is_noticed() {
        let (names, _) = sample();
        let whole = kept(VERSION);
        for at in 0..whole.len() {
            let cut = read(&whole[..at], &names, half_lives());
            assert!(matches!(cut, Err(CheckpointFault::Damaged(_))), "cut at {at}: {cut:?}");
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            let fault = read(&flipped[..], &names, half_lives()).unwrap_err();
            let is_version = at == FIRST_WORDS.len();
            assert_eq!(matches!(fault, CheckpointFault::UnknownVersion(3)), is_version, "{fault}");
            assert_eq!(matches!(fault, CheckpointFault::Damaged(_)), !is_version, "{at}: {fault}");
        }
    }

    #[test]
    fn an_unknown_version_is_refused_in_words() {
        let (names, _) = sample();
        let mut later = kept(VERSION);
        later[FIRST_WORDS.len()] = 3;
        let fault = read(&later[..], &names, half_lives()).unwrap_err().to_string();
        assert!(fault.starts_with("its version is 3, and this program knows versions up to 2"));
    }

    #[test]
    fn sums_of_another_setting_are_converted() {
        let (names, mut counted) = sample();
        let file = names.find(b"first.mpg").unwrap();
        let newest = counted.memory.newest().unwrap();
        // One request a day for half a year.
        (1..180).for_each(|day| counted.memory.request(file, newest.before(DAY * day)));
        counted.memory.summary();
        // It is known as long as the log.
        counted.memory.set_file(file, FileMemory { since_hour: 0, ..counted.memory.of_file(file) });
        let bytes = bytes(&names, &mut counted);
        let three_days = HalfLives::of(HalfLife::Fixed(DAY * 3));
        let mut read = read(&bytes[..], &names, three_days).unwrap();
        let exact = three_days.exposure(179.0)[0];
        let reference = read.memory.summary().reference;
        let lead = (newest.unix_seconds() - reference) as f64 / 86_400.0;
        let sum = f64::from(read.memory.of_file(file).sums[0]) * three_days.left_after(lead)[0];
        assert!((sum / exact - 1.0).abs() < 0.15, "{sum} {exact}");
        assert_eq!(read.memory.half_lives(), three_days);
    }

    #[test]
    fn names_that_only_the_checkpoint_has_get_a_number() {
        let names = NameTable::new();
        let read = read(&kept(VERSION)[..], &names, half_lives()).unwrap();
        assert_eq!((names.len(), read.memory.files().count()), (1, 1));
    }
}
