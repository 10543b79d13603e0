//! A client of the API of a whole cluster: it calls the first node that answers.
//!
//! - A node that refuses connections, or answers nothing for three seconds, is left for the next one. So is a node that
//!   cannot answer now, for example because it knows no leader.
//! - A request without a request id is sent to one node only, unless it changes nothing. Before that the node is looked
//!   at.
//! - Each answer names the members of the cluster. The client calls them, too, and stores them nowhere.

mod answer;
mod failure;
mod known_nodes;
mod request;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reelyard_api::REPEATED;
use reelyard_core::token::SharedToken;
use reelyard_protocol::node_address::{MEMBERS_HEADER, NodeAddresses};
use reelyard_protocol::node_silence::SilenceLooks;
use reqwest::{ClientBuilder, Method, RequestBuilder, Response, Url, header};
use tokio::time::{sleep, timeout};

use failure::FailedAttempt;
use known_nodes::KnownNodes;

pub use answer::{AnswerBody, ApiAnswer};
pub use failure::{NoNodeAnswered, TriedNode, cause_of, in_words};
pub use reelyard_protocol::node_address::is_loopback;
pub use request::{ANSWER_TIME, ApiRequest, ApiTarget, Repetition};

/// Time limit for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// TCP keepalive: the idle time before the first probe, the interval of the probes, and the number
/// of failed probes that end the connection. A request for boxes may wait very long; this detects
/// within about half a minute that the machine or network of the node is gone.
const QUIET: Duration = Duration::from_secs(15);
const PROBE: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// TCP user timeout: the longest time without an acknowledgement of sent data.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// A silent node is noticed within 3 s, if another one is known.
const LOOKS: SilenceLooks =
    SilenceLooks { interval: Duration::from_secs(1), patience: Duration::from_secs(2) };

/// Pause before all nodes are asked again, if none of them says when.
const PAUSE: Duration = Duration::from_secs(1);

/// A client of the nodes of one cluster.
#[derive(Debug)]
pub struct ClusterClient {
    http: reqwest::Client,
    token: Option<SharedToken>,
    nodes: KnownNodes,
    has_answered: AtomicBool,
    notice: fn(&str),
}

impl ClusterClient {
    /// A client that does not connect yet. `http` trusts the certificates of the nodes. `notice` gets a line when
    /// another node is used than before.
    ///
    /// # Errors
    /// The HTTP client cannot be created.
    pub fn new(
        http: ClientBuilder,
        nodes: NodeAddresses,
        token: Option<SharedToken>,
        notice: fn(&str),
    ) -> reqwest::Result<Self> {
        let http = http
            .no_proxy()
            .connect_timeout(CONNECT)
            .tcp_keepalive(QUIET)
            .tcp_keepalive_interval(PROBE)
            .tcp_keepalive_retries(PROBES)
            .tcp_user_timeout(SILENCE_LIMIT)
            .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let nodes = KnownNodes::new(nodes);
        Ok(ClusterClient { http, token, nodes, has_answered: AtomicBool::new(false), notice })
    }

    /// Gives no lines any more, because they would disturb the screen.
    pub fn silence_notices(&mut self) {
        self.notice = |_| ();
    }

    /// The node in use.
    pub fn current(&self) -> Url {
        self.nodes.current()
    }

    /// Whether another node could be called.
    pub fn has_others(&self) -> bool {
        self.nodes.in_order().len() > 1
    }

    /// Calls another node than this one next.
    pub fn leave(&self, node: &Url) {
        self.nodes.leave(node);
    }

    /// Learns the members before a call that may wait long for its answer. A failure does not matter: the call has it,
    /// too.
    pub async fn learn_members(&self) {
        if !self.has_answered.load(Ordering::Relaxed) {
            let whoami = ApiRequest::new(Method::GET, ApiTarget::of(&["whoami"]));
            let _ = self.call(&whoami.within(LOOKS.interval + LOOKS.patience)).await;
        }
    }

    /// Sends a request to one node after the other, until one answers. Each is asked at most once. A refusal is an
    /// answer.
    ///
    /// # Errors
    /// No node answered.
    pub async fn call(&self, request: &ApiRequest<'_>) -> Result<ApiAnswer, NoNodeAnswered> {
        let nodes = self.nodes.in_order();
        let (mut tried, mut was_asked, mut refusal) = (Vec::new(), false, None);
        for node in &nodes {
            let outcome = match self.is_ready_for(node, request).await {
                Ok(()) => self.attempt(node, request).await,
                Err(silent) => Err(silent),
            };
            let why = match outcome {
                Ok(answer) => match answer.is_to_be_asked_elsewhere(request.repetition) {
                    Some(problem) if nodes.len() > 1 => {
                        was_asked |= problem.leaves_outcome_open();
                        refusal = Some(answer);
                        problem.to_string()
                    }
                    _ => {
                        self.note_use(node, &tried);
                        return Ok(ApiAnswer { tried, was_asked, ..answer });
                    }
                },
                Err(failed) => {
                    was_asked |= failed.was_asked;
                    let ends = failed.was_asked && request.repetition == Repetition::Never;
                    if ends {
                        tried.push(TriedNode { url: node.clone(), why: failed.why });
                        let stopped_early = nodes.len() > 1;
                        return Err(NoNodeAnswered { tried, was_asked, stopped_early });
                    }
                    failed.why
                }
            };
            tried.push(TriedNode { url: node.clone(), why });
        }
        match refusal {
            Some(answer) => Ok(ApiAnswer { tried, was_asked, ..answer }),
            None => Err(NoNodeAnswered { tried, was_asked, stopped_early: false }),
        }
    }

    /// Like [`ClusterClient::call`]. While nodes refuse because they cannot answer now, all are asked again, until
    /// `until`. If the answer to a request with a request id is lost, the only node is asked once more, too.
    ///
    /// # Errors
    /// No node answered.
    pub async fn call_until(
        &self,
        request: &ApiRequest<'_>,
        until: Instant,
    ) -> Result<ApiAnswer, NoNodeAnswered> {
        let mut was_repeated = false;
        loop {
            let called = self.call(request).await;
            let is_lost = match &called {
                Ok(answer) => {
                    answer.status.is_server_error() && answer.problem().leaves_outcome_open()
                }
                Err(nobody) => nobody.was_asked,
            };
            if request.repetition == Repetition::OnceById && is_lost && !was_repeated {
                was_repeated = true;
                continue;
            }
            let answer = called?;
            let pause = answer.retry_after.unwrap_or(PAUSE);
            let is_passing = answer.is_to_be_asked_elsewhere(request.repetition).is_some();
            if !is_passing || !self.has_others() || Instant::now() + pause >= until {
                return Ok(answer);
            }
            sleep(pause).await;
        }
    }

    /// The next part of a stream; none at its end.
    ///
    /// # Errors
    /// The connection failed, the node is silent while another one is known, or nothing came for `quiet`.
    pub async fn next_part(
        &self,
        node: &Url,
        stream: &mut Response,
        quiet: Duration,
    ) -> Result<Option<bytes::Bytes>, NoNodeAnswered> {
        match timeout(quiet, self.unless_silent(node, stream.chunk())).await {
            Ok(Ok(part)) => Ok(part),
            Ok(Err(failed)) => Err(NoNodeAnswered::asked(node, failed.why)),
            Err(_) => Err(NoNodeAnswered::asked(node, "it sends nothing any more")),
        }
    }

    /// Whether a program at this node answers `path` without a token.
    pub async fn answers(&self, node: &Url, path: &str) -> bool {
        let mut url = node.clone();
        url.set_path(path);
        let answer = timeout(ANSWER_TIME, self.http.head(url).send()).await;
        matches!(answer, Ok(Ok(answer)) if answer.status().is_success())
    }

    /// Looks at a node before a request that it must not get in vain.
    async fn is_ready_for(
        &self,
        node: &Url,
        request: &ApiRequest<'_>,
    ) -> Result<(), FailedAttempt> {
        if request.repetition != Repetition::Never || !self.has_others() {
            return Ok(());
        }
        let look = LOOKS.look(&self.http, &health_of(node)).await;
        look.map_err(|error| FailedAttempt { was_asked: false, ..FailedAttempt::of_look(&error) })
    }

    async fn attempt(
        &self,
        node: &Url,
        request: &ApiRequest<'_>,
    ) -> Result<ApiAnswer, FailedAttempt> {
        let exchange = async {
            let response = self.built(node, request).send().await?;
            let (status, head) = (response.status(), response.headers().clone());
            if let Some(members) = head.get(MEMBERS_HEADER).and_then(|value| value.to_str().ok()) {
                self.nodes.learn(node, members);
            }
            let body = if request.is_stream && status.is_success() {
                AnswerBody::Stream(response)
            } else {
                AnswerBody::Whole(response.bytes().await?.into())
            };
            Ok(ApiAnswer::new(node, status, &head, body))
        };
        match timeout(request.limit, self.unless_silent(node, exchange)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FailedAttempt { why: "it does not answer".to_owned(), was_asked: true }),
        }
    }

    fn built(&self, node: &Url, request: &ApiRequest<'_>) -> RequestBuilder {
        let url = request.target.at(node);
        let mut built = self.http.request(request.method.clone(), url);
        built = built.headers(request.headers.clone());
        if request.was_sent.swap(true, Ordering::Relaxed) {
            built = built.header(REPEATED, "true");
        }
        if let Some(body) = &request.body {
            built = built.header(header::CONTENT_TYPE, "application/json").body(body());
        }
        match &self.token {
            Some(token) => built.header(header::AUTHORIZATION, token.bearer()),
            None => built,
        }
    }

    /// The outcome of `work`, unless the node is silent meanwhile and another one is known.
    async fn unless_silent<T>(
        &self,
        node: &Url,
        work: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, FailedAttempt> {
        if !self.has_others() {
            return Ok(work.await?);
        }
        let health = health_of(node);
        tokio::select! {
            biased;
            outcome = work => Ok(outcome?),
            error = LOOKS.until_silent(&self.http, &health) => Err(FailedAttempt::of_look(&error)),
        }
    }

    fn note_use(&self, node: &Url, tried: &[TriedNode]) {
        let was_in_use = self.has_answered.swap(true, Ordering::Relaxed);
        if self.nodes.change_to(node) && was_in_use {
            (self.notice)(&format!("{}; going on at {node}", in_words(tried)));
        }
    }
}

/// The URL that each node answers at once, without a token.
fn health_of(node: &Url) -> String {
    format!("{}/healthz", node.as_str().trim_end_matches('/'))
}
