//! The demo as an API client of its own node.

use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_api::{ExplainView, LoginLinkInfo, NewTokenInfo, Page, StatusView, TaskView};
use reelyard_core::names::FileName;
use reelyard_protocol::http_client;
use reqwest::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Client of the node of the demo.
#[derive(Clone)]
pub struct DemoApi {
    url: String,
    token: String,
    http: reqwest::Client,
}

impl DemoApi {
    /// A client of the node at `url`.
    pub fn new(url: &str, token: &str) -> Result<Self> {
        let http = http_client::without_tls().no_proxy().timeout(Duration::from_secs(5)).build()?;
        Ok(DemoApi { url: url.to_owned(), token: token.to_owned(), http })
    }

    /// Every task that the node remembers, oldest first.
    pub async fn tasks(&self) -> Result<Vec<TaskView>> {
        let mut tasks = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let from =
                cursor.as_deref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let page: Page<TaskView> = self.get(&format!("/api/v1/tasks?limit=1000{from}")).await?;
            tasks.extend(page.items);
            match page.next {
                Some(next) => cursor = Some(next.0),
                None => break,
            }
        }
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    /// State of the node.
    pub async fn status(&self) -> Result<StatusView> {
        self.get("/api/v1/status").await
    }

    /// Why a file has no copy.
    pub async fn explain(&self, file: &FileName) -> Result<ExplainView> {
        self.get(&format!("/api/v1/files/{}/explain", file.to_percent())).await
    }

    /// A link with which a browser begins one session as administrator, within 15 minutes.
    pub async fn console_link(&self) -> Result<String> {
        // Only a named token has sessions, and its name is unique.
        let name = format!("demo-{:08x}", fastrand::u32(..));
        let wanted = json!({ "name": name, "role": "admin" });
        let made: NewTokenInfo = self.post("tokens", &self.token, Some(&wanted)).await?;
        let link: LoginLinkInfo = self.post("login-links", &made.token, None).await?;
        Ok(format!("{}{}", self.url, link.path))
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> Result<T> {
        let call = self.http.post(format!("{}/api/v1/{path}", self.url)).bearer_auth(token);
        let call = match body {
            Some(body) => {
                call.header(CONTENT_TYPE, "application/json").body(serde_json::to_vec(body)?)
            }
            None => call,
        };
        let response = call
            .send()
            .await
            .with_context(|| format!("the node at {} did not answer", self.url))?;
        let body = response.error_for_status()?.bytes().await?;
        serde_json::from_slice(&body).with_context(|| format!("the answer of {path}"))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let response = self
            .http
            .get(format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .send()
            .await
            .with_context(|| format!("the node at {} did not answer", self.url))?;
        let body = response.error_for_status()?.bytes().await?;
        serde_json::from_slice(&body).with_context(|| format!("the answer of {path}"))
    }
}
