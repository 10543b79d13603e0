//! The OpenAPI document of a real node: it contains every call, and every answer follows it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use reelyard_api::ProblemKind;
use reelyard_integration_tests::probes::api_document::ApiDocument;
use reelyard_integration_tests::probes::event_reader::EventReader;
use reelyard_integration_tests::rigs::binary;
use reelyard_integration_tests::rigs::plain_request::{PlainAnswer, send};
use reelyard_integration_tests::rigs::yard::{
    ProcessYard, RoleProcess, free_addr, holds, wait_for,
};
use serde_json::{Value, json};

const TOKEN: &str = "open-sesame-open-now";

/// The calls whose answers are endless streams.
const EVENTS: [&str; 3] = ["/api/v1/events", "/api/v1/shares/events", "/api/v1/audit/events"];

/// A yard with copied files, failed files, and files that cannot be copied.
struct DocumentYard {
    ground: ProcessYard,
    roles: Vec<RoleProcess>,
    document: ApiDocument,
    /// Token of the lease that the last filled path is about.
    token: Cell<u64>,
}

/// The header with the shared token.
fn authorization() -> String {
    format!("Authorization: Bearer {TOKEN}")
}

impl DocumentYard {
    fn start() -> Result<Self> {
        let ground = ProcessYard::new(2, 2)?;
        let mut ranked = Vec::new();
        let mut masters = BTreeMap::new();
        for number in 0..4 {
            let name = format!("n{number}.mpg");
            masters.insert(name.clone(), ground.master(name.as_bytes(), 5000 + number)?);
            ranked.push(name.into_bytes());
        }
        ground.master(b"\xff a&b%41.mpg", 5000)?;
        ranked.push(b"\xff a&b%41.mpg".to_vec());
        ranked.push(b"no-master.mpg".to_vec());
        let ranked: Vec<&[u8]> = ranked.iter().map(Vec::as_slice).collect();
        ground.grade(&ranked)?;
        // A row with a syntax error, and a host that never answers.
        std::fs::write(ground.path("input/.hitcount.history"), "historyheader:1\n\x01,,\n")?;
        std::fs::write(ground.path("input/film"), "to be moved")?;
        let token = [("token", TOKEN)];
        let roots = format!("{{ input = \"{}\" }}", ground.path("input").display());
        let links = free_addr(Ipv4Addr::LOCALHOST)?.to_string();
        let nobody = free_addr(Ipv4Addr::LOCALHOST)?;
        let hooks =
            format!("{{ billing = {{ url = \"http://{nobody}/\", secret = \"{TOKEN}\" }} }}");
        let shares = [
            ("share.roots", roots.as_str()),
            ("share.listen", links.as_str()),
            ("share.webhooks", hooks.as_str()),
        ];
        let roles = vec![
            ground.start_node(&[&token[..], &shares].concat())?,
            ground.start_source(0, &token)?,
            ground.start_destination(0, &token)?,
        ];
        let printed = binary::run(&["openapi"]);
        ensure!(printed.code == Some(0), "{}", printed.err);
        let yard = DocumentYard {
            document: ApiDocument::read(&printed.out)?,
            ground,
            roles,
            token: Cell::new(0),
        };
        for (name, bytes) in &masters {
            let path = yard.ground.copies(0).join(name);
            yard.wait("the copies", || holds(&path, bytes).then_some(()))?;
        }
        yard.wait("the copies are reported", || {
            let tasks = yard.get("/api/v1/tasks?state=done").json()?;
            (tasks["items"].as_array()?.len() == 5).then_some(())
        })?;
        Ok(yard)
    }

    fn wait<T>(&self, what: &str, holds: impl FnMut() -> Option<T>) -> Result<T> {
        wait_for(what, &self.roles.iter().collect::<Vec<_>>(), holds)
    }

    /// Sends a request with the shared token, and with this body if it is not empty.
    fn call(&self, method: &str, path: &str, body: &str) -> PlainAnswer {
        send(self.ground.node, (method, path), &authorization(), body).unwrap_or_default()
    }

    fn get(&self, path: &str) -> PlainAnswer {
        self.call("GET", path, "")
    }

    /// Checks one answer of the call with the path `template` in the document.
    fn check(&self, template: &str, method: &str, answer: &PlainAnswer) -> Result<()> {
        let kind = answer.header("content-type").unwrap_or_default();
        let body = match kind {
            "application/gzip" => Some(Value::String(answer.body.clone())),
            _ => answer.json(),
        };
        self.document
            .check(template, method, answer.status, kind, body.as_ref())
            .with_context(|| format!("{}\n{}", answer.head, answer.body))
    }

    /// A path with valid values for the parameters of the call.
    fn filled(&self, template: &str, method: &str) -> String {
        let tasks = self.get("/api/v1/tasks?state=done&limit=1").json().unwrap();
        let host = match (template, method) {
            // Only hosts outside of the configuration are added and removed.
            ("/api/v1/hosts/{host}", "PUT" | "DELETE") => "192.0.2.7:8888".to_owned(),
            _ => self.ground.destination(0).to_string(),
        };
        if template.starts_with("/api/v1/tokens/") || template.starts_with("/api/v1/users/") {
            return self.filled_of_access(template);
        }
        if template == "/api/v1/sessions/{id}" {
            let body = self.body_of("/api/v1/sessions", "POST");
            let session = self.call("POST", "/api/v1/sessions", &body).json().unwrap();
            return template.replace("{id}", session["id"].as_str().unwrap());
        }
        if template.starts_with("/api/v1/shares/{id}") {
            let share =
                self.call("POST", "/api/v1/shares", &self.body_of("/api/v1/shares", "POST"));
            return template.replace("{id}", share.json().unwrap()["id"].as_str().unwrap());
        }
        if template.contains("{pool}") || template.starts_with("/api/v1/leases/") {
            return self.filled_of_boxes(template);
        }
        if template == "/api/v1/cluster/members/{number}/replace" {
            return "/api/v1/cluster/members/1/replace?by=2".to_owned();
        }
        if template.starts_with("/api/v1/cluster/") || template.starts_with("/api/v1/config/") {
            return template.replace("{number}", "1");
        }
        template
            .replace("{host}", &host)
            .replace("{name}", "%FF%20a%26b%2541.mpg")
            .replace("{id}", tasks["items"][0]["id"].as_str().unwrap())
    }
}

impl DocumentYard {
    /// The path of a new token or user.
    fn filled_of_access(&self, template: &str) -> String {
        let list = template.split("/{").next().unwrap_or_default();
        template.replace("{name}", self.added_to(list)["name"].as_str().unwrap())
    }

    /// A new token or user.
    fn added_to(&self, list: &str) -> Value {
        static NAMES: AtomicU32 = AtomicU32::new(0);
        let name = format!("name-{}", NAMES.fetch_add(1, Ordering::Relaxed));
        let body = format!("{{\"name\":\"{name}\",\"role\":\"viewer\"}}");
        let added = self.call("POST", list, &body);
        assert_eq!(added.status, 201, "{}", added.body);
        added.json().unwrap()
    }

    /// The path of a call about boxes. Each call has its own pool and lease.
    fn filled_of_boxes(&self, template: &str) -> String {
        static POOLS: AtomicU32 = AtomicU32::new(0);
        let pool = format!("pool-{}", POOLS.fetch_add(1, Ordering::Relaxed));
        let of_pool = format!("/api/v1/pools/{pool}");
        let put = self.call("PUT", &of_pool, r#"{"size":2}"#);
        assert_eq!(put.status, 201, "{}", put.body);
        if template.ends_with("/unquarantine") {
            let out = format!("{of_pool}/boxes/1/quarantine");
            self.call("POST", &out, r#"{"reason":"a test"}"#);
        }
        let leases = format!("{of_pool}/leases");
        let lease = self.call("POST", &leases, r#"{"holder":"a"}"#);
        let lease = lease.json().unwrap();
        self.token.set(lease["token"].as_u64().unwrap());
        let id = lease["lease_id"].as_str().unwrap();
        template.replace("{pool}", &pool).replace("{number}", "1").replace("{id}", id)
    }

    /// The body of a call. Empty if it needs none.
    fn body_of(&self, template: &str, method: &str) -> String {
        let Some(body) = body_template(template, method) else { return String::new() };
        let mut body = body.replace("{token}", &self.token.get().to_string());
        if template == "/api/v1/sessions" {
            let token = self.added_to("/api/v1/tokens");
            body = body.replace("{secret}", token["token"].as_str().unwrap());
        }
        body
    }
}

/// The body of a call, if it needs one.
fn body_template(template: &str, method: &str) -> Option<&'static str> {
    Some(match (template, method) {
        ("/api/v1/workers/{host}/reports", _) => r#"{"reports":[]}"#,
        ("/api/v1/tasks", "POST") => r#"{"name":"n0.mpg","destination":"192.0.2.1:1"}"#,
        ("/api/v1/hosts/{host}", "PUT") => r#"{"role":"destination"}"#,
        ("/api/v1/hosts/{host}/mode", _) => r#"{"mode":"active"}"#,
        ("/api/v1/shares", "POST") => r#"{"path":"input","ttl":"1h"}"#,
        ("/api/v1/shares/{id}", "PATCH") => r#"{"note":"a note","ttl":"2h","if":"greater"}"#,
        ("/api/v1/shares/revoke", _) => r#"{"ids":["AAAAAAAAAAAAAAAAAAAAAA"]}"#,
        ("/api/v1/files/move", "POST") => r#"{"from":"input/film","to":"input/moved"}"#,
        ("/api/v1/pools/{pool}", "PUT") => r#"{"size":3,"labels":{"site":"a"}}"#,
        ("/api/v1/pools/{pool}/leases", "POST") => r#"{"holder":"a","ttl":"10s","count":1}"#,
        ("/api/v1/pools/{pool}/boxes/{number}/quarantine", _) => r#"{"reason":"a test"}"#,
        ("/api/v1/leases/{id}/renew", _) => r#"{"token":{token},"ttl":"20s"}"#,
        ("/api/v1/leases/{id}/release" | "/api/v1/leases/{id}/verify", _) => r#"{"token":{token}}"#,
        ("/api/v1/leases/{id}/revoke", _) => r#"{"reason":"a test"}"#,
        ("/api/v1/config/versions", "POST") => r#"{"text":"","dry_run":true}"#,
        ("/api/v1/tokens", "POST") => r#"{"name":"new","scopes":["yard:read"],"ttl":"1h"}"#,
        ("/api/v1/tokens/{name}/rotate", _) => r#"{"ttl":"never"}"#,
        ("/api/v1/sessions", "POST") => r#"{"token":"{secret}"}"#,
        ("/api/v1/users", "POST") => r#"{"name":"new","role":"viewer"}"#,
        ("/api/v1/users/{name}", "PATCH") => r#"{"role":"operator"}"#,
        ("/api/v1/shares/reclaim", "PUT") => r#"{"paused":false}"#,
        _ => return None,
    })
}

#[test]
fn the_node_serves_the_document_that_the_command_prints() -> Result<()> {
    let yard = DocumentYard::start()?;
    let served = yard.get("/api/v1/openapi.json");
    assert_eq!(served.header("content-type"), Some("application/json"));
    assert_eq!(served.body, binary::run(&["openapi"]).out);
    assert!(yard.document.check_examples()? > 30, "of every problem at each call");
    Ok(())
}

#[test]
fn every_call_of_the_document_is_there_and_no_other_method() -> Result<()> {
    let yard = DocumentYard::start()?;
    let calls = yard.document.calls()?;
    assert!(calls.len() >= 12, "{calls:?}");
    let mut methods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for call in &calls {
        methods.entry(&call.path).or_default().insert(&call.method);
    }
    // Calls that change something come last.
    let mut in_order = calls.clone();
    let order = ["GET", "PUT", "PATCH", "POST", "DELETE"];
    in_order.sort_by_key(|call| order.iter().position(|method| *method == call.method));
    for call in &in_order {
        let path = yard.filled(&call.path, &call.method);
        if EVENTS.contains(&call.path.as_str()) {
            // The answer is an endless stream: the test reads its events instead.
            let more = ["-H", &authorization(), "-H", "Last-Event-ID: none"];
            let reset = EventReader::open_at(&yard.ground, &call.path, &more)?.next()?;
            let kind = "text/event-stream";
            yard.document.check(&call.path, "GET", 200, kind, Some(&reset.data))?;
            continue;
        }
        let answer = yard.call(&call.method, &path, &yard.body_of(&call.path, &call.method));
        let done = match (call.method.as_str(), call.path.as_str()) {
            // Every file is copied, and there is no other host for a copy.
            ("POST", path) if path.starts_with("/api/v1/tasks") => answer.status == 409,
            // The node runs alone, and the only voter cannot be removed.
            ("DELETE", "/api/v1/cluster/members/{number}") => answer.status == 409,
            ("POST", "/api/v1/cluster/transfer") => answer.status == 409,
            ("POST", "/api/v1/cluster/members/{number}/replace") => answer.status == 404,
            // The file of a node that runs alone decides.
            ("POST", "/api/v1/config/versions") => answer.status == 409,
            ("GET", "/api/v1/config/versions/{number}") => answer.status == 404,
            // The pool has no host with a worker that could take over boxes.
            ("POST", "/api/v1/pools/{pool}/adopt") => answer.status == 422,
            // The shared token of the configuration has no sessions.
            ("POST", "/api/v1/login-links") | ("DELETE", "/api/v1/sessions/current") => {
                answer.status == 409
            }
            _ => (200..300).contains(&answer.status),
        };
        assert!(done, "{} {path}: {}", call.method, answer.body);
        assert!(call.statuses.contains(&answer.status), "{call:?}: {}", answer.status);
        yard.check(&call.path, &call.method, &answer)?;
    }
    for (template, methods) in methods {
        let path = yard.filled(template, "GET");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if method == "GET" && EVENTS.contains(&template) {
                continue;
            }
            let answer = yard.call(method, &path, "");
            assert_eq!(answer.status == 405, !methods.contains(method), "{method} {path}");
            if answer.status == 405 {
                let allow: BTreeSet<&str> = answer.header("allow").unwrap().split(", ").collect();
                let reported = &allow - &BTreeSet::from(["HEAD"]);
                assert_eq!(reported, methods, "{path} allows the documented methods");
                yard.document.check_named("Problem", &answer.json().unwrap())?;
            }
        }
    }
    Ok(())
}

/// Generators of clients fail at other forms: `openapi-python-client` leaves types out, and clients of
/// `openapi-generator` refuse answers.
#[test]
fn schemas_have_the_forms_that_generators_of_clients_understand() -> Result<()> {
    let document: Value = serde_json::from_str(reelyard::http::api::document())?;
    let schemas = document["components"]["schemas"].as_object().context("schemas")?;
    for (name, schema) in schemas {
        let mut inner = vec![schema];
        while let Some(part) = inner.pop() {
            assert!(part.get("allOf").is_none(), "{name}: members are not in one object: {part}");
            let alternatives = part["oneOf"].as_array().into_iter().flatten();
            let others: Vec<&Value> = alternatives.filter(|one| one["$ref"].is_null()).collect();
            assert!(
                others.len() <= 1 && others.iter().all(|one| one.get("properties").is_none()),
                "{name}: an alternative has no name: {part}"
            );
            let members = part["properties"].as_object().into_iter().flat_map(|all| all.values());
            for member in members.flat_map(|member| [member, &member["items"]]) {
                assert!(member.get("properties").is_none(), "{name}: a member without a name");
                inner.push(member);
            }
        }
    }
    Ok(())
}

#[test]
fn calls_have_one_group_and_an_operation_id_of_their_own() -> Result<()> {
    let document: Value = serde_json::from_str(reelyard::http::api::document())?;
    let tags = document["tags"].as_array().context("tags")?.iter().map(|tag| &tag["name"]);
    let tags: Vec<&Value> = tags.collect();
    let mut ids = BTreeSet::new();
    for item in document["paths"].as_object().context("paths")?.values() {
        for call in item.as_object().context("calls")?.values() {
            let of_call = call["tags"].as_array().context("tags of a call")?;
            assert!(of_call.len() == 1 && tags.contains(&&of_call[0]), "{of_call:?}");
            let id = call["operationId"].as_str().context("operationId")?;
            assert!(ids.insert(id), "two calls are named {id}");
        }
    }
    assert!(ids.len() > 50, "{ids:?}");
    Ok(())
}

/// Declared kinds are in the table, in the error types of handlers, and in the code that answers them.
#[test]
fn every_kind_of_problem_is_documented_and_answered() -> Result<()> {
    let document = reelyard::http::api::document();
    let mut code = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/http")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                code.push_str(&std::fs::read_to_string(path)?);
            }
        }
    }
    for kind in ProblemKind::ALL {
        let name = format!("ProblemKind::{kind:?}");
        let places = code.match_indices(&name).filter(|(at, _)| {
            !code[at + name.len()..].starts_with(|next: char| next.is_alphanumeric())
        });
        assert!(places.count() > 0, "nothing in src/http answers {kind:?}");
        // No call has it: it is the answer to a method that a path does not have.
        let is_listed = document.contains(&format!("urn:reelyard:problem:{}\"", kind.word()));
        assert!(is_listed || *kind == ProblemKind::MethodNotAllowed, "no call can answer {kind:?}");
    }
    Ok(())
}

#[test]
fn refusals_match_the_document() -> Result<()> {
    let yard = DocumentYard::start()?;
    for call in yard.document.calls()? {
        let path = yard.filled(&call.path, &call.method);
        let unknown = format!("{path}?no-such-parameter=1");
        let answer = yard.call(&call.method, &unknown, &yard.body_of(&call.path, &call.method));
        assert_eq!(answer.status, 400, "{unknown}: {}", answer.body);
        yard.check(&call.path, &call.method, &answer)?;
        if (call.method.as_str(), call.path.as_str()) == ("POST", "/api/v1/sessions") {
            // A login needs no token.
            continue;
        }
        let answer = send(yard.ground.node, (&call.method, &path), "", "")?;
        let problem = answer.json().context("no problem")?;
        assert_eq!(problem["status"], 401, "{path}: {problem}");
        // A caller on the same host can find the token. A worker signs its calls.
        let is_named = problem["token_file"].is_string();
        assert_eq!(is_named, !call.path.contains("/workers/"), "{path}: {problem}");
        let body = Some(&problem);
        yard.document.check(&call.path, &call.method, 401, "application/problem+json", body)?;
    }
    for (method, template, path, body) in [
        ("GET", "/api/v1/tasks/{id}", "/api/v1/tasks/17", String::new()),
        ("DELETE", "/api/v1/tasks/{id}", "/api/v1/tasks/17", String::new()),
        ("POST", "/api/v1/hosts/{host}/reset", "/api/v1/hosts/192.0.2.1:1/reset", String::new()),
        ("POST", "/api/v1/hosts/{host}/probe", "/api/v1/hosts/192.0.2.1:1/probe", String::new()),
        ("GET", "/api/v1/workers/{host}/tasks", "/api/v1/workers/192.0.2.1:1/tasks", String::new()),
        (
            "POST",
            "/api/v1/workers/{host}/reports",
            "/api/v1/workers/192.0.2.1:1/reports",
            yard.body_of("/api/v1/workers/{host}/reports", "POST"),
        ),
        ("GET", "/api/v1/hosts/{host}", "/api/v1/hosts/192.0.2.1:1", String::new()),
        ("DELETE", "/api/v1/hosts/{host}", "/api/v1/hosts/192.0.2.1:1", String::new()),
        (
            "DELETE",
            "/api/v1/hosts/{host}",
            &format!("/api/v1/hosts/{}", yard.ground.destination(0)),
            String::new(),
        ),
        (
            "PUT",
            "/api/v1/hosts/{host}/mode",
            "/api/v1/hosts/192.0.2.1:1/mode",
            yard.body_of("/api/v1/hosts/{host}/mode", "PUT"),
        ),
        (
            "POST",
            "/api/v1/workers/{host}/reports",
            "/api/v1/workers/192.0.2.1:1/reports",
            "{".to_owned(),
        ),
        (
            "POST",
            "/api/v1/workers/{host}/reports",
            "/api/v1/workers/192.0.2.1:1/reports",
            String::new(),
        ),
    ] {
        let answer = yard.call(method, path, &body);
        assert!((400..500).contains(&answer.status), "{method} {path}: {}", answer.body);
        yard.check(template, method, &answer)?;
    }
    Ok(())
}

#[test]
fn answers_of_a_used_yard_match_the_document() -> Result<()> {
    let mut yard = DocumentYard::start()?;
    // A running copy, and a failed one.
    yard.ground.master(b"slow.mpg", 8 << 20)?;
    let limit = "bandwidth.destinations";
    yard.roles[0].start_again_with(&[(limit, "{ default = \"1Mbit/s\" }")])?;
    yard.ground.grade(&[b"slow.mpg", b"n0.mpg", b"no-master.mpg"])?;
    yard.wait("a copy runs", || {
        let tasks = yard.get("/api/v1/tasks?state=working").json()?;
        (!tasks["items"].as_array()?.is_empty()).then_some(())
    })?;
    let check = |yard: &DocumentYard, template: &str, path: &str| -> Result<Value> {
        let answer = yard.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        yard.check(template, "GET", &answer)?;
        Ok(answer.json().unwrap())
    };
    let orders = format!("/api/v1/workers/{}/tasks", yard.ground.destination(0));
    let result = check(&yard, "/api/v1/workers/{host}/tasks", &orders)?;
    assert_eq!(result["tasks"].as_array().unwrap().len(), 1, "{result}");
    let result = check(&yard, "/api/v1/files/{name}/explain", "/api/v1/files/slow.mpg/explain")?;
    assert!(result["task"].is_string(), "{result}");
    let plan = check(&yard, "/api/v1/plan", "/api/v1/plan")?;
    assert_eq!(plan["planned"].as_array().unwrap().len(), 1, "{plan}");

    yard.roles[1].kill();
    let failed = yard.wait("the copy fails", || {
        let tasks = check(&yard, "/api/v1/tasks", "/api/v1/tasks?blame=source").ok()?;
        tasks["items"].as_array()?.first().cloned()
    })?;
    assert_eq!((&failed["state"], &failed["blame"]), (&json!("failed"), &json!("source")));
    let since = failed["changed"].as_i64().unwrap();
    for (query, found) in [
        (format!("since={since}&blame=source"), true),
        (format!("until={since}&blame=source"), false),
        ("blame=destination".to_owned(), false),
    ] {
        let tasks = check(&yard, "/api/v1/tasks", &format!("/api/v1/tasks?{query}"))?;
        let mut ids = tasks["items"].as_array().unwrap().iter().map(|task| &task["id"]);
        assert_eq!(ids.any(|id| *id == failed["id"]), found, "{query}: {tasks}");
    }
    check(&yard, "/api/v1/status", "/api/v1/status")?;
    check(&yard, "/api/v1/plan", "/api/v1/plan")?;
    check(&yard, "/api/v1/files/{name}/explain", "/api/v1/files/slow.mpg/explain")?;
    let explained = check(&yard, "/api/v1/files/{name}/explain", "/api/v1/files/none/explain")?;
    assert_eq!(explained["verdict"], "ungraded", "{explained}");
    for path in ["files", "hosts", "tasks"] {
        check(&yard, &format!("/api/v1/{path}"), &format!("/api/v1/{path}?limit=2"))?;
    }
    Ok(())
}

#[test]
fn files_and_hosts_are_found_by_their_attributes() -> Result<()> {
    let yard = DocumentYard::start()?;
    let names = |query: &str| -> Vec<String> {
        let files = yard.get(&format!("/api/v1/files?{query}")).json().unwrap();
        let names = files["items"].as_array().unwrap().iter();
        names.map(|file| file["name"].as_str().unwrap().to_owned()).collect()
    };
    yard.wait("everything is placed", || (names("state=placed").len() == 5).then_some(()))?;
    assert_eq!(names("state=no_master"), ["no-master.mpg"]);
    assert_eq!(names("state=waiting"), [""; 0]);
    assert_eq!(names("hot=true"), [""; 0]);
    assert_eq!(names("hot=false").len(), 6);
    let on = |host| names(&format!("host={host}&prefix=n"));
    assert_eq!(on(yard.ground.destination(0)).len(), 4);
    assert_eq!(on(yard.ground.destination(1)), [""; 0]);
    let hosts = |query: &str| -> Vec<String> {
        let hosts = yard.get(&format!("/api/v1/hosts?{query}")).json().unwrap();
        let hosts = hosts["items"].as_array().unwrap().iter();
        hosts.map(|host| host["host"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(hosts("role=source").len(), 2);
    assert_eq!(hosts("role=both"), [""; 0]);
    yard.wait("a host that never answers is down", || {
        (hosts("health=down").len() == 2).then_some(())
    })?;
    let up = hosts("role=destination&health=up");
    assert_eq!(up, [yard.ground.destination(0).to_string()]);

    let url = format!("http://{}", yard.ground.node);
    let cli = |arguments: &[&str]| -> Value {
        let ended =
            binary::run(&[arguments, &["--json", "--url", &url, "--token", TOKEN]].concat());
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    };
    let count = |arguments: &[&str]| cli(arguments)["items"].as_array().unwrap().len();
    assert_eq!(count(&["files", "--state", "no_master"]), 1);
    assert_eq!(count(&["files", "--host", &yard.ground.destination(0).to_string()]), 5);
    assert_eq!(count(&["files", "--hot"]), 0);
    assert_eq!(count(&["hosts", "--role", "source", "--health", "up"]), 1);
    assert_eq!(count(&["tasks", "--within", "1h"]), 5);
    assert_eq!(count(&["tasks", "--blame", "pair"]), 0);
    Ok(())
}
