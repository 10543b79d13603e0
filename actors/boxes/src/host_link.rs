//! A node's link to the workers that host its boxes: requests of the BoxLeaseActor go over HTTP.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use reelyard_core::host::HostAddr;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::manager::{ManagerIdentity, YardId};
use reelyard_core::open_files;
use reelyard_core::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_core::token::{SharedToken, WorkerKeys};
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxAdoptionRequest, BoxAdoptionResponse, BoxHosts, BoxInspection,
    BoxInspectionRequest, BoxInspectionResponse, HookAnswer, HookRunRequest, HookRunResponse,
    HookTarget, InspectBoxes, PoolName, ProbeFailure, ProbeHost, RunHook,
};
use reelyard_protocol::signed_call::{Addressee, SignedCaller};
use reelyard_protocol::tls::{HostTls, NEEDS_TLS};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

/// How many calls for hooks of one pool run at a time; further ones wait here. So a pool with hanging
/// hooks blocks no other pool.
const CALLS_PER_POOL: usize = 64;

/// How many boxes one call inspects.
const BOXES_PER_LOOK: usize = 4096;

/// The keep-alive interval of an idle connection. A hook may take long, and a dead worker sends nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The number of failed probes that end the connection.
const KEEP_ALIVE_RETRIES: u32 = 3;

/// An unused connection is closed after this time, before the worker closes it.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// The longest answer that is read, in bytes: all boxes of an inspection are dirty.
const LONGEST_ANSWER: usize = 16 << 20;

/// The longest time of a call. A worker has shorter time-outs for its hooks. This one is for a worker
/// that hangs: it neither answers nor closes the connection.
pub const LONGEST_CALL: Duration = Duration::from_secs(60 * 60);

/// How long a worker may take to record that boxes are given to a pool.
const LONGEST_ADOPTION: Duration = Duration::from_secs(20);

/// The settings of calls to workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxLinkSettings {
    /// The token that nodes share with workers that have none of their own: it signs calls. It is never sent itself.
    pub token: Option<SharedToken>,
    /// The hosts that are called over TLS.
    pub tls: HostTls,
    /// Time limit for a connection to a worker.
    pub connect_timeout: Duration,
    /// The longest time of a call.
    pub longest_call: Duration,
}

impl BoxLinkSettings {
    /// Makes calls with this token and this time limit for a connection, without TLS.
    pub fn new(token: Option<SharedToken>, connect_timeout: Duration) -> Self {
        let tls = HostTls::default();
        BoxLinkSettings { token, tls, connect_timeout, longest_call: LONGEST_CALL }
    }
}

/// The link to the workers that host boxes, supervised. Cheap to clone.
#[derive(Clone)]
pub struct BoxLink {
    actor: Supervised<BoxLinkActor>,
    client: LiveSetting<BoxHostClient>,
    keys: WorkerKeys,
}

impl BoxLink {
    /// Opens the link on the current arbiter. Create the BoxLeaseActor with [`BoxLink::hosts`].
    ///
    /// # Errors
    /// The HTTP client cannot be made.
    pub fn start(
        settings: BoxLinkSettings,
        identity: ManagerIdentity,
        keys: WorkerKeys,
    ) -> Result<Self, reqwest::Error> {
        let client = LiveSetting::at(BoxHostClient::new(settings, keys.clone())?);
        let of_actor = client.clone();
        let new = move || BoxLinkActor {
            client: of_actor.clone(),
            identity: identity.clone(),
            calls: HashMap::new(),
        };
        let actor = Supervised::start(Supervision::of("box-link"), new);
        Ok(BoxLink { actor, client, keys })
    }

    /// The routes to the actor that runs hooks.
    pub fn hosts(&self) -> BoxHosts {
        let actor = &self.actor;
        BoxHosts {
            run: actor.route(),
            look: actor.route(),
            adopt: actor.route(),
            probe: actor.route(),
        }
    }

    /// Uses these settings for calls from now on.
    ///
    /// # Errors
    /// The HTTP client cannot be created. Then the link continues with the old settings.
    pub fn change_settings(&self, settings: BoxLinkSettings) -> Result<(), reqwest::Error> {
        self.client.set(BoxHostClient::new(settings, self.keys.clone())?);
        Ok(())
    }

    /// The supervision status of its actor.
    pub fn status(&self) -> SupervisionStatus {
        self.actor.status()
    }
}

/// The HTTP client for workers.
struct BoxHostClient {
    http: Client,
    settings: BoxLinkSettings,
    keys: WorkerKeys,
    signed: SignedCaller,
}

impl BoxHostClient {
    fn new(settings: BoxLinkSettings, keys: WorkerKeys) -> Result<Self, reqwest::Error> {
        let http = settings
            .tls
            .http_client()
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.longest_call)
            .pool_idle_timeout(IDLE_CONNECTION)
            .tcp_keepalive(KEEP_ALIVE)
            .tcp_keepalive_interval(KEEP_ALIVE)
            .tcp_keepalive_retries(KEEP_ALIVE_RETRIES)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .user_agent(concat!("reelyard/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(BoxHostClient { http, settings, keys, signed: SignedCaller::default() })
    }

    /// Sends a call to a worker.
    async fn ask<A: DeserializeOwned>(
        &self,
        host: HostAddr,
        path: &str,
        what: &impl Serialize,
    ) -> Result<A, NoAnswer> {
        let garbled = |error: serde_json::Error| NoAnswer::Garbled(host, error.to_string());
        let body = serde_json::to_vec(what).map_err(garbled)?;
        let unreachable = |error: reqwest::Error| self.unreachable(host, &error);
        let request = self.http.post(self.settings.tls.url(host, path));
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let request = request.build().map_err(unreachable)?;
        let token = self.keys.of(host).or_else(|| self.settings.token.clone());
        let to = Addressee::Worker(host);
        let sent =
            self.signed.send(&self.http, token.as_ref(), to, request).await.map_err(unreachable)?;
        let answer = sent.response;
        let status = answer.status();
        let body = read(host, answer).await?;
        match status {
            StatusCode::OK => serde_json::from_slice(&body).map_err(garbled),
            NEEDS_TLS => Err(NoAnswer::Unreachable(host, HostTls::explain_missing(host))),
            StatusCode::UNAUTHORIZED => Err(NoAnswer::Token(host)),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Err(NoAnswer::Other(host)),
            other => {
                let output = String::from_utf8_lossy(&body).trim().to_owned();
                Err(NoAnswer::Status(host, other.as_u16(), output))
            }
        }
    }

    /// Whether a worker answers at all.
    async fn probe(&self, host: HostAddr, within: Duration) -> Result<(), NoAnswer> {
        let request = self.http.head(self.settings.tls.url(host, "/hb")).timeout(within);
        self.send(host, request).await.map(drop)
    }

    async fn send(&self, host: HostAddr, request: RequestBuilder) -> Result<Response, NoAnswer> {
        request.send().await.map_err(|error| self.unreachable(host, &error))
    }

    /// Why a call failed. A failure of TLS names the setting to change.
    fn unreachable(&self, host: HostAddr, error: &reqwest::Error) -> NoAnswer {
        match self.settings.tls.explain(host, error) {
            Some(why) => NoAnswer::Unreachable(host, why),
            None => NoAnswer::unreachable(host, error),
        }
    }
}

async fn read(host: HostAddr, mut answer: Response) -> Result<Vec<u8>, NoAnswer> {
    let mut body = Vec::new();
    while let Some(bytes) =
        answer.chunk().await.map_err(|error| NoAnswer::unreachable(host, &error))?
    {
        if body.len() + bytes.len() > LONGEST_ANSWER {
            return Err(NoAnswer::Garbled(host, "it is too long".to_owned()));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// Why a worker gave no answer about its boxes. The texts are for operators.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("the worker {0} cannot be reached: {1}")]
    Unreachable(HostAddr, String),
    #[error(
        "this node has no free file descriptor, so the worker {0} was not called. Raise LimitNOFILE or \
         \"ulimit -n\" of the node, and find the clients that hold connections open"
    )]
    NoDescriptor(HostAddr),
    #[error("the worker {0} expects another token: set the same token on the node and the worker")]
    Token(HostAddr),
    #[error(
        "{0} is not a worker that hosts boxes: it is an old cfw or an older version, upgrade it"
    )]
    Other(HostAddr),
    #[error("the worker {0} answered with status {1}: {2}")]
    Status(HostAddr, u16, String),
    #[error("the worker {0} sent an unreadable answer: {1}")]
    Garbled(HostAddr, String),
}

impl NoAnswer {
    fn unreachable(host: HostAddr, error: &reqwest::Error) -> Self {
        if open_files::are_exhausted(error) {
            return NoAnswer::NoDescriptor(host);
        }
        let mut cause: &dyn Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        NoAnswer::Unreachable(host, cause.to_string())
    }
}

/// The actor. It only limits the number of calls for each pool.
struct BoxLinkActor {
    client: LiveSetting<BoxHostClient>,
    identity: ManagerIdentity,
    calls: HashMap<(HostAddr, PoolName), Arc<Semaphore>>,
}

/// How long a call waits for the id of the cluster, which is drawn when a cluster leads for the first
/// time.
const UNNAMED: Duration = Duration::from_secs(5);

/// Adds the cluster to a target. The cluster is known a moment after this node began to lead.
async fn of_cluster(identity: ManagerIdentity, place: HookTarget) -> Result<HookTarget, String> {
    let named = async {
        loop {
            match identity.id() {
                Some(manager) => return manager.cluster,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let cluster: Result<YardId, _> = tokio::time::timeout(UNNAMED, named).await;
    match cluster {
        Ok(cluster) => Ok(HookTarget { cluster: Some(cluster), ..place }),
        Err(_) => Err("this node does not know the id of its cluster yet".to_owned()),
    }
}

impl BoxLinkActor {
    fn calls_for(&mut self, place: &HookTarget) -> Arc<Semaphore> {
        // Removes pools without running calls.
        self.calls.retain(|_, calls| Arc::strong_count(calls) > 1);
        let calls = self.calls.entry((place.host, place.pool.clone()));
        Arc::clone(calls.or_insert_with(|| Arc::new(Semaphore::new(CALLS_PER_POOL))))
    }
}

impl Actor for BoxLinkActor {
    type Context = Context<Self>;
}

impl Handler<RunHook> for BoxLinkActor {
    type Result = ResponseFuture<HookAnswer>;

    fn handle(&mut self, hook: RunHook, _: &mut Context<Self>) -> Self::Result {
        let (host, client, identity) = (hook.place.host, self.client.now(), self.identity.clone());
        let calls = self.calls_for(&hook.place);
        Box::pin(async move {
            // It is never closed.
            let _turn = calls.acquire().await;
            let place = match of_cluster(identity, hook.place).await {
                Ok(place) => place,
                Err(why) => return HookAnswer::Silent { why },
            };
            let hook = RunHook { place, ..hook };
            match client
                .ask::<HookRunResponse>(host, "/boxes/run", &HookRunRequest::from(hook))
                .await
            {
                Ok(answered) => answered.into(),
                Err(none) => HookAnswer::Silent { why: none.to_string() },
            }
        })
    }
}

impl Handler<InspectBoxes> for BoxLinkActor {
    type Result = ResponseFuture<Result<BoxInspection, String>>;

    fn handle(&mut self, look: InspectBoxes, _: &mut Context<Self>) -> Self::Result {
        let InspectBoxes { place, boxes, last_token } = look;
        let (host, client, identity) = (place.host, self.client.now(), self.identity.clone());
        Box::pin(async move {
            let place = of_cluster(identity, place).await?;
            let mut looked = BoxInspection::default();
            // A request without boxes makes sense too: the worker checks the ids of the pool.
            let parts = boxes.chunks(BOXES_PER_LOOK).chain(boxes.is_empty().then_some(&[][..]));
            for boxes in parts {
                let asked = BoxInspectionRequest::at(place.clone(), boxes.to_vec(), last_token);
                let answer = client.ask::<BoxInspectionResponse>(host, "/boxes/look", &asked).await;
                let answer: Result<BoxInspection, String> =
                    answer.map_err(|none| none.to_string()).and_then(Result::from);
                match answer {
                    Ok(more) => {
                        looked.boxes.extend(more.boxes);
                        looked.highest = looked.highest.max(more.highest);
                    }
                    // The others are requested again.
                    Err(_) if !looked.boxes.is_empty() => break,
                    Err(why) => return Err(why),
                }
            }
            Ok(looked)
        })
    }
}

impl Handler<AdoptBoxes> for BoxLinkActor {
    type Result = ResponseFuture<Result<Vec<PoolName>, String>>;

    fn handle(&mut self, adopt: AdoptBoxes, _: &mut Context<Self>) -> Self::Result {
        let (host, client, identity) = (adopt.place.host, self.client.now(), self.identity.clone());
        Box::pin(async move {
            let asked = BoxAdoptionRequest::of(AdoptBoxes {
                place: of_cluster(identity, adopt.place).await?,
            });
            let asking = client.ask::<BoxAdoptionResponse>(host, "/boxes/adopt", &asked);
            let answer = tokio::time::timeout(LONGEST_ADOPTION, asking).await;
            let answer = answer.map_err(|_| format!("the worker {host} does not answer"))?;
            answer.map_err(|none| none.to_string()).and_then(Result::from)
        })
    }
}

impl Handler<ProbeHost> for BoxLinkActor {
    type Result = ResponseFuture<Result<(), ProbeFailure>>;

    fn handle(&mut self, probe: ProbeHost, _: &mut Context<Self>) -> Self::Result {
        let client = self.client.now();
        Box::pin(async move {
            let ProbeHost { host, within } = probe;
            client.probe(host, within).await.map_err(|none| match none {
                NoAnswer::NoDescriptor(_) => ProbeFailure::NotAsked(none.to_string()),
                none => ProbeFailure::Silent(none.to_string()),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::event::Epoch;
    use reelyard_protocol::boxes::{BoxNumber, HookKind};

    use super::*;

    /// Each test has a process of its own: the limit is no other one's.
    #[actix::test]
    async fn a_lack_of_descriptors_is_not_blamed_on_the_worker() {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let identity = ManagerIdentity::of_node(1);
        identity.set_cluster(YardId(1));
        let link = BoxLink::start(
            BoxLinkSettings::new(None, Duration::from_secs(2)),
            identity,
            WorkerKeys::default(),
        )
        .unwrap();
        let hosts = link.hosts();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let host = HostAddr::from(listener.local_addr().unwrap());
        let before = getrlimit(Resource::Nofile);
        let none = rustix::process::Rlimit { current: Some(0), ..before };
        setrlimit(Resource::Nofile, none).unwrap();
        let within = Duration::from_secs(5);
        let probed = hosts.probe.recipient().send(ProbeHost { host, within }).await;
        let hook = RunHook {
            place: HookTarget {
                host,
                epoch: Epoch(1),
                pool: PoolName::new("p").unwrap(),
                hooks: None,
                cluster: None,
                ids: Vec::new(),
            },
            kind: HookKind::Init,
            number: BoxNumber(1),
            box_id: 1,
            token: None,
            holder: None,
            attempt: 1,
        };
        let run = hosts.run.recipient().send(hook).await;
        setrlimit(Resource::Nofile, before).unwrap();
        let output = "this node has no free file descriptor";
        let Ok(Err(ProbeFailure::NotAsked(why))) = probed else { panic!("{probed:?}") };
        assert!(why.starts_with(output), "{why}");
        let Ok(HookAnswer::Silent { why }) = run else { panic!("{run:?}") };
        assert!(why.starts_with(output), "{why}");
    }

    #[test]
    fn a_failed_hook_call_names_the_host_and_the_reason() {
        let host: HostAddr = "10.0.0.1:8888".parse().unwrap();
        for (none, why) in [
            (NoAnswer::Token(host), "expects another token"),
            (NoAnswer::Other(host), "not a worker that hosts boxes"),
            (NoAnswer::Status(host, 500, "x".to_owned()), "status 500: x"),
        ] {
            let message = none.to_string();
            assert!(message.contains("10.0.0.1:8888") && message.contains(why), "{message}");
        }
    }
}
