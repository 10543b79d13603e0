//! Lists of files that may have been cut off are not believed, however they end.

use std::io::{Read, Write};
use std::net::TcpListener;

use actix::prelude::*;
use reelyard_actors::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, Probe, Refresh, http_client,
};
use reelyard_actors::clock::{Clock, Millis};
use reelyard_actors::host::{HostAddr, HostRole};
use reelyard_actors::names::NameTable;
use reelyard_integration_tests::waiting::PATIENCE;

fn worker_of(host: HostAddr) -> Addr<CfwWorker> {
    let settings = CfwWorkerSettings::default();
    let http = http_client(&settings).unwrap();
    let clock = Clock::manual(Millis(1_795_240_000_000));
    CfwWorker::new(host, HostRole::Destination, settings, http, NameTable::new(), clock).start()
}

/// Answers every request on one connection after the other with what `answer` makes of it, and
/// closes.
fn answer_raw(answer: fn(&str) -> &'static str) -> HostAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = HostAddr::from(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            stream.write_all(answer(&String::from_utf8(request).unwrap()).as_bytes()).unwrap();
        }
    });
    addr
}

#[actix::test]
async fn a_list_that_does_not_tell_its_end_is_not_believed() {
    let lists: [fn(&str) -> &'static str; 3] = [
        |request| match request {
            // Lasts until the connection closes: looks whole wherever it is cut.
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
            // Whole by its length, but its last line has no end.
            _ if request.starts_with("GET /files") => {
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\na.mpg\nb."
            }
            _ => others(request),
        },
    ];
    for (number, list) in lists.into_iter().enumerate() {
        let worker = worker_of(answer_raw(list));
        worker.send(Probe { timeout: PATIENCE }).await.unwrap().unwrap();
        let failure = worker.send(Refresh).await.unwrap().map(|_| number).unwrap_err();
        match number {
            1 => assert!(matches!(failure, AskFailure::Unreachable(_)), "{failure:?}"),
            _ => assert!(matches!(failure, AskFailure::Garbled(_)), "{failure:?}"),
        }
    }
}

/// What an old cfw answers besides its list.
fn others(request: &str) -> &'static str {
    if request.starts_with("HEAD /hb") {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    } else {
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    }
}
