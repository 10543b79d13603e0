//! `reelyard store`: check, backup, restore, and continuation after a loss.

use std::path::Path;
use std::sync::Arc;

use actix::{Actor, Addr};
use reelyard_core::event::{Epoch, PieceId};
use reelyard_integration_tests::probes::journal_power::copy_tree;
use reelyard_integration_tests::probes::journal_probe::{
    AccountsView, CommitEvents, ProbeActor, ReadAccounts, request_of, small_snapshots, transfer,
};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};

async fn open(data_dir: &Path) -> (Journal, Addr<ProbeActor>, Epoch) {
    let settings = small_snapshots(&data_dir.join("journal"), 1);
    let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]).await.unwrap();
    let probe = ProbeActor::new(journal.clone()).start();
    let mut leadership = journal.leadership();
    let led = leadership.wait_for(|now| now.epoch().is_some()).await.unwrap().epoch();
    (journal, probe, led.unwrap())
}

/// Commits transfers as a node does.
fn write(data_dir: &Path, ids: std::ops::Range<u64>) -> (AccountsView, Epoch) {
    on_a_system(async {
        let (journal, probe, epoch) = open(data_dir).await;
        for id in ids {
            let message = CommitEvents { request: request_of(id), events: transfer(id, 5) };
            probe.send(message).await.unwrap().unwrap();
        }
        let view = probe.send(ReadAccounts).await.unwrap();
        journal.stop().await;
        (view, epoch)
    })
}

/// Commits transfers from 0 on until a snapshot contains some. Returns their number.
fn write_until_a_snapshot(data_dir: &Path) -> u64 {
    on_a_system(async {
        let (journal, probe, _) = open(data_dir).await;
        let mut id = 0;
        while journal.status().snapshot.is_none() {
            let message = CommitEvents { request: request_of(id), events: transfer(id, 5) };
            probe.send(message).await.unwrap().unwrap();
            id += 1;
        }
        journal.stop().await;
        id
    })
}

fn store(arguments: &[&str], data_dir: &Path) -> ProgramOutput {
    let data_dir = data_dir.to_str().unwrap();
    run(&[&["store"], arguments, &["--data-dir", data_dir]].concat())
}

fn check(arguments: &[&str], data_dir: &Path) -> (Option<i32>, serde_json::Value) {
    let ended = store(&[&["check", "--json"], arguments].concat(), data_dir);
    (ended.code, serde_json::from_str(&ended.out).unwrap())
}

#[test]
fn a_whole_store_is_described() {
    let dir = tempfile::tempdir().unwrap();
    let written = write_until_a_snapshot(dir.path());
    let (code, report) = check(&[], dir.path());
    assert_eq!((code, &report["condition"]), (Some(0), &"whole".into()));
    assert_eq!((&report["node"], &report["voters"]), (&1.into(), &serde_json::json!([1])));
    assert_eq!(report["flush"], report["marked_flush"]);
    assert_eq!(report["faults"], serde_json::json!([]));
    assert!(report["last_log"].as_u64() > Some(written), "{report}");
    assert_eq!(report["snapshot"]["pieces"][0]["piece"], "probe");
    let words = store(&["check"], dir.path()).out;
    for line in ["is whole", "voters", "entries", "PIECE", "probe"] {
        assert!(words.contains(line), "{line} is not in:\n{words}");
    }
    // No temporary file remains, and the node starts.
    let left = std::fs::read_dir(dir.path().join("journal")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("checking")), "{left:?}");
    write(dir.path(), written..written + 1);
}

#[test]
fn a_store_in_use_or_missing_is_refused_with_an_explanation() {
    let dir = tempfile::tempdir().unwrap();
    let ended = store(&["check"], dir.path());
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("there is no store in"), "{}", ended.err);
    let data_dir = dir.path().to_owned();
    on_a_system(async {
        let (journal, _probe, _) = open(&data_dir).await;
        let checked = data_dir.clone();
        let refused = tokio::task::spawn_blocking(move || {
            let target = checked.join("backup");
            let backup = ["backup", target.to_str().unwrap()];
            [store(&["check"], &checked), store(&backup, &checked)]
        });
        for ended in refused.await.unwrap() {
            assert_eq!(ended.code, Some(6), "{}", ended.err);
            assert!(ended.err.contains("stop the node"), "{}", ended.err);
        }
        journal.stop().await;
    });
}

#[test]
fn a_lost_end_is_reported_and_can_be_accepted_once() {
    let dir = tempfile::tempdir().unwrap();
    let sled = dir.path().join("journal").join("sled");
    let older = dir.path().join("older");
    write(dir.path(), 0..10);
    copy_tree(&sled, &older);
    let (_, epoch) = write(dir.path(), 10..20);
    std::fs::remove_dir_all(&sled).unwrap();
    std::fs::rename(&older, &sled).unwrap();

    let ended = store(&["check"], dir.path());
    assert_eq!(ended.code, Some(5), "{}", ended.err);
    for words in ["its end is missing", "log entries", "are missing", "--accept-loss"] {
        assert!(ended.out.contains(words), "{words} is not in:\n{}", ended.out);
    }
    let (code, report) = check(&[], dir.path());
    assert_eq!((code, &report["condition"]), (Some(5), &"lost".into()));
    let (code, report) = check(&["--accept-loss"], dir.path());
    assert_eq!((code, &report["condition"]), (Some(0), &"lost".into()));
    let (code, report) = check(&["--accept-loss"], dir.path());
    assert_eq!((code, &report["condition"]), (Some(0), &"whole".into()));

    let (view, later) = write(dir.path(), 30..31);
    assert_eq!(view.books.taken, (0..10).chain([30]).collect::<Vec<_>>());
    assert!(later > epoch, "workers refuse a leader of an older epoch: {later} after {epoch}");
}

#[test]
fn a_missing_mark_and_a_damaged_middle_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 0..150);
    std::fs::remove_file(dir.path().join("journal").join("mark")).unwrap();
    let (code, report) = check(&[], dir.path());
    assert_eq!((code, &report["condition"]), (Some(5), &"lost".into()));
    let settings = JournalOptions::alone(dir.path().join("journal"), 1);
    let refused = on_a_system(Journal::open(settings, Arc::new(NoPeers), &[PieceId::Probe]));
    let refused = refused.map(drop).unwrap_err().to_string();
    assert!(refused.contains("`mark`"), "{refused}");
    assert_eq!(check(&["--accept-loss"], dir.path()).0, Some(0));

    // sled's own settings: without them nothing is readable.
    let conf = dir.path().join("journal").join("sled").join("conf");
    std::fs::write(conf, b"segment_size: 9\nuse_compression: false\nversion: 0.34\nvQ\xde.")
        .unwrap();
    let (code, report) = check(&[], dir.path());
    assert_eq!((code, &report["condition"]), (Some(5), &"damaged".into()), "{report}");
    let ended = store(&["check", "--accept-loss"], dir.path());
    assert_eq!(ended.code, Some(1), "{}", ended.out);
    assert!(ended.err.contains("restore it from a backup"), "{}", ended.err);
}

#[test]
fn a_backup_is_restored_with_everything_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    let written = write_until_a_snapshot(&first);
    let (before, _) = write(&first, written..written + 10);
    let ended = store(&["backup", dir.path().to_str().unwrap(), "--json"], &first);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let summary: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let file = summary["file"].as_str().unwrap();
    // The node continues, leads in later epochs, and is then lost.
    let (_, epoch) = write(&first, written + 10..written + 20);

    let ended = store(&["restore", file], &second);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("was restored to"), "{}", ended.out);
    assert_eq!(check(&[], &second).1["condition"], "whole");
    let (after, later) = write(&second, 0..0);
    assert_eq!(after.books, before.books);
    assert!(later > epoch, "workers refuse a leader of an older epoch: {later} after {epoch}");

    let ended = store(&["restore", file], &second);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("move it away first"), "{}", ended.err);
}

#[test]
fn a_damaged_backup_restores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    write(&first, 0..20);
    let file = dir.path().join("backup");
    let ended = store(&["backup", file.to_str().unwrap()], &first);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let whole = std::fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    for damaged in [&flipped[..], &whole[..whole.len() - 1], &whole[..5], &[]] {
        std::fs::write(&file, damaged).unwrap();
        let ended = store(&["restore", file.to_str().unwrap()], &second);
        assert_eq!(ended.code, Some(1), "{}", ended.out);
        assert!(!second.join("journal").join("sled").exists());
    }
    std::fs::write(&file, whole).unwrap();
    assert_eq!(store(&["restore", file.to_str().unwrap()], &second).code, Some(0));
}

#[test]
fn the_configuration_of_the_store_is_accepted_before_or_after_the_verb() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("data");
    write(&data_dir, 0..3);
    let file = dir.path().join("node.toml");
    std::fs::write(&file, format!("data_dir = \"{}\"\n", data_dir.display())).unwrap();
    let file = file.to_str().unwrap();
    let backup = dir.path().join("backup");
    let backup = backup.to_str().unwrap();
    let restored = format!("data_dir={}", dir.path().join("restored").display());
    for arguments in [
        &["store", "--config", file, "check"][..],
        &["store", "check", "--config", file],
        &["store", "check", "-c", file],
        &["store", "backup", backup, "--config", file],
        &["store", "restore", backup, "--config", file, "--set", &restored],
        &["store", "check", "--set", &restored],
    ] {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}{}", ended.out, ended.err);
    }
    // Without both options, the message explains how to name the store.
    let nowhere = run(&["store", "check", "--set", "data_dir=/nowhere"]);
    for words in ["/nowhere/journal", "--data-dir", "--config"] {
        assert!(nowhere.err.contains(words), "{words}: {}", nowhere.err);
    }
}
