//! The stored bytes of all owners, kept in `stored_bytes.txt`. A program that writes other bytes, or
//! cannot read the kept ones, would lose the stores of running nodes.
//!
//! Each line is `<owner> <kind> <name> <hex>`. The kind is one of these:
//! - a number: the body of an event in this event version;
//! - `row` and a number: a row of a snapshot in this row version, after as many samples as its name says;
//! - `entry` and a number: an entry of the journal in this version. Its owner is `journal`.
//!
//! A line is never removed. A new version adds lines, so that the test also reads the bytes of earlier
//! versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reelyard_access::access::AccessTable;
use reelyard_boxes::box_lease::SharedTable;
use reelyard_core::event::{Commit, EncodedEvent, PieceId, RequestId};
use reelyard_replication::{Ownership, Piece, batch};
use reelyard_settings::cluster_settings::SettingsBook;
use reelyard_shares::share_expiry::ShareTable;
use reelyard_yard::remover::RemovalBook;
use reelyard_yard::task_manager::TaskBook;

use crate::sample_events::{
    EPOCH, START, access_samples, box_samples, commit, encoded, has_every_variant, removal_samples,
    settings_samples, share_samples, task_samples,
};

const KEPT: &str = include_str!("stored_bytes.txt");

/// How many samples one commit has.
const A_COMMIT: usize = 8;

/// Before a row of the piece, a frozen owner writes this byte.
const PIECE_ROW: u8 = 1;

/// Before an answered request with a version, it writes this byte.
const LEDGER_ROW: u8 = 2;

/// Earlier programs wrote this byte before an answered request, and no version.
const LEDGER_ROW_WITHOUT_VERSION: u8 = 0;

/// The kept rows have nothing of this sample: earlier programs wrote a sentence for it. The last sample of
/// the tasks is one of the same kind.
const NOT_IN_ROWS: &str = "completed-unverified";

/// The events of a piece with their names.
type NamedSamples<P> = Vec<(&'static str, <P as Piece>::Event)>;

/// One line of the file.
#[derive(Clone, Copy)]
struct StoredLine {
    kind: &'static str,
    name: &'static str,
    hex: &'static str,
}

impl StoredLine {
    fn bytes(self) -> Vec<u8> {
        let digits = self.hex.as_bytes().chunks(2);
        digits.map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    }

    /// The number behind `word` in its kind, such as 2 in `row2`.
    fn version(self, word: &str) -> Option<u8> {
        self.kind.strip_prefix(word)?.parse().ok()
    }
}

fn kept(owner: &str) -> Vec<StoredLine> {
    let lines = KEPT.lines().filter_map(|line| line.strip_prefix(owner)?.strip_prefix(' '));
    let words = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    words
        .map(|words| match words[..] {
            [kind, name, hex] => StoredLine { kind, name, hex },
            _ => panic!("a line of {owner} has {} words instead of 4", words.len() + 1),
        })
        .collect()
}

fn line(owner: &str, kind: &str, name: &str, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{owner} {kind} {name} {hex}")
}

/// Fails with the lines that are not in the file.
fn nothing_to_add(lines: &[String]) {
    assert!(
        lines.is_empty(),
        "add to integration-tests/tests/journal/stored_bytes.txt, and change no line in it:\n{}\n",
        lines.join("\n")
    );
}

fn check_events<P: Piece + Default>(owner: &str, samples: &NamedSamples<P>)
where
    P::Event: PartialEq,
{
    let events: Vec<P::Event> = samples.iter().map(|(_, event)| event.clone()).collect();
    has_every_variant::<P>(&events, &[]);
    let names: BTreeSet<&str> = samples.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), samples.len(), "two samples of {owner} have one name");
    let (kept, mut missing) = (kept(owner), Vec::new());
    for (name, event) in samples {
        let EncodedEvent { version, body } = encoded::<P>(event);
        let known =
            kept.iter().find(|line| line.version("") == Some(version) && line.name == *name);
        match known {
            Some(known) => assert_eq!(
                known.bytes(),
                body,
                "{owner} {name}: raise EVENT_VERSION, and read the earlier version in Piece::decode"
            ),
            None => missing.push(line(owner, &version.to_string(), name, &body)),
        }
    }
    nothing_to_add(&missing);
    for line in kept {
        let Some(version) = line.version("") else { continue };
        let decoded = P::decode(&EncodedEvent { version, body: line.bytes() });
        let decoded = decoded.unwrap_or_else(|error| panic!("{owner} {}: {error}", line.name));
        let sample = samples.iter().find(|(name, _)| *name == line.name);
        assert_eq!(Some(&decoded), sample.map(|(_, event)| event), "{owner} {}", line.name);
    }
}

#[test]
fn stored_bytes_of_every_event_stay() {
    check_events::<TaskBook>("tasks", &task_samples());
    check_events::<RemovalBook>("removals", &removal_samples());
    check_events::<ShareTable>("shares", &share_samples());
    check_events::<SharedTable>("boxes", &box_samples());
    check_events::<AccessTable>("access", &access_samples());
    check_events::<SettingsBook>("settings", &settings_samples());
}

/// A commit for each owner. Their bodies are no events: an entry does not depend on the versions of events.
fn commits() -> Vec<Commit> {
    let pieces = [PieceId::Tasks, PieceId::Removals, PieceId::Shares, PieceId::Boxes];
    let commit = |(number, piece)| Commit {
        request: RequestId(u128::MAX - number),
        remember: number > 0,
        asked_by: "operator".to_owned(),
        epoch: EPOCH,
        at: START,
        piece,
        events: vec![EncodedEvent { version: 7, body: vec![1, 2, 3] }; 2],
    };
    (0..).zip(pieces).map(commit).collect()
}

#[test]
fn stored_bytes_of_an_entry_stay() {
    let encoded: Vec<Vec<u8>> =
        commits().iter().map(|commit| batch::encode_commit(commit).unwrap()).collect();
    let entry = batch::join(encoded.iter().map(Vec::as_slice));
    let (kind, kept) = (format!("entry{}", entry[0]), kept("journal"));
    match kept.iter().find(|line| line.kind == kind) {
        Some(known) => assert_eq!(known.bytes(), entry, "raise VERSION in batch.rs"),
        None => nothing_to_add(&[line("journal", &kind, "four-commits", &entry)]),
    }
    for line in kept {
        assert_eq!(batch::read(&line.bytes()), Ok(commits()), "{}", line.kind);
    }
}

/// The owner after these samples, and the names of those that it refused.
fn applied<P: Piece + Default>(
    samples: &[(&'static str, P::Event)],
) -> (Ownership<P>, Vec<&'static str>) {
    let (mut owned, mut refused) = (Ownership::new(P::default()), Vec::new());
    for (number, part) in (0..).zip(samples.chunks(A_COMMIT)) {
        let part = part.iter().filter(|(name, _)| *name != NOT_IN_ROWS);
        let events = part.clone().map(|(_, event)| event.clone()).collect();
        let commit = Arc::new(commit::<P>(number, events));
        let entry = owned.apply(u64::from(number) + 1, EPOCH, &[commit]).unwrap();
        let results = part.zip(&entry.events);
        let failed = results.filter(|(_, applied)| applied.result.is_err());
        refused.extend(failed.map(|((name, _), _)| *name));
    }
    (owned, refused)
}

fn rows<P: Piece>(owned: &Ownership<P>) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    owned.freeze().write(&mut |row| rows.push(row.to_vec()));
    rows
}

/// The first byte of the piece's own rows.
fn row_version(rows: &[Vec<u8>]) -> u8 {
    rows.iter().find(|row| row[0] == PIECE_ROW).unwrap()[1]
}

/// The rows of the file, by row version and number of samples.
fn kept_rows(owner: &str) -> BTreeMap<(u8, usize), Vec<Vec<u8>>> {
    let mut sets: BTreeMap<_, Vec<Vec<u8>>> = BTreeMap::new();
    for line in kept(owner) {
        let Some(version) = line.version("row") else { continue };
        let samples = line.name.split('-').nth(1).unwrap().parse().unwrap();
        sets.entry((version, samples)).or_default().push(line.bytes());
    }
    sets
}

/// Whether these are the kept rows. An answered request may have been kept without its version.
fn are_kept(rows: &[Vec<u8>], kept: &[Vec<u8>]) -> bool {
    let is_kept = |(row, kept): (&Vec<u8>, &Vec<u8>)| match (row.as_slice(), kept.as_slice()) {
        ([LEDGER_ROW, 1, answer @ ..], [LEDGER_ROW_WITHOUT_VERSION, kept @ ..]) => answer == kept,
        (row, kept) => row == kept,
    };
    rows.len() == kept.len() && rows.iter().zip(kept).all(is_kept)
}

/// The rows with their bytes sorted: names stand in the order of their numbers, which a piece that is
/// installed gives again.
fn without_order(mut rows: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    rows.iter_mut().for_each(|row| row.sort_unstable());
    rows
}

/// Compares the rows with the file. `refused` are the samples that change nothing.
fn check_rows<P: Piece + Default>(owner: &str, samples: &NamedSamples<P>, refused: &[&str]) {
    let (owned, found) = applied::<P>(samples);
    assert_eq!(found, refused, "samples of {owner} that are refused");
    let (now, kept) = (rows(&owned), kept_rows(owner));
    let (version, count) = (row_version(&now), samples.len());
    if !kept.contains_key(&(version, count)) {
        let name = |number| format!("after-{count}-row-{number:02}");
        let lines = now.iter().enumerate();
        let lines = lines.map(|(n, row)| line(owner, &format!("row{version}"), &name(n), row));
        nothing_to_add(&lines.collect::<Vec<_>>());
    }
    for ((of_version, count), kept) in kept {
        let set = format!("row{of_version} of {owner} after {count} samples");
        let mut installed = Ownership::new(P::default());
        installed.install(1, &kept).unwrap_or_else(|error| panic!("{set}: {error}"));
        let (then, _) = applied::<P>(&samples[..count]);
        if of_version == version {
            assert!(
                are_kept(&rows(&then), &kept),
                "{set}: either the form of the rows changed, so raise the end of ROW_VERSIONS; or apply has \
                 another result, so decide a new event instead"
            );
        }
        assert_eq!(
            without_order(rows(&installed)),
            without_order(rows(&then)),
            "{set}: the installed piece writes other rows"
        );
    }
}

#[test]
fn stored_bytes_of_snapshots_stay() {
    check_rows::<TaskBook>("tasks", &task_samples(), &["began-without-task"]);
    check_rows::<RemovalBook>("removals", &removal_samples(), &["intended-while-pinned"]);
    check_rows::<ShareTable>("shares", &share_samples(), &["created-twice"]);
    check_rows::<SharedTable>("boxes", &box_samples(), &["renewed-with-wrong-token"]);
    check_rows::<AccessTable>("access", &access_samples(), &["session-with-old-generation-begun"]);
    check_rows::<SettingsBook>("settings", &settings_samples(), &["recorded-with-too-few-parts"]);
}

/// Fails unless an unknown version or variant is refused with an advice, and a version with its number.
fn check_refusals<P: Piece + Default>(owner: &str, samples: &NamedSamples<P>) {
    let body = encoded::<P>(&samples[0].1).body;
    for version in [0, P::EVENT_VERSION + 1, u8::MAX] {
        let error = P::decode(&EncodedEvent { version, body: body.clone() }).unwrap_err();
        names_the_remedy(&error.to_string(), version, owner);
    }
    let error =
        P::decode(&EncodedEvent { version: P::EVENT_VERSION, body: vec![127] }).unwrap_err();
    assert!(error.to_string().contains("start that version"), "{owner}: {error}");
    let (owned, _) = applied::<P>(samples);
    let mut rows = rows(&owned);
    let place = rows.iter().position(|row| row[0] == PIECE_ROW).unwrap();
    let known = rows[place][2];
    rows[place][2] = 127;
    let error = Ownership::new(P::default()).install(1, &rows).unwrap_err();
    assert!(error.to_string().contains("start that version"), "{owner}: a new row: {error}");
    rows[place][2] = known;
    rows[place][1] = 77;
    let error = Ownership::new(P::default()).install(1, &rows).unwrap_err();
    names_the_remedy(&error.to_string(), 77, owner);
    let place = rows.iter().position(|row| row[0] == LEDGER_ROW).unwrap();
    rows[place][1] = 78;
    let error = Ownership::new(P::default()).install(1, &rows).unwrap_err();
    names_the_remedy(&error.to_string(), 78, owner);
}

fn names_the_remedy(error: &str, version: u8, owner: &str) {
    let number = format!("version {version},");
    for part in [number.as_str(), "start the version of reelyard that wrote it"] {
        assert!(error.contains(part), "{owner}: {part} is missing in: {error}");
    }
}

#[test]
fn stored_bytes_of_an_unknown_version_are_refused_with_an_advice() {
    check_refusals::<TaskBook>("tasks", &task_samples());
    check_refusals::<RemovalBook>("removals", &removal_samples());
    check_refusals::<ShareTable>("shares", &share_samples());
    check_refusals::<SharedTable>("boxes", &box_samples());
    check_refusals::<AccessTable>("access", &access_samples());
    check_refusals::<SettingsBook>("settings", &settings_samples());
}

/// Rows of version 1 of the tasks were written on 21 November 2026 only, before the first kept store.
#[test]
fn stored_rows_of_the_first_version_of_tasks_are_refused_in_words() {
    let error = Ownership::new(TaskBook::default()).install(1, &[vec![PIECE_ROW, 1, 0, 0]]);
    names_the_remedy(&error.unwrap_err().to_string(), 1, "tasks");
}

#[test]
fn stored_bytes_have_no_line_of_an_unknown_owner_or_kind() {
    let owners = ["tasks", "removals", "shares", "boxes", "access", "settings", "journal"];
    let all: Vec<StoredLine> = owners.iter().flat_map(|owner| kept(owner)).collect();
    assert_eq!(all.len(), KEPT.lines().count(), "a line has an unknown owner");
    let known =
        |line: &&StoredLine| ["", "row", "entry"].iter().any(|word| line.version(word).is_some());
    assert_eq!(all.iter().filter(known).count(), all.len(), "a line has an unknown kind");
}
