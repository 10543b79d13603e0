//! The state that the two tasks of a link share: the chosen node, its protocol, and what the link shows.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::display_text::word;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::manager::ManagerId;
use reelyard_core::token::SharedToken;
use reelyard_protocol::node_address::named_members;
use reelyard_protocol::signed_call::SignedCaller;
use reelyard_protocol::tls::{TlsTrouble, TrustedAuthorities};
use reelyard_protocol::worker::ManagerAction;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::link_error::LinkError;
use super::link_nodes::LinkNodes;
use super::url::NodeUrl;
use crate::downloader::managers::seen_managers::SeenManagersHandle;
use crate::kept_state::epoch_guard::EpochGuard;
use crate::kept_state::state_store::StateStore;

/// Nodes, token and timing of the link to them.
#[derive(Clone, Debug)]
pub struct NodeLinkSettings {
    /// Nodes of one cluster. Any of them will do; if one does not answer, the next is tried, or a member that they named.
    pub nodes: Vec<NodeUrl>,
    /// Address of this worker, as the yard knows it.
    pub host: HostAddr,
    /// Records whose orders the worker takes.
    pub managers: SeenManagersHandle,
    /// Secret that the worker shares with the node. It signs calls, and orders count only from a node
    /// that proves that it knows it. It is never sent.
    pub token: LiveSetting<Option<SharedToken>>,
    /// The authorities of nodes with TLS.
    pub authorities: TrustedAuthorities,
    /// How long a long poll is held.
    pub wait: Duration,
    /// How often an old cfm is asked (`downloader_sleep_sec`).
    pub poll_interval: LiveSetting<Duration>,
    /// The published state of the link.
    pub view: ViewHandle<NodeLinkView>,
}

impl NodeLinkSettings {
    /// The addresses of the nodes.
    pub(super) fn given(&self) -> Vec<String> {
        self.nodes.iter().map(|url| url.as_str().to_owned()).collect()
    }
}

/// The program at the other end.
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

/// The state that the two tasks of a link share.
pub(in crate::downloader) struct NodeLinkShared {
    pub(in crate::downloader) settings: NodeLinkSettings,
    pub(in crate::downloader) http: LiveSetting<reqwest::Client>,
    pub(in crate::downloader) signed: SignedCaller,
    pub(in crate::downloader) epochs: EpochGuard,
    pub(in crate::downloader) clock: Clock,
    /// The nodes that can be asked, and the one that is asked.
    pub(in crate::downloader) nodes: LinkNodes,
    /// Keeps the members of the cluster over a restart.
    pub(in crate::downloader) store: Arc<StateStore>,
    /// The protocol in use; both tasks follow it.
    pub(in crate::downloader) speaks: watch::Sender<NodeProtocol>,
}

impl NodeLinkShared {
    /// The number of the current node. It grows with each change.
    pub(in crate::downloader) fn node(&self) -> usize {
        self.nodes.turn()
    }

    /// The address of `path` at the node that is asked.
    pub(in crate::downloader) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.nodes.current())
    }

    /// Learns the members that the node at `named_by` names.
    pub(super) async fn learn(&self, named_by: &Url, members: &str) {
        let named = named_members(named_by, members);
        let members: Vec<NodeUrl> =
            named.iter().filter_map(|url| url.as_str().parse().ok()).collect();
        if members.is_empty() || !self.nodes.learn(&members) {
            return;
        }
        tracing::info!(?members, "the members of the cluster have changed");
        let members: Vec<String> = members.into_iter().map(String::from).collect();
        let (store, given) = (self.store.clone(), self.settings.given());
        let keeping = move || store.keep_cluster_members(&given, &members);
        match tokio::task::spawn_blocking(keeping).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the members of the cluster cannot be stored"),
            Err(error) => tracing::warn!(%error, "the members of the cluster cannot be stored"),
        }
    }

    pub(in crate::downloader) fn answered(&self, speaks: NodeProtocol) {
        self.speaks.send_replace(speaks);
        let node = self.url("");
        let before = self.settings.view.load();
        if before.speaks != speaks || before.node != node || before.error.is_some() {
            tracing::info!(node, speaks = word(&speaks), "the node answers");
        }
        let answered = Some(self.clock.now());
        let view = NodeLinkView { node, speaks, answered, error: None };
        self.settings.view.publish(view);
    }

    /// Logs a failure and switches to the node after `failed`. Both tasks notice the same failure: the later one does
    /// nothing, because the next node is already called.
    pub(in crate::downloader) fn failed(&self, failed: usize, error: &LinkError) {
        let Some(node) = self.nodes.leave(failed) else { return };
        let before = self.settings.view.load();
        let text = tls_in_words(error).unwrap_or_else(|| with_causes(error));
        if before.error.as_deref() != Some(&text) {
            tracing::warn!(node, error = text, "the node cannot be used; trying again");
        }
        let speaks = *self.speaks.borrow();
        let answered = before.answered;
        self.settings.view.publish(NodeLinkView { node, speaks, answered, error: Some(text) });
    }

    /// Records whose orders were just taken.
    pub(in crate::downloader) fn took_orders_of(&self, manager: Option<ManagerId>) {
        self.settings.managers.record(
            manager,
            self.url(""),
            ManagerAction::Orders,
            self.clock.now(),
        );
    }

    /// Refuses an answer of an earlier leader. A new epoch is durable afterwards. Only a node of the setting can lead the
    /// worker to another cluster.
    pub(in crate::downloader) async fn accept_leader(
        &self,
        manager: Option<ManagerId>,
        epoch: Epoch,
    ) -> Result<(), LinkError> {
        let (epochs, cluster) = (self.epochs.clone(), manager.map(|manager| manager.cluster));
        let is_given = self.nodes.is_given();
        let accepting = move || match is_given {
            true => epochs.answered(cluster, epoch),
            false => epochs.accept_leader(cluster, epoch),
        };
        match tokio::task::spawn_blocking(accepting).await {
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(error)) => Err(LinkError::Store(error.to_string())),
            Err(error) => Err(LinkError::Store(error.to_string())),
        }
    }
}

/// A failure of TLS with its remedy.
fn tls_in_words(error: &LinkError) -> Option<String> {
    let trouble = TlsTrouble::of(error)?;
    let remedy = match &trouble {
        TlsTrouble::NoTls => {
            "remove https:// from the setting node, or set tls.certificate of the node"
        }
        TlsTrouble::UnknownAuthority => {
            "set node_ca_file to the certificate of the authority that signed it"
        }
        TlsTrouble::Other(_) => "check tls.certificate of the node and node_ca_file of this worker",
        TlsTrouble::Expired | TlsTrouble::NotYetValid | TlsTrouble::OtherName => {
            trouble.remedy_at_server().unwrap_or_default()
        }
    };
    Some(format!("cannot be reached: {trouble}: {remedy}"))
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
