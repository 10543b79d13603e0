//! A client of the API that goes from node to node until a request is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use reelyard_protocol::http_client;
use reqwest::{Client, Method};
use serde_json::Value;
use tokio::time::sleep;

/// Time limit of one attempt.
const ATTEMPT: Duration = Duration::from_secs(3);

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// One client. Clones share the flag that ends them.
#[derive(Clone)]
pub struct ChaosClient {
    http: Client,
    urls: Arc<[String]>,
    token: String,
    ended: Arc<AtomicBool>,
}

/// An answer that decides a request.
pub struct DecidedAnswer {
    /// The status code of HTTP.
    pub status: u16,
    /// The body; null if it is no JSON.
    pub body: Value,
    /// When the attempt with this answer was sent.
    pub sent: Instant,
    /// Attempts before that may have been carried out.
    pub repeated: bool,
}

impl ChaosClient {
    /// A client of these nodes.
    pub fn new(urls: Vec<String>, token: String) -> Result<Self> {
        let http = http_client::without_tls().no_proxy().timeout(ATTEMPT).build()?;
        Ok(ChaosClient { http, urls: urls.into(), token, ended: Arc::default() })
    }

    /// Ends all clones.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether the load goes on.
    pub fn goes_on(&self) -> bool {
        !self.ended.load(Ordering::Relaxed)
    }

    /// One attempt at one node. None without an answer.
    pub async fn attempt(
        &self,
        node: usize,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let url = format!("{}/api/v1{path}", self.urls[node % self.urls.len()]);
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let bytes = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    /// Repeats a request at one node after the other, until an answer decides it. None when the load ends before.
    pub async fn decided(
        &self,
        first: usize,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Option<DecidedAnswer> {
        let mut repeated = false;
        for node in first.. {
            let sent = Instant::now();
            match self.attempt(node, method.clone(), path, body).await {
                // No leader, busy, an unknown outcome, or a node that was paused before it had read the request: the
                // same request again.
                Some((status, _)) if status >= 500 || matches!(status, 408 | 429) => {}
                Some((status, body)) => {
                    return Some(DecidedAnswer { status, body, sent, repeated });
                }
                None => {}
            }
            repeated = true;
            if !self.goes_on() {
                return None;
            }
            sleep(PAUSE).await;
        }
        None
    }
}
