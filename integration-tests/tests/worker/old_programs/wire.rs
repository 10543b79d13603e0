//! cfw's wire on a Reelyard worker, byte for byte, and Reelyard's additions.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;

use reelyard::worker::Worker;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::{ManagerId, YardId};
use reelyard_core::token::SharedToken;
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, os_name, started};
use reelyard_protocol::worker::WorkerInfo;

/// Sends a request unchanged and returns the answer without the date.
async fn raw(host: HostAddr, request: &str, headers: &str) -> String {
    let request = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(host.socket()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    });
    let answer = String::from_utf8_lossy(&answer.await.unwrap()).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines.retain(|line| !line.starts_with("date:") && *line != "connection: close");
    lines[1..].sort_unstable();
    format!("{}\n\n{body}", lines.join("\n"))
}

async fn worker(rig: &Rig) -> Worker {
    let mut settings = rig.destination("127.0.0.1:1");
    settings.nodes.clear();
    started(settings).await
}

fn put(rig: &Rig, name: &[u8]) {
    std::fs::write(rig.copies().join(os_name(name)), b"x").unwrap();
}

#[actix::test]
async fn heartbeat_files_and_the_router_answer_as_cfw() {
    let rig = Rig::new();
    let worker = worker(&rig).await;
    for name in [&b"b.mpg"[..], b"a b.mpg", b".hidden", b"B.mpg", b"new\nline"] {
        put(&rig, name);
    }
    symlink("nowhere", rig.copies().join("dangling")).unwrap();
    symlink("/tmp", rig.copies().join("to-dir")).unwrap();
    std::fs::create_dir(rig.copies().join("dir")).unwrap();

    const EMPTY_405: &str = "HTTP/1.1 405 Method Not Allowed\ncontent-length: 0\n\n";
    const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\ncontent-length: 19\n\
        content-type: text/plain; charset=utf-8\nx-content-type-options: nosniff\n\n\
        404 page not found\n";
    for (request, answer) in [
        (
            "HEAD /hb",
            "HTTP/1.1 200 OK\ncontent-length: 0\ncontent-type: text/plain;charset=UTF-8\n\n",
        ),
        ("GET /hb", EMPTY_405),
        ("POST /files", EMPTY_405),
        ("GET /files/b.mpg", EMPTY_405),
        ("PUT /df", EMPTY_405),
        ("GET /nothing", NOT_FOUND),
        ("DELETE /files/a%2Fb", NOT_FOUND),
        (
            "GET /files",
            "HTTP/1.1 200 OK\ncontent-length: 44\ncontent-type: text/plain;charset=UTF-8\n\n\
             .hidden\nB.mpg\na b.mpg\nb.mpg\ndangling\nto-dir\n",
        ),
        (
            "GET /files/",
            "HTTP/1.1 301 Moved Permanently\ncontent-length: 41\n\
             content-type: text/html; charset=utf-8\nlocation: /files\n\n\
             <a href=\"/files\">Moved Permanently</a>.\n\n",
        ),
        ("GET //files", "HTTP/1.1 301 Moved Permanently\ncontent-length: 0\nlocation: /files\n\n"),
        (
            "DELETE /files/../../etc/passwd",
            "HTTP/1.1 301 Moved Permanently\ncontent-length: 0\nlocation: /etc/passwd\n\n",
        ),
    ] {
        assert_eq!(raw(rig.host, request, "").await, answer, "{request}");
    }
    assert_eq!(worker.view().unlistable_names, 1);
    worker.stop().await;
}

#[actix::test]
async fn the_disk_is_reported_as_by_cfw() {
    let rig = Rig::new();
    let worker = worker(&rig).await;
    let answer = raw(rig.host, "GET /df", "").await;
    let (head, body) = answer.split_once("\n\n").unwrap();
    assert!(head.contains("content-type: application/json;charset=UTF-8"), "{head}");
    let disk: serde_json::Value = serde_json::from_str(body).unwrap();
    let text = |key: &str| disk[key].as_str().unwrap().to_owned();
    let number = |key: &str| text(key).parse::<u128>().unwrap();
    let (used, avail) = (number("used_size"), number("avail_size"));
    assert_eq!(used, number("total_size") - number("free_size"));
    let percent = (200 * used + used + avail) / (2 * (used + avail));
    let expected = format!(
        "{{\"total_size\":\"{}\",\"used_size\":\"{used}\",\"avail_size\":\"{avail}\",\
         \"used_percent\":{percent},\"free_size\":\"{}\"}}\n",
        text("total_size"),
        text("free_size")
    );
    assert_eq!(body, expected);
    worker.stop().await;
}

#[actix::test]
async fn files_are_deleted_exactly_as_named() {
    let rig = Rig::new();
    let worker = worker(&rig).await;
    let outside = rig.place.path().join("outside");
    std::fs::write(&outside, b"x").unwrap();
    symlink(&outside, rig.copies().join("link")).unwrap();
    symlink("/tmp", rig.copies().join("to-dir")).unwrap();
    for name in [&b"a"[..], b"a#b.mpg", b"c", b"c?d.mpg", b"A1.mpg", b"%411.mpg", b"\xff\n"] {
        put(&rig, name);
    }
    let long = format!("DELETE /files/{}", "x".repeat(256));
    for (request, status) in [
        ("DELETE /files/a%23b.mpg", "200 OK"),
        ("DELETE /files/c%3Fd.mpg", "200 OK"),
        ("DELETE /files/%25411.mpg", "200 OK"),
        ("DELETE /files/%FF%0A", "200 OK"),
        ("DELETE /files/link", "200 OK"),
        ("DELETE /files/link", "404 Not Found"),
        ("DELETE /files/to-dir", "406 Not Acceptable"),
        ("DELETE /files/temp.downloaded", "406 Not Acceptable"),
        (&long, "500 Internal Server Error"),
    ] {
        let expected = format!(
            "HTTP/1.1 {status}\ncontent-length: 0\ncontent-type: application/json;charset=UTF-8\n\n"
        );
        assert_eq!(raw(rig.host, request, "").await, expected, "{request}");
    }
    let left = raw(rig.host, "GET /files", "").await;
    assert!(left.ends_with("\n\nA1.mpg\na\nc\nto-dir\n"), "{left}");
    assert!(outside.exists());
    worker.stop().await;
}

#[actix::test]
async fn the_inventory_holds_every_name_and_says_where_it_ends() {
    let rig = Rig::new();
    let worker = worker(&rig).await;
    put(&rig, b"new\nline");
    put(&rig, b"\xff");
    let answer = raw(rig.host, "GET /inventory", "").await;
    let lines: Vec<&str> = answer.split_once("\n\n").unwrap().1.lines().collect();
    assert!(lines[0].starts_with("1 ") && lines[0].ends_with(" new%0Aline"), "{answer}");
    assert!(lines[1].starts_with("1 ") && lines[1].ends_with(" %FF"), "{answer}");
    assert_eq!(lines[2..], ["end 2"]);
    worker.stop().await;
}

#[actix::test]
async fn a_deposed_leader_deletes_nothing() {
    let rig = Rig::new();
    let first = worker(&rig).await;
    for name in [b"a", b"b", b"c"] {
        put(&rig, name);
    }
    let of = |cluster: u128| ManagerId { cluster: YardId(cluster), node: 1 };
    let delete_as = async |manager: ManagerId, name: &str, epoch: &str| {
        let header = format!("Reelyard-Epoch: {epoch}\r\nReelyard-Manager: {manager}\r\n");
        let answer = raw(rig.host, &format!("DELETE /files/{name}"), &header).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let delete = async |name: &str, epoch: &str| delete_as(of(1), name, epoch).await;
    assert_eq!(delete("a", "5").await, "200");
    // Messages that are not from a leader of this cluster do not change the epoch.
    assert_eq!(delete("nothing", "6").await, "404");
    assert_eq!(delete("b", "18446744073709551615").await, "412");
    assert_eq!(delete_as(of(2), "b", "7").await, "412");
    let anybody = "Reelyard-Epoch: 18446744073709551615\r\n";
    assert_eq!(
        raw(rig.host, "DELETE /files/nothing", anybody).await.split(' ').nth(1),
        Some("412")
    );
    let absurd = "Reelyard-Epoch: 18446744073709551615\r\n\
        Reelyard-Manager: 00000000000000000000000000000001/1\r\n";
    let answer = raw(rig.host, "DELETE /files/b", absurd).await;
    assert!(answer.contains("is refused") && answer.contains("hosts adopt"), "{answer}");
    assert_eq!(first.view().epoch.0, 5);
    assert_eq!(delete("b", "4").await, "412");
    assert_eq!(delete("b", "soon").await, "400");
    first.stop().await;
    let second = worker(&rig).await;
    assert_eq!(delete("b", "4").await, "412", "it is remembered over a restart");
    assert!(rig.copies().join("b").exists());
    assert_eq!(delete("b", "5").await, "200");
    let answer = raw(rig.host, "GET /info", "").await;
    let info: WorkerInfo = serde_json::from_str(answer.split_once("\n\n").unwrap().1).unwrap();
    assert_eq!((info.epoch.0, info.host), (5, rig.host));
    assert_eq!(info.data_listen, second.view().data_listen);
    assert!(info.destination && !info.source && info.program == "reelyard");
    second.stop().await;
}

#[actix::test]
async fn with_a_token_only_its_bearer_deletes() {
    let rig = Rig::new();
    let token = SharedToken::new("0123456789abcdef").unwrap();
    let mut settings = rig.destination("127.0.0.1:1");
    settings.nodes.clear();
    settings.token = Some(token.clone());
    assert!(!format!("{settings:?}").contains("0123456789"), "a secret was printed");
    let worker = started(settings).await;
    put(&rig, b"a");
    let bearer = format!("Authorization: {}\r\n", token.bearer());
    let status = async |request: &str, headers: &str| {
        raw(rig.host, request, headers).await.split(' ').nth(1).unwrap().to_owned()
    };
    for request in ["DELETE /files/a", "GET /info", "GET /inventory"] {
        assert_eq!(status(request, "").await, "401", "{request}");
        assert_eq!(status(request, "Authorization: Bearer 0123456789abcdeX\r\n").await, "401");
    }
    assert!(rig.copies().join("a").exists());
    for request in ["GET /files", "GET /df", "HEAD /hb"] {
        assert_eq!(status(request, "").await, "200", "{request}");
    }
    for request in ["GET /info", "GET /inventory", "DELETE /files/a"] {
        assert_eq!(status(request, &bearer).await, "200", "{request}");
    }
    worker.stop().await;
}

#[actix::test]
async fn a_worker_is_ready_with_orders_and_readable_disks() {
    let (rig, node) = (Rig::new(), FakeNode::start());
    let mut settings = rig.destination(node.url.trim_start_matches("http://"));
    let masters = rig.data().join("more");
    std::fs::create_dir(&masters).unwrap();
    settings.source_dirs = vec![masters.clone()];
    let worker = started(settings).await;
    let readyz = || async { raw(rig.host, "GET /readyz", "").await };
    let has = |status: &'static str, words: &'static str| async move {
        let answer = readyz().await;
        (answer.starts_with(status) && answer.contains(words)).then_some(())
    };
    eventually_some("the worker is ready", || has("HTTP/1.1 200", "\n\nready\n")).await;
    assert!(raw(rig.host, "GET /healthz", "").await.ends_with("\n\nok\n"));
    std::fs::remove_dir(&masters).unwrap();
    let reply = readyz().await;
    assert!(
        reply.starts_with("HTTP/1.1 503") && reply.contains("/more cannot be read: "),
        "{reply}"
    );
    std::fs::create_dir(&masters).unwrap();
    // It requires a token that the worker does not have.
    node.demand(&SharedToken::new("0123456789abcdef").unwrap());
    eventually_some("the token is missing", || has("HTTP/1.1 503", "requires a token")).await;
    worker.stop().await;
}
