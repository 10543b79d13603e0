//! A real node with old cfws: they poll `GET /tasks`, copy with their own downloader, and report `done` for
//! every result. Also yards with old and new hosts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_integration_tests::fakes::stand_in_cfw::{DownloaderBehavior, StandInCfw};
use reelyard_integration_tests::rigs::binary::run;
use reelyard_integration_tests::rigs::old_yard::{
    copies, file, is_on, no_task_open, old_destination, old_source, polling, start_node, task,
    task_in,
};
use reelyard_integration_tests::rigs::yard::{ProcessYard, holds, wait_for};

#[test]
fn an_old_yard_gets_each_file_once_with_exact_names() -> Result<()> {
    let ground = ProcessYard::new(2, 2)?;
    let names: [&[u8]; 9] = [
        b"plain.mpg",
        b"a#b.mpg",
        b"c?d.mpg",
        b"%411.mpg",
        b" sp ace ",
        b"..two dots",
        b"<&>\"quoted\\.mpg",
        "한국 \u{2028}.mpg".as_bytes(),
        &[b'x'; 235],
    ];
    let masters: Vec<_> =
        names.iter().map(|name| ground.master(name, 20_000)).collect::<Result<_>>()?;
    ground.grade(&names)?;
    let _sources = [old_source(&ground, 0)?, old_source(&ground, 1)?];
    let hosts = [old_destination(&ground, 0)?, old_destination(&ground, 1)?];
    // The files that a corrupted name would affect.
    for innocent in ["a", "c", "A1.mpg"] {
        std::fs::write(ground.copies(0).join(innocent), innocent)?;
    }
    let _polling = hosts.each_ref().map(|host| polling(&ground, host, DownloaderBehavior::Copies));
    let node = start_node(&ground, &[])?;

    for (name, bytes) in names.iter().zip(&masters) {
        wait_for(&format!("a copy of {}", name.escape_ascii()), &[&node], || {
            (copies(&ground, 2, name, bytes) == 1).then_some(())
        })?;
    }
    wait_for("no task open any more", &[&node], || no_task_open(&ground))?;
    for name in names {
        let present = (0..2).filter(|number| is_on(&ground, *number, name)).count();
        assert_eq!(present, 1, "{}", name.escape_ascii());
    }
    for innocent in ["a", "c", "A1.mpg"] {
        assert!(holds(&ground.copies(0).join(innocent), innocent.as_bytes()));
    }
    assert_eq!(hosts.iter().map(StandInCfw::calls_with_authorization).sum::<usize>(), 0);
    let tasks = ground.get("/api/v1/tasks?limit=200").context("the tasks")?;
    let tasks = tasks["items"].as_array().context("a list")?;
    assert!(tasks.iter().all(|task| task["state"] == "done"), "{tasks:?}");
    assert_eq!(tasks.len(), names.len(), "each was copied once: {tasks:?}");
    Ok(())
}

#[test]
fn a_host_whose_list_never_comes_delays_no_other_and_is_named() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"a.mpg", 20_000)?;
    ground.grade(&[b"a.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let (mute, other) = (old_destination(&ground, 0)?, old_destination(&ground, 1)?);
    mute.set_holding_lists(true);
    let _polling = polling(&ground, &other, DownloaderBehavior::Copies);
    let begun = std::time::Instant::now();
    let node = start_node(&ground, &[])?;
    wait_for("the copy on the other host", &[&node], || {
        holds(&ground.copies(1).join("a.mpg"), &bytes).then_some(())
    })?;
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let named = format!("{} answers, but its files were not listed", mute.addr());
    wait_for("the host without a list is named", &[&node], || {
        let ready = ground.readyz()?;
        (ready.starts_with("ready\n") && ready.contains(&named)).then_some(())
    })?;
    let ready = run(&["plan", "--url", &format!("http://{}", ground.node)]);
    assert!(ready.out.contains(&format!("warning: {named}")), "{}", ready.out);
    Ok(())
}

#[test]
fn a_yard_half_old_half_new_uses_both_halves() -> Result<()> {
    let ground = ProcessYard::new(2, 2)?;
    let names: Vec<String> = (0..8).map(|i| format!("{i}.mpg")).collect();
    let masters: Vec<_> =
        names.iter().map(|name| ground.master(name.as_bytes(), 50_000)).collect::<Result<_>>()?;
    ground.grade(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>())?;
    // A Reelyard destination cannot fetch from the old source; the old one can fetch from both.
    let _old = old_source(&ground, 0)?;
    let source = ground.start_source(1, &[])?;
    let host = old_destination(&ground, 0)?;
    let _polling = polling(&ground, &host, DownloaderBehavior::Copies);
    let destination = ground.start_destination(1, &[])?;
    let node = start_node(&ground, &[])?;
    let roles = [&node, &source, &destination];
    wait_for("every file on one destination", &roles, || {
        let once =
            |(name, bytes): (&String, &Vec<u8>)| copies(&ground, 2, name.as_bytes(), bytes) == 1;
        names.iter().zip(&masters).all(once).then_some(())
    })?;
    wait_for("no task open any more", &roles, || no_task_open(&ground))?;
    for number in 0..2 {
        let some = names.iter().any(|name| is_on(&ground, number, name.as_bytes()));
        assert!(some, "destination {number} got nothing");
    }
    let tasks = ground.get("/api/v1/tasks?limit=200").context("the tasks")?;
    for task in tasks["items"].as_array().context("a list")? {
        assert_eq!(task["state"], "done", "{task}");
        let to_ours = task["destination"] == ground.destination(1).to_string();
        assert!(!to_ours || task["source"] == ground.source(1).to_string(), "{task}");
    }
    Ok(())
}

#[test]
fn names_unfit_for_an_old_cfw_go_elsewhere_or_are_reported() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let long = [b'y'; 236];
    let uncarried: [&[u8]; 3] = [b"\xff\xfe.mpg", b"bell\x07.mpg", &long];
    let masters: Vec<_> =
        uncarried.iter().map(|name| ground.master(name, 9_000)).collect::<Result<_>>()?;
    let plain = ground.master(b"plain.mpg", 9_000)?;
    ground.grade(&[uncarried[0], uncarried[1], uncarried[2], b"plain.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let host = old_destination(&ground, 0)?;
    let _polling = polling(&ground, &host, DownloaderBehavior::Copies);
    let node = start_node(&ground, &[])?;
    // So far there is only the old host. It gets the files that it can carry, and the node reports the rest.
    wait_for("the plain file", &[&node, &source], || {
        (copies(&ground, 2, b"plain.mpg", &plain) == 1).then_some(())
    })?;
    let answer = wait_for("the reason in the plan", &[&node], || {
        let plan = ground.get("/api/v1/plan")?;
        let skipped = plan["skipped"].as_array()?.clone();
        skipped.into_iter().find(|one| one["reason"] == "name_not_carried" && one["files"] == 3)
    })?;
    assert_eq!(answer["first"]["name"], "%FF%FE.mpg", "{answer}");
    assert!(uncarried.iter().all(|name| !is_on(&ground, 0, name)));
    let shown = file(&ground, "%FF%FE.mpg").context("the file")?;
    assert_eq!(shown["state"], "name_not_carried", "{shown}");

    let destination = ground.start_destination(1, &[])?;
    wait_for("all on ours", &[&node, &source, &destination], || {
        let is_there = |(name, bytes): (&&[u8], &Vec<u8>)| {
            holds(&ground.copies(1).join(OsStr::from_bytes(name)), bytes)
        };
        uncarried.iter().zip(&masters).all(is_there).then_some(())
    })?;
    assert!(uncarried.iter().all(|name| !is_on(&ground, 0, name)));
    Ok(())
}

#[test]
fn a_cfw_that_fails_everything_backs_off_and_starves_none() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let names = ["first.mpg", "second.mpg", "third.mpg"];
    for name in names {
        ground.master(name.as_bytes(), 5_000)?;
    }
    ground.grade(&[])?;
    let _source = old_source(&ground, 0)?;
    let hosts = [old_destination(&ground, 0)?, old_destination(&ground, 1)?];
    let ways = [DownloaderBehavior::Fails, DownloaderBehavior::Copies];
    let _polling = [0, 1].map(|number| polling(&ground, &hosts[number], ways[number]));
    let long = [("task.back_off_base", "10m"), ("task.back_off_cap", "10m")];
    let node = start_node(&ground, &long)?;
    // A file goes to the first host only if the node has the lists of both.
    for number in 0..2 {
        let path = format!("/api/v1/hosts/{}", ground.destination(number));
        wait_for("a list of each host", &[&node], || {
            (ground.get(&path)?["files"] == 0).then_some(())
        })?;
    }
    ground.grade(&names.map(str::as_bytes))?;
    wait_for("every file on the other host", &[&node], || {
        names.iter().all(|name| is_on(&ground, 1, name.as_bytes())).then_some(())
    })?;
    let failed = names.into_iter().find_map(|name| {
        let ended = task_in(&ground, name, "failed")?;
        Some((name, ended))
    });
    let (name, ended) = failed.context("one failure")?;
    assert_eq!(ended["blame"], "destination", "{ended}");
    let host = ground.destination(0);
    let shown = ground.get(&format!("/api/v1/hosts/{host}")).context("the host")?;
    let reason = format!("{host} reported done but does not list {name}");
    assert_eq!(shown["back_off"]["reason"], reason, "{shown}");
    let log = node.log_text();
    let warned = log.lines().find(|line| line.contains("WARN") && line.contains("in backoff"));
    let unlisted = format!("does not list {name}");
    assert!(warned.is_some_and(|line| line.contains(&unlisted)), "{log}");
    Ok(())
}

#[test]
fn an_unlisted_file_is_not_done_but_the_wire_shows_done() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    ground.master(b"E.mpg", 5_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let host = old_destination(&ground, 0)?;
    let node = start_node(&ground, &[("calls.list_timeout", "50s")])?;
    let ready = wait_for("a task", &[&node], || task_in(&ground, "E.mpg", "ready"))?;
    // The report is checked by a later list: that list is delayed.
    host.set_holding_lists(true);
    let _polling = polling(&ground, &host, DownloaderBehavior::Copies);
    wait_for("done on cfm's wire", &[&node], || {
        let tasks = ground.get("/tasks")?;
        (tasks[0]["status"] == "done").then_some(())
    })?;
    let id = ready["id"].as_str().context("an id")?;
    let claimed = ground.get(&format!("/api/v1/tasks/{id}")).context("the task")?;
    assert_eq!(claimed["state"], "working", "{claimed}");
    host.set_holding_lists(false);
    wait_for("done", &[&node], || task_in(&ground, "E.mpg", "done"))?;
    Ok(())
}

#[test]
fn a_hanging_downloader_times_out_and_the_file_goes_elsewhere() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"E.mpg", 5_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let hosts = [old_destination(&ground, 0)?, old_destination(&ground, 1)?];
    let node = start_node(&ground, &[("task.timeout", "5s")])?;
    let ready = wait_for("a task", &[&node], || task_in(&ground, "E.mpg", "ready"))?;
    let first = usize::from(ready["destination"] == ground.destination(1).to_string());
    let _hanging = polling(&ground, &hosts[first], DownloaderBehavior::Hangs);
    let ended = wait_for("the time-out", &[&node], || task_in(&ground, "E.mpg", "timeout"))?;
    assert_eq!((&ended["blame"], &ended["id"]), (&"destination".into(), &ready["id"]), "{ended}");
    let other = 1 - first;
    let _copying = polling(&ground, &hosts[other], DownloaderBehavior::Copies);
    wait_for("the copy elsewhere", &[&node], || {
        holds(&ground.copies(other).join("E.mpg"), &bytes).then_some(())
    })?;
    wait_for("it counts", &[&node], || {
        file(&ground, "E.mpg").filter(|file| file["state"] == "placed")
    })?;
    assert!(!is_on(&ground, first, b"E.mpg"));
    Ok(())
}

#[test]
fn a_task_that_no_host_takes_ends_and_another_host_copies() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"E.mpg", 5_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let hosts = [old_destination(&ground, 0)?, old_destination(&ground, 1)?];
    let settings =
        [("task.pickup_timeout", "1s"), ("task.back_off_base", "2s"), ("task.back_off_cap", "2s")];
    let node = start_node(&ground, &settings)?;
    // Neither host polls: for example, each is full above its own limit.
    let first = wait_for("the end of a task that no host began", &[&node], || {
        task_in(&ground, "E.mpg", "timeout")
    })?;
    let blamed = usize::from(first["destination"] == ground.destination(1).to_string());
    // Other hosts that are tried meanwhile fail too, and are tried again.
    wait_for("it is in backoff", &[&node], || {
        let plan = ground.get("/api/v1/plan")?;
        let mut held = plan["back_offs"].as_array()?.iter();
        held.any(|one| one["destination"] == first["destination"]).then_some(())
    })?;
    let _polling = polling(&ground, &hosts[1 - blamed], DownloaderBehavior::Copies);
    wait_for("the copy elsewhere", &[&node], || {
        holds(&ground.copies(1 - blamed).join("E.mpg"), &bytes).then_some(())
    })?;
    assert!(!is_on(&ground, blamed, b"E.mpg"));
    Ok(())
}

#[test]
fn the_files_of_a_frozen_cfw_are_never_copied_again_elsewhere() -> Result<()> {
    let ground = ProcessYard::new(1, 2)?;
    let bytes = ground.master(b"held.mpg", 5_000)?;
    ground.grade(&[b"held.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let frozen = old_destination(&ground, 0)?;
    let other = old_destination(&ground, 1)?;
    std::fs::write(ground.copies(0).join("held.mpg"), &bytes)?;
    let _polling = polling(&ground, &other, DownloaderBehavior::Copies);
    let mut node = start_node(&ground, &[])?;
    wait_for("the file known", &[&node], || {
        file(&ground, "held.mpg").filter(|file| file["state"] == "placed")
    })?;
    frozen.set_frozen(true);
    let is_down = || {
        let hosts = ground.get("/api/v1/hosts")?;
        let hosts = hosts["items"].as_array().or(hosts.as_array())?.clone();
        let own = ground.destination(0).to_string();
        hosts.into_iter().find(|host| host["host"] == own && host["health"] == "down")
    };
    // A restarted node that cannot list the host still knows its files.
    for next in ["one.mpg", "two.mpg"] {
        wait_for("the frozen one down", &[&node], is_down)?;
        // A later file is placed: planning continued, and the frozen host's file was not planned.
        let bytes = ground.master(next.as_bytes(), 5_000)?;
        ground.grade(&[b"held.mpg", next.as_bytes()])?;
        wait_for("the next file", &[&node], || {
            holds(&ground.copies(1).join(next), &bytes).then_some(())
        })?;
        assert!(task(&ground, "held.mpg", |_| true).is_none());
        assert!(!is_on(&ground, 1, b"held.mpg"));
        node.kill();
        node.start_again()?;
    }
    Ok(())
}

#[test]
fn a_done_sent_during_downtime_is_learnt_from_the_list() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"E.mpg", 5_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let host = old_destination(&ground, 0)?;
    let mut node = start_node(&ground, &[])?;
    let ready = wait_for("a task", &[&node], || task_in(&ground, "E.mpg", "ready"))?;
    let id = ready["id"].as_str().context("an id")?;
    let hanging = polling(&ground, &host, DownloaderBehavior::Hangs);
    wait_for("it works", &[&node], || task_in(&ground, "E.mpg", "working"))?;
    node.kill();
    drop(hanging);
    // The copy ends, and its `PATCH` gets no answer; cfw does not send it again.
    std::fs::write(ground.copies(0).join("E.mpg"), &bytes)?;
    node.start_again()?;
    let ended = wait_for("the same task done", &[&node], || {
        let task = ground.get(&format!("/api/v1/tasks/{id}"))?;
        (task["state"] == "done").then_some(task)
    })?;
    assert_eq!(ended["id"], ready["id"]);
    assert!(file(&ground, "E.mpg").is_some_and(|file| file["state"] == "placed"));
    Ok(())
}

#[test]
fn tasks_survive_a_restart_of_the_node_as_they_were() -> Result<()> {
    let ground = ProcessYard::new(2, 2)?;
    for name in ["1.mpg", "2.mpg"] {
        ground.master(name.as_bytes(), 5_000)?;
    }
    ground.grade(&[b"1.mpg", b"2.mpg"])?;
    let _sources = [old_source(&ground, 0)?, old_source(&ground, 1)?];
    let hosts = [old_destination(&ground, 0)?, old_destination(&ground, 1)?];
    let mut node = start_node(&ground, &[])?;
    wait_for("two tasks", &[&node], || {
        ground.get("/tasks").filter(|tasks| tasks.as_array().is_some_and(|list| list.len() == 2))
    })?;
    let _hanging = polling(&ground, &hosts[0], DownloaderBehavior::Hangs);
    let before = wait_for("one of them working", &[&node], || {
        ground.get("/tasks").filter(|tasks| tasks.to_string().contains("working"))
    })?;
    node.kill();
    node.start_again()?;
    let after = wait_for("the tasks back", &[&node], || {
        ground.get("/tasks").filter(|tasks| tasks.as_array().is_some_and(|list| !list.is_empty()))
    })?;
    assert_eq!(after, before);
    Ok(())
}

#[test]
fn a_cfw_restarted_in_a_copy_copies_again_within_few_polls() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"E.mpg", 5_000)?;
    ground.grade(&[b"E.mpg"])?;
    let _source = old_source(&ground, 0)?;
    let host = old_destination(&ground, 0)?;
    let hanging = polling(&ground, &host, DownloaderBehavior::Hangs);
    let node = start_node(&ground, &[])?;
    let begun = wait_for("it works", &[&node], || task_in(&ground, "E.mpg", "working"))?;
    // Its heartbeats continue all the time: the node sees no gap.
    drop(hanging);
    let _copying = polling(&ground, &host, DownloaderBehavior::Copies);
    let done = wait_for("the copy", &[&node], || task_in(&ground, "E.mpg", "done"))?;
    assert_eq!(done["id"], begun["id"], "the task was begun again");
    assert!(holds(&ground.copies(0).join("E.mpg"), &bytes));
    let log = node.log_text();
    let result = log.lines().find(|line| line.contains("starts a copy again"));
    assert!(result.is_some_and(|line| line.contains("E.mpg")), "{log}");
    Ok(())
}

#[test]
fn a_cfw_that_replaces_a_reelyard_worker_takes_over_its_tasks() -> Result<()> {
    let ground = ProcessYard::new(1, 1)?;
    let bytes = ground.master(b"E.mpg", 2_000_000)?;
    ground.grade(&[b"E.mpg"])?;
    let source = ground.start_source(0, &[])?;
    let mut worker = ground.start_destination(0, &[])?;
    let node = start_node(&ground, &[("task.copy_speed", "800kbit/s")])?;
    let roles = [&node, &source, &worker];
    wait_for("it works", &roles, || task_in(&ground, "E.mpg", "working"))?;
    worker.kill();
    let host = old_destination(&ground, 0)?;
    let _copying = polling(&ground, &host, DownloaderBehavior::Copies);
    wait_for("the copy", &[&node], || task_in(&ground, "E.mpg", "done"))?;
    assert!(holds(&ground.copies(0).join("E.mpg"), &bytes));
    Ok(())
}
