//! A real node with pools of boxes. Tests call it with curl, as scripts do.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::rigs::binary::{ProgramOutput, ended, reelyard};
use crate::rigs::plain_request::{PlainAnswer, get, send};
use crate::rigs::yard::{ProcessYard, RoleProcess, wait_for};

/// A node and its directory.
pub struct BoxNode {
    /// The directory of the node, and its settings.
    pub ground: ProcessYard,
    /// The process of the node. A test can kill or restart it.
    pub node: RoleProcess,
}

/// The answer of the node to one call.
#[derive(Clone, Debug)]
pub struct BoxNodeResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The status line and headers, in lower case.
    pub head: String,
    /// The body; null when it is not JSON.
    pub body: Value,
}

impl BoxNodeResponse {
    fn read(output: Vec<u8>) -> Result<Self> {
        let text = String::from_utf8(output)?;
        Ok(PlainAnswer::read(&text).with_context(|| format!("cut: {text}"))?.into())
    }

    /// The last part of the problem type; empty when the body is not a problem.
    pub fn kind(&self) -> &str {
        let kind = self.body["type"].as_str().unwrap_or_default();
        kind.rsplit(':').next().unwrap_or_default()
    }

    /// The value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    }
}

impl From<PlainAnswer> for BoxNodeResponse {
    fn from(PlainAnswer { status, head, body }: PlainAnswer) -> Self {
        let body = serde_json::from_str(&body).unwrap_or(Value::Null);
        BoxNodeResponse { status, head: head.to_lowercase(), body }
    }
}

/// A call without an answer yet. Dropping it kills its client.
pub struct PendingCall {
    client: Child,
    answer: BufReader<ChildStdout>,
    /// The part of the answer that was read already.
    read: Vec<u8>,
}

impl PendingCall {
    /// Waits for the answer.
    pub fn answer(mut self) -> Result<BoxNodeResponse> {
        self.answer.read_to_end(&mut self.read)?;
        BoxNodeResponse::read(std::mem::take(&mut self.read))
    }

    /// Waits until the answer has a line that begins with `line`.
    pub fn until_answered(&mut self, line: &str) -> Result<()> {
        loop {
            let begun = self.read.len();
            let read = self.answer.read_until(b'\n', &mut self.read)?;
            anyhow::ensure!(read > 0, "it ended without {line}");
            if self.read[begun..].starts_with(line.as_bytes()) {
                return Ok(());
            }
        }
    }

    /// Waits for the end of the answer. Returns the kind and the data of each event.
    pub fn events(mut self) -> Result<Vec<(String, Value)>> {
        self.answer.read_to_end(&mut self.read)?;
        let text = String::from_utf8(std::mem::take(&mut self.read))?;
        let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("cut: {text}"))?;
        anyhow::ensure!(head.contains("content-type: text/event-stream"), "{text}");
        let events = body.split("\n\n").filter_map(|event| event.strip_prefix("event: "));
        let read = |event: &str| {
            let (kind, data) = event.split_once("\ndata: ").context("an event without data")?;
            Ok((kind.to_owned(), serde_json::from_str(data)?))
        };
        events.map(read).collect()
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        // The client may have ended by itself; in both cases it is gone afterwards.
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl BoxNode {
    /// Starts a node with additional settings.
    pub fn start(more: &[(&str, &str)]) -> Result<Self> {
        let ground = ProcessYard::new(0, 0)?;
        let node = ground.start_node(more)?;
        let node = BoxNode { ground, node };
        node.until_it_decides()?;
        Ok(node)
    }

    /// Waits until the node leads and decides on boxes.
    pub fn until_it_decides(&self) -> Result<()> {
        wait_for("the node decides", &[&self.node], || {
            // No client has this lease: only the leader can say that.
            let path = "/api/v1/leases/AAAAAAAAAAAAAAAAAAAAAA/verify";
            let body = json!({ "token": 0 }).to_string();
            let asked =
                send(self.ground.node, ("POST", path), &self.ground.bearer(), &body).ok()?;
            (BoxNodeResponse::from(asked).kind() == "unknown-lease").then_some(())
        })
    }

    fn curl(&self, method: &str, path: &str, body: Option<&Value>, more: &[&str]) -> Command {
        let mut command = self.ground.curl();
        command.args(["-i", "-m", "60", "-X", method]).args(more);
        if let Some(body) = body {
            command.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        command.arg(format!("http://{}/api/v1{path}", self.ground.node));
        command
    }

    /// Calls the API and waits for the answer.
    ///
    /// # Panics
    /// Panics when the node does not answer.
    pub fn ask(&self, method: &str, path: &str, body: Option<Value>) -> BoxNodeResponse {
        self.ask_with(method, path, body, &[])
    }

    /// The same with more options of curl.
    pub fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        more: &[&str],
    ) -> BoxNodeResponse {
        let output = self.curl(method, path, body.as_ref(), more).output();
        let answer =
            output.map_err(anyhow::Error::from).and_then(|out| BoxNodeResponse::read(out.stdout));
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.node.log_text()))
    }

    /// Sends a POST to the API.
    pub fn post(&self, path: &str, body: Value) -> BoxNodeResponse {
        self.ask("POST", path, Some(body))
    }

    /// Sends a GET to the API.
    ///
    /// # Panics
    /// Panics when the node does not answer.
    pub fn get(&self, path: &str) -> BoxNodeResponse {
        let answer = get(self.ground.node, &format!("/api/v1{path}"), &self.ground.bearer());
        let failed = |error| panic!("{path}: {error}\n{}", self.node.log_text());
        answer.unwrap_or_else(failed).into()
    }

    /// Starts a POST whose answer the node delays.
    pub fn begin(&self, path: &str, body: Value, more: &[&str]) -> Result<PendingCall> {
        let mut command = self.curl("POST", path, Some(&body), more);
        let mut client = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let answer = BufReader::new(client.stdout.take().context("curl has no output")?);
        Ok(PendingCall { client, answer, read: Vec::new() })
    }

    /// Creates or changes a pool. Fails the test when the node refuses it.
    pub fn put(&self, pool: &str, spec: Value) -> Value {
        let answer = self.ask("PUT", &format!("/pools/{pool}"), Some(spec));
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        answer.body
    }

    /// Leases boxes without waiting. Fails the test when the node refuses it.
    pub fn take(&self, pool: &str, wanted: Value) -> Value {
        let answer = self.post(&format!("/pools/{pool}/leases"), wanted);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body
    }

    /// Sends a call about a lease, with its token.
    pub fn with(&self, lease: &Value, what: &str) -> BoxNodeResponse {
        self.post(&path_of(lease, what), json!({ "token": lease["token"] }))
    }

    /// Waits until `count` requests wait for boxes of a pool.
    pub fn until_waiting(&self, pool: &str, count: u64) -> Result<()> {
        let what = format!("{count} wait for {pool}");
        wait_for(&what, &[&self.node], || {
            (self.get(&format!("/pools/{pool}")).body["waiting"] == count).then_some(())
        })
    }

    /// Runs `reelyard box` with the address of this node.
    pub fn cli(&self, arguments: &[&str]) -> ProgramOutput {
        let url = format!("http://{}", self.ground.node);
        ended(&mut reelyard(&[&["box"], arguments, &["--url", &url]].concat()))
    }
}

/// The path of a lease, or of a call for it.
pub fn path_of(lease: &Value, what: &str) -> String {
    let path = format!("/leases/{}/{what}", lease["lease_id"].as_str().unwrap_or_default());
    path.trim_end_matches('/').to_owned()
}
