//! A list that may be truncated is rejected, whatever its end.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::{FileName, NameTable};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, ProbeHeartbeat, Refresh, http_client,
};

fn worker_of(host: HostAddr) -> Addr<CfwWorker> {
    let settings = CfwWorkerSettings::default();
    let http = http_client(&settings).unwrap();
    let clock = Clock::manual(Millis(1_795_240_000_000));
    CfwWorker::new(host, HostRole::Destination, settings, http, NameTable::new(), clock).start()
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
        true => {
            let names = (0..1500).map(|file| format!("{number:016}-{file:019}.mpg\n"));
            let list: String = names.collect();
            format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{list}",
                list.len()
            )
        }
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
                assert!(why.contains("more new file names within an hour"), "{why}");
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

/// The answers of an old cfw besides its list.
fn others(request: &str) -> &'static str {
    if request.starts_with("HEAD /hb") {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    } else {
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    }
}
