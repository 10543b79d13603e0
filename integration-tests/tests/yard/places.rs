//! Real processes, real files: a catalogue is copied to the destinations, each file once.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use anyhow::Result;
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for};

const LONG: [u8; 255] = [b'x'; 255];

/// Difficult names; each is valid on a disk.
const NAMES: [&[u8]; 9] = [
    b"plain_K20180602222428.mpg",
    b"a#b.mpg",
    b"c?d.mpg",
    b"%411.mpg",
    b" sp ace ",
    b"..two dots",
    b"new\nline.mpg",
    b"\xff\xfe not utf-8.mpg",
    &LONG,
];

#[test]
fn hostile_names_are_copied_exactly_as_named_and_each_once() -> Result<()> {
    let ground = ProcessYard::new(2, 3)?;
    let mut masters = BTreeMap::new();
    for (i, name) in NAMES.iter().enumerate() {
        masters.insert(name.to_vec(), ground.master(name, 10_000 + i * 70_001)?);
    }
    // The files that a wrong copy would overwrite: the names that result from corrupted ones.
    for innocent in ["a", "c", "A1.mpg"] {
        std::fs::create_dir_all(ground.copies(0))?;
        std::fs::write(ground.copies(0).join(innocent), innocent)?;
    }
    ground.master(b"MN1advert.mpg", 5_000)?;
    std::fs::write(ground.path("outside.mpg"), "outside")?;
    // A line of grade.info cannot hold a newline: that name is not requested.
    let asked: Vec<&[u8]> = NAMES.iter().copied().filter(|name| !name.contains(&b'\n')).collect();
    let mut graded = asked.clone();
    graded.extend([&b"MN1advert.mpg"[..], b"../outside.mpg", b"no such master.mpg"]);
    ground.grade(&graded)?;

    let sources = [ground.start_source(0, &[])?, ground.start_source(1, &[])?];
    let destinations: Vec<_> =
        (0..3).map(|i| ground.start_destination(i, &[])).collect::<Result<_>>()?;
    let node = ground.start_node(&[("ignore.prefixes", "[\"MN1\"]")])?;
    let roles = [&node, &sources[0], &destinations[0], &destinations[1], &destinations[2]];

    let copies_of = |name: &[u8]| {
        let bytes = &masters[name];
        (0..3).filter(|i| holds(&ground.copies(*i).join(OsStr::from_bytes(name)), bytes)).count()
    };
    wait_for("every file on a destination", &roles, || {
        asked.iter().all(|name| copies_of(name) == 1).then_some(())
    })?;
    wait_for("no task open any more", &roles, || {
        let tasks = ground.get("/api/v1/tasks?state=open")?;
        tasks["items"].as_array()?.is_empty().then_some(())
    })?;
    for name in &asked {
        assert_eq!(copies_of(name), 1, "{}", name.escape_ascii());
    }
    for i in 0..3 {
        assert!(!ground.copies(i).join("MN1advert.mpg").exists());
        let expected = if i == 0 { 3 } else { 0 };
        let innocents = ["a", "c", "A1.mpg"];
        let found = innocents.iter().filter(|n| holds(&ground.copies(i).join(n), n.as_bytes()));
        assert_eq!(found.count(), expected);
    }
    Ok(())
}
