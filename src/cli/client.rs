//! Client of the node API for the commands.

pub mod contexts;
mod download;
mod follow;
mod local_token;
mod node_args;
mod reason;

pub use follow::ServerSentEvent;
pub use node_args::{NodeArgs, url_of};

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reelyard_api::{Cursor, Page, Problem};
use reelyard_core::names::FileName;
use reelyard_core::token::SharedToken;
use reelyard_protocol::tls::{NEEDS_TLS, TlsTrouble};
use reqwest::{Method, RequestBuilder, StatusCode, Url, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::contexts::SavedContext;
use self::node_args::NodeTarget;
use crate::cli::support::failure::CommandFailure;

/// Number of printed items, and where the list starts.
#[derive(Clone, Debug, Args)]
pub struct PageArgs {
    /// Number of rows to print.
    #[arg(long, default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Print all rows.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Continue an earlier list at this cursor.
    #[arg(long)]
    cursor: Option<String>,
}

/// Default number of printed items.
const DEFAULT_LIMIT: u64 = 100;

/// The filters that are set, as a query.
pub fn filters<'a>(all: &'a [(&'a str, Option<String>)]) -> Vec<(&'a str, &'a str)> {
    all.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))).collect()
}

/// Largest page size of the API.
const PAGE: u64 = 1000;

/// Time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client of one node.
pub struct NodeClient {
    url: Url,
    token: Option<SharedToken>,
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
}

impl NodeClient {
    /// A client for the node of `args`. It does not connect yet.
    pub fn new(args: &NodeArgs) -> Result<Self, CommandFailure> {
        Self::of(args.target(Duration::ZERO)?)
    }

    /// A client for the node of a context, with its credential.
    pub fn of_context(context: &SavedContext) -> Result<Self, CommandFailure> {
        Self::of(NodeTarget::of_context(context)?)
    }

    /// A client that sends no credential, for a login.
    pub fn for_login(url: Url, ca_file: Option<PathBuf>) -> Result<Self, CommandFailure> {
        Self::of(NodeTarget { url, token: None, ca_file, reason: None })
    }

    fn of(target: NodeTarget) -> Result<Self, CommandFailure> {
        let http = target
            .http()?
            .no_proxy()
            .timeout(TIMEOUT)
            .connect_timeout(TIMEOUT / 6)
            .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
            .default_headers(reason::headers(target.reason.as_deref())?)
            .build()
            .map_err(anyhow::Error::from)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(anyhow::Error::from)?;
        Ok(NodeClient { url: target.url, token: target.token, http, runtime })
    }

    /// `GET /api/v1/<path>`. Path segments and query values are percent-encoded.
    pub fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CommandFailure> {
        let body = self.call(Method::GET, path, query)?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// `GET /api/v1/files/<file>/<what>`.
    pub fn get_file<T: DeserializeOwned>(
        &self,
        file: &FileName,
        what: &str,
    ) -> Result<T, CommandFailure> {
        self.call_file(Method::GET, file, what)
    }

    /// `PUT /api/v1/files/<file>/<what>` without a body. `force` overrides a refusal.
    pub fn put_file<T: DeserializeOwned>(
        &self,
        file: &FileName,
        what: &str,
        force: bool,
    ) -> Result<T, CommandFailure> {
        let mut url = self.url_of_file(file, what);
        url.set_query(force.then_some("force=true"));
        let body = self.call_url(Method::PUT, url)?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// `DELETE /api/v1/files/<file>/<what>`.
    pub fn delete_file<T: DeserializeOwned>(
        &self,
        file: &FileName,
        what: &str,
    ) -> Result<T, CommandFailure> {
        self.call_file(Method::DELETE, file, what)
    }

    fn call_file<T: DeserializeOwned>(
        &self,
        method: Method,
        file: &FileName,
        what: &str,
    ) -> Result<T, CommandFailure> {
        let body = self.call_url(method, self.url_of_file(file, what))?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    fn url_of_file(&self, file: &FileName, what: &str) -> Url {
        let mut url = self.url_of(&["files"]);
        // The name has its own encoding, because it may contain any bytes.
        let path = format!("{}/{}/{what}", url.path(), file.to_percent());
        url.set_path(&path);
        url
    }

    /// `POST /api/v1/<path>` without a body, for a call with an empty answer.
    pub fn post_for_nothing(&self, path: &[&str]) -> Result<(), CommandFailure> {
        self.call(Method::POST, path, &[]).map(drop)
    }

    /// `POST /api/v1/<path>`, without a body.
    pub fn post<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CommandFailure> {
        self.post_with(path, &[])
    }

    /// Like [`NodeClient::post`], with a query.
    pub fn post_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CommandFailure> {
        let body = self.call(Method::POST, path, query)?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// `PUT /api/v1/<path>` with the body `wanted`.
    pub fn put<T: DeserializeOwned>(
        &self,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        self.with_body(Method::PUT, path, wanted)
    }

    /// `PATCH /api/v1/<path>` with the body `wanted`.
    pub fn patch<T: DeserializeOwned>(
        &self,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        self.with_body(Method::PATCH, path, wanted)
    }

    fn with_body<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        let body = serde_json::to_vec(wanted).map_err(anyhow::Error::from)?;
        let request = self.http.request(method, self.url_of(path));
        let body =
            self.send(request.header(header::CONTENT_TYPE, "application/json").body(body))?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// `POST /api/v1/<path>` with a body.
    pub fn post_body<T: DeserializeOwned>(
        &self,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        self.with_body(Method::POST, path, wanted)
    }

    /// `POST /api/v1/<path>` with a body that contains a `request_id`. It is repeated once if the
    /// outcome is unknown.
    pub fn post_named<T: DeserializeOwned>(
        &self,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        let body = serde_json::to_vec(wanted).map_err(anyhow::Error::from)?;
        let request = || {
            let request = self.http.post(self.url_of(path));
            request.header(header::CONTENT_TYPE, "application/json").body(body.clone())
        };
        let exchanged = match self.exchange(request()) {
            Ok((StatusCode::GATEWAY_TIMEOUT, _)) => self.exchange(request()),
            Err(error) if !error.is_connect() => self.exchange(request()),
            known => known,
        };
        let body = self.read(exchanged)?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// `DELETE /api/v1/<path>`, for a call that answers with a body.
    pub fn remove<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CommandFailure> {
        let body = self.call(Method::DELETE, path, &[])?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// `DELETE /api/v1/<path>`, for a call with an empty answer.
    pub fn delete(&self, path: &[&str]) -> Result<(), CommandFailure> {
        self.call(Method::DELETE, path, &[]).map(drop)
    }

    /// Reads as many items as `page` requests, over several pages if needed.
    pub fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        page: &PageArgs,
    ) -> Result<Page<T>, CommandFailure> {
        let wanted = if page.all { u64::MAX } else { page.limit };
        let mut list = Page { items: Vec::new(), next: page.cursor.clone().map(Cursor) };
        loop {
            let missing = wanted.saturating_sub(list.items.len() as u64);
            let limit = missing.min(PAGE).to_string();
            let mut query = query.to_vec();
            query.push(("limit", &limit));
            query.extend(list.next.as_ref().map(|cursor| ("cursor", cursor.0.as_str())));
            let more: Page<T> = self.get(path, &query)?;
            if more.next.is_some() && more.next == list.next {
                return Err(self.failed("it sends the same page again without end".to_owned()));
            }
            list.items.extend(more.items);
            list.next = more.next;
            if list.next.is_none() || list.items.len() as u64 >= wanted {
                return Ok(list);
            }
        }
    }

    /// Reads a whole list, over several pages if needed.
    pub fn list_all<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Page<T>, CommandFailure> {
        let all = PageArgs { limit: DEFAULT_LIMIT, all: true, cursor: None };
        self.list(path, query, &all)
    }

    /// `DELETE /api/v1/<path>` with a query, for a call that answers with a body.
    pub fn remove_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CommandFailure> {
        let body = self.call(Method::DELETE, path, query)?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    fn call(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<u8>, CommandFailure> {
        let mut url = self.url_of(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.call_url(method, url)
    }

    /// The URL of an API path.
    fn url_of(&self, path: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        url
    }

    fn call_url(&self, method: Method, url: Url) -> Result<Vec<u8>, CommandFailure> {
        self.send(self.http.request(method, url))
    }

    fn send(&self, request: RequestBuilder) -> Result<Vec<u8>, CommandFailure> {
        self.read(self.exchange(request))
    }

    /// Sends a request. Returns status and body of the answer.
    fn exchange(&self, mut request: RequestBuilder) -> reqwest::Result<(StatusCode, Vec<u8>)> {
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token.bearer());
        }
        self.runtime.block_on(async {
            let response = request.send().await?;
            let status = response.status();
            Ok((status, response.bytes().await?.into()))
        })
    }

    fn read(
        &self,
        exchanged: reqwest::Result<(StatusCode, Vec<u8>)>,
    ) -> Result<Vec<u8>, CommandFailure> {
        match exchanged {
            // A success may have no body.
            Ok((status, body)) if status.is_success() && (body.is_empty() || is_json(&body)) => {
                Ok(body)
            }
            Ok((NEEDS_TLS, _)) => Err(CommandFailure::Unreachable {
                url: self.url.to_string(),
                why: "it accepts calls over TLS only: begin the URL with https://".to_owned(),
            }),
            Ok((status, body)) if !status.is_server_error() && !is_json(&body) => {
                Err(self.no_node(status))
            }
            Ok((status, body)) => Err(self.problem(status, &body)),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    fn problem(&self, status: StatusCode, body: &[u8]) -> CommandFailure {
        let problem = serde_json::from_slice(body).unwrap_or_else(|_| Problem {
            kind: "about:blank".to_owned(),
            title: format!("it answered {status}"),
            status: status.as_u16(),
            detail: String::new(),
            token_file: None,
        });
        self.refused(problem)
    }

    /// The failure when `status` did not come from a node, but from a worker or another program.
    fn no_node(&self, status: StatusCode) -> CommandFailure {
        let mut beat = self.url.clone();
        beat.set_path("/hb");
        // Workers and old cfws answer this without a token.
        let beat = self.exchange(self.http.head(beat));
        let is_worker =
            matches!(beat, Ok((beat, _)) if beat.is_success() && status.is_client_error());
        let what = if is_worker {
            format!("{} is a worker, not a node", self.url)
        } else {
            format!(
                "No Reelyard node answers at {}: the answer was {status}, not one of the API",
                self.url
            )
        };
        CommandFailure::NoNode(format!("{what}. Name the node's address by --url or REELYARD_URL."))
    }

    /// Turns a problem into a failure: 4xx means refused, others mean that the node failed.
    pub fn refused(&self, problem: Problem) -> CommandFailure {
        if (400..500).contains(&problem.status) {
            CommandFailure::Refused(problem)
        } else {
            self.failed(problem.to_string())
        }
    }

    fn failed(&self, why: String) -> CommandFailure {
        CommandFailure::Node { url: self.url.to_string(), why: crate::cli::output::plain(&why) }
    }

    fn unreachable(&self, error: &reqwest::Error) -> CommandFailure {
        if let Some(trouble) = TlsTrouble::of(error) {
            let why = tls_in_words(&trouble);
            return CommandFailure::Unreachable { url: self.url.to_string(), why };
        }
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        CommandFailure::Unreachable { url: self.url.to_string(), why: cause.to_string() }
    }
}

/// A failure of TLS with its remedy.
fn tls_in_words(trouble: &TlsTrouble) -> String {
    let remedy = match trouble {
        TlsTrouble::NoTls => "begin the URL with http://",
        TlsTrouble::UnknownAuthority => "name the certificate of that authority by --ca-file",
        TlsTrouble::Other(_) => return trouble.to_string(),
        TlsTrouble::Expired | TlsTrouble::NotYetValid | TlsTrouble::OtherName => {
            trouble.remedy_at_server().unwrap_or_default()
        }
    };
    format!("{trouble}: {remedy}")
}

/// Whether a body is JSON, like every answer of the API.
fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}
