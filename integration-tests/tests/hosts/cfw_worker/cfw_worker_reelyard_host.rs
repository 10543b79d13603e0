//! A CfwWorker with a Reelyard worker: signed calls, the effect of epochs, and incomplete inventories.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_core::token::SharedToken;
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_protocol::signed_call::{
    Addressee, CHALLENGE_HEADER, CallText, PROOF_HEADER, SIGNATURE_HEADER, SignedCallVerifier,
    VerifiedCall,
};
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, DeleteCopy, ProbeHeartbeat, Refresh, http_client,
};

const TOKEN: &str = "of-the-yard-and-long";

/// A Reelyard worker with scripted answers, in the format of `wire/worker.rs`, and a record of its calls.
#[derive(Clone)]
struct ScriptedWorker {
    /// The identity that it claims; `None` for the true one.
    claimed_address: Option<&'static str>,
    inventory: Arc<Mutex<&'static str>>,
    /// The cursor in its answers, and its answer to a request since that cursor.
    cursor: Arc<Mutex<Option<(&'static str, &'static str)>>>,
    epoch: u64,
    gate: SignedCallVerifier,
    /// `METHOD path signed? epoch` of each call.
    calls: Arc<Mutex<Vec<String>>>,
}

impl ScriptedWorker {
    fn new() -> Self {
        ScriptedWorker {
            claimed_address: None,
            inventory: Arc::new(Mutex::new("9 1 a%20b\n9 1 %FF\nend 2\n")),
            cursor: Arc::default(),
            epoch: 7,
            gate: SignedCallVerifier::default(),
            calls: Arc::default(),
        }
    }

    fn answer(&self, own: &str, request: &HttpRequest) -> HttpResponse {
        let header = |name: &str| {
            request.headers().get(name).map_or("-", |value| value.to_str().unwrap()).to_owned()
        };
        let (method, path) = (request.method(), request.path());
        let epoch = header("Reelyard-Epoch");
        assert_eq!(header("Authorization"), "-", "the token was sent");
        let admitted = self.admit(own, request);
        let how = if admitted.is_some() { "signed" } else { "-" };
        self.calls.lock().unwrap().push(format!("{method} {path} {how} {epoch}"));
        match (method.as_str(), path) {
            ("HEAD", "/hb") => HttpResponse::Ok().finish(),
            ("GET", "/df") => HttpResponse::Ok().body(
                r#"{"total_size":"9","used_size":"1","avail_size":"8","used_percent":11,"free_size":"8"}"#,
            ),
            _ if admitted.is_none() => {
                let challenge = self.gate.challenge().unwrap().to_string();
                HttpResponse::Unauthorized().insert_header((CHALLENGE_HEADER, challenge)).finish()
            }
            ("GET", "/info") => {
                let host = self.claimed_address.unwrap_or(own);
                let info = format!(
                    r#"{{"program":"reelyard","version":"0.1.0","host":"{host}",
                        "data_listen":"0.0.0.0:99","epoch":0,"source":false,"destination":true}}"#
                );
                let proof = admitted.unwrap().prove(&token(), 200, info.as_bytes());
                HttpResponse::Ok().insert_header((PROOF_HEADER, proof)).body(info)
            }
            ("GET", "/inventory") => self.stock(request.query_string()),
            _ if epoch.parse::<u64>().unwrap() < self.epoch => {
                HttpResponse::PreconditionFailed().finish()
            }
            _ => HttpResponse::Ok().finish(),
        }
    }
}

fn token() -> SharedToken {
    SharedToken::new(TOKEN).unwrap()
}

impl ScriptedWorker {
    fn admit(&self, own: &str, request: &HttpRequest) -> Option<VerifiedCall> {
        let header = |name: &str| request.headers().get(name).map(|value| value.as_bytes());
        let text = CallText {
            to: Addressee::Worker(own.parse().unwrap()),
            method: request.method().as_str(),
            target: request.uri().path_and_query().unwrap().as_str(),
            epoch: header("Reelyard-Epoch").unwrap_or_default(),
            manager: b"",
        };
        self.gate.admit(&token(), &text, header(SIGNATURE_HEADER)?).ok()
    }

    fn stock(&self, query: &str) -> HttpResponse {
        let Some((cursor, changes)) = *self.cursor.lock().unwrap() else {
            return HttpResponse::Ok().body(*self.inventory.lock().unwrap());
        };
        let mut answer = HttpResponse::Ok();
        answer.insert_header(("Reelyard-Inventory", cursor));
        match query.strip_prefix("since=") {
            Some(since) if since == cursor => {
                answer.insert_header(("Reelyard-Inventory-Since", since)).body(changes)
            }
            _ => answer.body(*self.inventory.lock().unwrap()),
        }
    }
}

fn serve(script: ScriptedWorker) -> HostAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = HttpServer::new(move || {
        let script = script.clone();
        App::new().default_service(web::to(move |request: HttpRequest| {
            let answer = script.answer(&addr.to_string(), &request);
            async move { answer }
        }))
    });
    actix_rt::spawn(server.workers(1).disable_signals().listen(listener).unwrap().run());
    HostAddr::from(addr)
}

fn worker_of(host: HostAddr) -> CfwWorker {
    worker_with(host, NameTable::new(), at_noon())
}

fn at_noon() -> Clock {
    Clock::manual(Millis(1_795_240_000_000))
}

fn worker_with(host: HostAddr, names: NameTable, clock: Clock) -> CfwWorker {
    let settings = CfwWorkerSettings { token: Some(token()), ..CfwWorkerSettings::default() };
    let http = http_client(&settings).unwrap();
    CfwWorker::new(host, HostRole::Destination, settings, http, names, clock)
}

async fn probe(worker: &Addr<CfwWorker>) {
    worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
}

fn delete(epoch: u64) -> DeleteCopy {
    DeleteCopy { name: FileName::new("a b").unwrap(), epoch: Epoch(epoch) }
}

#[actix::test]
async fn a_reelyard_worker_is_recognised_listed_and_fenced() {
    let script = ScriptedWorker::new();
    let host = serve(script.clone());
    let worker = worker_of(host);
    let view = worker.view();
    let worker = worker.start();
    probe(&worker).await;
    let inventory = worker.send(Refresh).await.unwrap().unwrap();
    assert_eq!((inventory.files.len(), inventory.unreadable_names), (2, 0));
    let data_addr = "127.0.0.1:99".parse().unwrap();
    assert_eq!(
        view.load().kind,
        HostKind::Reelyard { data_addr, fetches_from_old: false, data_tls: false }
    );
    assert_eq!(view.load().version.as_deref(), Some("0.1.0"));

    assert_eq!(worker.send(delete(6)).await.unwrap(), Ok(Deleted::Deposed));
    assert_eq!(view.load().inventory.unwrap().files, 2);
    assert_eq!(worker.send(delete(7)).await.unwrap(), Ok(Deleted::Removed));
    assert_eq!(view.load().inventory.unwrap().files, 1);
    let calls = script.calls.lock().unwrap().clone();
    assert!(calls.contains(&"DELETE /files/a%20b signed 7".to_owned()), "{calls:?}");
}

#[actix::test]
async fn a_torn_inventory_means_nothing() {
    let script = ScriptedWorker::new();
    let worker = worker_of(serve(script.clone()));
    let view = worker.view();
    let worker = worker.start();
    probe(&worker).await;
    worker.send(Refresh).await.unwrap().unwrap();
    for torn in ["", "9 1 a%20b\n", "9 1 a%20b\nend 2\n"] {
        *script.inventory.lock().unwrap() = torn;
        let refreshed = worker.send(Refresh).await.unwrap();
        assert!(matches!(refreshed, Err(AskFailure::Garbled(_))), "{torn:?}");
        assert_eq!(view.load().inventory.unwrap().files, 2);
    }
}

#[actix::test]
async fn a_worker_that_reports_changes_is_asked_only_for_changes() {
    let script = ScriptedWorker::new();
    *script.cursor.lock().unwrap() = Some(("a1.4", "+ 9 1 new\n- a%20b\nend 2\n"));
    let names = NameTable::new();
    let worker = worker_with(serve(script.clone()), names.clone(), at_noon());
    let view = worker.view();
    let worker = worker.start();
    probe(&worker).await;
    worker.send(Refresh).await.unwrap().unwrap();
    let inventory = worker.send(Refresh).await.unwrap().unwrap();
    let mut held: Vec<String> =
        inventory.files.iter().map(|file| names.name(FileId(file)).to_string()).collect();
    held.sort();
    assert_eq!(held, ["%FF", "new"]);
    let shown = view.load().inventory.unwrap();
    assert!(shown.follows_changes);

    // A restarted worker has another watch: it sends a complete list, and changes afterwards.
    *script.inventory.lock().unwrap() = "9 1 x\nend 1\n";
    *script.cursor.lock().unwrap() = Some(("b2.0", "end 0\n"));
    let before = view.load().whole_lists;
    assert_eq!(worker.send(Refresh).await.unwrap().unwrap().files.len(), 1);
    assert_eq!(view.load().whole_lists, before + 1);
    assert_eq!(worker.send(Refresh).await.unwrap().unwrap().files.len(), 1);
    assert_eq!(view.load().whole_lists, before + 1);

    // Invalid changes leave the known state, and the next call requests a complete list.
    *script.cursor.lock().unwrap() = Some(("b2.0", "+ 9 1 torn\n"));
    let refreshed = worker.send(Refresh).await.unwrap();
    assert!(matches!(refreshed, Err(AskFailure::Garbled(_))), "{refreshed:?}");
    assert_eq!(view.load().inventory.unwrap().files, 1);
    *script.cursor.lock().unwrap() = None;
    worker.send(Refresh).await.unwrap().unwrap();
    assert_eq!(view.load().whole_lists, before + 2);
    assert!(!view.load().inventory.unwrap().follows_changes);
}

#[actix::test]
async fn a_full_list_is_requested_at_times_and_after_an_absence() {
    let script = ScriptedWorker::new();
    *script.cursor.lock().unwrap() = Some(("a1.4", "end 0\n"));
    let clock = at_noon();
    let worker = worker_with(serve(script.clone()), NameTable::new(), clock.clone());
    let view = worker.view();
    let worker = worker.start();
    probe(&worker).await;
    worker.send(Refresh).await.unwrap().unwrap();
    worker.send(Refresh).await.unwrap().unwrap();
    let whole = view.load().whole_lists;
    clock.advance(Duration::from_secs(1799));
    worker.send(Refresh).await.unwrap().unwrap();
    assert_eq!(view.load().whole_lists, whole);
    clock.advance(Duration::from_secs(1));
    worker.send(Refresh).await.unwrap().unwrap();
    assert_eq!(view.load().whole_lists, whole + 1);
    worker.send(Refresh).await.unwrap().unwrap();
    assert_eq!(view.load().whole_lists, whole + 1);

    // An answer that has arrived is used even without remaining time.
    while worker.send(ProbeHeartbeat { timeout: Duration::ZERO }).await.unwrap().is_ok() {}
    probe(&worker).await;
    worker.send(Refresh).await.unwrap().unwrap();
    assert!(view.load().whole_lists > whole + 1);
}

#[actix::test]
async fn a_worker_under_another_name_is_not_taken_for_this_host() {
    let script = ScriptedWorker { claimed_address: Some("127.0.0.1:9"), ..ScriptedWorker::new() };
    let worker = worker_of(serve(script));
    let view = worker.view();
    let worker = worker.start();
    probe(&worker).await;
    let refreshed = worker.send(Refresh).await.unwrap();
    assert!(matches!(refreshed, Err(AskFailure::Garbled(why)) if why.contains("127.0.0.1:9")));
    assert_eq!(view.load().kind, HostKind::Unknown);
    assert!(matches!(worker.send(delete(9)).await.unwrap(), Err(AskFailure::NotAsked(_))));
}

#[actix::test]
async fn an_old_cfw_never_sees_the_token() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::write(dir.path().join("a b"), b"x").unwrap();
    let host = StandInCfw::start(dir.path()).unwrap();
    let worker = worker_of(host.addr()).start();
    probe(&worker).await;
    worker.send(Refresh).await.unwrap().unwrap();
    assert_eq!(worker.send(delete(1)).await.unwrap(), Ok(Deleted::Removed));
    assert!(!dir.path().join("a b").exists());
    assert_eq!(host.calls_with_authorization(), 0);
    assert!(!format!("{:?}", token()).contains("of-the-yard"));
}
