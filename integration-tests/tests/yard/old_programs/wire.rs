//! The old wires on real processes, byte for byte: cfm's on a node that really plans, cfw's on a
//! worker.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};

const JSON: &str = "application/json;charset=UTF-8";
const TEXT: &str = "text/plain;charset=UTF-8";

/// A complete answer as received.
#[derive(Debug)]
struct WireResponse {
    status: u16,
    head: String,
    body: String,
}

impl WireResponse {
    fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut named = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.next().map_or("", |(_, value)| value)
    }

    /// Status, content type and body.
    fn all(&self) -> (u16, &str, &str) {
        (self.status, self.header("content-type"), &self.body)
    }
}

/// Sends a request with these headers unchanged and reads until the other side closes.
fn raw(addr: SocketAddr, line: &str, headers: &str, body: &str) -> Result<WireResponse> {
    let mut stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8(answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no end of the head")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok(WireResponse { status, head: head.to_owned(), body: body.to_owned() })
}

fn call(addr: SocketAddr, line: &str, body: &str) -> Result<WireResponse> {
    raw(addr, line, "", body)
}

/// A node with one old source and one old destination that never polls: its only task waits.
struct WaitingYard {
    ground: ProcessYard,
    node: RoleProcess,
    _hosts: [StandInCfw; 2],
    id: String,
}

fn waiting_yard() -> Result<WaitingYard> {
    let ground = ProcessYard::new(1, 1)?;
    ground.master(b"<E>&.mpg", 1_000)?;
    ground.grade(&[b"absent.mpg", b"<E>&.mpg"])?;
    std::fs::create_dir(ground.copies(0))?;
    let hosts = [
        StandInCfw::start_at(&ground.path("masters"), &ground.source(0).to_string())?,
        StandInCfw::start_at(&ground.copies(0), &ground.destination(0).to_string())?,
    ];
    let node = ground.start_node(&[
        ("task.copy_speed", "80Mbit/s"),
        ("task.back_off_base", "10m"),
        ("task.back_off_cap", "10m"),
        ("calls.inventory_interval", "10m"),
    ])?;
    let id = wait_for("a task", &[&node], || {
        let tasks = ground.get("/tasks")?;
        Some(tasks[0]["id"].as_str()?.to_owned())
    })?;
    Ok(WaitingYard { ground, node, _hosts: hosts, id })
}

impl WaitingYard {
    fn call(&self, line: &str, body: &str) -> Result<WireResponse> {
        call(self.ground.node, &line.replace("ID", &self.id), body)
    }

    /// The status of the task in the list; `None` when the list does not contain it.
    fn status(&self) -> Result<Option<String>> {
        let list: serde_json::Value = serde_json::from_str(&self.call("GET /tasks", "")?.body)?;
        Ok(list[0]["status"].as_str().map(str::to_owned))
    }
}

#[test]
fn a_planned_task_is_listed_byte_for_byte() -> Result<()> {
    let yard = waiting_yard()?;
    let answer = yard.call("GET /tasks", "")?;
    let id: i64 = yard.id.parse()?;
    let (source, destination) = (yard.ground.source(0), yard.ground.destination(0));
    let ctime = id / 1_000_000_000;
    let masters = yard.ground.path("masters");
    let expected = format!(
        "[{{\"id\":\"{id}\",\"ctime\":{ctime},\"mtime\":{ctime},\"status\":\"ready\",\
         \"src_ip\":\"{}\",\"dst_ip\":\"{}\",\
         \"file_path\":\"{}/\\u003cE\\u003e\\u0026.mpg\",\"file_name\":\"\\u003cE\\u003e\\u0026.mpg\",\
         \"grade\":2,\"copy_speed\":\"80000000\",\
         \"src_addr\":\"{source}\",\"dst_addr\":\"{destination}\"}}]\n",
        source.ip(),
        destination.ip(),
        masters.display()
    );
    assert_eq!(answer.all(), (200, JSON, expected.as_str()));
    Ok(())
}

#[test]
fn a_task_changes_by_cfms_table_and_changes_are_seen_at_once() -> Result<()> {
    let yard = waiting_yard()?;
    // Requests without an effect: a wrong id, body, task or transition, in cfm's order.
    let long = format!("{{\"status\":\"done\",\"x\":\"{}\"}}", "x".repeat(64 << 10));
    for (line, body, status) in [
        ("PATCH /tasks/abc", "not json", 400),
        ("PATCH /tasks/6", "not json", 400),
        ("PATCH /tasks/6", r#"{"status":"failed"}"#, 400),
        ("PATCH /tasks/6", r#"{"status":"done"}"#, 404),
        ("PATCH /tasks/6", "{}", 404),
        ("PATCH /tasks/ID", "", 400),
        ("PATCH /tasks/ID", r#"{"status":null}"#, 400),
        ("PATCH /tasks/ID", &long, 413),
        ("PATCH /tasks/ID", "{}", 409),
        ("PATCH /tasks/ID", r#"{"status":"ready"}"#, 409),
        ("DELETE /tasks/abc", "", 400),
        ("DELETE /tasks/6", "", 404),
    ] {
        assert_eq!(yard.call(line, body)?.all(), (status, JSON, ""), "{line} {body:.40}");
        assert_eq!(yard.status()?.as_deref(), Some("ready"), "{line} {body:.40}");
    }
    for (body, status, seen) in [
        (r#"{"STATUS":"working","x":1} trailing"#, 200, "working"),
        (r#"{"status":"working"}"#, 200, "working"),
        (r#"{"status":"timeout"}"#, 200, "timeout"),
        (r#"{"status":"working"}"#, 409, "timeout"),
        (r#"{"status":"timeout"}"#, 200, "timeout"),
    ] {
        assert_eq!(yard.call("PATCH /tasks/+ID", body)?.all(), (status, JSON, ""), "{body}");
        let list: serde_json::Value = serde_json::from_str(&yard.call("GET /tasks", "")?.body)?;
        let mut tasks = list.as_array().context("a list")?.iter();
        let own = tasks.find(|task| task["id"] == yard.id.as_str()).context("the task")?;
        assert_eq!(own["status"], seen, "{body}; {}", yard.node.log_text());
    }
    Ok(())
}

#[test]
fn a_deleted_task_is_gone_for_every_call() -> Result<()> {
    let yard = waiting_yard()?;
    assert_eq!(yard.call("DELETE /tasks/ID", "")?.all(), (200, JSON, ""));
    assert_eq!(yard.call("GET /tasks", "")?.all(), (200, JSON, "[]\n"));
    assert_eq!(yard.call("PATCH /tasks/ID", r#"{"status":"done"}"#)?.all(), (404, JSON, ""));
    assert_eq!(yard.call("DELETE /tasks/ID", "")?.all(), (404, JSON, ""));
    Ok(())
}

#[test]
fn paths_and_methods_of_the_node_are_routed_as_cfm_does() -> Result<()> {
    let yard = waiting_yard()?;
    for line in ["HEAD /tasks", "POST /tasks", "GET /tasks/5", "POST /tasks/", "PUT /dashboard/hb"]
    {
        let answer = yard.call(line, "")?;
        assert_eq!((answer.status, answer.body.as_str()), (405, ""), "{line}");
    }
    for (line, target) in [
        ("GET /tasks/", "/tasks"),
        ("GET //tasks", "/tasks"),
        ("DELETE /tasks/5/", "/tasks/5"),
        ("GET /dashboard/../tasks?a=b", "/tasks?a=b"),
        ("GET /dashboard/filemetas/", "/dashboard/filemetas"),
    ] {
        let answer = yard.call(line, "")?;
        assert_eq!((answer.status, answer.header("location")), (301, target), "{line}");
    }
    let expected = (404, "text/plain; charset=utf-8", "404 page not found\n");
    assert_eq!(yard.call("GET /nowhere", "")?.all(), expected);
    Ok(())
}

#[test]
fn the_dashboards_show_the_real_yard() -> Result<()> {
    let yard = waiting_yard()?;
    let (source, destination) = (yard.ground.source(0), yard.ground.destination(0));
    let tasks = yard.call("GET /dashboard", "")?;
    assert_eq!((tasks.status, tasks.header("content-type")), (200, "text/html; charset=utf-8"));
    let row = format!("<tr class=\"table-active\"><th scope=\"row\">{}</th>", yard.id);
    let hosts = format!("<td>ready</td><td>{source}</td><td>{destination}</td><td>2</td>");
    assert!(tasks.body.contains(&row) && tasks.body.contains(&hosts), "{}", tasks.body);

    let health = yard.call("GET /dashboard/hb", "")?.body;
    let row = |host| format!("<tr class=\"table-active\"><th scope=\"row\">{host}</th><td>ok</td>");
    let position = |host| health.find(&row(host)).with_context(|| format!("{host}: {health}"));
    assert!(position(destination)? < position(source)?, "by address, descending: {health}");

    let files = yard.call("GET /dashboard/filemetas", "")?;
    assert_eq!(files.header("transfer-encoding"), "chunked");
    let path = yard.ground.path("masters").join("&lt;E&gt;&amp;.mpg");
    let own = format!("<td></td><td>{}</td></tr>", path.display());
    assert!(
        files.body.contains("<tr><th scope=\"row\">absent.mpg</th><td>1</td><td>-1</td><td>0</td>")
    );
    assert!(
        files.body.contains("<tr><th scope=\"row\">&lt;E&gt;&amp;.mpg</th><td>2</td>"),
        "{}",
        files.body
    );
    assert!(files.body.contains(&own), "{}", files.body);
    assert!(!files.body.contains("<p>updateTime: 0001"), "it was built: {}", files.body);
    Ok(())
}

/// A worker with files, and without a reachable node.
fn worker(more: &[(&str, &str)]) -> Result<(ProcessYard, RoleProcess)> {
    let ground = ProcessYard::new(0, 1)?;
    std::fs::create_dir(ground.copies(0))?;
    for name in ["b.mpg", "a b.mpg", ".hidden", "a#b.mpg", "a", "%411.mpg", "A1.mpg"] {
        std::fs::write(ground.copies(0).join(name), name)?;
    }
    std::fs::create_dir(ground.copies(0).join("dir"))?;
    let worker = ground.start_destination(0, more)?;
    wait_for("the worker", &[&worker], || TcpStream::connect(ground.destination(0)).ok())?;
    Ok((ground, worker))
}

const LISTED: &str = "%411.mpg\n.hidden\nA1.mpg\na\na b.mpg\na#b.mpg\nb.mpg\n";

#[test]
fn a_worker_answers_as_cfw_does() -> Result<()> {
    let (ground, _worker) = worker(&[])?;
    let addr = ground.destination(0);
    assert_eq!(call(addr, "HEAD /hb", "")?.all(), (200, TEXT, ""));
    for line in ["GET /hb", "POST /files", "PUT /df", "GET /files/a"] {
        let answer = call(addr, line, "")?;
        assert_eq!((answer.status, answer.body.as_str()), (405, ""), "{line}");
    }
    assert_eq!(call(addr, "GET /files", "")?.all(), (200, TEXT, LISTED));
    let slash = call(addr, "GET /files/", "")?;
    assert_eq!((slash.status, slash.header("location")), (301, "/files"));
    let escape = call(addr, "DELETE /files/../../etc/passwd", "")?;
    assert_eq!((escape.status, escape.header("location")), (301, "/etc/passwd"));

    let disk = call(addr, "GET /df", "")?;
    assert_eq!((disk.status, disk.header("content-type")), (200, JSON));
    let keys = [
        "{\"total_size\":\"",
        "\",\"used_size\":\"",
        "\",\"avail_size\":\"",
        "\",\"used_percent\":",
        ",\"free_size\":\"",
        "\"}\n",
    ];
    let mut rest = disk.body.as_str();
    for key in keys {
        let (number, behind) = rest.split_once(key).with_context(|| format!("{key}: {rest}"))?;
        assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{}", disk.body);
        rest = behind;
    }
    assert_eq!(rest, "");

    for (line, status) in [
        ("DELETE /files/a%23b.mpg", 200),
        ("DELETE /files/a%23b.mpg", 404),
        ("DELETE /files/%25411.mpg", 200),
        ("DELETE /files/dir", 406),
        ("DELETE /files/temp.downloaded", 406),
    ] {
        assert_eq!(call(addr, line, "")?.all(), (status, JSON, ""), "{line}");
    }
    let left = ".hidden\nA1.mpg\na\na b.mpg\nb.mpg\n";
    assert_eq!(call(addr, "GET /files", "")?.body, left);
    Ok(())
}

#[test]
fn with_a_token_an_old_cfm_reads_and_only_the_bearer_deletes() -> Result<()> {
    let token = "0123456789abcdef";
    let (ground, worker) = worker(&[("token", token)])?;
    let addr = ground.destination(0);
    assert_eq!(call(addr, "HEAD /hb", "")?.all(), (200, TEXT, ""));
    assert_eq!(call(addr, "GET /files", "")?.all(), (200, TEXT, LISTED));
    assert_eq!(call(addr, "GET /df", "")?.status, 200);
    for headers in ["", "Authorization: Bearer 0123456789abcdeX\r\n"] {
        assert_eq!(raw(addr, "DELETE /files/a", headers, "")?.status, 401, "{headers}");
    }
    assert!(ground.copies(0).join("a").exists());
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(raw(addr, "DELETE /files/a", &bearer, "")?.all(), (200, JSON, ""));
    assert!(!ground.copies(0).join("a").exists());
    assert!(!worker.log_text().contains(token), "a secret was logged");
    Ok(())
}
