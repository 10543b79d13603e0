//! The demo as an API client of its own nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_api::{
    ExplainView, INVITATION_TTL, LoginLinkInfo, NewTokenInfo, Page, ShareInfo, StatusView, TaskView,
};
use reelyard_core::names::FileName;
use reelyard_protocol::http_client;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Time limit of a request to the only node.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time limit of a request to one of several nodes. Another node can answer after it.
const PATIENCE_OF_SEVERAL: Duration = Duration::from_secs(2);

/// Client of the nodes of the demo. Clones prefer the same node.
#[derive(Clone)]
pub struct DemoApi {
    urls: Arc<[String]>,
    /// Place of the node that is asked first.
    preferred: Arc<AtomicUsize>,
    token: String,
    http: reqwest::Client,
}

/// A request to the API of a node.
#[derive(Clone, Debug)]
pub struct DemoRequest<'a> {
    /// The method of HTTP.
    pub method: Method,
    /// Path below `/api/v1/`, with the query.
    pub path: &'a str,
    /// Another token than that of the demo.
    pub token: Option<&'a str>,
    /// The JSON of the body.
    pub body: Option<&'a Value>,
}

impl<'a> DemoRequest<'a> {
    fn get(path: &'a str) -> Self {
        DemoRequest { method: Method::GET, path, token: None, body: None }
    }

    fn post(path: &'a str, body: Option<&'a Value>) -> Self {
        DemoRequest { method: Method::POST, path, token: None, body }
    }
}

impl DemoApi {
    /// A client of the nodes at `urls`.
    pub fn new(urls: &[String], token: &str) -> Result<Self> {
        let patience = if urls.len() > 1 { PATIENCE_OF_SEVERAL } else { PATIENCE };
        let http = http_client::without_tls().no_proxy().timeout(patience).build()?;
        let preferred = Arc::default();
        Ok(DemoApi { urls: urls.into(), preferred, token: token.to_owned(), http })
    }

    /// Asks the node at this place first from now on.
    pub fn prefer(&self, place: usize) {
        self.preferred.store(place % self.urls.len(), Ordering::Relaxed);
    }

    /// Every task that the nodes remember, oldest first.
    pub async fn tasks(&self) -> Result<Vec<TaskView>> {
        let mut tasks = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("tasks?limit=1000{cursor}");
            let page: Page<TaskView> = self.answer(&DemoRequest::get(&path)).await?;
            tasks.extend(page.items);
            match page.next {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    /// All shares, as the node at `place` knows them.
    pub async fn shares(&self, place: usize) -> Result<Vec<ShareInfo>> {
        let mut shares = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("shares?limit=1000{cursor}");
            let page: Page<ShareInfo> = self.get_from(place, &path).await?;
            shares.extend(page.items);
            match page.next {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(shares),
            }
        }
    }

    /// State of a node.
    pub async fn status(&self) -> Result<StatusView> {
        self.answer(&DemoRequest::get("status")).await
    }

    /// Why a file has no copy.
    pub async fn explain(&self, file: &FileName) -> Result<ExplainView> {
        let path = format!("files/{}/explain", file.to_percent());
        self.answer(&DemoRequest::get(&path)).await
    }

    /// A secret with which nodes can join, within 15 minutes.
    pub async fn invite(&self) -> Result<String> {
        let name = format!("invite-{:08x}", fastrand::u32(..));
        let wanted = json!({ "name": name, "scopes": ["cluster:join"], "ttl": INVITATION_TTL });
        let made: NewTokenInfo = self.answer(&DemoRequest::post("tokens", Some(&wanted))).await?;
        Ok(made.token)
    }

    /// A link with which a browser begins one session as administrator, within 15 minutes.
    pub async fn console_link(&self) -> Result<String> {
        // Only a named token has sessions, and its name is unique.
        let name = format!("demo-{:08x}", fastrand::u32(..));
        let wanted = json!({ "name": name, "role": "admin" });
        let made: NewTokenInfo = self.answer(&DemoRequest::post("tokens", Some(&wanted))).await?;
        let own =
            DemoRequest { token: Some(&made.token), ..DemoRequest::post("login-links", None) };
        let link: LoginLinkInfo = self.answer(&own).await?;
        Ok(format!("{}{}", self.url(self.preferred.load(Ordering::Relaxed)), link.path))
    }

    /// An answer of the node at `place`.
    pub async fn get_from<T: DeserializeOwned>(&self, place: usize, path: &str) -> Result<T> {
        self.answer_of(place, &DemoRequest::get(path)).await
    }

    /// The first good answer. The node that gave the last one is asked first, then the others.
    async fn answer<T: DeserializeOwned>(&self, request: &DemoRequest<'_>) -> Result<T> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let mut place = preferred;
        loop {
            match self.answer_of(place, request).await {
                Ok(answer) => {
                    self.prefer(place);
                    return Ok(answer);
                }
                Err(error) => {
                    place += 1;
                    if place == preferred + self.urls.len() {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn answer_of<T: DeserializeOwned>(
        &self,
        place: usize,
        request: &DemoRequest<'_>,
    ) -> Result<T> {
        let url = self.url(place);
        let (status, body) = self
            .ask(place, request)
            .await
            .with_context(|| format!("the node at {url} did not answer"))?;
        let path = request.path;
        anyhow::ensure!(
            status.is_success(),
            "the node at {url} answered {status} to {path}: {}",
            String::from_utf8_lossy(&body)
        );
        serde_json::from_slice(&body).with_context(|| format!("the answer of {path}"))
    }

    /// Status and body of the answer of the node at `place`.
    pub async fn ask(
        &self,
        place: usize,
        request: &DemoRequest<'_>,
    ) -> reqwest::Result<(StatusCode, Vec<u8>)> {
        let DemoRequest { method, path, token, body } = request;
        let url = format!("{}/api/v1/{path}", self.url(place));
        let token = token.unwrap_or(&self.token);
        let mut call = self.http.request(method.clone(), url).bearer_auth(token);
        if let Some(body) = body {
            call = call.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let answer = call.send().await?;
        Ok((answer.status(), answer.bytes().await?.into()))
    }

    fn url(&self, place: usize) -> &str {
        &self.urls[place % self.urls.len()]
    }
}
