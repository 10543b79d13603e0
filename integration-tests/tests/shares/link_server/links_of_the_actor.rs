//! Public links over a real ShareExpiryActor with a real journal: they serve what it decides.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::clock::Clock;
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::supervision::Route;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::share_links::{LinkSite, START, curl, path, root};
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_shares::share_expiry::{
    CreateShare, PauseReclaim, ReclaimNow, RevokeShares, ShareExpiry, ShareExpirySettings, ShareId,
    ShareKind, ShareLifetime, ShareLookup, ShareTerms, ShareViewHandle,
};
use tempfile::TempDir;

const TTL: Duration = Duration::from_secs(3600);

/// The actor, and links to its shares.
struct ActorLinksYard {
    _journal_dir: TempDir,
    journal: Journal,
    expiry: Addr<ShareExpiry>,
    site: LinkSite,
}

impl ActorLinksYard {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let journal = JournalOptions::alone(dir.path(), 1);
        let journal = Journal::open(journal, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap();
        let (clock, views) = (Clock::manual(START), ShareViewHandle::default());
        let settings =
            ShareExpirySettings { roots: BTreeSet::from([root()]), ..Default::default() };
        let expiry = ShareExpiry::new(settings, clock.clone(), journal.clone(), views.clone());
        let expiry = expiry.start();
        eventually("this node leads", || views.view().epoch.is_some()).await;
        let site = LinkSite::start(views, Route::fixed(expiry.clone().recipient()), clock, |_| {});
        ActorLinksYard { _journal_dir: dir, journal, expiry, site }
    }

    async fn share(&self, at: &str, max_downloads: Option<u32>) -> ShareId {
        let create = CreateShare {
            root: root(),
            path: path(at),
            kind: ShareKind::File,
            looked: None,
            lifetime: ShareLifetime::Ttl(TTL),
            owner: None,
            terms: ShareTerms {
                max_downloads: max_downloads.and_then(NonZeroU32::new),
                ..ShareTerms::default()
            },
            asked_by: "a test".to_owned(),
            request: None,
        };
        self.expiry.send(create).await.unwrap().unwrap().id()
    }

    async fn status(&self, id: ShareId, arguments: &[&str]) -> u16 {
        self.site.get(id, "/file", arguments).await.status
    }

    async fn stop(self) {
        self.site.server.stop().await;
        self.journal.stop().await;
    }
}

#[actix::test]
async fn parallel_clients_get_exactly_the_allowed_downloads() {
    let yard = ActorLinksYard::open().await;
    yard.site.write("a", &[7; 100_000]);
    let id = yard.share("a", Some(3)).await;
    assert_eq!(yard.status(id, &["-I"]).await, 200);
    let all = futures::future::join_all((0..12).map(|_| yard.status(id, &[]))).await;
    assert_eq!(all.iter().filter(|status| **status == 200).count(), 3, "{all:?}");
    assert_eq!(all.iter().filter(|status| **status == 410).count(), 9, "{all:?}");
    assert_eq!(yard.status(id, &["-r", "5-"]).await, 206, "a counted client may resume");
    yard.stop().await;
}

#[actix::test]
async fn a_link_is_refused_at_its_deadline_before_its_reclaim() {
    let yard = ActorLinksYard::open().await;
    yard.site.write("a", b"film");
    let pause = |paused| PauseReclaim {
        paused,
        asked_by: "a test".to_owned(),
        request: RequestId::random(),
    };
    yard.expiry.send(pause(true)).await.unwrap().unwrap();
    let id = yard.share("a", None).await;
    assert_eq!(yard.status(id, &[]).await, 200);
    yard.site.clock.advance(TTL);
    let passive = yard.site.get(id, "/file", &[]).await;
    assert_eq!(passive.status, 410);
    assert!(matches!(yard.site.views.find(id), ShareLookup::Live(_)), "it is not reclaimed yet");
    yard.expiry.send(pause(false)).await.unwrap().unwrap();
    yard.expiry.send(ReclaimNow).await.unwrap().unwrap();
    eventually("it is reclaimed", || matches!(yard.site.views.find(id), ShareLookup::Ended(_)))
        .await;
    let active = yard.site.get(id, "/file", &[]).await;
    assert_eq!(active.status, 410);
    assert_eq!(passive.body, active.body, "the answers are equal");
    yard.stop().await;
}

#[actix::test]
async fn a_hard_revoke_reaches_running_downloads() {
    let yard = ActorLinksYard::open().await;
    yard.site.write("a", &vec![7; 24 << 20]);
    let id = yard.share("a", None).await;
    let url = yard.site.url(id, "/file");
    let download = tokio::spawn(async move {
        let discard = ["--no-include", "--limit-rate", "8M", "-o", "/dev/null", &url];
        curl(&discard).await.exit
    });
    eventually("the download runs", || yard.site.server.counters().downloads > 0).await;
    let revoke = RevokeShares {
        ids: vec![id],
        hard: true,
        asked_by: "a test".to_owned(),
        request: RequestId::random(),
    };
    assert_eq!(yard.expiry.send(revoke).await.unwrap().unwrap().ended, 1);
    let exit = download.await.unwrap();
    assert!(matches!(exit, 18 | 56), "curl got less than it was promised: {exit}");
    assert_eq!(yard.status(id, &[]).await, 410);
    yard.stop().await;
}

#[actix::test]
async fn a_player_that_probes_fetches_and_seeks_takes_one_download() {
    let yard = ActorLinksYard::open().await;
    yard.site.write("a.mp4", &[7; 100_000]);
    let id = yard.share("a.mp4", Some(1)).await;
    assert_eq!(yard.status(id, &["-r", "0-1"]).await, 206, "the probe");
    assert_eq!(yard.status(id, &[]).await, 200, "the whole");
    for seek in 0..30 {
        let from = format!("{}-", 1 + (seek * 37 % 100) * 999);
        assert_eq!(yard.status(id, &["-r", &from]).await, 206, "from {from}");
    }
    assert_eq!(yard.status(id, &[]).await, 410, "the whole is had once");
    let taken = yard.site.found(id).downloads().unwrap().taken();
    assert_eq!(taken, 1);
    yard.stop().await;
}
