//! cfm's wire over a real socket, byte for byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_web::{App, HttpServer, middleware, web};
use reelyard::http::legacy::{
    CompatState, FileRow, FileTable, change_turns, not_found, paths, routes,
};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::BitsPerSecond;
use reelyard_core::names::FileName;
use reelyard_core::supervision::Route;
use reelyard_integration_tests::fakes::stand_in_cfw::{DownloaderBehavior, StandInCfw};
use reelyard_integration_tests::fakes::stand_in_task_manager::{StandInTaskManager, StandInTasks};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::heartbeat::{Health, HeartbeatView, HostBeats};
use reelyard_yard::task_manager::{Task, TaskState};

const NOW: Millis = Millis(1_795_240_700_000);
const JSON: &str = "application/json;charset=UTF-8";

/// A server of cfm's wire over tasks that the test sets.
struct CompatNode {
    addr: SocketAddr,
    tasks: StandInTasks,
    heartbeat: ViewHandle<HeartbeatView>,
    turns: Arc<tokio::sync::Semaphore>,
}

/// Lists this number of files without storing them.
struct ManyFiles(usize);

impl FileTable for ManyFiles {
    fn ranked(&self) -> Option<Millis> {
        Some(Millis(1_795_240_648_000))
    }

    fn risen(&self) -> Option<Millis> {
        None
    }

    fn rows(&self, from: usize, most: usize) -> Vec<FileRow> {
        let row = |i: usize| FileRow {
            name: FileName::new(format!("<{i}>.mpg")).unwrap(),
            grade: i as u32 + 1,
            size: (i > 0).then_some(9),
            hits: if i == 0 { 2 } else { 0 },
            servers: vec!["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()],
            master: None,
        };
        (from..self.0.min(from + most)).map(row).collect()
    }
}

fn serve(tasks: Vec<Task>) -> CompatNode {
    let tasks: StandInTasks =
        Arc::new(std::sync::Mutex::new(tasks.into_iter().map(Arc::new).collect()));
    let manager = StandInTaskManager { tasks: tasks.clone() }.start();
    let (heartbeat, turns) = (ViewHandle::default(), change_turns());
    let (read, for_cfws) = (tasks.clone(), tasks.clone());
    let state = web::Data::new(CompatState {
        tasks: Arc::new(move || Arc::new(read.lock().unwrap().clone())),
        tasks_for_cfws: Arc::new(move || Arc::new(for_cfws.lock().unwrap().clone())),
        change: Route::fixed(manager.clone().recipient()),
        cancel: Route::fixed(manager.recipient()),
        heartbeat: heartbeat.clone(),
        files: Arc::new(|| Arc::new(ManyFiles(1000))),
        clock: Clock::manual(NOW),
        turns: turns.clone(),
    });
    let server = HttpServer::new(move || {
        App::new()
            .wrap(middleware::from_fn(paths::clean))
            .configure(routes(state.clone()))
            .default_service(web::to(not_found))
    })
    .workers(1)
    .disable_signals()
    .bind("127.0.0.1:0")
    .unwrap();
    let addr = server.addrs()[0];
    actix_rt::spawn(server.run());
    CompatNode { addr, tasks, heartbeat, turns }
}

fn task(id: i64, state: TaskState) -> Task {
    Task {
        id: TaskId(id),
        name: FileName::new("E.mpg").unwrap(),
        dir: "/data2".to_owned(),
        source: "127.0.0.11:28888".parse().unwrap(),
        destination: "127.0.0.22:28888".parse().unwrap(),
        grade: 7,
        hits: 0,
        size: 1,
        copy_speed: Some(BitsPerSecond(80_000_000)),
        state,
        created: Millis(1_795_240_648_713),
        changed: NOW,
        claimed_done: false,
        reason: None,
        is_unverified: false,
        blame: None,
        hash: None,
        asked_by: None,
    }
}

/// A complete answer as received.
struct CompatResponse {
    status: u16,
    head: String,
    body: String,
}

impl CompatResponse {
    fn header(&self, name: &str) -> Option<&str> {
        let is_named = |line: &&str| {
            line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name))
        };
        let line = self.head.lines().find(is_named)?;
        line.split_once(": ").map(|(_, value)| value)
    }

    /// Status, content type and body.
    fn all(&self) -> (u16, &str, &str) {
        (self.status, self.header("content-type").unwrap_or(""), &self.body)
    }
}

impl CompatNode {
    /// Sends raw bytes and reads until the server closes.
    async fn raw(&self, request: String) -> CompatResponse {
        let addr = self.addr;
        tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(addr).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            let answer = String::from_utf8(answer).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            CompatResponse { status, head: head.to_owned(), body: body.to_owned() }
        })
        .await
        .unwrap()
    }

    async fn call(&self, line: &str, body: &str) -> CompatResponse {
        let length = body.len();
        self.raw(format!(
            "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
        .await
    }

    fn state(&self, id: i64) -> TaskState {
        self.tasks.lock().unwrap().iter().find(|task| task.id.0 == id).unwrap().state
    }
}

#[actix::test]
async fn tasks_are_listed_byte_for_byte() {
    let node = serve(vec![]);
    assert_eq!(node.call("GET /tasks", "").await.all(), (200, JSON, "[]\n"));
    *node.tasks.lock().unwrap() =
        [task(9, TaskState::Working), task(5, TaskState::Ready), task(7, TaskState::Cancelled)]
            .map(Arc::new)
            .to_vec();
    let one = |id: i64, status: &str| {
        format!(
            "{{\"id\":\"{id}\",\"ctime\":1795240648,\"mtime\":1795240700,\"status\":\"{status}\",\
             \"src_ip\":\"127.0.0.11\",\"dst_ip\":\"127.0.0.22\",\"file_path\":\"/data2/E.mpg\",\
             \"file_name\":\"E.mpg\",\"grade\":7,\"copy_speed\":\"80000000\",\
             \"src_addr\":\"127.0.0.11:28888\",\"dst_addr\":\"127.0.0.22:28888\"}}"
        )
    };
    let expected = format!("[{},{}]\n", one(5, "ready"), one(9, "working"));
    assert_eq!(node.call("GET /tasks", "").await.all(), (200, JSON, expected.as_str()));
}

#[actix::test]
async fn every_cell_of_the_transition_table_is_answered_as_cfm_does() {
    use TaskState::{Done, Ready, Timeout, Working};
    let node = serve(vec![]);
    for (body, allowed) in [
        (r#"{"status":"ready"}"#, [false, false, false, false]),
        (r#"{"status":"working"}"#, [true, true, false, false]),
        (r#"{"status":"done"}"#, [true, true, true, true]),
        (r#"{"STATUS":"timeout","x":1} trailing"#, [true, true, true, true]),
        ("{}", [false, false, false, false]),
    ] {
        for (from, is_allowed) in [Ready, Working, Done, Timeout].into_iter().zip(allowed) {
            *node.tasks.lock().unwrap() = vec![Arc::new(task(5, from))];
            let answer = node.call("PATCH /tasks/5", body).await;
            let status = if is_allowed { 200 } else { 409 };
            assert_eq!(answer.all(), (status, JSON, ""), "{body} from {from:?}");
            assert_eq!(node.state(5) == from, !is_allowed || answered_same(body, from));
        }
    }
}

/// Whether `body` requests the state that the task has already.
fn answered_same(body: &str, from: TaskState) -> bool {
    body.contains(&serde_json::to_string(&from).unwrap())
}

#[actix::test]
async fn changes_are_checked_in_cfms_order() {
    let node = serve(vec![task(5, TaskState::Ready)]);
    let done = r#"{"status":"done"}"#;
    for (line, body, status) in [
        ("PATCH /tasks/abc", "not json", 400),
        ("PATCH /tasks/9999999999999999999", done, 400),
        ("PATCH /tasks/6", "not json", 400),
        ("PATCH /tasks/6", r#"{"status":"failed"}"#, 400),
        ("PATCH /tasks/6", r#"{"status":null}"#, 400),
        ("PATCH /tasks/6", "", 400),
        ("PATCH /tasks/6", done, 404),
        ("PATCH /tasks/6", "{}", 404),
        ("PATCH /tasks/5", "{}", 409),
        ("DELETE /tasks/abc", "", 400),
        ("DELETE /tasks/6", "", 404),
    ] {
        assert_eq!(node.call(line, body).await.all(), (status, JSON, ""), "{line} {body}");
        assert_eq!(node.state(5), TaskState::Ready);
    }
    assert_eq!(node.call("PATCH /tasks/+5", done).await.status, 200);
    assert_eq!(node.state(5), TaskState::Done);
    assert_eq!(node.call("DELETE /tasks/%35", "").await.all(), (200, JSON, ""));
    assert!(node.tasks.lock().unwrap().is_empty());
}

#[actix::test]
async fn a_body_over_the_limit_changes_nothing() {
    let node = serve(vec![task(5, TaskState::Ready)]);
    let long = format!("{{\"status\":\"done\",\"x\":\"{}\"}}", "x".repeat(64 << 10));
    assert_eq!(node.call("PATCH /tasks/5", &long).await.all(), (413, JSON, ""));
    assert_eq!(node.state(5), TaskState::Ready);
}

#[actix::test]
async fn too_many_changes_are_refused_clearly() {
    let node = serve(vec![task(5, TaskState::Ready)]);
    let all = u32::try_from(node.turns.available_permits()).unwrap();
    let taken = node.turns.acquire_many(all).await.unwrap();
    let answer = node.call("PATCH /tasks/5", r#"{"status":"done"}"#).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert!(answer.body.starts_with("busy, retry in 1 s"), "{}", answer.body);
    assert_eq!(node.state(5), TaskState::Ready);
    drop(taken);
    assert_eq!(node.call("PATCH /tasks/5", r#"{"status":"done"}"#).await.status, 200);
}

#[actix::test]
async fn paths_and_methods_are_routed_as_cfm_does() {
    let node = serve(vec![]);
    for line in [
        "HEAD /tasks",
        "POST /tasks",
        "PUT /tasks/5",
        "GET /tasks/5",
        "POST /tasks/",
        "HEAD /dashboard",
        "POST /dashboard/hb",
        "DELETE /dashboard/filemetas",
    ] {
        let answer = node.call(line, "").await;
        assert_eq!((answer.status, answer.body.as_str()), (405, ""), "{line}");
    }
    for (line, target) in [
        ("GET /tasks/", "/tasks"),
        ("GET /tasks/?a=b", "/tasks?a=b"),
        ("DELETE /tasks/5/", "/tasks/5"),
        ("GET /dashboard/hb/", "/dashboard/hb"),
        ("GET //tasks", "/tasks"),
        ("GET /dashboard/../tasks?a=b", "/tasks?a=b"),
        ("PATCH /tasks//5", "/tasks/5"),
        ("GET /%2e%2e/etc/passwd", "/etc/passwd"),
    ] {
        let answer = node.call(line, "").await;
        assert_eq!((answer.status, answer.header("location")), (301, Some(target)), "{line}");
    }
    let link = "<a href=\"/tasks\">Moved Permanently</a>.\n\n";
    assert_eq!(node.call("GET /tasks/", "").await.body, link);
    for line in ["GET /nowhere", "GET /tasks/5/6", "DELETE /"] {
        let expected = (404, "text/plain; charset=utf-8", "404 page not found\n");
        assert_eq!(node.call(line, "").await.all(), expected, "{line}");
    }
}

/// A time as the dashboards show it: local time with its offset.
fn local(seconds: i64) -> String {
    let at = jiff::Timestamp::from_second(seconds).unwrap();
    let zoned = at.to_zoned(jiff::tz::TimeZone::system());
    let form = if zoned.offset().is_zero() { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    zoned.strftime(form).to_string()
}

#[actix::test]
async fn the_dashboards_show_their_tables() {
    let mut odd = task(6, TaskState::Working);
    odd.name = FileName::new(b"<b>\xff".to_vec()).unwrap();
    let node = serve(vec![odd, task(5, TaskState::Done)]);
    let page = node.call("GET /dashboard", "").await.body;
    let titles = ["ID", "FilePath", "Status", "SrcAddr", "DstAddr", "Grade", "Ctime", "Mtime"];
    assert!(page.contains(&titles.map(|title| format!("<th>{title}</th>")).concat()), "{page}");
    let (created, changed) = (local(1_795_240_648), local(1_795_240_700));
    let rows = format!(
        "<tr class=\"table-success\"><th scope=\"row\">5</th><td>/data2/E.mpg</td><td>done</td>\
         <td>127.0.0.11:28888</td><td>127.0.0.22:28888</td><td>7</td>\
         <td>{created}</td><td>{changed}</td></tr>\
         <tr class=\"table-primary\"><th scope=\"row\">6</th><td>/data2/%3Cb%3E%FF</td><td>working</td>"
    );
    assert!(page.contains(&rows), "{page}");

    let host = |addr: &str, health, checked| {
        Arc::new(HostBeats {
            host: addr.parse().unwrap(),
            health,
            in_maintenance: false,
            changed: None,
            checked,
            last_answer: None,
            latency_ms: None,
            misses_in_a_row: 0,
            last_miss: None,
            beats: vec![],
        })
    };
    node.heartbeat.publish(HeartbeatView {
        hosts: vec![
            host("127.0.0.9:1", Health::Up, Some(NOW)),
            host("127.0.0.100:1", Health::Suspect, None),
        ],
        ..HeartbeatView::default()
    });
    for page in [&page, &node.call("GET /dashboard/hb", "").await.body] {
        assert!(page.contains("<style>") && page.contains("<h1>"), "{page}");
    }
    let page = node.call("GET /dashboard/hb", "").await.body;
    assert!(page.contains("<th>HOSTAddr</th><th>Status</th><th>Mtime</th>"));
    let rows = format!(
        "<tr class=\"table-active\"><th scope=\"row\">127.0.0.9:1</th><td>ok</td>\
         <td>{changed}</td></tr>\
         <tr class=\"table-danger\"><th scope=\"row\">127.0.0.100:1</th><td>notok</td>\
         <td>0001-01-01T00:00:00Z</td></tr>"
    );
    assert!(page.contains(&rows), "{page}");
}

#[actix::test]
async fn all_files_are_shown_in_chunks() {
    let node = serve(vec![]);
    let answer = node.call("GET /dashboard/filemetas", "").await;
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.body.matches("<th scope=\"row\">&lt;").count(), 1000);
    assert!(answer.body.contains(&format!("updateTime: {}", local(1_795_240_648))));
    assert!(answer.body.contains("risingHit updateTime: 0001-01-01T00:00:00Z"));
    assert!(answer.body.contains(
        "<tr class=\"table-active\"><th scope=\"row\">&lt;0&gt;.mpg</th><td>1</td><td>-1</td><td>2</td>\
         <td>127.0.0.1, 127.0.0.2</td><td></td></tr>\
         <tr><th scope=\"row\">&lt;1&gt;.mpg</th><td>2</td><td>9</td><td>0</td>"
    ));
    assert!(answer.body.contains("<h1>filemetas</h1>") && answer.body.contains("<style>"));
}

#[actix::test]
async fn an_old_cfw_takes_its_task_copies_and_says_done() {
    let dir = tempfile::TempDir::new().unwrap();
    let (masters, copies) = (dir.path().join("masters"), dir.path().join("copies"));
    std::fs::create_dir(&masters).unwrap();
    std::fs::create_dir(&copies).unwrap();
    std::fs::write(masters.join("<E>&.mpg"), b"bytes").unwrap();
    let host = StandInCfw::start(&copies).unwrap();
    let mut mine = task(8, TaskState::Ready);
    mine.name = FileName::new("<E>&.mpg").unwrap();
    mine.dir = masters.to_str().unwrap().to_owned();
    mine.destination = host.addr();
    let node = serve(vec![task(3, TaskState::Ready), mine]);
    let _polling = host.poll(node.addr, Duration::from_millis(10), DownloaderBehavior::Copies);
    let done = async {
        while node.state(8) != TaskState::Done {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, done).await.unwrap();
    assert_eq!(std::fs::read(copies.join("<E>&.mpg")).unwrap(), b"bytes");
    assert_eq!(node.state(3), TaskState::Ready);
}
