//! Real processes, real files: excess copies are removed, and the remaining ones are complete.

use std::path::Path;

use anyhow::{Context, Result};
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::small_disk::SmallDisk;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};
use serde_json::Value;

/// Short intervals between the rounds of planning and removing.
pub(super) const QUICK: [(&str, &str); 3] = [
    ("remover.interval", "\"200ms\""),
    ("calls.disk_interval", "\"500ms\""),
    ("calls.inventory_interval", "\"1s\""),
];

pub(super) fn put(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    Ok(std::fs::write(dir.join(name), bytes)?)
}

/// The number of the first `destinations` that hold this complete file.
fn copies(ground: &ProcessYard, destinations: usize, name: &str, bytes: &[u8]) -> usize {
    (0..destinations).filter(|i| holds(&ground.copies(*i).join(name), bytes)).count()
}

pub(super) fn everything_is_looked_at(ground: &ProcessYard, roles: &[&RoleProcess]) -> Result<()> {
    let rounds = || ground.get("/api/v1/removals")?["counters"]["rounds"].as_u64();
    let before = wait_for("a first look at all copies", roles, || rounds().filter(|n| *n > 0))?;
    wait_for("another look at all copies", roles, || rounds().filter(|n| *n > before + 2).map(drop))
}

#[test]
fn excess_copies_are_removed_and_protected_ones_stay() -> Result<()> {
    let ground = ProcessYard::new(1, 3)?;
    let twice = ground.master(b"twice.mpg", 300_000)?;
    let thrice = ground.master(b"thrice.mpg", 200_000)?;
    let pinned = ground.master(b"pinned.mpg", 1_000)?;
    let advert = ground.master(b"AD-spot.mpg", 1_000)?;
    ground.grade(&[b"twice.mpg", b"thrice.mpg", b"pinned.mpg", b"AD-spot.mpg"])?;
    for i in 0..3 {
        put(&ground.copies(i), "thrice.mpg", &thrice)?;
        put(&ground.copies(i), "pinned.mpg", &pinned)?;
        put(&ground.copies(i), "AD-spot.mpg", &advert)?;
        put(&ground.copies(i), "orphan.mpg", b"no master has this")?;
    }
    put(&ground.copies(0), "twice.mpg", &twice)?;
    put(&ground.copies(2), "twice.mpg", &twice)?;
    let source = ground.start_source(0, &[])?;
    // The node first, so that the pin is on record before any host lists a copy.
    let mut settings = QUICK.to_vec();
    settings.push(("ignore.prefixes", "[\"AD-\"]"));
    // A destination that is listed late must not get a copy that another one holds.
    settings.push(("task.mode", "\"off\""));
    let node = ground.start_node(&settings)?;
    let url = format!("http://{}", ground.node);
    wait_for("the node answers", &[&node], || ground.get("/api/v1/status").map(drop))?;
    let pin = binary::run(&["files", "--url", &url, "pin", "pinned.mpg", "--force"]);
    assert_eq!((pin.code, pin.err.as_str()), (Some(0), ""), "{}", pin.out);
    let destinations: Vec<_> =
        (0..3).map(|i| ground.start_destination(i, &[])).collect::<Result<_>>()?;
    let roles = [&node, &source, &destinations[0], &destinations[1], &destinations[2]];
    wait_for("one copy of each", &roles, || {
        let one = |name, bytes: &[u8]| copies(&ground, 3, name, bytes) == 1;
        (one("twice.mpg", &twice) && one("thrice.mpg", &thrice)).then_some(())
    })?;
    everything_is_looked_at(&ground, &roles)?;
    assert_eq!(copies(&ground, 3, "twice.mpg", &twice), 1);
    assert_eq!(copies(&ground, 3, "thrice.mpg", &thrice), 1);
    assert_eq!(copies(&ground, 3, "pinned.mpg", &pinned), 3);
    assert_eq!(copies(&ground, 3, "AD-spot.mpg", &advert), 3);
    assert_eq!(copies(&ground, 3, "orphan.mpg", b"no master has this"), 3);
    // There were three removals, each with the name of the remaining copy, and no others.
    let lines = wait_for("the history lists them", &roles, || {
        let lines = ground.get("/api/v1/history?what=removal")?["items"].as_array()?.clone();
        (lines.len() == 3).then_some(lines)
    })?;
    for line in &lines {
        assert_eq!(line["ending"], "removed", "{line}");
        assert_ne!(line["keeper"], line["host"], "{line}");
        assert_eq!(line["reason"]["duplicate"]["wanted"], 1, "{line}");
        assert_eq!(line["asked_by"], "remover");
    }
    let hosts = ground.get("/api/v1/hosts").context("hosts")?;
    assert!(!hosts.to_string().contains("vanished_copy"), "{hosts}");
    let answer = binary::run(&["plan", "--url", &url, "--explain", "pinned.mpg"]);
    assert!(answer.out.contains("stays: it is pinned"), "{}", answer.out);
    let answer = binary::run(&["history", "--url", &url, "--file", "twice.mpg"]);
    assert!(answer.out.contains("2 copies, 1 wanted"), "{}", answer.out);
    Ok(())
}

#[test]
fn a_dry_run_reports_removals_and_removes_nothing() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"a.mpg", 10_000)?;
    ground.grade(&[b"a.mpg"])?;
    for i in 0..2 {
        put(&ground.copies(i), "a.mpg", &bytes)?;
    }
    let source = ground.start_source(0, &[])?;
    let destinations = [ground.start_destination(0, &[])?, ground.start_destination(1, &[])?];
    let mut settings = QUICK.to_vec();
    settings.push(("remover.mode", "\"dry-run\""));
    let node = ground.start_node(&settings)?;
    let roles = [&node, &source, &destinations[0], &destinations[1]];
    let would: Value = wait_for("it reports its removals", &roles, || {
        let view = ground.get("/api/v1/removals")?;
        (!view["decided"].as_array()?.is_empty()).then_some(view)
    })?;
    assert_eq!(would["mode"], "dry-run");
    assert_eq!(would["decided"][0]["name"], "a.mpg");
    assert!(would["decided"][0].get("spared").is_none(), "{would}");
    everything_is_looked_at(&ground, &roles)?;
    assert_eq!(copies(&ground, 2, "a.mpg", &bytes), 2);
    assert_eq!(would["open"].as_array().map(Vec::len), Some(0));
    let message = binary::run(&["plan", "--url", &format!("http://{}", ground.node)]);
    assert!(message.out.contains("copies to remove:"), "{}", message.out);
    let message = binary::run(&["removals", "--url", &format!("http://{}", ground.node)]);
    assert!(message.out.contains("dry run: no copies are removed"), "{}", message.out);
    assert!(message.out.contains("would be removed:"), "{}", message.out);
    Ok(())
}

#[test]
fn a_disk_over_its_limit_loses_its_worst_files_for_good() -> Result<()> {
    const MIB: usize = 1 << 20;
    let ground = ProcessYard::new(1, 1)?;
    std::fs::create_dir_all(ground.copies(0))?;
    let disk = SmallDisk::mount(&ground.copies(0), 64);
    let names: Vec<String> = (0..12).map(|i| format!("f{i:02}.mpg")).collect();
    let mut masters = Vec::new();
    for name in &names {
        masters.push(ground.master(name.as_bytes(), 4 * MIB)?);
    }
    let graded: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    ground.grade(&graded)?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let mut settings = QUICK.to_vec();
    settings.extend([
        ("storage.limit_percent", "80"),
        ("storage.low_water_percent", "60"),
        ("storage.spare_copied_within", "\"1ms\""),
    ]);
    let node = ground.start_node(&settings)?;
    let roles = [&node, &source, &destination];
    let held = || -> Vec<bool> {
        let there = |(name, bytes): (&String, &Vec<u8>)| holds(&ground.copies(0).join(name), bytes);
        names.iter().zip(&masters).map(there).collect()
    };
    let first = |n: usize| -> Vec<bool> { (0..names.len()).map(|i| i < n).collect() };
    // Nine files fit below the low-water mark of 38.4 MiB.
    wait_for("it is filled up to the mark, best first", &roles, || {
        (held() == first(9)).then_some(())
    })?;
    everything_is_looked_at(&ground, &roles)?;
    assert_eq!(held(), first(9));
    // Another program needs the disk: 56 MiB of 64 are more than the limit of 51.2.
    put(&ground.copies(0), "AD-foreign.bin", &vec![7; 20 * MIB])?;
    wait_for("the worst five went", &roles, || (held() == first(4)).then_some(()))?;
    everything_is_looked_at(&ground, &roles)?;
    wait_for("the disk is read again", &roles, || {
        let hosts = ground.get("/api/v1/hosts")?;
        let host = hosts["items"].as_array()?.iter().find(|host| host.get("disk").is_some())?;
        (host["disk"]["used"].as_u64()? < 40 * MIB as u64).then_some(())
    })?;
    everything_is_looked_at(&ground, &roles)?;
    assert_eq!(held(), first(4), "removed files stay away while there is no space");
    let lines = ground.get("/api/v1/history?what=removal").context("history")?;
    let lines = lines["items"].as_array().context("lines")?;
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines.iter().all(|line| line["reason"]["over_limit"]["limit"].is_u64()), "{lines:?}");
    // With free space they return, best first.
    std::fs::remove_file(ground.copies(0).join("AD-foreign.bin"))?;
    wait_for("they come back", &roles, || (held() == first(9)).then_some(()))?;
    drop(destination);
    drop(disk);
    Ok(())
}

#[test]
fn space_is_freed_for_a_much_hotter_file_and_for_no_other() -> Result<()> {
    const MIB: usize = 1 << 20;
    let ground = ProcessYard::new(1, 1)?;
    std::fs::create_dir_all(ground.copies(0))?;
    let disk = SmallDisk::mount(&ground.copies(0), 64);
    let names: Vec<String> = (0..12).map(|i| format!("f{i:02}.mpg")).collect();
    let mut masters = Vec::new();
    for name in &names {
        masters.push(ground.master(name.as_bytes(), 4 * MIB)?);
    }
    let rising = ground.master(b"rising.mpg", 10 * MIB)?;
    ground.master(b"luke-warm.mpg", 10 * MIB)?;
    let mut graded: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    graded.extend([b"rising.mpg".as_slice(), b"luke-warm.mpg"]);
    ground.grade(&graded)?;
    let source = ground.start_source(0, &[])?;
    let destination = ground.start_destination(0, &[])?;
    let mut settings = QUICK.to_vec();
    settings.extend([
        ("storage.limit_percent", "65"),
        ("storage.low_water_percent", "60"),
        ("storage.spare_copied_within", "\"1ms\""),
        ("remover.make_room_percent", "20"),
    ]);
    let watching = ground.watching();
    settings.extend(watching.iter().map(|(key, value)| (*key, value.as_str())));
    let node = ground.start_node(&settings)?;
    let roles = [&node, &source, &destination];
    let held = || -> Vec<bool> {
        let there = |(name, bytes): (&String, &Vec<u8>)| holds(&ground.copies(0).join(name), bytes);
        names.iter().zip(&masters).map(there).collect()
    };
    let first = |n: usize| -> Vec<bool> { (0..names.len()).map(|i| i < n).collect() };
    // Nine files fit below the low-water mark of 38.4 MiB. Another 10 MiB do not fit below the limit of
    // 41.6 MiB.
    wait_for("it is filled up to the mark, best first", &roles, || {
        (held() == first(9)).then_some(())
    })?;
    ground.hit(b"luke-warm.mpg", 3)?;
    ground.hit(b"rising.mpg", 6)?;
    wait_for("the hotter one came", &roles, || {
        holds(&ground.copies(0).join("rising.mpg"), &rising).then_some(())
    })?;
    everything_is_looked_at(&ground, &roles)?;
    assert_eq!(held(), first(7), "two of 4 MiB were short of 10 MiB, and no more went");
    assert!(!ground.copies(0).join("luke-warm.mpg").exists());
    let answer = ground.get("/api/v1/removals").context("removals")?;
    let seeks = answer["rooms"].as_array().context("rooms")?.clone();
    let why = |seeks: &[Value]| seeks.first().map(|file| file["why"].to_string());
    assert!(why(&seeks).is_some_and(|why| why.contains("exchanges need")), "{answer}");
    let lines = ground.get("/api/v1/history?what=removal").context("history")?;
    let lines = lines["items"].as_array().context("lines")?;
    assert_eq!(lines.len(), 2, "{lines:?}");
    let better = |line: &Value| {
        line["reason"]["makes_room"]["better"]["name"].as_str() == Some("rising.mpg")
    };
    assert!(lines.iter().all(better), "{lines:?}");
    drop(destination);
    drop(disk);
    Ok(())
}

#[test]
fn a_drained_host_is_emptied_once_others_hold_its_files() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let mut masters = Vec::new();
    for i in 0..4 {
        let name = format!("f{i}.mpg");
        let bytes = ground.master(name.as_bytes(), 100_000 + i)?;
        put(&ground.copies(0), &name, &bytes)?;
        masters.push((name, bytes));
    }
    put(&ground.copies(0), "orphan.mpg", b"no master has this")?;
    let graded: Vec<&[u8]> = masters.iter().map(|(name, _)| name.as_bytes()).collect();
    ground.grade(&graded)?;
    let source = ground.start_source(0, &[])?;
    let destinations = [ground.start_destination(0, &[])?, ground.start_destination(1, &[])?];
    let node = ground.start_node(&QUICK)?;
    let roles = [&node, &source, &destinations[0], &destinations[1]];
    let on = |i: usize| {
        let there = |(name, bytes): &&(String, Vec<u8>)| holds(&ground.copies(i).join(name), bytes);
        masters.iter().filter(there).count()
    };
    everything_is_looked_at(&ground, &roles)?;
    assert_eq!((on(0), on(1)), (4, 0));
    let url = format!("http://{}", ground.node);
    let drained = ground.destination(0).to_string();
    wait_for("its files are on record", &roles, || {
        let host = ground.get(&format!("/api/v1/hosts/{drained}"))?;
        (host["files"].as_u64()? == 5).then_some(())
    })?;
    let answer = binary::run(&["hosts", "--url", &url, "drain", &drained]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    wait_for("the other holds them all, and it none", &roles, || {
        assert!((0..4).all(|i| {
            let (name, bytes) = &masters[i];
            copies(&ground, 2, name, bytes) >= 1
        }));
        ((on(0), on(1)) == (0, 4)).then_some(())
    })?;
    assert!(holds(&ground.copies(0).join("orphan.mpg"), b"no master has this"));
    wait_for("it says how far it is", &roles, || {
        let host = ground.get(&format!("/api/v1/hosts/{drained}"))?;
        (host["draining"]["left"] == 1).then_some(())
    })?;
    Ok(())
}
