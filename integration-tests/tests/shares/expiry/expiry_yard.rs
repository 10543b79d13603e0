//! The ShareExpiryActor on a real journal with a manual clock, for tests over messages.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_replication::Owner;
use reelyard_shares::share_expiry::{
    ChangeShare, ClientKey, CreateShare, DownloadAdmission, FetchNotifications, NewTerms,
    PauseReclaim, ReclaimNow, RevokeShares, Revoked, RootName, Share, ShareChange, ShareError,
    ShareExpiry, ShareExpirySettings, ShareId, ShareKind, ShareLifetime, ShareLookup,
    ShareNotificationKind, SharePath, ShareRefusal, ShareTerms, ShareViewHandle, TakeDownload,
    Tombstone,
};

pub const START: Millis = Millis(1_700_000_000_000);

pub struct ShareExpiryYard {
    pub journal: Journal,
    pub expiry: Addr<ShareExpiry>,
    pub views: ShareViewHandle,
    pub clock: Clock,
}

pub fn root() -> RootName {
    RootName::new("films").unwrap()
}

pub fn path(text: &str) -> SharePath {
    SharePath::new(text).unwrap()
}

pub fn settings() -> ShareExpirySettings {
    ShareExpirySettings {
        roots: BTreeSet::from([root()]),
        notice_before: None,
        ..ShareExpirySettings::default()
    }
}

pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub fn film(ttl: u64) -> CreateShare {
    CreateShare {
        root: root(),
        path: path("d/film.mkv"),
        kind: ShareKind::File,
        looked: None,
        lifetime: ShareLifetime::Ttl(seconds(ttl)),
        owner: None,
        terms: ShareTerms::default(),
        asked_by: "a test".to_owned(),
        request: None,
    }
}

pub async fn opened(dir: &Path, settings: ShareExpirySettings, clock: &Clock) -> ShareExpiryYard {
    let journal = JournalOptions::alone(dir, 1);
    let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
    opened_on(journal, settings, clock, None).await
}

pub async fn opened_on(
    journal: Journal,
    settings: ShareExpirySettings,
    clock: &Clock,
    feed: Option<FeedPublisher<ShareChange>>,
) -> ShareExpiryYard {
    opened_keeping(journal, settings, clock, feed, None).await
}

/// Opens the actor with the time stored in a file.
pub async fn opened_keeping(
    journal: Journal,
    settings: ShareExpirySettings,
    clock: &Clock,
    feed: Option<FeedPublisher<ShareChange>>,
    kept: Option<&Path>,
) -> ShareExpiryYard {
    let (views, clock) = (ShareViewHandle::default(), clock.clone());
    let mut expiry = ShareExpiry::new(settings, clock.clone(), journal.clone(), views.clone());
    if let Some(path) = kept {
        expiry = expiry.keeping_time_at(path);
    }
    if let Some(feed) = feed {
        expiry = expiry.with_change_feed(feed);
    }
    let expiry = expiry.start();
    eventually("this node leads", || views.view().epoch.is_some()).await;
    ShareExpiryYard { journal, expiry, views, clock }
}

impl ShareExpiryYard {
    pub async fn create(&self, asked: CreateShare) -> Arc<Share> {
        self.expiry.send(asked).await.unwrap().unwrap()
    }

    pub async fn change(&self, id: ShareId, change: NewTerms) -> Result<Arc<Share>, ShareError> {
        let (asked_by, request) = ("a test".to_owned(), RequestId::random());
        self.expiry.send(ChangeShare { id, change, asked_by, request }).await.unwrap()
    }

    pub async fn revoke(&self, ids: &[ShareId], hard: bool) -> Revoked {
        let (asked_by, request) = ("a test".to_owned(), RequestId::random());
        let asked = RevokeShares { ids: ids.to_vec(), hard, asked_by, request };
        self.expiry.send(asked).await.unwrap().unwrap()
    }

    pub fn take(
        &self,
        id: ShareId,
        client: u64,
        ranged: bool,
    ) -> impl Future<Output = Result<DownloadAdmission, ShareError>> + use<> {
        let (client, request) = (ClientKey(client), RequestId::random());
        let asked = self.expiry.send(TakeDownload { id, client, ranged, request });
        async move { asked.await.unwrap() }
    }

    pub async fn pause(&self, paused: bool) -> bool {
        let (asked_by, request) = ("a test".to_owned(), RequestId::random());
        self.expiry.send(PauseReclaim { paused, asked_by, request }).await.unwrap().unwrap()
    }

    pub async fn advance(&self, by: u64) {
        self.clock.advance(seconds(by));
        self.expiry.send(ReclaimNow).await.unwrap().unwrap();
    }

    /// Waits for the end of a share and returns its reason.
    pub async fn ended(&self, id: ShareId) -> Tombstone {
        eventually_some("the share ends", || {
            let found = self.views.find(id);
            async move {
                match found {
                    ShareLookup::Ended(tombstone) => Some(tombstone),
                    _ => None,
                }
            }
        })
        .await
    }

    /// Waits until the record of a share is deleted.
    pub async fn forgotten(&self, id: ShareId) {
        let asked = || async {
            self.expiry.send(ReclaimNow).await.unwrap().unwrap();
            matches!(self.views.find(id), ShareLookup::Unknown).then_some(())
        };
        eventually_some("it is forgotten", asked).await;
    }

    pub fn is_there(&self, id: ShareId) -> bool {
        matches!(self.views.find(id), ShareLookup::Live(_))
    }

    pub async fn notifications(&self) -> Vec<(u64, ShareId, ShareNotificationKind)> {
        let notifications =
            self.expiry.send(FetchNotifications { from: 0, most: 1000 }).await.unwrap();
        notifications
            .notifications
            .into_iter()
            .map(|notifications| (notifications.number, notifications.id, notifications.what))
            .collect()
    }

    pub async fn closed(self) {
        self.journal.stop().await;
    }
}

pub fn refused<T>(answer: Result<T, ShareError>) -> ShareRefusal {
    match answer {
        Err(ShareError::Refused(refusal)) => refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was not refused"),
    }
}
