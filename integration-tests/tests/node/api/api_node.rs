//! The API of a real node: shapes, pages, refusals, and permissions.

use std::process::Command;

use anyhow::Result;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};
use serde_json::Value;

const TOKEN: &str = "open-sesame-open-now";
const FILES: usize = 2500;

/// A node with many files and a host that does not answer.
struct NodeApi {
    ground: ProcessYard,
    node: RoleProcess,
}

/// An answer from curl: status, head in lower case, body.
struct NodeApiResponse {
    status: u16,
    head: String,
    body: String,
}

impl NodeApiResponse {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

impl NodeApi {
    fn start() -> Result<Self> {
        let ground = ProcessYard::new(1, 1)?;
        let names: Vec<_> = (0..FILES).map(|i| format!("n{i}.mpg").into_bytes()).collect();
        let mut names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        names.insert(0, b"\xff a&b%41.mpg");
        ground.grade(&names)?;
        let node = ground.start_node(&[("token", TOKEN), ("log.level", "debug")])?;
        let api = NodeApi { ground, node };
        wait_for("the files are listed", &[&api.node], || {
            let answer = api.curl(&[], "/api/v1/files?limit=1");
            (answer.status == 200 && !answer.json()["items"].as_array()?.is_empty()).then_some(())
        })?;
        Ok(api)
    }

    fn curl(&self, arguments: &[&str], path: &str) -> NodeApiResponse {
        let bearer = format!("Authorization: Bearer {TOKEN}");
        self.bare_curl(&[&["-H", &bearer], arguments].concat(), path)
    }

    fn bare_curl(&self, arguments: &[&str], path: &str) -> NodeApiResponse {
        let output = Command::new("curl")
            .args(["-s", "-i", "-m", "20", "-H", "Expect:"])
            .args(arguments)
            .arg(format!("http://{}{path}", self.ground.node))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            return NodeApiResponse { status: 0, head: text, body: String::new() };
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        NodeApiResponse { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Checks for a refusal with this status, kind and words.
    fn refused(&self, arguments: &[&str], path: &str, status: u16, kind: &str, words: &str) {
        let answer = self.curl(arguments, path);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.head.contains("content-type: application/problem+json"), "{}", answer.head);
        let problem = answer.json();
        assert_eq!(problem["type"], format!("urn:reelyard:problem:{kind}"), "{path}");
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(words), "{path}: {problem}");
    }
}

#[test]
fn every_list_and_view_has_its_shape() -> Result<()> {
    let api = NodeApi::start()?;
    for (path, members) in [
        ("/api/v1/tasks", &["items", "next"][..]),
        ("/api/v1/hosts", &["items", "next"]),
        ("/api/v1/files", &["items", "next"]),
        ("/api/v1/plan", &["planned", "skipped", "back_offs", "waiting"]),
        ("/api/v1/status", &["version", "node_id", "started", "ready", "inputs", "journal"]),
    ] {
        let answer = api.curl(&[], path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        let json = answer.json();
        assert!(members.iter().all(|member| json.get(member).is_some()), "{path}: {json}");
        let head = api.curl(&["-I"], path);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "HEAD {path}");
    }
    let file = &api.curl(&[], "/api/v1/files?limit=1").json()["items"][0];
    assert_eq!(file["name"], "%FF%20a%26b%2541.mpg");
    assert_eq!((&file["percent_encoded"], &file["rank"]), (&true.into(), &1.into()));
    // No file has a master here, and the plan says so for each.
    wait_for("the plan's count", &[&api.node], || {
        let plan = api.curl(&[], "/api/v1/plan").json();
        let mut skipped = plan["skipped"].as_array()?.iter();
        let missing = skipped.find(|one| one["reason"] == "no_master")?;
        (missing["files"] == FILES + 1).then_some(())
    })?;
    let hosts = api.curl(&[], "/api/v1/hosts?limit=1").json();
    assert_eq!(hosts["items"][0]["host"], api.ground.source(0).to_string());
    let next = hosts["next"].as_str().unwrap();
    let hosts = api.curl(&[], &format!("/api/v1/hosts?limit=1&cursor={next}")).json();
    assert_eq!(hosts["items"][0]["host"], api.ground.destination(0).to_string());
    assert_eq!(hosts["next"], Value::Null);
    Ok(())
}

#[test]
fn pages_give_every_file_once_and_in_order() -> Result<()> {
    let api = NodeApi::start()?;
    let mut ranks = Vec::new();
    let mut cursor = String::new();
    loop {
        // A larger limit than the maximum counts as the maximum.
        let page = api.curl(&[], &format!("/api/v1/files?limit=5000{cursor}")).json();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 1000);
        ranks.extend(items.iter().map(|file| file["rank"].as_u64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(ranks, (1..=FILES as u64 + 1).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn invalid_requests_are_refused_with_an_explanation() -> Result<()> {
    let api = NodeApi::start()?;
    for path in ["tasks", "tasks/1", "hosts", "files", "plan", "status"] {
        let path = format!("/api/v1/{path}?lmit=1");
        api.refused(&[], &path, 400, "bad-request", "unknown field `lmit`");
    }
    for limit in ["0", "-1", "x", ""] {
        let path = format!("/api/v1/files?limit={limit}");
        api.refused(&[], &path, 400, "bad-request", "limit: expected a number of at least 1");
    }
    api.refused(&[], "/api/v1/files?cursor=zz", 400, "bad-request", "cursor: \"zz\"");
    api.refused(&[], "/api/v1/tasks?state=gone", 400, "bad-request", "unknown variant `gone`");
    api.refused(&[], "/api/v1/tasks/%31", 404, "not-found", "task 1 does not exist");
    api.refused(&[], "/api/v1/tasks/%2e%2e%2fx", 400, "bad-request", "\"../x\"");
    api.refused(&["-X", "DELETE"], "/api/v1/tasks/1", 404, "not-found", "task 1 does not exist");
    api.refused(&[], "/api/v1/nope", 404, "not-found", "/api/v1/nope does not exist");
    for method in ["POST", "OPTIONS", "PUT"] {
        let answer = api.curl(&["-X", method], "/api/v1/plan");
        assert!(answer.head.contains("\r\nallow: get, head"), "{}", answer.head);
        api.refused(&["-X", method], "/api/v1/plan", 405, "method-not-allowed", "GET, HEAD");
    }
    Ok(())
}

#[test]
fn invalid_reports_are_refused() -> Result<()> {
    let api = NodeApi::start()?;
    let path = format!("/api/v1/workers/{}/reports", api.ground.destination(0));
    let json = ["-H", "content-type: application/json"];
    let post = |body: &'static str| [&json[..], &["-d", body]].concat();
    api.refused(&post("{"), &path, 400, "bad-body", "EOF");
    api.refused(&post("{\"reports\":[{}]}"), &path, 400, "bad-body", "missing field");
    api.refused(&["-d", "{}"], &path, 415, "unsupported-media-type", "application/json");
    let big = api.ground.path("big");
    std::fs::write(&big, vec![b' '; 2 << 20])?;
    let big = format!("@{}", big.display());
    let upload = [&json[..], &["--data-binary", &big]].concat();
    api.refused(&upload, &path, 413, "too-large", "1048576");
    let unknown_host = "/api/v1/workers/192.0.2.9:1/reports";
    api.refused(&post("{\"reports\":[]}"), unknown_host, 403, "unknown-host", "192.0.2.9:1");
    api.refused(&post("{\"reports\":[]}"), "/api/v1/workers/x/reports", 400, "bad-request", "x");
    Ok(())
}

#[test]
fn without_the_token_no_data_is_sent_and_nothing_logs_it() -> Result<()> {
    let api = NodeApi::start()?;
    for path in ["/api/v1/status", "/api/v1/nope"] {
        for arguments in [&[][..], &["-H", "Authorization: Bearer wrong-wrong-wrong-wrong"]] {
            let answer = api.bare_curl(arguments, path);
            assert_eq!(answer.status, 401, "{}", answer.body);
            assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
            assert_eq!(answer.json()["type"], "urn:reelyard:problem:unauthorized");
        }
    }
    // Every client may read whether it lives, also by HEAD.
    assert_eq!(api.bare_curl(&["-I"], "/healthz").status, 200);
    let log = api.node.log_text();
    assert!(log.contains("node started"), "{log}");
    assert!(!log.contains(TOKEN) && !log.contains("wrong-wrong"), "{log}");
    Ok(())
}
