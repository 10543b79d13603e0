//! The client commands with a node's API: their requests, output and exit codes.
//!
//! The node here answers with the real types of the API, over a real socket.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Mutex, mpsc};
use std::thread;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reelyard_api::{BadRowView, Cursor, FileState, FileView, InputState, InputView, Page, Problem};
use reelyard_core::clock::Millis;
use reelyard_core::names::{FileName, NameText};
use reelyard_integration_tests::rigs::binary::{self, ProgramOutput, ended, reelyard, run};
use serde_json::{Value, json};

const TOKEN: &str = "open-sesame-open-now";

/// The number of files in the node's list, with two per page.
const FILES: usize = 5;

/// Starts the node. It ends with the process of the test.
fn node() -> SocketAddr {
    let (sender, addresses) = mpsc::channel();
    thread::spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            let app = || {
                App::new().service(
                    web::scope("/api/v1")
                        .route("/files", web::get().to(files))
                        .route("/status", web::get().to(status))
                        .route("/tasks/{id}", web::delete().to(cancel))
                        .route("/hosts", web::get().to(hosts))
                        .route("/shares", web::post().to(share))
                        .route("/shares", web::get().to(shares))
                        .route("/shares/{id}", web::get().to(unlimited_share))
                        .route("/plan", web::get().to(plan)),
                )
            };
            let server = HttpServer::new(app).workers(1).bind("127.0.0.1:0").unwrap();
            sender.send(server.addrs()[0]).unwrap();
            server.disable_signals().run().await.unwrap();
        });
    });
    addresses.recv().unwrap()
}

fn problem(status: u16, title: &str, detail: &str) -> HttpResponse {
    let status_code = actix_web::http::StatusCode::from_u16(status).unwrap();
    HttpResponse::build(status_code).content_type("application/problem+json").json(Problem {
        kind: format!("urn:reelyard:problem:{title}"),
        title: title.to_owned(),
        status,
        detail: detail.to_owned(),
        token_file: None,
    })
}

async fn files(query: web::Query<Value>) -> HttpResponse {
    let text = |key: &str| query.get(key).and_then(Value::as_str).map(str::to_owned);
    let from: usize = text("cursor").map_or(0, |cursor| cursor.parse().unwrap());
    let limit: usize = text("limit").unwrap().parse().unwrap();
    let until = (from + limit.min(2)).min(FILES);
    let file = |index: usize| FileView {
        name: name(index, text("prefix").as_deref()),
        rank: u32::try_from(index + 1).ok(),
        demand_rank: None,
        requests_a_day: None,
        score: None,
        hits: 0,
        size: Some(1_500_000),
        placed_on: vec!["127.0.0.21:8888".parse().unwrap()],
        placed_on_left_out: if index == 1 { 5 } else { 0 },
        state: FileState::Placed,
        task: None,
        back_off: None,
    };
    let next = (until < FILES).then(|| Cursor(until.to_string()));
    HttpResponse::Ok().json(Page { items: (from..until).map(file).collect(), next })
}

/// Difficult file names; each contains the requested prefix.
fn name(index: usize, prefix: Option<&str>) -> NameText {
    let prefix = prefix.unwrap_or_default();
    let name = if index == 0 {
        [prefix.as_bytes(), b"\xff\xfe.mpg"].concat()
    } else {
        format!("{prefix}\u{1b}[31m{index}.mpg").into_bytes()
    };
    FileName::new(name).unwrap().to_text()
}

async fn status() -> HttpResponse {
    let grade_info = InputView {
        setting: "catalog.grade_info_file".to_owned(),
        path: "/data/.grade.info".to_owned(),
        state: InputState::Unreadable,
        detail: Some("permission denied".to_owned()),
        read: Some(Millis(1_527_951_600_000)),
        noticed_by: None,
        rows: 10,
        bad_rows: 1,
        first_bad_rows: vec![BadRowView {
            line: 7,
            text: "a\tb".to_owned(),
            why: "the grade is no number".to_owned(),
        }],
    };
    HttpResponse::Ok().json(json!({
        "version": "0.1.0", "node_id": 1, "started": 0, "ready": false,
        "not_ready": ["grade.info cannot be read"], "inputs": [grade_info],
        "journal": {"role": "leader", "leader": 1, "epoch": 1, "last_index": 1, "applied_index": 1},
        "actors": {},
    }))
}

async fn cancel(id: web::Path<String>, request: HttpRequest) -> HttpResponse {
    let given = request.headers().get("authorization").map(|value| value.to_str().unwrap());
    match id.as_str() {
        _ if given != Some(&format!("Bearer {TOKEN}")) => {
            problem(401, "unauthorized", "a token is needed")
        }
        "7" => HttpResponse::NoContent().finish(),
        id => problem(404, "not-found", &format!("task {id} does not exist")),
    }
}

/// The outcome of every new request is unknown.
async fn share(wanted: web::Json<Value>) -> HttpResponse {
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let request = wanted["request_id"].as_str().unwrap_or_default().to_owned();
    let mut seen = SEEN.lock().unwrap();
    if request.is_empty() || wanted["path"] == "lost" || !seen.contains(&request) {
        seen.push(request);
        return problem(504, "outcome-unknown", "outcome unknown");
    }
    HttpResponse::Created().json(json!({
        "id": "AAAAAAAAAAAAAAAAAAAAAA", "url": "http://x/s/AAAAAAAAAAAAAAAAAAAAAA", "path": "films/a",
        "kind": "file", "state": "live", "created_at": "2026-12-31T18:00:00Z",
        "has_password": false, "uses": 0, "generation": 0,
    }))
}

/// A share with five downloads and without a limit.
fn unlimited() -> Value {
    json!({
        "id": "AAAAAAAAAAAAAAAAAAAAAA", "url": "http://x/s/AAAAAAAAAAAAAAAAAAAAAA", "path": "films/a",
        "kind": "file", "state": "live", "created_at": "2026-12-31T18:00:00Z",
        "has_password": false, "uses": 5, "generation": 0,
    })
}

async fn unlimited_share() -> HttpResponse {
    HttpResponse::Ok().json(unlimited())
}

async fn shares() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "items": [unlimited()] }))
}

async fn hosts() -> HttpResponse {
    problem(503, "busy", "the supervisor has more requests waiting than it takes")
}

async fn plan() -> HttpResponse {
    HttpResponse::Ok().body("<html>another program</html>")
}

fn ask(node: SocketAddr, arguments: &[&str]) -> ProgramOutput {
    run(&[arguments, &["--url", &format!("http://{node}")]].concat())
}

#[test]
fn files_are_listed_over_pages_with_the_faults_of_the_inputs() {
    let url = format!("http://{}", node());
    let ended = ended(reelyard(&["files", "--url", &url]).env("TZ", "UTC"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].trim_start().starts_with("RANK"), "{}", ended.out);
    assert!(lines[1].contains("%FF%FE.mpg (bytes)"), "{}", ended.out);
    assert!(lines[5].contains("␛[31m4.mpg") && !ended.out.contains('\u{1b}'), "{}", ended.out);
    let why = "cannot be read: permission denied; the content read at 2018-06-02 15:00:";
    assert!(lines[6].contains(why), "{}", ended.out);
    assert_eq!(lines[8], "  line 7: the grade is no number: a␉b");
}

#[test]
fn destinations_that_a_list_leaves_out_have_a_column() {
    let listed = ask(node(), &["files", "-o", "csv"]);
    let rows: Vec<&str> = listed.out.split("\r\n").collect();
    assert!(rows[0].ends_with(",placed_on,further_hosts,why"), "{}", listed.out);
    assert!(rows[1].ends_with(",127.0.0.21:8888,,"), "{}", listed.out);
    assert!(rows[2].ends_with(",127.0.0.21:8888,5,"), "{}", listed.out);
}

#[test]
fn a_list_has_the_requested_length_and_continues_at_its_cut() {
    let node = node();
    let json = |arguments: &[&str]| {
        let ended = ask(node, &[&["files", "--json"], arguments].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        serde_json::from_str::<Value>(&ended.out).unwrap()
    };
    let ranks = |list: &Value| -> Vec<u64> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["rank"].as_u64().unwrap())
            .collect()
    };
    let first = json(&["--limit", "3"]);
    assert_eq!((ranks(&first), &first["next"]), (vec![1, 2, 3], &json!("3")));
    let rest = json(&["--cursor", "3"]);
    assert_eq!((ranks(&rest), &rest["next"]), (vec![4, 5], &Value::Null));
    assert_eq!(ranks(&json(&["--all"])).len(), FILES);
    assert_eq!(first["inputs"][0]["state"], "unreadable");
    let prefixed = json(&["--prefix", "a&b=c%"]);
    assert_eq!(prefixed["items"][1]["name"], "a&b=c%\u{1b}[31m1.mpg");
}

#[test]
fn a_refusal_by_the_node_is_explained_with_exit_code_4() {
    let node = node();
    let ended = ask(node, &["tasks", "cancel", "7"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains("the node refused: a token is needed"), "{}", ended.err);
    let ended = ask(node, &["tasks", "cancel", "7", "8", "--token", TOKEN]);
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (Some(4), "task 7 is cancelled, or removed from the list if it had ended\n")
    );
    assert!(ended.err.contains("task 8 does not exist"), "{}", ended.err);
}

#[test]
fn a_share_with_an_unknown_outcome_is_requested_once_more() {
    let node = node();
    for named in [&[][..], &["--request-id", "order 9"]] {
        let made = ask(node, &[&["share", "create", "films/a"], named].concat());
        assert_eq!(made.code, Some(0), "{}", made.err);
        assert!(made.out.starts_with("http://x/s/AAAAAAAAAAAAAAAAAAAAAA\n"), "{}", made.out);
    }
    let lost = ask(node, &["share", "create", "lost"]);
    assert_eq!(lost.code, Some(1), "{}", lost.err);
}

#[test]
fn a_password_that_is_typed_at_a_terminal_is_not_shown() {
    // Python provides the terminal.
    let program = "\
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while b'Password: ' not in seen:
    seen += os.read(terminal, 1000)
os.write(terminal, b'open sesame\\n')
try:
    while more := os.read(terminal, 1000):
        seen += more
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)";
    let url = format!("http://{}", node());
    let output = Command::new("python3")
        .args(["-c", program])
        .arg(binary::path())
        .args(["share", "create", "films/a", "--password", "--url", &url])
        .output()
        .unwrap();
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(seen.contains("http://x/s/") && !seen.contains("sesame"), "{seen}");
}

#[test]
fn a_failure_of_the_node_is_reported_with_exit_code_1() {
    let node = node();
    let busy = ask(node, &["hosts"]);
    assert_eq!(busy.code, Some(1));
    assert!(busy.err.contains("more requests waiting than it takes"), "{}", busy.err);
}

/// Another HTTP server: it answers every request with `answer`. If `is_worker`, it answers `HEAD /hb` with
/// 200.
fn another_server(answer: fn() -> HttpResponse, is_worker: bool) -> SocketAddr {
    let (sender, addresses) = mpsc::channel();
    thread::spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            let app = move || {
                let beat = move |request: HttpRequest| async move {
                    let beats = is_worker && request.method() == "HEAD";
                    if beats { HttpResponse::Ok().finish() } else { answer() }
                };
                App::new()
                    .route("/hb", web::route().to(beat))
                    .default_service(web::to(move || async move { answer() }))
            };
            let server = HttpServer::new(app).workers(1).bind("127.0.0.1:0").unwrap();
            sender.send(server.addrs()[0]).unwrap();
            server.disable_signals().run().await.unwrap();
        });
    });
    addresses.recv().unwrap()
}

#[test]
fn another_server_is_named_with_exit_code_3() {
    let worker = another_server(|| HttpResponse::NotFound().body("404 page not found"), true);
    let page = || HttpResponse::NotFound().content_type("text/html").body("<html>no such page");
    let other = another_server(page, false);
    let all_good = another_server(|| HttpResponse::Ok().body("<html>welcome"), false);
    for arguments in [&["hosts"][..], &["share", "create", "films/a"], &["tasks", "cancel", "7"]] {
        let result = ask(worker, arguments);
        assert_eq!(result.code, Some(3), "{arguments:?}: {}", result.err);
        let words = format!("http://{worker}/ is a worker, not a node");
        assert!(result.err.contains(&words), "{}", result.err);
        assert!(result.err.contains("--url"), "{}", result.err);
        let result = ask(other, arguments);
        assert_eq!(result.code, Some(3), "{arguments:?}: {}", result.err);
        let words =
            format!("No Reelyard node answers at http://{other}/: the answer was 404 Not Found");
        assert!(result.err.contains(&words), "{}", result.err);
        let result = ask(all_good, arguments);
        assert_eq!(result.code, Some(3), "{arguments:?}: {}", result.err);
        assert!(result.err.contains("No Reelyard node answers at"), "{}", result.err);
    }
    let result = ask(node(), &["plan"]);
    assert_eq!(result.code, Some(3), "{}", result.err);
}

#[test]
fn downloads_of_unlimited_links_are_shown_too() {
    let node = node();
    let shown = ask(node, &["share", "show", "AAAAAAAAAAAAAAAAAAAAAA"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    let row = shown.out.lines().find(|line| line.contains("downloads"));
    assert!(
        row.is_some_and(|row| row.contains("5 since the node started, no limit")),
        "{}",
        shown.out
    );
    let listed = ask(node, &["share", "list"]);
    assert!(listed.out.lines().any(|line| line.contains(" 5 ")), "{}{}", listed.out, listed.err);
}

#[test]
fn a_missing_node_is_reported_with_exit_code_3() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for command in ["plan", "tasks", "hosts", "files"] {
        let ended = ask(closed, &[command]);
        assert_eq!(ended.code, Some(3), "{command}: {}", ended.err);
        assert!(ended.err.contains("cannot be reached"), "{}", ended.err);
    }
}

#[test]
fn a_url_with_a_password_is_refused_and_not_shown() {
    let node = node();
    let url = format!("http://ci:hidden@{node}");
    let commands: [&[&str]; 3] =
        [&["plan", "--web"], &["status"], &["box", "acquire", "p", "--holder", "job"]];
    for command in commands {
        let ended = run(&[command, &["--url", &url]].concat());
        assert_eq!(ended.code, Some(2), "{command:?}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(&format!("…@{node}")), "the node shows: {}", ended.err);
        assert!(!format!("{}{}", ended.out, ended.err).contains("hidden"), "{}", ended.err);
    }
}
