//! A reader of a node's stream of events, as any program outside is one: curl, and the lines it
//! prints.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::waiting::PATIENCE;

/// One event, as it was sent.
#[derive(Clone, Debug)]
pub struct ReadEvent {
    /// Its `id`.
    pub id: String,
    /// Its `event`.
    pub kind: String,
    /// Its `data`.
    pub data: Value,
}

/// Somebody who reads, until it is dropped.
pub struct EventReader {
    curl: Child,
    events: Receiver<ReadEvent>,
}

impl EventReader {
    /// Reads what a node tells, with more arguments for curl, as of now: returns once the node has
    /// begun.
    pub fn open(node: SocketAddr, query: &str, more: &[&str]) -> Result<Self> {
        Self::open_at(node, &format!("/api/v1/events{query}"), more)
    }

    /// The same of another stream of events.
    pub fn open_at(node: SocketAddr, path: &str, more: &[&str]) -> Result<Self> {
        let mut curl = Command::new("curl")
            .args(["-sSN", "--fail-with-body"])
            .args(more)
            .arg(format!("http://{node}{path}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(curl.stdout.take().context("curl has no output")?).lines();
        let first = lines.next().context("nothing is sent")??;
        anyhow::ensure!(first.starts_with(':'), "not a comment first: {first}");
        let (told, events) = mpsc::channel();
        std::thread::spawn(move || {
            let mut event = ReadEvent { id: String::new(), kind: String::new(), data: Value::Null };
            for line in lines.map_while(Result::ok) {
                match line.split_once(": ") {
                    Some(("id", id)) => event.id = id.to_owned(),
                    Some(("event", kind)) => event.kind = kind.to_owned(),
                    Some(("data", data)) => {
                        event.data = serde_json::from_str(data).unwrap_or_default();
                        // The reader may have seen enough.
                        if told.send(event.clone()).is_err() {
                            return;
                        }
                    }
                    _ => {}
                }
            }
        });
        Ok(EventReader { curl, events })
    }

    /// The next event.
    pub fn next(&self) -> Result<ReadEvent> {
        self.events.recv_timeout(PATIENCE).context("no event comes")
    }

    /// The next event that `is_it` picks; those before it are left aside.
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

    /// Waits for the end of the stream. Whether it was ended in order; one that was cut off was not.
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
        // It may have ended by itself.
        let _ = self.curl.kill();
        let _ = self.curl.wait();
    }
}
