//! A real node with pools of boxes, asked by curl as any script does.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::binary::{ProgramOutput, ended, reelyard};
use crate::yard::{ProcessYard, RoleProcess, wait_for};

/// A node, and the directory that it lives in.
pub struct BoxNode {
    /// Where it lives.
    pub ground: ProcessYard,
    /// It.
    pub node: RoleProcess,
}

/// What a call was answered with.
#[derive(Clone, Debug)]
pub struct BoxNodeResponse {
    /// The status.
    pub status: u16,
    /// The head, in small letters.
    pub head: String,
    /// The body; null where it is no JSON.
    pub body: Value,
}

impl BoxNodeResponse {
    fn read(output: Vec<u8>) -> Result<Self> {
        let text = String::from_utf8(output)?;
        let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("cut: {text}"))?;
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        Ok(BoxNodeResponse { status, head: head.to_lowercase(), body })
    }

    /// The last part of the type of the problem that it is; nothing where it is none.
    pub fn kind(&self) -> &str {
        let kind = self.body["type"].as_str().unwrap_or_default();
        kind.rsplit(':').next().unwrap_or_default()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
    }
}

/// A call that is not answered yet. Dropped, its client is killed.
pub struct PendingCall {
    client: Child,
    answer: BufReader<ChildStdout>,
    /// What of the answer was read.
    read: Vec<u8>,
}

impl PendingCall {
    /// The answer, once it is there.
    pub fn answer(mut self) -> Result<BoxNodeResponse> {
        self.answer.read_to_end(&mut self.read)?;
        BoxNodeResponse::read(std::mem::take(&mut self.read))
    }

    /// Waits until a line of the answer begins so.
    pub fn until_told(&mut self, line: &str) -> Result<()> {
        loop {
            let begun = self.read.len();
            let read = self.answer.read_until(b'\n', &mut self.read)?;
            anyhow::ensure!(read > 0, "it ended without {line}");
            if self.read[begun..].starts_with(line.as_bytes()) {
                return Ok(());
            }
        }
    }

    /// The kinds and the data of the events that it is answered with, once it is over.
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
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl BoxNode {
    /// A node with more settings.
    pub fn start(more: &[(&str, &str)]) -> Result<Self> {
        let ground = ProcessYard::new(0, 0)?;
        let node = ground.start_node(more)?;
        let node = BoxNode { ground, node };
        node.until_it_decides()?;
        Ok(node)
    }

    /// Waits until it decides on boxes.
    pub fn until_it_decides(&self) -> Result<()> {
        wait_for("the node decides", &[&self.node], || {
            // Nobody has such a lease: only who decides can say that.
            let path = "/leases/AAAAAAAAAAAAAAAAAAAAAA/verify";
            let asked = self.curl("POST", path, Some(&json!({ "token": 0 })), &[]).output().ok()?;
            (BoxNodeResponse::read(asked.stdout).ok()?.kind() == "unknown-lease").then_some(())
        })
    }

    fn curl(&self, method: &str, path: &str, body: Option<&Value>, more: &[&str]) -> Command {
        let mut command = Command::new("curl");
        command.args(["-s", "-i", "-m", "60", "-X", method]).args(more);
        if let Some(body) = body {
            command.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        command.arg(format!("http://{}/api/v1{path}", self.ground.node));
        command
    }

    /// A call of the API.
    ///
    /// # Panics
    /// When it is not answered.
    pub fn ask(&self, method: &str, path: &str, body: Option<Value>) -> BoxNodeResponse {
        let output = self.curl(method, path, body.as_ref(), &[]).output();
        let answer =
            output.map_err(anyhow::Error::from).and_then(|out| BoxNodeResponse::read(out.stdout));
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.node.log_text()))
    }

    /// A POST of the API.
    pub fn post(&self, path: &str, body: Value) -> BoxNodeResponse {
        self.ask("POST", path, Some(body))
    }

    /// A GET of the API.
    pub fn get(&self, path: &str) -> BoxNodeResponse {
        self.ask("GET", path, None)
    }

    /// A POST that is going to be held.
    pub fn begin(&self, path: &str, body: Value, more: &[&str]) -> Result<PendingCall> {
        let mut command = self.curl("POST", path, Some(&body), more);
        let mut client = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let answer = BufReader::new(client.stdout.take().context("curl has no output")?);
        Ok(PendingCall { client, answer, read: Vec::new() })
    }

    /// Creates or changes a pool, which must work.
    pub fn put(&self, pool: &str, spec: Value) -> Value {
        let answer = self.ask("PUT", &format!("/pools/{pool}"), Some(spec));
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        answer.body
    }

    /// Leases boxes without waiting, which must work.
    pub fn take(&self, pool: &str, wanted: Value) -> Value {
        let answer = self.post(&format!("/pools/{pool}/leases"), wanted);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body
    }

    /// A call about a lease, with its token.
    pub fn with(&self, lease: &Value, what: &str) -> BoxNodeResponse {
        self.post(&path_of(lease, what), json!({ "token": lease["token"] }))
    }

    /// Waits until so many wait for boxes of a pool.
    pub fn until_waiting(&self, pool: &str, count: u64) -> Result<()> {
        let what = format!("{count} wait for {pool}");
        wait_for(&what, &[&self.node], || {
            (self.get(&format!("/pools/{pool}")).body["waiting"] == count).then_some(())
        })
    }

    /// Runs `reelyard box`.
    pub fn cli(&self, arguments: &[&str]) -> ProgramOutput {
        let url = format!("http://{}", self.ground.node);
        ended(&mut reelyard(&[&["box"], arguments, &["--url", &url]].concat()))
    }
}

/// The path of a lease, or of a call about it.
pub fn path_of(lease: &Value, what: &str) -> String {
    let path = format!("/leases/{}/{what}", lease["lease_id"].as_str().unwrap_or_default());
    path.trim_end_matches('/').to_owned()
}
