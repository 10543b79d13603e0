//! The share parts of three nodes: on journals over a network in memory, each with its own clock.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::join_all;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::fakes::memory_hub::{MemoryHub, NODES};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_journal::{Journal, JournalOptions};
use reelyard_shares::share_expiry::{
    CreateShare, Effort, FetchNotifications, LARGEST_PAGE, RootName, Share, ShareEnding,
    ShareError, ShareExpiry, ShareExpirySettings, ShareFilter, ShareId, ShareKind, ShareLifetime,
    ShareLookup, ShareNotification, SharePath, ShareTerms, ShareViewHandle, Totals,
};
use tempfile::TempDir;

pub const START: Millis = Millis(1_800_000_000_000);

/// The share parts of one node.
pub struct ShareNode {
    pub journal: Journal,
    pub expiry: Addr<ShareExpiry>,
    pub views: ShareViewHandle,
    pub clock: Clock,
}

pub struct ShareCluster {
    pub hub: MemoryHub,
    pub nodes: Vec<ShareNode>,
    _dirs: Vec<TempDir>,
}

pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub fn film(ttl: u64) -> CreateShare {
    CreateShare {
        root: RootName::new("films").unwrap(),
        path: SharePath::new("a.mpg").unwrap(),
        kind: ShareKind::File,
        looked: None,
        lifetime: ShareLifetime::Ttl(seconds(ttl)),
        owner: None,
        terms: ShareTerms::default(),
        asked_by: "a test".to_owned(),
        request: None,
    }
}

impl ShareNode {
    pub fn epoch(&self) -> u64 {
        self.views.view().epoch.map_or(0, |epoch| epoch.0)
    }

    /// Whether this node would serve a share now.
    pub fn serves(&self, id: ShareId) -> bool {
        match self.views.find(id) {
            ShareLookup::Live(share) => share.is_live(self.clock.now()),
            _ => false,
        }
    }

    pub fn ended(&self, id: ShareId) -> Option<ShareEnding> {
        match self.views.find(id) {
            ShareLookup::Ended(tombstone) => Some(tombstone.why),
            _ => None,
        }
    }

    /// Makes the actor read its clock and handle everything that is due.
    pub async fn takes_a_turn(&self) {
        let now = self.clock.advance(Duration::from_millis(1));
        eventually("a turn is taken", || self.views.view().at >= now).await;
    }

    pub async fn create(&self, asked: CreateShare) -> Result<Arc<Share>, ShareError> {
        self.expiry.send(asked).await.unwrap()
    }
}

impl ShareCluster {
    pub async fn new(settings: &ShareExpirySettings) -> Self {
        let (hub, mut nodes, mut dirs) = (MemoryHub::default(), Vec::new(), Vec::new());
        for node in NODES {
            let dir = tempfile::tempdir().unwrap();
            let journal = hub.open(JournalOptions::alone(dir.path(), node), PieceId::Shares).await;
            let (views, clock) = (ShareViewHandle::default(), Clock::manual(START));
            let (settings, time) = (settings.clone(), clock.clone());
            let expiry = ShareExpiry::new(settings, time, journal.clone(), views.clone()).start();
            nodes.push(ShareNode { journal, expiry, views, clock });
            dirs.push(dir);
        }
        ShareCluster { hub, nodes, _dirs: dirs }
    }

    /// The node that leads in an epoch after `epoch`.
    pub async fn leader(&self, epoch: u64) -> usize {
        eventually_some("one leads", || async {
            let epochs = self.nodes.iter().map(ShareNode::epoch).enumerate();
            let (node, newest) = epochs.max_by_key(|&(_, epoch)| epoch)?;
            (newest > epoch).then_some(node)
        })
        .await
    }

    /// The present leader, if it is known.
    pub fn leading(&self) -> Option<&ShareNode> {
        self.nodes.iter().filter(|node| node.epoch() > 0).max_by_key(|node| node.epoch())
    }

    pub async fn everywhere(&self, what: &str, is_so: impl Fn(&ShareNode) -> bool) {
        eventually(what, || self.nodes.iter().all(&is_so)).await;
    }

    /// Waits while time passes: a failed commit is tried again after a pause.
    pub async fn in_time(&self, what: &str, is_so: impl Fn(&ShareNode) -> bool) {
        let so_far = |node: &ShareNode| {
            node.clock.advance(Duration::from_millis(5));
            is_so(node)
        };
        eventually(what, || self.nodes.iter().filter(|node| !so_far(node)).count() == 0).await;
    }

    /// Sends a request to the leader under the same id until the table answers.
    pub async fn until_answered<M, T>(&self, asked: M) -> Result<T, ShareError>
    where
        M: Message<Result = Result<T, ShareError>> + Clone + Send + 'static,
        T: Send + 'static,
        ShareExpiry: Handler<M>,
    {
        eventually_some("an answer", || async {
            match self.leading()?.expiry.send(asked.clone()).await.unwrap() {
                Err(ShareError::Journal(_)) => None,
                notifications => Some(notifications),
            }
        })
        .await
    }

    /// Creates one share.
    pub async fn created(&self, wanted: CreateShare) -> ShareId {
        let wanted = CreateShare { request: Some(RequestId::random()), ..wanted };
        self.until_answered(wanted).await.unwrap().id()
    }

    /// Checks that all nodes give the same answers, and that every created share exists or has ended.
    pub async fn hold_the_same(&self, ids: &[ShareId]) -> ShareReplicaState {
        let held = eventually_some("all hold the same", || async {
            let held = join_all(self.nodes.iter().map(|node| held(node, ids))).await;
            held.iter().all(|one| *one == held[0]).then(|| held.into_iter().next().unwrap())
        })
        .await;
        for node in &self.nodes {
            let view = node.views.view();
            assert_eq!(view.totals.created, view.shares + view.totals.ended(), "{view:?}");
            assert_eq!(view.shares, held.shares.len() as u64);
        }
        let notifications: Vec<u64> =
            held.notifications.iter().map(|notifications| notifications.number).collect();
        assert!(
            notifications.iter().copied().eq(0..notifications.len() as u64),
            "numbered without gaps"
        );
        held
    }

    pub async fn stop(self) {
        for node in &self.nodes {
            node.journal.stop().await;
        }
    }
}

/// The state of a node.
#[derive(Debug, PartialEq)]
pub struct ShareReplicaState {
    pub shares: Vec<Arc<Share>>,
    pub totals: Totals,
    pub found: Vec<ShareLookup>,
    pub notifications: Vec<ShareNotification>,
}

pub async fn held(node: &ShareNode, ids: &[ShareId]) -> ShareReplicaState {
    let (mut shares, mut from) = (Vec::new(), None);
    loop {
        let page = node.views.list(&ShareFilter::default(), from, LARGEST_PAGE, node.clock.now());
        shares.extend(page.shares);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    let (mut notifications, mut from) = (Vec::new(), 0);
    loop {
        let asked = FetchNotifications { from, most: LARGEST_PAGE };
        let part = node.expiry.send(asked).await.unwrap();
        if part.notifications.is_empty() {
            break;
        }
        from = part.next;
        notifications.extend(part.notifications);
    }
    let found = ids.iter().map(|id| node.views.find(*id)).collect();
    ShareReplicaState { shares, totals: node.views.view().totals, found, notifications }
}

pub fn settings() -> ShareExpirySettings {
    ShareExpirySettings {
        roots: BTreeSet::from([RootName::new("films").unwrap()]),
        notice_before: None,
        effort: Effort::LEAST,
        keep_notifications: 1_000_000,
        ..ShareExpirySettings::default()
    }
}
