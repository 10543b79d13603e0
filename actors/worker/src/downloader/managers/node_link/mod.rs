//! The link to the program that orders copies. That is a Reelyard node (long poll and reports) or an old
//! cfm (`GET /tasks` and `PATCH /tasks/{id}`). The link finds out by its requests which of them answers.

mod answer;
mod backoff;
mod link_error;
mod link_nodes;
mod reelyard;
mod shared;
mod silence;
mod url;

pub(in crate::downloader) use answer::body_of;
pub(in crate::downloader) use link_error::LinkError;
pub(in crate::downloader) use shared::NodeLinkShared;
pub use shared::{NodeLinkSettings, NodeLinkView, NodeProtocol};
pub use url::NodeUrl;

use std::sync::Arc;
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_protocol::http_client;
use reelyard_protocol::signed_call::SignedCaller;
use reelyard_protocol::tls::TrustedAuthorities;
use reelyard_protocol::worker::Report;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};

use crate::downloader::copying::order::CopyOrder;
use crate::downloader::legacy::cfm_link as cfm;
use crate::downloader::managers::node_link::backoff::PollBackoff;
use crate::downloader::managers::node_link::link_nodes::LinkNodes;
use crate::downloader::managers::node_link::silence::unless_silent;
use crate::downloader::{DownloaderHandle, LinkWork, ReportsDelivered, TakeOrders};
use crate::kept_state::epoch_guard::EpochGuard;
use crate::kept_state::state_store::StateStore;

/// How often a link to an old cfm checks whether a Reelyard node answers there now.
const ASK_FOR_REELYARD_EVERY: Duration = Duration::from_secs(60);

/// The largest number of reports in one call.
pub const MOST_REPORTS: usize = 256;

/// The shortest time between two deliveries of reports. With small files many reports arrive together, and
/// one call sends them.
const REPORTS_MIN_INTERVAL: Duration = Duration::from_millis(5);

/// The shortest time between two requests for orders. Each answer has the whole list.
const ORDERS_MIN_INTERVAL: Duration = Duration::from_millis(10);

/// If a long poll answers sooner than this with no change, it is not repeated at once.
const TOO_SOON: Duration = Duration::from_millis(100);

/// The running line.
pub struct NodeLink {
    link: Arc<NodeLinkShared>,
    tasks: Vec<JoinHandle<()>>,
}

impl NodeLink {
    /// Begins to ask for orders and to deliver reports. Needs at least one node in `settings` and a
    /// tokio runtime.
    pub fn start(
        settings: NodeLinkSettings,
        epochs: EpochGuard,
        store: Arc<StateStore>,
        clock: Clock,
        downloads: DownloaderHandle,
    ) -> Result<Self, reqwest::Error> {
        let learned = store.cluster_members(&settings.given()).unwrap_or_else(|error| {
            tracing::warn!(%error, "the members of the cluster cannot be read");
            Vec::new()
        });
        let learned = learned.iter().filter_map(|url| url.parse().ok()).collect();
        let nodes = LinkNodes::new(settings.nodes.clone(), learned);
        let http = http_of(&settings, &settings.authorities)?.into();
        let link = Arc::new(NodeLinkShared {
            settings,
            http,
            signed: SignedCaller::default(),
            epochs,
            clock,
            nodes,
            store,
            speaks: watch::Sender::default(),
        });
        let asking = ask_for_orders(Arc::clone(&link), downloads.clone());
        let reporting = deliver_reports(Arc::clone(&link), downloads);
        Ok(NodeLink { link, tasks: vec![tokio::spawn(asking), tokio::spawn(reporting)] })
    }

    /// Trusts the certificates of these authorities from now on.
    ///
    /// # Errors
    ///
    /// The HTTP client cannot be created. Then nothing changes.
    pub fn change_authorities(
        &self,
        authorities: &TrustedAuthorities,
    ) -> Result<(), reqwest::Error> {
        self.link.http.set(http_of(&self.link.settings, authorities)?);
        Ok(())
    }

    /// The observable state.
    pub fn view(&self) -> Arc<NodeLinkView> {
        self.link.settings.view.load()
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

/// An HTTP client for the nodes.
fn http_of(
    settings: &NodeLinkSettings,
    authorities: &TrustedAuthorities,
) -> Result<reqwest::Client, reqwest::Error> {
    let http = match settings.nodes.iter().any(NodeUrl::is_https) {
        true => http_client::trusting(authorities),
        false => http_client::without_tls(),
    };
    http.no_proxy()
        .connect_timeout(Duration::from_secs(5))
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// Requests orders in a loop, and passes them to the downloader.
async fn ask_for_orders(link: Arc<NodeLinkShared>, downloads: DownloaderHandle) {
    let mut work = downloads.work();
    let mut backoff = PollBackoff::new();
    let mut reelyard_asked = Instant::now();
    let mut last: Option<Vec<CopyOrder>> = None;
    // Sent back only to a node that has sent such a number.
    let mut rates: Option<u32> = None;
    let mut interval = min_interval(ORDERS_MIN_INTERVAL);
    loop {
        interval.tick().await;
        let node = link.node();
        if *link.speaks.borrow() == NodeProtocol::Cfm
            && reelyard_asked.elapsed() > ASK_FOR_REELYARD_EVERY
        {
            link.speaks.send_replace(NodeProtocol::Unknown);
        }
        let known = work.borrow().known.clone();
        let speaks = *link.speaks.borrow();
        let asked = Instant::now();
        let answer = match speaks {
            NodeProtocol::Unknown => {
                reelyard_asked = asked;
                // At once, because reports from before a restart wait until it is known which program
                // answers.
                let asking = reelyard::orders(&link, &known, None, Duration::ZERO);
                unless_silent(&link, asking).await
            }
            NodeProtocol::Reelyard => {
                let polled = reelyard::orders(&link, &known, rates, link.settings.wait);
                unless_silent(&link, polled).await
            }
            NodeProtocol::Cfm => cfm::orders(&link).await.map(|orders| (orders, None)),
        };
        match answer {
            Ok((orders, entry)) => {
                rates = entry;
                backoff.reset();
                link.answered(if speaks == NodeProtocol::Cfm {
                    NodeProtocol::Cfm
                } else {
                    NodeProtocol::Reelyard
                });
                let nothing_new = last.as_ref() == Some(&orders);
                last = Some(orders.clone());
                if downloads.addr().send(TakeOrders { orders }).await.is_err() {
                    // The downloader panicked while it handled them, and is restarted.
                    last = None;
                    tokio::time::sleep(backoff.next()).await;
                    continue;
                }
                if speaks == NodeProtocol::Cfm {
                    pause_between_polls(&link, &mut work).await;
                } else if nothing_new && asked.elapsed() < TOO_SOON {
                    // The node usually knows an end before its report is stored here. After that the
                    // request differs, so there is no reason to wait.
                    let is_new = |work: &LinkWork| work.known != known;
                    let _ = tokio::time::timeout(TOO_SOON, work.wait_for(is_new)).await;
                }
            }
            Err(LinkError::NotReelyard) => {
                link.speaks.send_replace(NodeProtocol::Cfm);
            }
            Err(LinkError::IsReelyard) => {
                link.speaks.send_replace(NodeProtocol::Unknown);
                tokio::time::sleep(backoff.next()).await;
            }
            Err(error) => {
                link.failed(node, &error);
                // Another program may answer there the next time.
                link.speaks.send_replace(NodeProtocol::Unknown);
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }
}

/// Ticks at once after a pause, otherwise after this time since the last tick.
fn min_interval(length: Duration) -> Interval {
    let mut interval = tokio::time::interval(length);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Waits before the next poll of an old cfm: for the poll interval, or, as cfw does, until every known
/// task is done and reported.
async fn pause_between_polls(link: &NodeLinkShared, work: &mut watch::Receiver<LinkWork>) {
    let interval = *link.settings.poll_interval.now();
    if work.borrow().known.is_empty() {
        return tokio::time::sleep(interval).await;
    }
    // In both cases it is time to ask again.
    let _ = tokio::time::timeout(interval, work.wait_for(|work| work.known.is_empty())).await;
}

/// Delivers reports in a loop, in order, each until it is taken.
async fn deliver_reports(link: Arc<NodeLinkShared>, downloads: DownloaderHandle) {
    let mut work = downloads.work();
    let mut backoff = PollBackoff::new();
    let mut speaks = link.speaks.subscribe();
    let mut interval = min_interval(REPORTS_MIN_INTERVAL);
    loop {
        // Both fail only when the worker is ending.
        if speaks.wait_for(|speaks| *speaks != NodeProtocol::Unknown).await.is_err()
            || work.wait_for(|work| !work.reports.is_empty()).await.is_err()
        {
            return;
        }
        interval.tick().await;
        let sent: Vec<Report> = work.borrow().reports.iter().take(MOST_REPORTS).cloned().collect();
        let (node, speaks) = (link.node(), *speaks.borrow());
        let answer = match speaks {
            // The node has disappeared meanwhile. Another program may answer at its address, and it must
            // not get a token.
            NodeProtocol::Unknown => continue,
            NodeProtocol::Cfm => cfm::deliver(&link, &sent).await,
            NodeProtocol::Reelyard => unless_silent(&link, reelyard::deliver(&link, &sent)).await,
        };
        match answer {
            Ok(cancelled) => {
                backoff.reset();
                if downloads.addr().send(ReportsDelivered { sent, cancelled }).await.is_err() {
                    // The downloader panicked, and is restarted with the reports in the store.
                    tokio::time::sleep(backoff.next()).await;
                }
            }
            // The reports wait until both tasks know that.
            Err(LinkError::IsReelyard) => {
                link.speaks.send_replace(NodeProtocol::Unknown);
            }
            Err(error) => {
                link.failed(node, &error);
                tokio::time::sleep(backoff.next()).await;
            }
        }
    }
}
