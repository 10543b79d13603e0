//! A client that reads a node's event stream with curl, as an external program does.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::probes::waiting::PATIENCE;
use crate::rigs::yard::ProcessYard;

/// One event of the stream, as the node sent it.
#[derive(Clone, Debug)]
pub struct ReadEvent {
    /// The `id` field. A client continues from it after a break.
    pub id: String,
    /// The `event` field: the kind of event.
    pub kind: String,
    /// The `data` field, read as JSON.
    pub data: Value,
}

/// A client of an event stream. Dropping it kills curl.
pub struct EventReader {
    curl: Child,
    events: Receiver<ReadEvent>,
}

impl EventReader {
    /// Opens the node's event stream from now on, with more arguments for curl. Returns after the node has
    /// sent the first lines.
    pub fn open(yard: &ProcessYard, query: &str, more: &[&str]) -> Result<Self> {
        Self::open_at(yard, &format!("/api/v1/events{query}"), more)
    }

    /// Opens the event stream at another path.
    pub fn open_at(yard: &ProcessYard, path: &str, more: &[&str]) -> Result<Self> {
        Self::open_url(&format!("http://{}{path}", yard.node), &yard.bearer(), more)
    }

    /// Opens an event stream with the header `bearer`.
    pub fn open_url(url: &str, bearer: &str, more: &[&str]) -> Result<Self> {
        let mut curl = Command::new("curl")
            .args(["-sSN", "--fail-with-body", "-H", bearer])
            .args(more)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(curl.stdout.take().context("curl has no output")?).lines();
        let first = lines.next().context("nothing is sent")??;
        anyhow::ensure!(first.starts_with(':'), "not a comment first: {first}");
        let (result, events) = mpsc::channel();
        std::thread::spawn(move || {
            let mut event = ReadEvent { id: String::new(), kind: String::new(), data: Value::Null };
            for line in lines.map_while(Result::ok) {
                match line.split_once(": ") {
                    Some(("id", id)) => event.id = id.to_owned(),
                    Some(("event", kind)) => event.kind = kind.to_owned(),
                    Some(("data", data)) => {
                        event.data = serde_json::from_str(data).unwrap_or_default();
                        // The test may have dropped the receiver already.
                        if result.send(event.clone()).is_err() {
                            return;
                        }
                    }
                    _ => {}
                }
            }
        });
        Ok(EventReader { curl, events })
    }

    /// Waits for the next event.
    pub fn next(&self) -> Result<ReadEvent> {
        self.events.recv_timeout(PATIENCE).context("no event comes")
    }

    /// Waits for the next event that `is_it` accepts. Earlier events are skipped.
    pub fn next_where(&self, is_it: impl Fn(&ReadEvent) -> bool) -> Result<ReadEvent> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().with_context(|| format!("after {seen:?}"))?;
            if is_it(&event) {
                return Ok(event);
            }
            seen.push(event);
        }
    }

    /// Waits for the end of the stream. Returns whether the node ended it cleanly; a broken connection is not
    /// clean.
    pub fn ended(mut self) -> Result<bool> {
        loop {
            match self.events.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(self.curl.wait()?.success()),
                Err(RecvTimeoutError::Timeout) => anyhow::bail!("the stream does not end"),
            }
        }
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        // curl may have ended by itself.
        let _ = self.curl.kill();
        let _ = self.curl.wait();
    }
}
