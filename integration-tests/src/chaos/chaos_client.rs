//! A client of the API that goes from node to node until a request is answered.

use std::net::SocketAddr;
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

/// Pause of a client between its requests.
pub const PACE: Duration = Duration::from_millis(50);

/// Items of one page of a list.
const PAGE: u32 = 1000;

/// One client. Clones share the flag that ends them.
#[derive(Clone)]
pub struct ChaosClient {
    http: Client,
    urls: Arc<[String]>,
    links: Arc<[SocketAddr]>,
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
    /// A client of these nodes: the addresses of their API, and of their links.
    ///
    /// # Errors
    /// The system gives no client.
    pub fn new(urls: Vec<String>, links: &[SocketAddr], token: String) -> Result<Self> {
        let http = http_client::without_tls().no_proxy().timeout(ATTEMPT).build()?;
        Ok(ChaosClient {
            http,
            urls: urls.into(),
            links: links.into(),
            token,
            ended: Arc::default(),
        })
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
                Some((status, _)) if is_passing(status) => {}
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

    /// All pages of a list at one node. None without an answer.
    pub async fn list(&self, node: usize, path: &str, query: &str) -> Option<Vec<Value>> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = format!("{path}?limit={PAGE}{query}{cursor}");
            let (status, page) = self.attempt(node, Method::GET, &page, None).await?;
            let items = page["items"].as_array().filter(|_| status == 200)?;
            all.extend(items.iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Some(all),
            }
        }
    }

    /// Downloads a link at one node completely. The status of the answer; none if it did not arrive completely.
    pub async fn download(&self, node: usize, share: &str) -> Option<u16> {
        let at = self.links[node % self.links.len()];
        let answer = self.http.get(format!("http://{at}/s/{share}/file")).send().await.ok()?;
        let status = answer.status().as_u16();
        answer.bytes().await.ok()?;
        Some(status)
    }
}

/// Whether the same request can have another answer later. There was no leader, a full disk or an unknown outcome, or
/// the node was paused before it had read the request.
pub fn is_passing(status: u16) -> bool {
    status >= 500 || matches!(status, 408 | 429)
}
