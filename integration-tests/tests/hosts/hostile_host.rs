//! Programs at the address of a host or node that do not know the token of the yard.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use reelyard_boxes::box_lease::{BoxLink, BoxLinkSettings};
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::manager::{ManagerIdentity, YardId};
use reelyard_core::names::{FileName, NameTable};
use reelyard_core::token::{SharedToken, WorkerKeys};
use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually};
use reelyard_integration_tests::rigs::worker::worker_rig::{FakeNode, Rig, started};
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookTarget, InspectBoxes, PoolName};
use reelyard_yard::cfw_worker::{
    CfwWorker, CfwWorkerSettings, DeleteCopy, ProbeHeartbeat, Refresh, http_client,
};

const SECRET: &str = "of-the-yard-and-long";

fn token() -> SharedToken {
    SharedToken::new(SECRET).unwrap()
}

/// Records each request with its body, and answers with the result of `answer` for its first line.
struct Thief {
    addr: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Thief {
    fn start(answer: impl Fn(SocketAddr, &str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let (recorded, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (recorded, answer) = (Arc::clone(&recorded), Arc::clone(&answer));
                std::thread::spawn(move || converse(stream, addr, &recorded, &*answer));
            }
        });
        Thief { addr, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn has_learnt_nothing(&self) {
        let all = self.requests().concat();
        assert!(!all.contains(SECRET), "the secret was sent: {all}");
        let authorization = all.to_ascii_lowercase().contains("authorization:");
        assert!(!authorization, "a credential was sent: {all}");
    }
}

fn converse(
    stream: TcpStream,
    addr: SocketAddr,
    recorded: &Mutex<Vec<String>>,
    answer: &dyn Fn(SocketAddr, &str) -> String,
) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let first = head.lines().next().unwrap_or_default().to_owned();
        recorded.lock().unwrap().push(format!("{head}{}", String::from_utf8_lossy(&body)));
        if reader.get_mut().write_all(answer(addr, &first).as_bytes()).is_err() {
            return;
        }
    }
}

fn answered(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// Claims to be a worker of the yard, and requests credentials in every form that `refusal` supports.
fn claims_to_be_a_worker(refusal: &'static str) -> impl Fn(SocketAddr, &str) -> String {
    move |addr, first| match first.split(' ').collect::<Vec<_>>()[..] {
        ["HEAD", "/hb", _] => answered("200 OK", "", ""),
        [_, "/info", _] if refusal.is_empty() => answered(
            "200 OK",
            "",
            &format!(
                r#"{{"program":"reelyard","version":"0.1.0","host":"{addr}","data_listen":"{addr}",
                    "epoch":0,"source":false,"destination":true}}"#
            ),
        ),
        [_, "/inventory", _] if refusal.is_empty() => answered("200 OK", "", "9 1 a\nend 1\n"),
        _ => answered("401 Unauthorized", refusal, ""),
    }
}

async fn asked_by_a_node(host: SocketAddr) {
    let settings = CfwWorkerSettings { token: Some(token()), ..CfwWorkerSettings::default() };
    let http = http_client(&settings).unwrap();
    let (host, names) = (HostAddr::from(host), NameTable::new());
    let worker =
        CfwWorker::new(host, HostRole::Destination, settings, http, names, Clock::system()).start();
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
    let _ = worker.send(Refresh).await.unwrap();
    let _ = worker.send(Refresh).await.unwrap();
    let delete = DeleteCopy { name: FileName::new("a").unwrap(), epoch: Epoch(1) };
    let _ = worker.send(delete).await.unwrap();
    let identity = ManagerIdentity::of_node(1);
    identity.set_cluster(YardId(1));
    let settings = BoxLinkSettings::new(Some(token()), PATIENCE);
    let link = BoxLink::start(settings, identity, WorkerKeys::default());
    let pool = PoolName::new("judges").unwrap();
    let epoch = Epoch(1);
    let place = HookTarget { host, epoch, pool, hooks: None, cluster: None, ids: Vec::new() };
    let look = InspectBoxes { place, boxes: vec![BoxNumber(0)], last_token: FenceToken(1) };
    let _ = link.unwrap().hosts().look.recipient().send(look).await.unwrap();
}

const BEARER: &str = "www-authenticate: Bearer\r\n";
const CHALLENGE: &str = "www-authenticate: Bearer\r\n\
    reelyard-challenge: 00112233445566778899aabbccddeeff\r\n";

#[actix::test]
async fn a_host_that_does_not_know_the_token_never_learns_it() {
    for refusal in ["", BEARER, CHALLENGE] {
        let thief = Thief::start(claims_to_be_a_worker(refusal));
        asked_by_a_node(thief.addr).await;
        assert!(thief.requests().len() >= 4, "{:?}", thief.requests());
        thief.has_learnt_nothing();
    }
}

#[actix::test]
async fn a_node_without_the_token_never_learns_it_and_gives_no_orders() {
    for refusal in ["", BEARER, CHALLENGE] {
        let thief = Thief::start(move |_, first| match refusal {
            "" if first.contains("/tasks") => answered(
                "200 OK",
                "content-type: application/json\r\n",
                r#"{"epoch":18446744073709551615,"tasks":[]}"#,
            ),
            _ => answered("401 Unauthorized", refusal, ""),
        });
        let rig = Rig::new();
        let mut settings = rig.destination(&thief.addr.to_string());
        settings.token = Some(token());
        let worker = started(settings).await;
        eventually("it is asked again", || thief.requests().len() >= 4).await;
        thief.has_learnt_nothing();
        let view = worker.view();
        assert_eq!(view.epoch, Epoch(0), "an epoch without authority was taken");
        let error = view.node.unwrap().error.unwrap_or_default();
        assert!(error.contains("token"), "{error}");
        worker.stop().await;
    }
}

#[actix::test]
async fn a_source_that_does_not_know_the_token_never_learns_it() {
    for refusal in ["", BEARER, CHALLENGE] {
        let thief = Thief::start(claims_to_be_a_worker(refusal));
        let (node, rig, source) = (FakeNode::start(), Rig::new(), Rig::new());
        node.demand(&token());
        let mut settings = rig.destination(&node.url);
        settings.token = Some(token());
        let worker = started(settings).await;
        source.master(b"a", 10);
        let mut order = source.order(1, b"a");
        order.source = HostAddr::from(thief.addr);
        node.order(order);
        node.end_of(1).await;
        assert!(!thief.requests().is_empty());
        thief.has_learnt_nothing();
        worker.stop().await;
        node.stop().await;
    }
}

/// Sends the bytes unchanged and returns the status.
fn replayed(to: HostAddr, request: String) -> String {
    let mut stream = TcpStream::connect(to.socket()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[actix::test]
async fn a_signature_for_one_host_is_invalid_at_another() {
    let rig = Rig::new();
    let mut settings = rig.destination("127.0.0.1:1");
    settings.nodes.clear();
    settings.token = Some(token());
    let worker = started(settings).await;
    std::fs::write(rig.copies().join("a"), b"x").unwrap();
    // The challenge of the true worker, which every program can request.
    let unsigned = format!("http://{}/info", rig.host);
    let http = reelyard_protocol::http_client::without_tls().build().unwrap();
    let refused = http.get(unsigned).send().await.unwrap();
    let challenge = refused.headers()["reelyard-challenge"].to_str().unwrap().to_owned();
    let thief = Thief::start(move |_, first| match first {
        "HEAD /hb HTTP/1.1" => answered("200 OK", "", ""),
        _ => answered("401 Unauthorized", &format!("reelyard-challenge: {challenge}\r\n"), ""),
    });
    asked_by_a_node(thief.addr).await;
    let requests = thief.requests();
    let signed = requests.iter().filter(|request| request.contains("reelyard-signature:"));
    let signed: Vec<String> = signed.cloned().collect();
    assert!(signed.len() >= 2, "{requests:?}");
    let host = rig.host;
    let statuses = actix_web::web::block(move || {
        let to_worker = |request: &String| {
            [request.clone(), request.replace(&thief.addr.to_string(), &host.to_string())]
        };
        let tried = signed.iter().flat_map(to_worker);
        tried.map(|request| replayed(host, request)).collect::<Vec<_>>()
    });
    let statuses = statuses.await.unwrap();
    assert!(statuses.iter().all(|status| status == "401"), "{statuses:?}");
    assert!(rig.copies().join("a").exists());
    worker.stop().await;
}
