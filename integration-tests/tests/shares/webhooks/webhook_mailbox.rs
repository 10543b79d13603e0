//! The actors of webhooks over messages: a real journal, a manual clock, a real receiver.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix::prelude::*;
use reelyard_api::ChangeEvent;
use reelyard_core::actor_parts::{ChangeSettings, ViewHandle};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::supervision::Route;
use reelyard_integration_tests::fakes::hook_receiver::{HookReceiver, ReceiverMode, SECRET};
use reelyard_integration_tests::fakes::memory_hub::{MemoryHub, NODES};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_shares::share_expiry::{
    CreateShare, RevokeShares, RootName, ShareExpiry, ShareExpirySettings, ShareKind,
    ShareLifetime, ShareNotificationKind, SharePath, ShareTerms, ShareViewHandle,
};
use reelyard_shares::webhook::{
    Webhook, WebhookCollaborators, WebhookName, WebhookSecret, WebhookSettings, WebhookView,
    webhook_client,
};

/// The parts of a node for shares and one webhook.
struct WebhookYard {
    journal: Journal,
    expiry: Addr<ShareExpiry>,
    views: ShareViewHandle,
    hook: Addr<Webhook>,
    view: ViewHandle<WebhookView>,
}

fn hook(receiver: &HookReceiver) -> WebhookSettings {
    WebhookSettings {
        url: format!("http://{}/shares", receiver.addr()).parse().unwrap(),
        secret: WebhookSecret::new(SECRET).unwrap(),
        kinds: ShareNotificationKind::all().collect(),
        timeout: Duration::from_secs(5),
        cool_down: WebhookSettings::COOL_DOWN,
        age_limit: Duration::from_secs(86_400),
    }
}

fn opened(journal: Journal, clock: &Clock, receiver: &HookReceiver) -> WebhookYard {
    let views = ShareViewHandle::default();
    let settings = ShareExpirySettings {
        roots: BTreeSet::from([RootName::new("films").unwrap()]),
        hooks: BTreeSet::from(["billing".to_owned()]),
        ..ShareExpirySettings::default()
    };
    let expiry = ShareExpiry::new(settings, clock.clone(), journal.clone(), views.clone()).start();
    let others = WebhookCollaborators {
        notifications: Route::fixed(expiry.clone().recipient()),
        cursor: Route::fixed(expiry.clone().recipient()),
        delivered: Route::fixed(expiry.clone().recipient()),
        views: views.clone(),
        leadership: journal.leadership(),
        body: |notification| serde_json::to_vec(&ChangeEvent::from(notification)),
    };
    let (name, settings) = (WebhookName::new("billing").unwrap(), hook(receiver));
    let view = WebhookView::new(name.clone(), settings.url.to_string());
    let view = ViewHandle::new(view);
    let http = webhook_client(false).unwrap();
    let hook = Webhook::new(name, settings, http, clock.clone(), others, view.clone()).start();
    WebhookYard { journal, expiry, views, hook, view }
}

impl WebhookYard {
    /// Creates a share and revokes it, which is one event.
    async fn revoked(&self) {
        let create = CreateShare {
            root: RootName::new("films").unwrap(),
            path: SharePath::new("a.mpg").unwrap(),
            kind: ShareKind::File,
            looked: None,
            lifetime: ShareLifetime::Ttl(Duration::from_secs(86_400)),
            owner: None,
            terms: ShareTerms::default(),
            asked_by: "a test".to_owned(),
            request: None,
        };
        let share = self.expiry.send(create).await.unwrap().unwrap();
        let (asked_by, request) = ("a test".to_owned(), RequestId::random());
        let revoke = RevokeShares { ids: vec![share.id()], hard: false, asked_by, request };
        self.expiry.send(revoke).await.unwrap().unwrap();
    }

    async fn until(&self, what: &str, is_so: impl Fn(&WebhookView) -> bool) {
        eventually(what, || is_so(&self.view.load())).await;
    }
}

fn manual_clock() -> Clock {
    Clock::manual(Millis::from(SystemTime::now()))
}

async fn alone(dir: &Path) -> Journal {
    let settings = JournalOptions::alone(dir, 1);
    Journal::open(settings, Arc::new(NoPeers), &[PieceId::Shares]).await.unwrap()
}

#[actix::test]
async fn a_receiver_that_asks_for_patience_is_tried_again_by_the_clock() {
    let (dir, receiver) = (tempfile::tempdir().unwrap(), HookReceiver::start().unwrap());
    let clock = manual_clock();
    let yard = opened(alone(dir.path()).await, &clock, &receiver);
    yard.until("it begins", |hook| hook.delivered_up_to == Some(0)).await;
    receiver.is_to(ReceiverMode::Refuses(429, Some(1000)));
    yard.revoked().await;
    yard.revoked().await;
    yard.until("it fails", |hook| hook.trouble.is_some()).await;
    let trouble = yard.view.load().trouble.clone().unwrap();
    assert_eq!(trouble.until.since(clock.now()), Duration::from_secs(1000));
    receiver.is_to(ReceiverMode::Takes);
    clock.advance(Duration::from_secs(999));
    // After this answer it has read its clock, and had no reason to act.
    yard.revoked().await;
    yard.until("it knows the events", |hook| hook.backlog == 3).await;
    assert_eq!((receiver.received().len(), yard.view.load().counters.failed_tries), (1, 1));
    clock.advance(Duration::from_secs(1));
    yard.until("it got everything", |hook| hook.counters.delivered == 3).await;
    let numbers: Vec<u64> = receiver.taken().iter().map(|one| one.number()).collect();
    assert_eq!(numbers, [0, 1, 2]);
    let reported = receiver.taken()[0].head.clone();
    let now = clock.now().unix_seconds();
    assert!(reported.contains(&format!("reelyard-signature: t={now},v1=")), "{reported}");
    yard.journal.stop().await;
}

#[actix::test]
async fn a_new_url_gets_the_refused_notification_at_once() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), manual_clock());
    let (dead, alive) = (HookReceiver::start().unwrap(), HookReceiver::start().unwrap());
    let yard = opened(alone(dir.path()).await, &clock, &dead);
    yard.until("it begins", |hook| hook.delivered_up_to == Some(0)).await;
    dead.is_to(ReceiverMode::Hangs);
    yard.revoked().await;
    eventually("it is tried", || !dead.received().is_empty()).await;
    yard.hook.send(ChangeSettings((hook(&alive), webhook_client(false).unwrap()))).await.unwrap();
    yard.until("it is delivered", |hook| hook.counters.delivered == 1).await;
    assert_eq!(alive.taken()[0].number(), 0);
    yard.journal.stop().await;
}

#[actix::test]
async fn many_notifications_take_few_commits() {
    let (dir, receiver) = (tempfile::tempdir().unwrap(), HookReceiver::start().unwrap());
    let yard = opened(alone(dir.path()).await, &manual_clock(), &receiver);
    yard.until("it begins", |hook| hook.delivered_up_to == Some(0)).await;
    for _ in 0..50 {
        yard.revoked().await;
    }
    yard.until("all are delivered", |hook| hook.counters.delivered == 50).await;
    // With a clock that does not advance, the cursor moves once, at the first event.
    let applied = yard.journal.status().applied.unwrap();
    assert!(applied < 50 * 2 + 10, "{applied} entries");
    yard.journal.stop().await;
}

/// The node that leads in an epoch after `epoch` and knows the cursor of its webhook.
async fn leader(yards: &[WebhookYard], epoch: u64) -> (usize, u64) {
    eventually_some("one leads", || async {
        let epochs = yards.iter().map(|yard| yard.views.view().epoch.map_or(0, |epoch| epoch.0));
        let (node, newest) = epochs.enumerate().max_by_key(|&(_, epoch)| epoch)?;
        let is_active = yards[node].view.load().delivered_up_to.is_some();
        (newest > epoch && is_active).then_some((node, newest))
    })
    .await
}

#[test]
fn only_the_leader_delivers_and_the_next_one_continues() {
    let dirs = NODES.map(|_| tempfile::tempdir().unwrap());
    on_a_system(async {
        let (hub, receiver) = (MemoryHub::default(), HookReceiver::start().unwrap());
        let clock = manual_clock();
        let mut yards = Vec::new();
        for (node, dir) in NODES.into_iter().zip(&dirs) {
            yards.push(opened(
                hub.open(JournalOptions::alone(dir.path(), node), PieceId::Shares).await,
                &clock,
                &receiver,
            ));
        }
        let (old, epoch) = leader(&yards, 0).await;
        yards[old].revoked().await;
        yards[old].until("it is delivered", |hook| hook.counters.delivered == 1).await;
        receiver.is_to(ReceiverMode::Refuses(500, None));
        yards[old].revoked().await;
        yards[old].until("it fails", |hook| hook.trouble.is_some()).await;
        // With a clock that does not advance, the old leader does not try again.
        receiver.is_to(ReceiverMode::Takes);
        hub.isolate(NODES[old]);
        let (new, _) = leader(&yards, epoch).await;
        assert_ne!(new, old);
        yards[old].until("the old leader delivers nothing", |hook| !hook.is_active).await;
        yards[new].revoked().await;
        eventually("the new one continues", || {
            let taken = receiver.taken();
            taken.last().is_some_and(|one| one.number() == 2)
        })
        .await;
        let mut numbers: Vec<u64> = receiver.taken().iter().map(|one| one.number()).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        numbers.dedup();
        assert_eq!(numbers, [0, 1, 2]);
        let bystander = (0..3).find(|node| ![old, new].contains(node)).unwrap();
        let view = yards[bystander].view.load();
        assert!(!view.is_active && view.counters.delivered + view.counters.failed_tries == 0);
        hub.heal();
        for yard in &yards {
            yard.journal.stop().await;
        }
    });
}
