//! The link to the program that orders copies. That is a Reelyard node (long poll and reports) or an old
//! cfm (`GET /tasks` and `PATCH /tasks/{id}`). The link finds out by its requests which of them answers.

mod answer;
mod backoff;
mod cfm;
mod reelyard;
mod url;

pub use super::node_link::url::{BadNodeUrl, NodeUrl};

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::manager::ManagerId;
use reelyard_core::token::SharedToken;
use reelyard_protocol::http_client;
use reelyard_protocol::signed_call::SignedCaller;
use reelyard_protocol::worker::{ManagerAction, Report, TaskId};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

use crate::downloader::copying::order::CopyOrder;
use crate::downloader::managers::epoch_guard::{EpochGuard, NotObeyed};
use crate::downloader::managers::node_link::backoff::PollBackoff;
use crate::downloader::managers::seen_managers::SeenManagersHandle;
use crate::downloader::{DownloaderHandle, LinkWork, ReportsDelivered, TakeOrders};

/// How often a line that speaks cfm's language asks whether a Reelyard node answers there now.
const ASK_FOR_REELYARD_EVERY: Duration = Duration::from_secs(60);

/// The largest number of reports in one call.
const MOST_REPORTS: usize = 256;

/// The least time between two deliveries of reports. With small files many reports come at a time, and
/// go into one call.
const REPORTS_BREATH: Duration = Duration::from_millis(5);

/// The same for questions for orders, each of which is answered with the whole list.
const ORDERS_BREATH: Duration = Duration::from_millis(10);

/// A long poll that answers sooner than this without anything new is not asked the same again at once.
const TOO_SOON: Duration = Duration::from_millis(100);

/// The settings of the link.
#[derive(Clone, Debug)]
pub struct NodeLinkSettings {
    /// Nodes of one cluster: any will do; the next is tried when one does not answer.
    pub nodes: Vec<NodeUrl>,
    /// Address of this worker, as the yard knows it.
    pub host: HostAddr,
    /// Where it is noted whose orders are taken.
    pub managers: SeenManagersHandle,
    /// Shared with the node: calls are signed with it, and orders count only from a node that proves
    /// to know it. It is never sent.
    pub token: LiveSetting<Option<SharedToken>>,
    /// How long a long poll is held.
    pub wait: Duration,
    /// How often an old cfm is asked (`downloader_sleep_sec`, spec 3.2).
    pub poll_interval: LiveSetting<Duration>,
    /// Where the state of the line is published.
    pub view: Arc<ArcSwap<NodeLinkView>>,
}

/// What answers at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeProtocol {
    /// No node has answered yet.
    #[default]
    Unknown,
    /// A Reelyard node.
    Reelyard,
    /// An old cfm: it is polled for tasks, and has no long poll.
    Cfm,
}

/// The observable state of the line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeLinkView {
    /// The node that is asked.
    pub node: String,
    /// The protocol in use.
    pub speaks: NodeProtocol,
    /// When it last answered.
    pub answered: Option<Millis>,
    /// The last failure since then.
    pub error: Option<String>,
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
enum LinkError {
    #[error("cannot be reached: {0}")]
    Unreachable(#[from] reqwest::Error),
    #[error("answered with status {0}: {1}")]
    Status(u16, String),
    #[error("sent an unreadable answer: {0}")]
    Garbled(String),
    #[error("sent more than {0} bytes, which no node does: check which program listens there")]
    TooLong(u64),
    #[error("requires a token, and this worker has none: set the same token on both")]
    TokenWanted,
    #[error("has another token than this worker: set the same token on both")]
    OtherToken,
    #[error(
        "does not prove that it knows this worker's token: it has no token, or another program listens \
         there; set the same token on both"
    )]
    NotProved,
    #[error(transparent)]
    NotObeyed(#[from] NotObeyed),
    #[error("the state store failed: {0}")]
    Store(String),
    /// There is no long poll: an old cfm, most likely.
    #[error("does not support long polls")]
    NotReelyard,
    /// Taken for an old cfm, it is a Reelyard node.
    #[error("is a Reelyard node")]
    IsReelyard,
}

/// The running line.
pub struct NodeLink {
    line: Arc<NodeLinkShared>,
    tasks: Vec<JoinHandle<()>>,
}

/// The state that the two tasks of a link share.
struct NodeLinkShared {
    settings: NodeLinkSettings,
    http: reqwest::Client,
    signed: SignedCaller,
    epochs: EpochGuard,
    clock: Clock,
    /// Index of the node that is asked.
    current: AtomicUsize,
    /// The protocol in use; both tasks follow it.
    speaks: watch::Sender<NodeProtocol>,
}

impl NodeLink {
    /// Begins to ask for orders and to deliver reports. Needs at least one node in `settings` and a
    /// tokio runtime.
    pub fn start(
        settings: NodeLinkSettings,
        epochs: EpochGuard,
        clock: Clock,
        downloads: DownloaderHandle,
    ) -> Result<Self, reqwest::Error> {
        let http = http_client::without_tls()
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let line = Arc::new(NodeLinkShared {
            settings,
            http,
            signed: SignedCaller::default(),
            epochs,
            clock,
            current: AtomicUsize::new(0),
            speaks: watch::Sender::default(),
        });
        let asking = ask_for_orders(Arc::clone(&line), downloads.clone());
        let telling = deliver_reports(Arc::clone(&line), downloads);
        Ok(NodeLink { line, tasks: vec![tokio::spawn(asking), tokio::spawn(telling)] })
    }

    /// The observable state.
    pub fn view(&self) -> Arc<NodeLinkView> {
        self.line.settings.view.load_full()
    }

    /// Ends the link. Undelivered reports remain in the store.
    pub fn stop(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for NodeLink {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Requests orders without end and hands them to the downloader.
async fn ask_for_orders(line: Arc<NodeLinkShared>, downloads: DownloaderHandle) {
    let mut work = downloads.work();
    let mut backoff = PollBackoff::new();
    let mut reelyard_asked = Instant::now();
    let mut last: Option<Vec<CopyOrder>> = None;
    // Sent back only to a node that has sent such a number.
    let mut rates: Option<u32> = None;
    let mut breath = min_interval(ORDERS_BREATH);
    loop {
        breath.tick().await;
        let node = line.node();
        if *line.speaks.borrow() == NodeProtocol::Cfm
            && reelyard_asked.elapsed() > ASK_FOR_REELYARD_EVERY
        {
            line.speaks.send_replace(NodeProtocol::Unknown);
        }
        let known = work.borrow().known.clone();
        let speaks = *line.speaks.borrow();
        let asked = Instant::now();
        let answer = match speaks {
            NodeProtocol::Unknown => {
                reelyard_asked = asked;
                // At once: reports from before a restart wait for knowing who answers.
                reelyard::orders(&line, &known, None, Duration::ZERO).await
            }
            NodeProtocol::Reelyard => {
                reelyard::orders(&line, &known, rates, line.settings.wait).await
            }
            NodeProtocol::Cfm => cfm::orders(&line).await.map(|orders| (orders, None)),
        };
        match answer {
            Ok((orders, told)) => {
                rates = told;
                backoff.reset();
                line.answered(if speaks == NodeProtocol::Cfm {
                    NodeProtocol::Cfm
                } else {
                    NodeProtocol::Reelyard
                });
                let nothing_new = last.as_ref() == Some(&orders);
                last = Some(orders.clone());
                if downloads.addr().send(TakeOrders { orders }).await.is_err() {
                    // The downloader panicked over them, and is restarted.
                    last = None;
                    tokio::time::sleep(backoff.next()).await;
                    continue;
                }
                if speaks == NodeProtocol::Cfm {
                    pause_between_polls(&line, &mut work).await;
                } else if nothing_new && asked.elapsed() < TOO_SOON {
                    // Mostly the node already knows of an end whose report is just being taken
                    // here: once it is, there is a new question to ask, and no reason to wait.
                    let is_new = |work: &LinkWork| work.known != known;
                    let _ = tokio::time::timeout(TOO_SOON, work.wait_for(is_new)).await;
                }
            }
            Err(LinkError::NotReelyard) => {
                line.speaks.send_replace(NodeProtocol::Cfm);
            }
            Err(LinkError::IsReelyard) => {
                line.speaks.send_replace(NodeProtocol::Unknown);
                tokio::time::sleep(backoff.next()).await;
            }
            Err(error) => {
                line.failed(node, &error);
                // Another program may answer there when one answers again.
                line.speaks.send_replace(NodeProtocol::Unknown);
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }
}

/// Ticks at once after a pause, and otherwise so long after the last time.
fn min_interval(length: Duration) -> Interval {
    let mut breath = tokio::time::interval(length);
    breath.set_missed_tick_behavior(MissedTickBehavior::Delay);
    breath
}

/// Waits before the next poll of an old cfm: for the poll interval, or, as cfw does, until every known
/// task is done and reported (spec 4.9).
async fn pause_between_polls(line: &NodeLinkShared, work: &mut watch::Receiver<LinkWork>) {
    let interval = *line.settings.poll_interval.now();
    if work.borrow().known.is_empty() {
        return tokio::time::sleep(interval).await;
    }
    // Either way it is time to ask again.
    let _ = tokio::time::timeout(interval, work.wait_for(|work| work.known.is_empty())).await;
}

/// Delivers reports without end, in order, each until it is taken.
async fn deliver_reports(line: Arc<NodeLinkShared>, downloads: DownloaderHandle) {
    let mut work = downloads.work();
    let mut backoff = PollBackoff::new();
    let mut speaks = line.speaks.subscribe();
    let mut breath = min_interval(REPORTS_BREATH);
    loop {
        // Both fail only when the worker is ending.
        if speaks.wait_for(|speaks| *speaks != NodeProtocol::Unknown).await.is_err()
            || work.wait_for(|work| !work.reports.is_empty()).await.is_err()
        {
            return;
        }
        breath.tick().await;
        let sent: Vec<Report> = work.borrow().reports.iter().take(MOST_REPORTS).cloned().collect();
        let (node, speaks) = (line.node(), *speaks.borrow());
        let answer = match speaks {
            // The node has gone meanwhile. Another program may answer in its place, and it must not get
            // a token.
            NodeProtocol::Unknown => continue,
            NodeProtocol::Cfm => cfm::deliver(&line, &sent).await,
            NodeProtocol::Reelyard => reelyard::deliver(&line, &sent).await,
        };
        match answer {
            Ok(cancelled) => {
                backoff.reset();
                if downloads.addr().send(ReportsDelivered { sent, cancelled }).await.is_err() {
                    // The downloader panicked, and is restarted with the reports in the store.
                    tokio::time::sleep(backoff.next()).await;
                }
            }
            // The reports wait until that is known to both tasks.
            Err(LinkError::IsReelyard) => {
                line.speaks.send_replace(NodeProtocol::Unknown);
            }
            Err(error) => {
                line.failed(node, &error);
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }
}

impl NodeLinkShared {
    /// The number of the node that is asked, counting on over the end of the list.
    fn node(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// The address of `path` at the node that is asked.
    fn url(&self, path: &str) -> String {
        let nodes = &self.settings.nodes;
        let node = nodes.get(self.node() % nodes.len().max(1)).map_or("", NodeUrl::as_str);
        format!("{node}{path}")
    }

    fn answered(&self, speaks: NodeProtocol) {
        self.speaks.send_replace(speaks);
        let node = self.url("");
        let before = self.settings.view.load();
        if before.speaks != speaks || before.node != node || before.error.is_some() {
            tracing::info!(node, ?speaks, "the node answers");
        }
        let answered = Some(self.clock.now());
        let view = NodeLinkView { node, speaks, answered, error: None };
        self.settings.view.store(Arc::new(view));
    }

    /// Logs a failure and switches to the node after `failed`, unless that was done already. Both tasks
    /// notice the same failure.
    fn failed(&self, failed: usize, error: &LinkError) {
        let node = self.url("");
        let before = self.settings.view.load();
        let text = with_causes(error);
        if before.error.as_deref() != Some(&text) {
            tracing::warn!(node, error = text, "the node cannot be used; trying again");
        }
        let speaks = *self.speaks.borrow();
        let answered = before.answered;
        self.settings.view.store(Arc::new(NodeLinkView {
            node,
            speaks,
            answered,
            error: Some(text),
        }));
        let next = failed.wrapping_add(1);
        // An error means that the other task was first.
        let _ = self.current.compare_exchange(failed, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes whose orders were taken just now.
    fn took_orders_of(&self, manager: Option<ManagerId>) {
        self.settings.managers.record(
            manager,
            self.url(""),
            ManagerAction::Orders,
            self.clock.now(),
        );
    }

    /// Refuses an answer of a former leader. A new epoch is durable afterwards.
    async fn accept_leader(
        &self,
        manager: Option<ManagerId>,
        epoch: Epoch,
    ) -> Result<(), LinkError> {
        let (epochs, cluster) = (self.epochs.clone(), manager.map(|manager| manager.cluster));
        match tokio::task::spawn_blocking(move || epochs.answered(cluster, epoch)).await {
            Ok(Ok(heard)) => Ok(heard?),
            Ok(Err(error)) => Err(LinkError::Store(error.to_string())),
            Err(error) => Err(LinkError::Store(error.to_string())),
        }
    }
}

/// reqwest hides why a connection failed behind `source`.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// The ids of tasks as one list of the long poll's query.
fn listed(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::to_string).collect::<Vec<_>>().join(",")
}
