//! The API of a node, called as its administrator.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use reelyard_integration_tests::rigs::yard::bearer_in;
use reelyard_protocol::http_client::without_tls;
use reqwest::Method;
use serde_json::Value;

/// A node with its address and the directory that has its token.
pub struct BenchApi {
    listen: SocketAddr,
    data_dir: PathBuf,
    http: reqwest::Client,
}

impl BenchApi {
    /// The node that listens here. It may be starting.
    pub fn new(listen: SocketAddr, data_dir: &Path) -> Result<Self> {
        Ok(BenchApi { listen, data_dir: data_dir.to_owned(), http: without_tls().build()? })
    }

    /// The value of the header `Authorization`. Empty before the node has written its token.
    pub fn authorization(&self) -> String {
        let header = bearer_in(&self.data_dir);
        header.strip_prefix("Authorization: ").unwrap_or_default().to_owned()
    }

    /// The start of every address of the node.
    pub fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Calls `/api/v1` and waits for the answer. A refusal is an error.
    pub async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let mut asked = self.http.request(method.clone(), format!("{}/api/v1{path}", self.url()));
        asked = asked.header("authorization", self.authorization());
        if let Some(body) = body {
            asked = asked.header("content-type", "application/json").body(body.to_string());
        }
        let answer = asked.send().await?;
        let status = answer.status();
        let bytes = answer.bytes().await?;
        let text = String::from_utf8_lossy(&bytes);
        ensure!(status.is_success(), "{method} {path} was answered with {status}: {text}");
        Ok(if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? })
    }

    /// The body of a page or list. A refusal is an error.
    pub async fn get(&self, path: &str) -> Result<String> {
        let asked = self.http.get(format!("{}{path}", self.url()));
        let asked = asked.header("authorization", self.authorization());
        Ok(asked.send().await?.error_for_status()?.text().await?)
    }

    /// The beginning of an answer that goes on, such as a stream of events.
    pub async fn open(&self, path: &str) -> Result<reqwest::Response> {
        let asked = self.http.get(format!("{}{path}", self.url()));
        let asked = asked.header("authorization", self.authorization());
        Ok(asked.send().await?.error_for_status()?)
    }
}
