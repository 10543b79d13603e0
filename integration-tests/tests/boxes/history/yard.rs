//! A node, a worker that cleans boxes, and clients.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::binary::reelyard;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, bearer_in};
use reelyard_protocol::http_client;
use serde_json::{Value, json};

use super::{BoxHistory, LeaseOperation, LeaseResult};

/// The largest delay of an answer beyond its requested wait.
const ANSWER: Duration = Duration::from_secs(20);

/// The client number of killed holders in the history, and of the expiry of their leases.
const HOLDERS: u32 = 100;

/// A node, with or without a worker.
pub struct BoxHistoryYard {
    pub node: RoleProcess,
    worker: Option<RoleProcess>,
    ground: ProcessYard,
    holders: u32,
}

/// A client of a node's API.
#[derive(Clone)]
pub struct BoxApi {
    http: reqwest::Client,
    url: String,
    /// Data directory of the node, with the token of its administrator.
    data_dir: PathBuf,
}

/// A lease as its holder knows it.
pub struct HeldLease {
    id: String,
    pub number: u32,
    pub token: u64,
}

/// A process that holds a box until it is killed.
pub struct HolderProcess {
    process: Child,
}

impl BoxHistoryYard {
    /// Starts a node. With a log it also starts a worker, whose hooks write to the log.
    pub fn start(log: Option<&HookLog>) -> BoxHistoryYard {
        let ground = ProcessYard::new(1, 0).unwrap();
        let node = ground.start_node(&[("journal.snapshot_log_bytes", "64KiB")]).unwrap();
        let worker = log.map(|log| {
            let hook = |kind: &str| {
                let script = format!("echo {kind} $1 $2 >> {}", log.0.display());
                format!("[\"/bin/sh\", \"-c\", \"{script}\", \"sh\", \"{{box}}\", \"{{token}}\"]")
            };
            let hooks =
                format!("{{ p = {{ init = {}, cleanup = {} }} }}", hook("init"), hook("cleanup"));
            ground.start_source(0, &[("box.hooks", &hooks)]).unwrap()
        });
        BoxHistoryYard { node, worker, ground, holders: 0 }
    }

    pub fn api(&self) -> BoxApi {
        let http = http_client::without_tls().timeout(ANSWER * 3).build().unwrap();
        let url = format!("http://{}/api/v1", self.ground.node);
        BoxApi { http, url, data_dir: self.ground.path("node") }
    }

    /// Repeats a call until the node answers.
    pub async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Option<Value> {
        let (status, reply) = self.api().answer(method, path, body).await;
        (status < 300).then_some(reply)
    }

    /// Creates a pool whose boxes the worker initializes and cleans. With `ids` its ids are drawn from this
    /// number of ids.
    pub async fn put_hosted_pool(&self, size: u32, ttl: &str, ids: Option<u32>) {
        let mut pool = json!({
            "size": size,
            "first_id": 0,
            "ttl_default": ttl,
            "host": self.ground.source(0).to_string(),
        });
        if let Some(count) = ids {
            pool["slots"] = json!({ "first": 0, "count": count });
        }
        self.ask("PUT", "/pools/p", Some(pool)).await.unwrap();
    }

    /// Kills the worker and starts it again.
    pub fn kill_worker(&mut self) {
        let worker = self.worker.as_mut().unwrap();
        worker.kill();
        worker.start_again().unwrap();
    }

    /// Starts a process and waits until it holds a box.
    pub async fn holder(&mut self, history: &BoxHistory) -> HolderProcess {
        self.holders += 1;
        let number = HOLDERS + self.holders;
        history.invoke(number, LeaseOperation::Acquire);
        let url = format!("http://{}", self.ground.node);
        let hold = "echo $REELYARD_BOX $REELYARD_BOX_TOKEN; exec sleep 1000";
        let run = ["box", "run", "--url", &url, "--pool", "p", "--wait", "60s", "--ttl", "1s"];
        let mut process = reelyard(&run)
            .args(["--", "sh", "-c", hold])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let out = process.stdout.take().unwrap();
        let line = actix_rt::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line).unwrap();
            line
        });
        let line = line.await.unwrap();
        let (id, token) = line.trim().split_once(' ').unwrap();
        let token = token.parse().unwrap();
        history.give(number, LeaseResult::Granted { number: id.parse().unwrap(), token });
        // Its lease is short. On a busy machine it may expire before the holder is killed.
        history.invoke(number, LeaseOperation::MayExpire { token });
        HolderProcess { process }
    }
}

impl HolderProcess {
    /// Kills the process, so that no client releases its box.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl BoxApi {
    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let url = format!("{}{path}", self.url);
        let mut asked = self.http.request(method.parse().unwrap(), url);
        // A node without a token has not answered any call yet.
        let bearer = bearer_in(&self.data_dir);
        asked = asked.header("authorization", bearer.split_once(": ")?.1);
        if let Some(body) = body {
            asked = asked.header("content-type", "application/json").body(body.to_string());
        }
        let answer = asked.send().await.ok()?;
        let status = answer.status().as_u16();
        let text = answer.text().await.ok()?;
        (status < 500).then(|| (status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// Repeats a call until its status and body are known.
    async fn answer(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        eventually_some("an answer", || self.ask(method, path, body.as_ref())).await
    }

    /// Acquires a box; `None` when none was free in time.
    pub async fn acquire(&self, pool: &str, holder: &str, wait: Duration) -> Option<HeldLease> {
        let request = reelyard_protocol::boxes::LeaseId::random().unwrap().to_string();
        let body = json!({
            "holder": holder,
            "wait": format!("{}s", wait.as_secs()),
            "request_id": request,
        });
        let path = format!("/pools/{pool}/leases");
        match self.answer("POST", &path, Some(body)).await {
            (201, entry) => Some(HeldLease {
                id: entry["lease_id"].as_str().unwrap().to_owned(),
                number: entry["box"].as_u64().unwrap().try_into().unwrap(),
                token: entry["token"].as_u64().unwrap(),
            }),
            (_, entry) => {
                assert_eq!(entry["type"], "urn:reelyard:problem:no-box-in-time", "{entry}");
                None
            }
        }
    }

    /// Releases a box, with as many attempts as necessary.
    pub async fn release(&self, lease: &HeldLease) {
        let (path, token) =
            (format!("/leases/{}/release", lease.id), json!({ "token": lease.token }));
        let (status, reply) = self.answer("POST", &path, Some(token)).await;
        // The answer to an earlier attempt was lost.
        let again = reply["type"] == "urn:reelyard:problem:lease-released";
        assert!(status == 200 || again, "{status} {reply}");
    }

    /// Whether a lease is live.
    pub async fn verify(&self, lease: &HeldLease) -> bool {
        let (path, token) =
            (format!("/leases/{}/verify", lease.id), json!({ "token": lease.token }));
        let (status, reply) = self.answer("POST", &path, Some(token)).await;
        assert!(status == 200 || reply["type"] == "urn:reelyard:problem:lease-released", "{reply}");
        status == 200
    }
}

/// A file to which hooks and holders append one line per action.
#[derive(Clone)]
pub struct HookLog(PathBuf);

impl HookLog {
    pub fn below(dir: &Path) -> HookLog {
        HookLog(dir.join("hooks"))
    }

    /// Records that a holder has a box.
    pub fn held(&self, lease: &HeldLease) {
        self.write("held", lease);
    }

    /// Records that a holder is about to release its box.
    pub fn released(&self, lease: &HeldLease) {
        self.write("released", lease);
    }

    fn write(&self, what: &str, HeldLease { number, token, .. }: &HeldLease) {
        let mut log = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        log.write_all(format!("{what} {number} {token}\n").as_bytes()).unwrap();
    }
}

/// Checks the hooks that the worker ran. A box is cleaned between two holders, and no hook runs while a
/// client holds the box.
pub fn check_hooks(log: &HookLog, boxes: u32) {
    let text = std::fs::read_to_string(&log.0).unwrap();
    let mut last: BTreeMap<u32, (&str, u64)> = BTreeMap::new();
    let mut held: BTreeMap<u32, u64> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (kind, number, token) = (words.next().unwrap(), words.next().unwrap(), words.next());
        let (number, token): (u32, u64) =
            (number.parse().unwrap(), token.unwrap().parse().unwrap());
        assert!(number < boxes);
        match kind {
            "held" => {
                assert_eq!(held.insert(number, token), None, "{line}");
                assert_eq!(last.get(&number), Some(&("init", token)), "{line}");
                continue;
            }
            "released" => {
                assert_eq!(held.remove(&number), Some(token), "{line}");
                continue;
            }
            _ => assert_eq!(held.get(&number), None, "a client holds it: {line}"),
        }
        if let Some((before, its)) = last.insert(number, (kind, token)) {
            // A box is also cleaned after a lease with a failed initialization.
            let is_handed_on = token > its && before == "cleanup";
            assert!(
                token == its || is_handed_on,
                "box {number}: {kind} of {token} after {before} of {its}"
            );
        }
    }
    assert_eq!(last.len() as u32, boxes, "{text}");
}
