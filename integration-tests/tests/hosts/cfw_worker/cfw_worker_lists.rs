//! A list that may be truncated is rejected, whatever its end.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::{FileName, NameTable};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, ProbeHeartbeat, Refresh, ResetBreaker, http_client,
};

fn worker_of(host: HostAddr) -> Addr<CfwWorker> {
    worker_with(host, 150_000).1.start()
}

/// The actor of `host`, which may list `max_files` files, and its clock.
fn worker_with(host: HostAddr, max_files: u64) -> (Clock, CfwWorker) {
    let settings = CfwWorkerSettings { max_files, ..CfwWorkerSettings::default() };
    let http = http_client(&settings).unwrap();
    let clock = Clock::manual(Millis(1_795_240_000_000));
    let (names, role) = (NameTable::new(), HostRole::Destination);
    let worker = CfwWorker::new(host, role, settings, http, names, clock.clone());
    (clock, worker)
}

/// Answers each request, one connection after the other, with the result of `answer`, and closes.
fn answer_raw(answer: fn(&str) -> &'static str) -> HostAddr {
    answer_made(move |request, _| answer(request).to_owned())
}

/// The same, with the number of the request as second argument of `answer`.
fn answer_made(answer: impl Fn(&str, u64) -> String + Send + 'static) -> HostAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = HostAddr::from(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming()) {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            let answer = answer(&String::from_utf8(request).unwrap(), number);
            // The client does not read a refused list to its end.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    addr
}

#[actix::test]
async fn a_list_without_a_marked_end_is_rejected() {
    let lists: [fn(&str) -> &'static str; 3] = [
        |request| match request {
            // The body ends with the connection: it looks complete wherever it is cut.
            _ if request.starts_with("GET /files") => "HTTP/1.1 200 OK\r\n\r\na.mpg\n",
            _ => others(request),
        },
        |request| match request {
            _ if request.starts_with("GET /files") => {
                "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\na.mpg\n"
            }
            _ => others(request),
        },
        |request| match request {
            // Complete by its length, but without an end of the last line.
            _ if request.starts_with("GET /files") => {
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\na.mpg\nb."
            }
            _ => others(request),
        },
    ];
    for (number, list) in lists.into_iter().enumerate() {
        let worker = worker_of(answer_raw(list));
        worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
        let failure = worker.send(Refresh).await.unwrap().map(|_| number).unwrap_err();
        match number {
            1 => assert!(matches!(failure, AskFailure::Unreachable(_)), "{failure:?}"),
            _ => assert!(matches!(failure, AskFailure::Garbled(_)), "{failure:?}"),
        }
    }
}

/// A host lists other names each time. It uses no more memory than its limit, and the memory is freed
/// afterwards.
#[actix::test]
async fn a_host_that_invents_names_takes_bounded_memory_and_gives_it_back() {
    const FILES: u64 = 2000;
    let host = answer_made(|request, number| match request.starts_with("GET /files") {
        true => list_of((0..1500).map(|file| format!("{number:016}-{file:019}.mpg\n"))),
        false => others(request).to_owned(),
    });
    let settings = CfwWorkerSettings { max_files: FILES, ..CfwWorkerSettings::default() };
    let http = http_client(&settings).unwrap();
    let clock = Clock::manual(Millis(1_795_240_000_000));
    let (names, role) = (NameTable::new(), HostRole::Destination);
    let trusted = names.intern(&FileName::new("trusted.mpg").unwrap());
    let worker = CfwWorker::new(host, role, settings, http, names.clone(), clock.clone());
    let view = worker.view();
    let worker = worker.start();
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    let (mut refused, mut taken, mut most) = (0, 0, 0);
    for _ in 0..40 {
        match worker.send(Refresh).await.unwrap() {
            Ok(inventory) => taken += u64::from(inventory.files.len() == 1500),
            Err(AskFailure::TooMuch(why)) => {
                assert!(why.contains("added more files within an hour"), "{why}");
                refused += 1;
            }
            // The circuit breaker is open.
            Err(AskFailure::NotAsked(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
        let mut live = view.load().held.as_ref().map(|held| held.files.clone()).unwrap_or_default();
        live.insert(trusted.0);
        names.sweep(&live).unwrap();
        most = most.max(names.len());
        clock.advance(Duration::from_secs(300));
    }
    assert!(refused > 2 && taken > 2, "{refused} refused, {taken} taken");
    assert!(most as u64 <= 2 * FILES + 1, "{most} names");
    // The host is removed from the configuration.
    drop(worker);
    let live = [trusted.0].into_iter().collect();
    names.sweep(&live).unwrap();
    names.sweep(&live).unwrap();
    assert_eq!((names.len(), names.name(trusted).as_utf8()), (1, Some("trusted.mpg")));
    assert!(names.bytes() < 64 * 1024, "{} bytes", names.bytes());
}

/// A host lists all its files and no files in turn, as fast as it is asked. The node accepts an empty list,
/// which costs nothing, and two full lists at most in the first hour, then one an hour.
#[actix::test]
async fn files_that_come_and_go_count_as_added() {
    const FILES: u64 = 1000;
    let host = lists_all_and_nothing_in_turn(FILES);
    let (clock, worker) = worker_with(host, FILES);
    let view = worker.view();
    let worker = worker.start();
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    let (mut full_lists, mut refused, mut shown) = (Vec::new(), 0, 0);
    for minute in 0..4 * 60 {
        match worker.send(Refresh).await.unwrap() {
            Ok(inventory) if inventory.files.is_empty() => {
                // An accepted list that adds nothing does not hide that others are refused.
                shown += u64::from(view.load().refused_list.is_some());
            }
            Ok(inventory) => {
                assert_eq!(inventory.files.len(), FILES);
                full_lists.push(minute);
            }
            Err(AskFailure::TooMuch(why)) => {
                assert!(why.contains("added more files within an hour"), "{why}");
                assert!(why.contains("reset it, or raise the setting"), "{why}");
                assert_eq!(view.load().refused_list, Some(why));
                refused += 1;
            }
            // The circuit breaker is open.
            Err(AskFailure::NotAsked(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
        clock.advance(Duration::from_secs(60));
    }
    assert!(full_lists.iter().filter(|minute| **minute < 60).count() <= 2, "{full_lists:?}");
    assert!((2..=5).contains(&full_lists.len()), "{full_lists:?}");
    assert!(refused > 0 && shown > 0, "{refused} refused, {shown} shown");
}

#[actix::test]
async fn a_reset_host_may_add_files_at_once() {
    const FILES: u64 = 1000;
    let host = lists_all_and_nothing_in_turn(FILES);
    // The clock stands still, so a second full list is already too much.
    let (_clock, worker) = worker_with(host, FILES);
    let worker = worker.start();
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    let mut reset = false;
    loop {
        match worker.send(Refresh).await.unwrap() {
            Err(AskFailure::TooMuch(_)) => {
                worker.send(ResetBreaker).await.unwrap();
                reset = true;
            }
            Ok(inventory) if reset && inventory.files.len() == FILES => break,
            Ok(_) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// A host that answers requests for its list with this number of files and with none, in turn.
fn lists_all_and_nothing_in_turn(files: u64) -> HostAddr {
    let lists = AtomicU64::new(0);
    answer_made(move |request, _| {
        if !request.starts_with("GET /files") {
            return others(request).to_owned();
        }
        let is_full = lists.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let files = if is_full { files } else { 0 };
        list_of((0..files).map(|file| format!("{file:019}.mpg\n")))
    })
}

/// The answer with these lines as list of an old cfw.
fn list_of(lines: impl Iterator<Item = String>) -> String {
    let list: String = lines.collect();
    let length = list.len();
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{list}")
}

/// The answers of an old cfw besides its list.
fn others(request: &str) -> &'static str {
    if request.starts_with("HEAD /hb") {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    } else {
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    }
}
