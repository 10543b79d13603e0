//! The data port: the bytes that it serves, and the clients that it admits.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use reelyard::worker::Worker;
use reelyard_core::clock::Clock;
use reelyard_core::token::SharedToken;
use reelyard_file_server::file_fingerprint::FileFingerprint;
use reelyard_file_server::ticket::{TICKET_HEADER, TicketKey};
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::http_client::without_tls;
use reelyard_protocol::worker::{ContentHash, FileHash, ReportedState};
use reelyard_worker::kept_state::state_store::StateStore;
use reqwest::StatusCode;

async fn get(url: String) -> reqwest::Response {
    without_tls().build().unwrap().get(url).send().await.unwrap()
}

fn masters(rig: &Rig, name: &str) -> String {
    let dir: String = rig.data().display().to_string().replace('/', "%2F");
    format!("/masters/{dir}%2F{name}")
}

#[actix::test]
async fn bytes_ranges_and_hashes_are_served() {
    let rig = Rig::new();
    let contents = rig.master(b"a#b.mpg", 3_000_000);
    let worker = started(rig.source()).await;
    let data = worker.view().data_listen;
    let url = format!("http://{data}{}", masters(&rig, "a%23b.mpg"));
    let client = without_tls().build().unwrap();

    let whole = client.get(&url).send().await.unwrap();
    let etag = whole.headers()["etag"].clone();
    assert_eq!(whole.bytes().await.unwrap(), contents);

    let ranged = async |range: &str| {
        let answer = client.get(&url).header("Range", range).send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        (status, headers, answer.bytes().await.unwrap())
    };
    let (status, headers, bytes) = ranged("bytes=1000000-1999999").await;
    assert_eq!(status, StatusCode::PARTIAL_CONTENT);
    assert_eq!(headers["content-range"], "bytes 1000000-1999999/3000000");
    assert_eq!(bytes, contents[1_000_000..2_000_000]);
    assert_eq!(ranged("bytes=-5").await.2, contents[2_999_995..]);
    let (status, headers, _) = ranged("bytes=3000000-").await;
    assert_eq!(status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(headers["content-range"], "bytes */3000000");
    assert_eq!(ranged("bytes=0-1,5-6").await.0, StatusCode::OK, "several ranges: all of it");

    let stale = client.get(&url).header("Range", "bytes=0-1").header("If-Range", "\"old\"");
    assert_eq!(stale.send().await.unwrap().status(), StatusCode::OK);
    let known = client.get(&url).header("If-None-Match", &etag).send().await.unwrap();
    assert_eq!((known.status(), &known.headers()["etag"]), (StatusCode::NOT_MODIFIED, &etag));
    let head = client.head(&url).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], "3000000");
    assert_eq!(head.bytes().await.unwrap(), "");

    let hash_url = format!("http://{data}/hashes{}", masters(&rig, "a%23b.mpg"));
    let answer = client.get(&hash_url).send().await.unwrap();
    assert_eq!(answer.headers()["etag"], etag);
    let hash: FileHash = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!((hash.size, hash.blake3.0), (3_000_000, *blake3::hash(&contents).as_bytes()));

    assert_eq!(client.put(&url).send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    let status = async |path: &str| {
        client.get(format!("http://{data}{path}")).send().await.unwrap().status()
    };
    for hidden in ["/", "/copies/x", "/masters/etc/passwd"] {
        assert_eq!(status(hidden).await, StatusCode::NOT_FOUND, "{hidden}");
    }
    let elsewhere = status("/masters/%2Fetc%2Fpasswd").await;
    assert_eq!(elsewhere, StatusCode::MISDIRECTED_REQUEST);
    worker.stop().await;
}

#[actix::test]
async fn copies_are_served_but_not_partial_ones() {
    let rig = Rig::new();
    let mut settings = rig.destination("127.0.0.1:1");
    settings.nodes.clear();
    let worker = started(settings).await;
    std::fs::write(rig.copies().join("done.mpg"), b"copy").unwrap();
    std::fs::write(rig.copies().join("temp.downloaded/7"), b"part").unwrap();
    let data = worker.view().data_listen;
    let get = async |path: &str| get(format!("http://{data}{path}")).await;
    assert_eq!(get("/copies/done.mpg").await.bytes().await.unwrap(), "copy");
    for hidden in ["/copies/temp.downloaded", "/copies/temp.downloaded%2F7", "/copies/%2E%2E"] {
        assert_eq!(get(hidden).await.status(), StatusCode::NOT_FOUND, "{hidden}");
    }
    worker.stop().await;
}

#[actix::test]
async fn with_a_token_a_ticket_is_needed_and_workers_have_one() {
    let (source, destination, node) = (Rig::new(), Rig::new(), FakeNode::start());
    let token = SharedToken::new("0123456789abcdef").unwrap();
    source.master(b"E.mpg", 1000);
    let mut serving = source.source();
    let mut fetching = destination.destination(&node.url);
    serving.token = Some(token.clone());
    fetching.token = Some(token.clone());
    node.demand(&token);
    let (serving, fetching) = (started(serving).await, started(fetching).await);

    node.order(source.order(1, b"E.mpg"));
    let end = node.end_of(1).await;
    assert!(matches!(end, ReportedState::Done { .. }), "{end:?}");

    let path = masters(&source, "E.mpg");
    let port = serving.view().data_listen;
    let url = format!("http://{port}{path}");
    let client = without_tls().build().unwrap();
    let now = Clock::system().now();
    let key = TicketKey::of(&token);
    let status = async |ticket: String| {
        client.get(&url).header(TICKET_HEADER, ticket).send().await.unwrap().status()
    };
    assert_eq!(client.get(&url).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let later = now.after(Duration::from_secs(60));
    assert_eq!(status(key.sign(port, path.as_bytes(), later)).await, StatusCode::OK);
    assert_eq!(status(key.sign(port, path.as_bytes(), now)).await, StatusCode::FORBIDDEN);
    assert_eq!(status(key.sign(port, b"/copies/x", later)).await, StatusCode::FORBIDDEN);
    let elsewhere = destination.host.socket();
    assert_eq!(status(key.sign(elsewhere, path.as_bytes(), later)).await, StatusCode::FORBIDDEN);
    assert_eq!(serving.view().data_port.refused_ticket, 4);
    fetching.stop().await;
    serving.stop().await;
    node.stop().await;
}

/// The answer to `request`, up to the end of the connection.
async fn raw(addr: SocketAddr, request: Vec<u8>) -> String {
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(&request).unwrap();
        let mut answer = Vec::new();
        // A refused client may see a reset after the answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    });
    answer.await.unwrap()
}

#[actix::test]
async fn clients_that_misbehave_are_sent_away() {
    let rig = Rig::new();
    rig.master(b"E.mpg", 10);
    let mut settings = rig.source();
    // Every valid request must also be complete within this time.
    settings.data_port.request_timeout = Duration::from_secs(3);
    settings.data_port.connections = 2;
    let worker = started(settings).await;
    let data = worker.view().data_listen;

    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(20_000)).into_bytes();
    assert!(raw(data, long).await.starts_with("HTTP/1.1 431 "));
    // The client sees the answer a moment before the worker closes the connection.
    eventually("room again", || worker.view().data_port.connections == 0).await;
    assert!(raw(data, b"nonsense\r\n\r\n".to_vec()).await.starts_with("HTTP/1.1 400 "));
    eventually("room again", || worker.view().data_port.connections == 0).await;
    let with_body = b"GET /copies/x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc".to_vec();
    assert!(raw(data, with_body).await.starts_with("HTTP/1.1 400 "));
    eventually("room again", || worker.view().data_port.connections == 0).await;
    assert_eq!(raw(data, b"GET /copies/x HTT".to_vec()).await, "", "silent for too long");

    eventually("room again", || worker.view().data_port.connections == 0).await;
    let path = masters(&rig, "E.mpg");
    let two =
        format!("GET {path} HTTP/1.1\r\n\r\nHEAD {path} HTTP/1.1\r\nConnection: close\r\n\r\n");
    let answers = raw(data, two.into_bytes()).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    worker.stop().await;
}

/// Two clients that the worker sends a file to, until they are dropped.
async fn hold_all(rig: &Rig, worker: &Worker, data: SocketAddr) -> [TcpStream; 2] {
    // More than the buffers hold.
    std::fs::write(rig.data().join("E.mpg"), vec![0; 48 << 20]).unwrap();
    let request = format!("GET {} HTTP/1.1\r\n\r\n", masters(rig, "E.mpg"));
    let held = [0, 1].map(|_| {
        let mut stream = TcpStream::connect(data).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    });
    eventually("two clients", || worker.view().data_port.requests == 2).await;
    held
}

#[actix::test]
async fn a_connection_above_the_limit_gets_a_retry_time() {
    let rig = Rig::new();
    let mut settings = rig.source();
    settings.data_port.connections = 2;
    let worker = started(settings).await;
    let data = worker.view().data_listen;
    let held = hold_all(&rig, &worker, data).await;
    let refused = raw(data, Vec::new()).await;
    assert!(
        refused.starts_with("HTTP/1.1 503 ") && refused.contains("Retry-After: 1"),
        "{refused}"
    );
    assert_eq!(worker.view().data_port.refused_busy, 1);
    drop(held);
    eventually("room again", || worker.view().data_port.connections == 0).await;
    worker.stop().await;
}

#[actix::test]
async fn a_refused_connection_is_not_reset_while_its_client_still_sends() {
    let rig = Rig::new();
    let mut settings = rig.source();
    settings.data_port.connections = 2;
    let worker = started(settings).await;
    let data = worker.view().data_listen;
    let held = hold_all(&rig, &worker, data).await;
    let refused = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(data)?;
        stream.set_nodelay(true)?;
        let mut answer = String::new();
        // A reset could discard the answer on a network that loses packets.
        stream.read_to_string(&mut answer)?;
        for byte in "GET /copies/E.mpg HTTP/1.1\r\nHost: h\r\n\r\n".repeat(5).bytes() {
            stream.write_all(&[byte])?;
        }
        Ok::<_, std::io::Error>(answer)
    });
    let refused = refused.await.unwrap().unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.ends_with("too many connections, retry shortly\n"), "{refused}");
    drop(held);
    worker.stop().await;
}

#[actix::test]
async fn a_restarted_source_knows_its_hashes_without_reading_again() {
    let rig = Rig::new();
    let contents = rig.master(b"E.mpg", 100_000);
    let hash = async |data: SocketAddr| {
        let url = format!("http://{data}/hashes{}", masters(&rig, "E.mpg"));
        let answer = get(url).await.bytes().await.unwrap();
        serde_json::from_slice::<FileHash>(&answer).unwrap().blake3
    };
    // Long after the master was written.
    let later = || Clock::manual(Clock::system().now().after(Duration::from_secs(3600)));
    let first = Worker::start(rig.source(), later()).await.unwrap();
    let known = ContentHash(*blake3::hash(&contents).as_bytes());
    assert_eq!(hash(first.view().data_listen).await, known);
    first.stop().await;
    let state = rig.place.path().join("state");
    let identity = FileFingerprint::from(&std::fs::metadata(rig.data().join("E.mpg")).unwrap());
    {
        let store = StateStore::open(&state).unwrap();
        assert_eq!(store.hash(&identity).unwrap(), Some(known));
        // A hash that differs from the content of the file.
        store.remember_hash(&identity, ContentHash([9; 32])).unwrap();
        store.sync().unwrap();
    }
    let second = started(rig.source()).await;
    assert_eq!(hash(second.view().data_listen).await, ContentHash([9; 32]));
    rig.master(b"E.mpg", 100_000);
    assert_ne!(hash(second.view().data_listen).await, ContentHash([9; 32]), "it was rewritten");
    second.stop().await;
}
