//! Client of the node API for the commands.

pub mod contexts;
mod download;
mod follow;
mod local_token;
mod node_args;
mod notice;
mod reason;
mod view_args;

pub use follow::{EventIds, ServerSentEvent};
pub use node_args::{NodeArgs, addresses_of};
pub use view_args::{ViewArgs, web_address, web_query};

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use reelyard_api::{Cursor, Page, Problem};
use reelyard_core::names::FileName;
use reelyard_protocol::node_address::NodeAddresses;
use reelyard_protocol::tls::NEEDS_TLS;
use reqwest::{Method, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::contexts::SavedContext;
use self::node_args::NodeTarget;
use self::notice::print_notice;
use crate::cli::output::plain;
use crate::cli::support::failure::CommandFailure;
use crate::cluster_client::{
    ANSWER_TIME, AnswerBody, ApiAnswer, ApiRequest, ApiTarget, ClusterClient, NoNodeAnswered,
    TriedNode, in_words,
};

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

/// A client of the nodes of one cluster.
pub struct NodeClient {
    cluster: ClusterClient,
    runtime: tokio::runtime::Runtime,
}

impl NodeClient {
    /// A client for the nodes of `args`. It does not connect yet.
    pub fn new(args: &NodeArgs) -> Result<Self, CommandFailure> {
        Self::of(args.target(Duration::ZERO)?)
    }

    /// A client for the nodes of a context, with its credential.
    pub fn of_context(context: &SavedContext) -> Result<Self, CommandFailure> {
        Self::of(NodeTarget::of_context(context)?)
    }

    /// A client that sends no credential, for a login.
    pub fn for_login(
        nodes: NodeAddresses,
        ca_file: Option<PathBuf>,
    ) -> Result<Self, CommandFailure> {
        Self::of(NodeTarget { nodes, token: None, ca_file, reason: None })
    }

    fn of(target: NodeTarget) -> Result<Self, CommandFailure> {
        let http = target.http()?.default_headers(reason::headers(target.reason.as_deref())?);
        let cluster = ClusterClient::new(http, target.nodes, target.token, print_notice)
            .map_err(anyhow::Error::from)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(anyhow::Error::from)?;
        Ok(NodeClient { cluster, runtime })
    }

    /// The same client for a whole screen, which a printed line would disturb.
    pub fn without_notices(mut self) -> Self {
        self.cluster.silence_notices();
        self
    }

    /// The node that answered last, or that is called first.
    pub fn node(&self) -> Url {
        self.cluster.current()
    }

    /// `GET /api/v1/<path>`. Path segments and query values are percent-encoded.
    pub fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CommandFailure> {
        self.read_call(Method::GET, ApiTarget::of(path).with_query(query))
    }

    /// `GET /api/v1/files/<file>/<what>`.
    pub fn get_file<T: DeserializeOwned>(
        &self,
        file: &FileName,
        what: &str,
    ) -> Result<T, CommandFailure> {
        self.read_call(Method::GET, ApiTarget::of_file(file, what))
    }

    /// `PUT /api/v1/files/<file>/<what>` without a body. `force` overrides a refusal.
    pub fn put_file<T: DeserializeOwned>(
        &self,
        file: &FileName,
        what: &str,
        force: bool,
    ) -> Result<T, CommandFailure> {
        let query: &[(&str, &str)] = if force { &[("force", "true")] } else { &[] };
        self.read_call(Method::PUT, ApiTarget::of_file(file, what).with_query(query))
    }

    /// `DELETE /api/v1/files/<file>/<what>`.
    pub fn delete_file<T: DeserializeOwned>(
        &self,
        file: &FileName,
        what: &str,
    ) -> Result<T, CommandFailure> {
        self.read_call(Method::DELETE, ApiTarget::of_file(file, what))
    }

    /// `POST /api/v1/<path>` without a body, for a call with an empty answer.
    pub fn post_for_nothing(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(), CommandFailure> {
        let target = ApiTarget::of(path).with_query(query);
        self.send(&ApiRequest::new(Method::POST, target)).map(drop)
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
        self.read_call(Method::POST, ApiTarget::of(path).with_query(query))
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

    /// `POST /api/v1/<path>` with a body.
    pub fn post_body<T: DeserializeOwned>(
        &self,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        self.with_body(Method::POST, path, wanted)
    }

    fn with_body<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        wanted: &impl Serialize,
    ) -> Result<T, CommandFailure> {
        let body = serde_json::to_vec(wanted).map_err(anyhow::Error::from)?;
        self.read_answer(&ApiRequest::with_json(method, ApiTarget::of(path), body))
    }

    /// `DELETE /api/v1/<path>`, for a call that answers with a body.
    pub fn remove<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CommandFailure> {
        self.remove_with(path, &[])
    }

    /// Like [`NodeClient::remove`], with a query.
    pub fn remove_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CommandFailure> {
        self.read_call(Method::DELETE, ApiTarget::of(path).with_query(query))
    }

    /// `DELETE /api/v1/<path>`, for a call with an empty answer.
    pub fn delete(&self, path: &[&str]) -> Result<(), CommandFailure> {
        self.send(&ApiRequest::new(Method::DELETE, ApiTarget::of(path))).map(drop)
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

    fn read_call<T: DeserializeOwned>(
        &self,
        method: Method,
        target: ApiTarget,
    ) -> Result<T, CommandFailure> {
        self.read_answer(&ApiRequest::new(method, target))
    }

    fn read_answer<T: DeserializeOwned>(
        &self,
        request: &ApiRequest<'_>,
    ) -> Result<T, CommandFailure> {
        let body = self.send(request)?;
        serde_json::from_slice(&body).map_err(|error| self.failed(format!("its answer: {error}")))
    }

    /// The body of the answer to a request.
    fn send(&self, request: &ApiRequest<'_>) -> Result<Vec<u8>, CommandFailure> {
        let until = Instant::now() + ANSWER_TIME;
        let answer = self.runtime.block_on(self.cluster.call_until(request, until))?;
        match answer.body {
            // A success may have no body.
            AnswerBody::Whole(body)
                if answer.status.is_success() && (body.is_empty() || is_json(&body)) =>
            {
                Ok(body)
            }
            _ => Err(self.runtime.block_on(self.refusal(&answer))),
        }
    }

    /// The failure that an answer means which is no success, or which no node gives.
    async fn refusal(&self, answer: &ApiAnswer) -> CommandFailure {
        if answer.status == NEEDS_TLS {
            let why = "it accepts calls over TLS only: begin the URL with https://";
            return NoNodeAnswered::asked(&answer.node, why).into();
        }
        let is_readable = matches!(&answer.body, AnswerBody::Whole(body) if is_json(body));
        if !answer.status.is_server_error() && !is_readable {
            return self.no_node(answer).await;
        }
        let problem = answer.problem();
        let others = answer.tried.iter().filter(|tried| tried.url != answer.node);
        let others: Vec<TriedNode> = others.cloned().collect();
        if others.is_empty() || !answer.status.is_server_error() {
            return self.refused_by(&answer.node, problem);
        }
        let detail = format!("{problem}. Tried before: {}", in_words(&others));
        self.refused_by(&answer.node, Problem { detail, ..problem })
    }

    /// The failure when an answer did not come from a node, but from a worker or another program.
    async fn no_node(&self, answer: &ApiAnswer) -> CommandFailure {
        let (node, status) = (&answer.node, answer.status);
        // Workers and old cfws answer this without a token.
        let is_worker = status.is_client_error() && self.cluster.answers(node, "/hb").await;
        let what = if is_worker {
            format!("{node} is a worker, not a node")
        } else {
            format!(
                "No Reelyard node answers at {node}: the answer was {status}, not one of the API"
            )
        };
        CommandFailure::NoNode(format!("{what}. Name the node's address by --url or REELYARD_URL."))
    }

    /// Turns a problem into a failure: 4xx means refused, others mean that the node failed.
    pub fn refused(&self, problem: Problem) -> CommandFailure {
        self.refused_by(&self.node(), problem)
    }

    fn refused_by(&self, node: &Url, problem: Problem) -> CommandFailure {
        if (400..500).contains(&problem.status) {
            CommandFailure::Refused(problem)
        } else {
            let why = plain(&problem.to_string());
            CommandFailure::Node { url: node.to_string(), why, kind: problem.known_kind() }
        }
    }

    fn failed(&self, why: String) -> CommandFailure {
        CommandFailure::Node { url: self.node().to_string(), why: plain(&why), kind: None }
    }
}

/// Whether a body is JSON, like every answer of the API.
fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}
