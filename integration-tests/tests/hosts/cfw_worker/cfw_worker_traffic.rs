//! A CfwWorker reads the network load of its host: from an agent next to an old cfw, or from a Reelyard
//! worker. Without a report the load is unknown.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::{BitsPerSecond, HostAddr, HostRole};
use reelyard_core::names::NameTable;
use reelyard_core::traffic::{Rates, Traffic};
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::probes::waiting::{PATIENCE, eventually_some};
use reelyard_yard::cfw_worker::{
    CfwWorker, CfwWorkerSettings, CfwWorkerView, HostObserved, LookDue, ProbeHeartbeat,
    SubscribeToHost, http_client,
};
use reelyard_yard::settings::hosts::{Agent, Agents};

/// Answers every request with the current text, and counts requests.
#[derive(Clone)]
struct TextServer {
    addr: HostAddr,
    answer: Arc<Mutex<String>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl TextServer {
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = HostAddr::from(listener.local_addr().unwrap());
        let pages = TextServer { addr, answer: Arc::default(), asked: Arc::default() };
        let served = pages.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                let request = String::from_utf8(request).unwrap();
                let answer = served.answer.lock().unwrap().clone();
                served.asked.lock().unwrap().push(request);
                // A client that does not want the complete answer closes the connection.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        pages
    }

    fn say(&self, answer: impl Into<String>) {
        *self.answer.lock().unwrap() = answer.into();
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The page of a node_exporter on a machine with a gigabit card and the loopback interface.
fn page(sent: u64) -> String {
    ok(&format!(
        "node_network_transmit_bytes_total{{device=\"eth0\"}} {sent}\n\
         node_network_receive_bytes_total{{device=\"eth0\"}} 0\n\
         node_network_transmit_bytes_total{{device=\"lo\"}} 9e9\n\
         node_network_receive_bytes_total{{device=\"lo\"}} {sent}\n\
         node_network_speed_bytes{{device=\"eth0\"}} 1.25e+08\n"
    ))
}

/// Records the observations.
#[derive(Default)]
struct ObservationListener(Arc<Mutex<Vec<HostObserved>>>);

impl Actor for ObservationListener {
    type Context = Context<Self>;
}

impl Handler<HostObserved> for ObservationListener {
    type Result = ();

    fn handle(&mut self, seen: HostObserved, _: &mut Context<Self>) {
        self.0.lock().unwrap().push(seen);
    }
}

/// A CfwWorker with a probed host and a listener.
struct TrafficYard {
    worker: Addr<CfwWorker>,
    view: ViewHandle<CfwWorkerView>,
    clock: Clock,
    observed: Arc<Mutex<Vec<HostObserved>>>,
}

impl TrafficYard {
    async fn start(host: HostAddr, role: HostRole, settings: CfwWorkerSettings) -> Self {
        let http = http_client(&settings).unwrap();
        let clock = Clock::manual(Millis(1_795_240_000_000));
        let names = NameTable::new();
        let worker = CfwWorker::new(host, role, settings, http, names, clock.clone());
        let view = worker.view();
        let worker = worker.start();
        let observed = Arc::default();
        let to = ObservationListener(Arc::clone(&observed)).start().recipient();
        worker.send(SubscribeToHost { to }).await.unwrap();
        worker.send(ProbeHeartbeat { timeout: PATIENCE }).await.unwrap().unwrap();
        TrafficYard { worker, view, clock, observed }
    }

    /// Moves the clock by this time and makes the worker handle it.
    async fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.worker.send(LookDue).await.unwrap();
    }

    async fn until<T>(&self, what: &str, show: impl Fn(&CfwWorkerView) -> Option<T>) -> T {
        eventually_some(what, || {
            let shown = show(&self.view.load());
            async move { shown }
        })
        .await
    }

    fn last_reported(&self) -> Option<(Traffic, Millis)> {
        self.observed.lock().unwrap().last()?.traffic.clone()
    }
}

fn with_agent(host: HostAddr, agent: &TextServer) -> CfwWorkerSettings {
    let url = format!("http://{}/metrics?collect[]=netdev", agent.addr).parse().unwrap();
    let agent = Agent { url, device: None, link_speed: None };
    let call_timeout = PATIENCE;
    CfwWorkerSettings { agents: Agents([(host, agent)].into()), call_timeout, ..Default::default() }
}

#[actix::test]
async fn an_agent_beside_an_old_cfw_reports_the_load_of_its_link() {
    let dir = tempfile::tempdir().unwrap();
    let (old, agent) = (StandInCfw::start(dir.path()).unwrap(), TextServer::serve());
    agent.say(page(1_000_000));
    let settings = with_agent(old.addr(), &agent);
    let watched = TrafficYard::start(old.addr(), HostRole::Destination, settings).await;
    watched.until("the agent has answered", |view| (view.agent_answers == 1).then_some(())).await;
    agent.say(page(51_000_000));
    watched.until("it is observed", |view| view.inventory).await;
    assert_eq!(watched.view.load().traffic, None, "one reading gives no rate");
    watched.pass(11).await;
    let traffic = watched.until("a rate is known", |view| view.traffic.clone()).await;
    // 50 MB in 11 s.
    assert_eq!(traffic.all.sends, BitsPerSecond(36_363_636));
    assert_eq!((traffic.interface.as_str(), traffic.over_ms), ("eth0", 11_000));
    assert_eq!(traffic.speed, Some(BitsPerSecond(1_000_000_000)));
    assert_eq!(traffic.copies, None);
    let observed =
        eventually_some("the subscriber gets it", || async { watched.last_reported() }).await;
    assert_eq!(observed, (traffic, watched.clock.now()));
    // The agent never gets the yard's secrets, because it does not use the yard's protocol.
    let requests = agent.asked.lock().unwrap().clone();
    assert!(requests.iter().all(|request| request.starts_with("GET /metrics?collect[]=netdev ")));
    assert!(requests.iter().all(|request| !request.to_lowercase().contains("authorization")));
}

#[actix::test]
async fn an_agent_without_an_answer_is_shown_and_the_traffic_becomes_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let (old, agent) = (StandInCfw::start(dir.path()).unwrap(), TextServer::serve());
    let elsewhere = TextServer::serve();
    elsewhere.say(page(1));
    agent.say(page(0));
    let settings = with_agent(old.addr(), &agent);
    let watched = TrafficYard::start(old.addr(), HostRole::Destination, settings).await;
    watched.until("the agent has answered", |view| (view.agent_answers == 1).then_some(())).await;
    watched.pass(11).await;
    watched.until("a rate is known", |view| view.traffic.clone()).await;
    let longest = "x".repeat(9 << 20);
    for (answer, why) in [
        ("HTTP/1.1 500 Oh\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(), "500"),
        (
            format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\nConnection: close\r\n\
                 Content-Length: 0\r\n\r\n",
                elsewhere.addr
            ),
            "302",
        ),
        (ok("<html>who are you?</html>"), "no network interface"),
        (ok("node_network_transmit_bytes_total{device=\"eth0\"} much\n"), "line 1"),
        (ok(&longest), "longer than"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n#".to_owned(), "cannot be reached"),
    ] {
        agent.say(answer);
        watched.pass(11).await;
        watched
            .until(&format!("the view says that the agent answers {why}"), |view| {
                view.agent_failure.as_ref().filter(|failure| failure.contains(why)).map(|_| ())
            })
            .await;
    }
    assert_eq!(elsewhere.asked(), 0, "it follows no redirect");
    let view = watched.view.load();
    assert_eq!((view.traffic.clone(), view.failed_looks), (None, 0), "the last rate is too old");
    assert!(!view.calls.is_open(), "the host has nothing to do with it");
    agent.say(page(5));
    watched.pass(11).await;
    watched.until("it answers again", |view| view.agent_failure.is_none().then_some(())).await;
}

#[actix::test]
async fn a_new_agent_is_asked_and_a_removed_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (old, agent) = (StandInCfw::start(dir.path()).unwrap(), TextServer::serve());
    agent.say(page(0));
    let plain = CfwWorkerSettings::default();
    let watched = TrafficYard::start(old.addr(), HostRole::Source, plain.clone()).await;
    watched.until("it is known", |view| (view.looks > 0).then_some(())).await;
    let change = |settings: CfwWorkerSettings| {
        let http = http_client(&settings).unwrap();
        ChangeSettings((settings, http))
    };
    watched.worker.send(change(with_agent(old.addr(), &agent))).await.unwrap();
    watched.until("the agent has answered", |view| (view.agent_answers == 1).then_some(())).await;
    watched.pass(11).await;
    watched.until("a rate is known", |view| view.traffic.clone()).await;
    watched.worker.send(change(plain)).await.unwrap();
    let before = agent.asked();
    // A later observation proves that no other address got a call.
    let looks = watched.view.load().looks;
    watched.pass(70).await;
    watched.until("it is observed again", |view| (view.looks > looks).then_some(())).await;
    assert_eq!(agent.asked(), before);
    watched.until("nothing is known", |view| view.traffic.is_none().then_some(())).await;
}

#[actix::test]
async fn a_reelyard_worker_is_asked_between_observations_and_separates_its_copies() {
    let host = TextServer::serve();
    let info = |sends: u64| {
        let addr = host.addr;
        ok(&format!(
            "{{\"program\":\"reelyard\",\"version\":\"9\",\"host\":\"{addr}\",\"data_listen\":\"{addr}\",\
             \"epoch\":0,\"source\":true,\"destination\":false,\"from the future\":1,\
             \"traffic\":{{\"interface\":\"eth0\",\"speed\":1000,\"sends\":{sends},\"receives\":2,\
             \"copies\":{{\"sends\":1,\"receives\":0}},\"over_ms\":9000}}}}"
        ))
    };
    host.say(info(5));
    let watched =
        TrafficYard::start(host.addr, HostRole::Source, CfwWorkerSettings::default()).await;
    let traffic = watched.until("it answers", |view| view.traffic.clone()).await;
    let rates =
        |sends, receives| Rates { sends: BitsPerSecond(sends), receives: BitsPerSecond(receives) };
    assert_eq!((traffic.all, traffic.copies), (rates(5, 2), Some(rates(1, 0))));
    let looks = watched.view.load().looks;
    host.say(info(7));
    watched.pass(17).await;
    watched
        .until("it is asked again", |view| (view.traffic.as_ref()?.all.sends.0 == 7).then_some(()))
        .await;
    assert_eq!(watched.view.load().looks, looks, "without a look");
    let observed = eventually_some("the subscriber gets it", || async {
        watched.last_reported().filter(|(traffic, _)| traffic.all.sends.0 == 7)
    });
    assert_eq!(observed.await.1, watched.clock.now());
}
