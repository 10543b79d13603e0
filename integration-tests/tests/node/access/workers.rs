//! Workers with tokens of their own.

use std::path::PathBuf;

use anyhow::{Context, Result};
use reelyard_integration_tests::probes::api_document::ApiDocument;
use reelyard_integration_tests::rigs::binary::{ended, reelyard, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, holds, wait_for};
use serde_json::{Value, json};

use super::access_node::AccessNode;

/// A yard whose workers have tokens of their own, without a shared token.
struct WorkerYard {
    yard: AccessNode,
    source: RoleProcess,
    destination: RoleProcess,
    /// The file with the token of the destination's worker.
    token_file: PathBuf,
}

impl WorkerYard {
    fn start() -> Result<Self> {
        let ground = ProcessYard::new(1, 1)?;
        // A host is asked often, so that a trouble with its token is seen soon.
        let yard = AccessNode::over(ground, &[("calls.changes_interval", "500ms")])?;
        let of = |host: String, name: &str| -> Result<PathBuf> {
            let file = yard.ground.path(name);
            std::fs::write(&file, yard.done(&["token", "create", "--worker", &host])?)?;
            Ok(file)
        };
        let source_file = of(yard.ground.source(0).to_string(), "source.token")?;
        let token_file = of(yard.ground.destination(0).to_string(), "destination.token")?;
        let setting = |file: &PathBuf| file.display().to_string();
        let source = yard.ground.start_source(0, &[("token_file", &setting(&source_file))])?;
        let destination =
            yard.ground.start_destination(0, &[("token_file", &setting(&token_file))])?;
        // A SIGHUP before the handler is installed would end it.
        wait_for("the worker starts", &[&destination], || {
            destination.log_text().contains("worker started").then_some(())
        })?;
        Ok(WorkerYard { yard, source, destination, token_file })
    }

    fn wait<T>(&self, what: &str, holds: impl FnMut() -> Option<T>) -> Result<T> {
        wait_for(what, &[&self.yard.node, &self.source, &self.destination], holds)
    }

    /// Wants a copy of a new file. The order ends the call in which the destination waits for one.
    fn order(&self, name: &str) -> Result<Vec<u8>> {
        let bytes = self.yard.ground.master(name.as_bytes(), 2 << 20)?;
        self.yard.ground.grade(&[name.as_bytes()])?;
        Ok(bytes)
    }

    /// Copies a new file from the source to the destination.
    fn copy(&self, name: &str) -> Result<()> {
        let bytes = self.order(name)?;
        let path = self.yard.ground.copies(0).join(name);
        self.wait(name, || holds(&path, &bytes).then_some(()))
    }

    fn host(&self) -> String {
        self.yard.ground.destination(0).to_string()
    }
}

/// Status of a call to another program than the node.
fn status_of(arguments: &[&str]) -> String {
    let mut curl = std::process::Command::new("curl");
    curl.args(["-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}"]).args(arguments);
    String::from_utf8(curl.output().unwrap().stdout).unwrap()
}

#[test]
fn workers_with_tokens_of_their_own_copy_files() -> Result<()> {
    let workers = WorkerYard::start()?;
    workers.copy("a.mpg")?;
    let listed = workers.yard.done(&["token", "list"])?;
    assert!(listed.contains(&workers.host()), "{listed}");
    let warnings = workers.yard.ground.readyz().unwrap_or_default();
    assert!(!warnings.contains("token"), "{warnings}");
    Ok(())
}

#[test]
fn a_stolen_worker_token_only_reads_its_own_orders() -> Result<()> {
    let workers = WorkerYard::start()?;
    workers.copy("a.mpg")?;
    let stolen = std::fs::read_to_string(&workers.token_file)?;
    let document = run(&["openapi"]).out;
    let mut open = Vec::new();
    for call in ApiDocument::read(&document)?.calls()? {
        let other = workers.yard.ground.source(0).to_string();
        let path = call.path.replace("{host}", &other).replace("{pool}", "p");
        let path = path.replace("{name}", "x").replace("{id}", "1").replace("{number}", "1");
        let (status, _) = workers.yard.with(&stolen, &call.method, &path);
        if !matches!(status, 401 | 403) {
            open.push(format!("{} {} {status}", call.method, call.path));
        }
    }
    open.sort();
    // It learns its own name and the document. It has no session. The others need a body.
    assert_eq!(
        open,
        [
            "DELETE /api/v1/sessions/current 409",
            "GET /api/v1/openapi.json 200",
            "GET /api/v1/whoami 200",
            "POST /api/v1/leases/{id}/release 415",
            "POST /api/v1/leases/{id}/renew 415",
            "POST /api/v1/leases/{id}/verify 415",
            "POST /api/v1/login-links 409",
            "POST /api/v1/sessions 415",
        ]
    );
    let own = format!("/api/v1/workers/{}/tasks", workers.host());
    assert_eq!(workers.yard.with(&stolen, "GET", &own).0, 200);

    // Another worker refuses it as well: nothing is deleted or listed there.
    let bearer = format!("Authorization: Bearer {stolen}");
    let source = workers.yard.ground.source(0);
    for (method, path) in [("GET", "/info"), ("GET", "/inventory"), ("DELETE", "/files/a.mpg")] {
        let url = format!("http://{source}{path}");
        assert_eq!(status_of(&["-X", method, "-H", &bearer, &url]), "401", "{method} {path}");
    }
    Ok(())
}

#[test]
fn the_shared_token_does_not_act_for_a_worker_with_its_own() -> Result<()> {
    let shared = "a-shared-token-of-a-yard";
    let yard = AccessNode::over(ProcessYard::new(0, 1)?, &[("token", shared)])?;
    let host = yard.ground.destination(0).to_string();
    let orders = |host: &str| format!("/api/v1/workers/{host}/tasks");
    assert_eq!(yard.with(shared, "GET", &orders(&host)).0, 200, "it has no token yet");
    yard.done(&["token", "create", "--worker", &host])?;
    let viewer = yard.done(&["token", "create", "any", "--role", "viewer"])?;
    // Other spellings of the path reach the same handler.
    let (start, last) = host.split_at(host.len() - 1);
    let paths = [
        orders(&host),
        orders(&format!("{start}%3{last}")),
        orders(&format!("{start}%3%3{last}")),
        orders(&host).replace("workers", "%77orkers"),
        orders(&host).replace("/api", "/%61pi"),
        orders(&host).replace("/workers", "//workers"),
    ];
    for path in &paths {
        for token in [shared, &viewer] {
            let (status, detail) = yard.with(token, "GET", path);
            assert!((400..500).contains(&status), "{path}: {status} {detail}");
        }
        let (status, _) = yard.call("GET", path, "X-None: 1", None);
        assert!((400..500).contains(&status), "{path} without a token: {status}");
    }
    let wrong: Vec<u16> =
        (0..15).map(|_| yard.with("a-guess-of-the-shared-token", "GET", &orders("x")).0).collect();
    assert!(wrong.contains(&429), "guesses are limited: {wrong:?}");
    Ok(())
}

#[test]
fn a_revoked_worker_is_refused_while_others_have_tokens() -> Result<()> {
    let yard = AccessNode::over(ProcessYard::new(0, 2)?, &[])?;
    let host = yard.ground.destination(0).to_string();
    let orders = format!("/api/v1/workers/{host}/tasks");
    assert_eq!(yard.call("GET", &orders, "X-None: 1", None).0, 200, "nobody has a token");
    for number in [0, 1] {
        let host = yard.ground.destination(number).to_string();
        yard.done(&["token", "create", "--worker", &host])?;
    }
    yard.done(&["token", "revoke", &format!("worker/{host}")])?;
    let (status, problem) = yard.call("GET", &orders, "X-None: 1", None);
    assert!(
        status == 401 && problem["detail"].as_str().unwrap().contains("this worker has no token"),
        "{problem}"
    );
    Ok(())
}

#[test]
fn a_rotated_worker_token_is_visible_everywhere_until_the_worker_has_it() -> Result<()> {
    let workers = WorkerYard::start()?;
    workers.copy("a.mpg")?;
    let (yard, host) = (&workers.yard, workers.host());
    let rotated = yard.done(&["token", "rotate", &format!("worker/{host}")])?;
    let metric = format!("reelyard_host_token_trouble{{host=\"{host}\"}} 1");
    workers.wait("the trouble in hosts, readiness and metrics", || {
        let hosts = yard.ground.get("/api/v1/hosts")?;
        let shown = hosts["items"]
            .as_array()?
            .iter()
            .any(|one| one["host"] == json!(host) && one["token_trouble"].is_string());
        let warned = yard.ground.readyz()?.contains(&host);
        let metrics = ended(
            std::process::Command::new("curl")
                .args(["-s", &format!("http://{}/metrics", yard.ground.node)])
                .stdout(std::process::Stdio::piped()),
        );
        (shown && warned && metrics.out.contains(&metric)).then_some(())
    })?;
    workers.order("b.mpg")?;
    workers.wait("the trouble in both logs", || {
        let node = yard.node.log_text().contains("the calls of a worker are refused");
        let worker = workers.destination.log_text().contains("another token than this worker");
        (node && worker).then_some(())
    })?;
    std::fs::write(&workers.token_file, rotated)?;
    workers.destination.hang_up()?;
    workers.copy("b.mpg")?;
    workers.wait("no trouble", || {
        let hosts: Value = yard.ground.get("/api/v1/hosts")?;
        let troubled =
            hosts["items"].as_array()?.iter().any(|one| one["token_trouble"].is_string());
        (!troubled).then_some(())
    })
}

#[test]
fn an_expired_worker_token_is_named_on_both_sides() -> Result<()> {
    let workers = WorkerYard::start()?;
    let yard = &workers.yard;
    let host = workers.host();
    let name = format!("worker/{host}");
    let short = yard.done(&["token", "rotate", &name, "--ttl", "3s"])?;
    std::fs::write(&workers.token_file, short)?;
    workers.destination.hang_up()?;
    workers.wait("the end of the token", || {
        let hosts = yard.ground.get("/api/v1/hosts")?;
        let trouble =
            hosts["items"].as_array()?.iter().find_map(|one| one["token_trouble"].as_str());
        trouble.is_some_and(|trouble| trouble.contains("expired at")).then_some(())
    })?;
    workers.order("late.mpg")?;
    workers.wait("the trouble in tasks and in the log of the worker", || {
        let tasks = yard.ground.get("/api/v1/tasks?state=open")?;
        let reason = tasks["items"][0]["reason"].as_str()?;
        let worker = workers.destination.log_text().contains("refuses the token of this worker");
        (reason.contains("refused") && worker).then_some(())
    })
}

#[test]
fn a_worker_refuses_a_token_that_is_not_for_workers() -> Result<()> {
    let yard = AccessNode::start(&[])?;
    let token = yard.done(&["token", "create", "ci", "--role", "viewer"])?;
    let mut own = yard.done(&["token", "create", "--worker", "127.0.0.1:9"])?;
    own.pop().context("an empty token")?;
    for (token, words) in [(token, "token create --worker"), (own, "cut or mistyped")] {
        let file = yard.ground.path("bad.token");
        std::fs::write(&file, token)?;
        let token_file = format!("token_file={}", file.display());
        let base = format!("base_dir={}", yard.ground.path("").display());
        let checked = ended(&mut reelyard(&[
            "config",
            "check",
            "worker",
            "--set",
            "listen=127.0.0.1:9",
            "--set",
            &base,
            "--set",
            &token_file,
        ]));
        assert!(checked.code == Some(2) && checked.err.contains(words), "{}", checked.err);
    }
    Ok(())
}
