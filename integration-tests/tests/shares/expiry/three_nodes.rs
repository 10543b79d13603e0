//! Shares on three nodes over a network in memory, each with its own clock. The leader decides, the others
//! refuse overdue shares by comparison, and all hold the same state.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::join_all;
use reelyard_core::event::RequestId;
use reelyard_integration_tests::fakes::memory_hub::NODES;
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_replication::CommitError;
use reelyard_shares::share_expiry::{
    ClientKey, CreateShare, DownloadAdmission, ReclaimNow, ShareEnding, ShareError, ShareId,
    ShareLookup, ShareNotificationKind, ShareTerms, TakeDownload,
};

use crate::cluster::*;

/// The time after the start of leadership in which overdue shares must end.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn followers_refuse_at_the_deadline_and_delete_when_the_leader_says_so() {
    on_a_system(async {
        let cluster = ShareCluster::new(&settings()).await;
        let soon = cluster.created(film(60)).await;
        let late = cluster.created(film(600)).await;
        let leader = cluster.leading().unwrap();
        cluster.everywhere("all serve both", |node| node.serves(soon) && node.serves(late)).await;

        // By the clocks of the followers its time is over, but not by that of the leader.
        let followers = || cluster.nodes.iter().filter(|node| node.epoch() == 0);
        for follower in followers() {
            follower.clock.advance(seconds(60));
            assert!(!follower.serves(soon) && follower.serves(late), "refused at once");
        }
        join_all(followers().map(ShareNode::takes_a_turn)).await;
        for follower in followers() {
            let answer = follower.expiry.send(ReclaimNow).await.unwrap();
            assert!(matches!(answer, Err(CommitError::NotLeader { .. })), "{answer:?}");
        }
        leader.expiry.send(ReclaimNow).await.unwrap().unwrap();
        assert!(leader.serves(soon));
        let untouched = |node: &ShareNode| {
            let view = node.views.view();
            (view.shares, view.totals.ended(), view.counters.reclaimed) == (2, 0, 0)
        };
        assert!(cluster.nodes.iter().all(untouched));

        // No node can commit, and by every clock its time is over.
        for node in NODES {
            cluster.hub.isolate(node);
        }
        leader.clock.advance(seconds(60));
        cluster.everywhere("no node leads", |node| node.epoch() == 0).await;
        join_all(cluster.nodes.iter().map(ShareNode::takes_a_turn)).await;
        for node in &cluster.nodes {
            assert!(!node.serves(soon) && node.serves(late));
            assert_eq!(node.ended(soon), None, "no node says so");
        }
        cluster.hub.heal();
        let is_gone = |node: &ShareNode| node.ended(soon) == Some(ShareEnding::Expired);
        cluster.in_time("all have deleted it", is_gone).await;

        // A node whose clock is behind deletes shares that it would still serve.
        let brief = cluster.created(film(10)).await;
        cluster.everywhere("all serve it", |node| node.serves(brief)).await;
        cluster.leading().unwrap().clock.advance(seconds(10));
        let is_gone = |node: &ShareNode| node.ended(brief) == Some(ShareEnding::Expired);
        cluster.everywhere("all have deleted it", is_gone).await;
        let held = cluster.hold_the_same(&[soon, late, brief]).await;
        assert_eq!((held.shares.len(), held.totals.expired), (1, 2));
        let reclaimed = |node: &ShareNode| node.views.view().counters.reclaimed;
        // Work that a leader began before it was isolated has no effect.
        let counted = cluster.nodes.iter().map(reclaimed).sum::<u64>();
        assert!((1..=2).contains(&counted), "only the leader reclaims: {counted}");
        cluster.stop().await;
    });
}

#[test]
fn a_leader_that_comes_back_continues_at_once() {
    on_a_system(async {
        let cluster = ShareCluster::new(&settings()).await;
        let first = cluster.created(film(60)).await;
        let second = cluster.created(film(120)).await;
        cluster.everywhere("all serve both", |node| node.serves(first)).await;
        // On a busy machine the leader may change until it is alone.
        let old = eventually_some("a leader is isolated", || async {
            let old = cluster.leader(0).await;
            NODES.iter().for_each(|node| cluster.hub.isolate(*node));
            let leads = cluster.nodes[old].epoch() > 0;
            if !leads {
                cluster.hub.heal();
            }
            leads.then_some(old)
        })
        .await;
        let leader = &cluster.nodes[old];
        // It reclaims, and cannot know the outcome.
        leader.clock.advance(seconds(60));
        leader.expiry.send(ReclaimNow).await.unwrap().unwrap();
        let is_held = || leader.epoch() == 0 && leader.views.view().counters.uncommitted > 0;
        eventually("it steps back with a commit in progress", is_held).await;
        // It has the longest log: of these two no other node can lead.
        let other = (old + 1) % 3;
        cluster.hub.rejoin(NODES[old]);
        cluster.hub.rejoin(NODES[other]);
        eventually("it leads again", || leader.epoch() > 0).await;
        leader.clock.advance(seconds(60));
        cluster.hub.heal();
        let is_gone = |node: &ShareNode| {
            [first, second].map(|id| node.ended(id)) == [Some(ShareEnding::Expired); 2]
        };
        cluster.everywhere("both have ended", is_gone).await;
        cluster.stop().await;
    });
}

/// The answers to clients while the leader changed.
#[derive(Default)]
struct CountedDownloads {
    stop: AtomicBool,
    /// Downloads that were confirmed as counted.
    counted: AtomicU64,
}

/// The number of parallel clients.
const TAKERS: u64 = 4;

/// Downloads repeatedly, and repeats each request until its outcome is known.
async fn take_on(
    cluster: &ShareCluster,
    id: ShareId,
    client: ClientKey,
    downloads: &CountedDownloads,
) -> u64 {
    let mut counted = 0;
    while !downloads.stop.load(Ordering::SeqCst) {
        let asked = TakeDownload { id, client, ranged: false, request: RequestId::random() };
        match cluster.until_answered(asked).await {
            Ok(DownloadAdmission::Counted { .. }) => counted += 1,
            other => panic!("{other:?}"),
        }
        downloads.counted.fetch_add(1, Ordering::SeqCst);
    }
    counted
}

/// Creates shares one after the other, each under its own name.
async fn create_on(
    cluster: &ShareCluster,
    downloads: &CountedDownloads,
) -> Vec<(RequestId, ShareId)> {
    let mut made = Vec::new();
    while !downloads.stop.load(Ordering::SeqCst) {
        let request = RequestId::random();
        let asked = CreateShare { request: Some(request), ..film(86_400) };
        made.push((request, cluster.until_answered(asked).await.unwrap().id()));
    }
    made
}

#[test]
fn a_change_of_leader_during_reclaim_loses_and_repeats_nothing() {
    const DUE: u64 = 24_000;
    on_a_system(async {
        let cluster = ShareCluster::new(&settings()).await;
        let made = futures::stream::iter(0..DUE).map(|_| cluster.created(film(60)));
        let due: Vec<ShareId> = made.buffer_unordered(256).collect().await;
        let most = NonZeroU32::new(1_000_000);
        let limited = CreateShare {
            terms: ShareTerms { max_downloads: most, ..ShareTerms::default() },
            ..film(86_400)
        };
        let limited = cluster.created(limited).await;
        let old = cluster.leader(0).await;
        let (leader, epoch) = (&cluster.nodes[old], cluster.nodes[old].epoch());

        let downloads = CountedDownloads::default();
        let takers = join_all(
            (0..TAKERS).map(|taker| take_on(&cluster, limited, ClientKey(taker), &downloads)),
        );
        let in_the_middle = async {
            for node in &cluster.nodes {
                node.clock.advance(seconds(60));
            }
            let other = &cluster.nodes[(old + 1) % 3];
            let began = || other.views.view().totals.expired > 0;
            eventually("reclaim has begun", began).await;
            cluster.hub.isolate(NODES[old]);
            let reclaimed = leader.views.view().totals.expired;
            assert!(reclaimed < DUE, "{reclaimed} were reclaimed before the leader was cut off");

            for node in &cluster.nodes {
                node.clock.advance(seconds(1));
            }

            // It still believes that it leads: the request is only in its own log.
            let request = RequestId::random();
            let lost = CreateShare { request: Some(request), ..film(86_400) };
            let first_answer = leader.create(lost.clone()).await;
            assert!(matches!(first_answer, Err(ShareError::Journal(_))), "{first_answer:?}");
            let new = cluster.leader(epoch).await;
            let began = Instant::now();
            let successor = &cluster.nodes[new];
            assert!(new != old && due.iter().all(|id| !successor.serves(*id)));
            let all_gone = || successor.views.view().totals.expired == DUE;
            eventually("the new leader reclaims the others", all_gone).await;
            assert!(began.elapsed() < SOON, "after {:?}", began.elapsed());
            let repeated = cluster.until_answered(lost.clone()).await.unwrap().id();
            eventually("the old leader steps back", || leader.epoch() == 0).await;
            cluster.hub.heal();
            assert_eq!(cluster.until_answered(lost).await.unwrap().id(), repeated);
            let counted = downloads.counted.load(Ordering::SeqCst);
            let goes_on = || downloads.counted.load(Ordering::SeqCst) > counted + 20;
            eventually("downloads are counted at the new leader", goes_on).await;
            downloads.stop.store(true, Ordering::SeqCst);
            repeated
        };
        let (counted, made, repeated) =
            futures::join!(takers, create_on(&cluster, &downloads), in_the_middle);

        for (request, id) in &made {
            let again = CreateShare { request: Some(*request), ..film(86_400) };
            assert_eq!(cluster.until_answered(again).await.unwrap().id(), *id, "made once");
        }
        let held = cluster.hold_the_same(&due).await;
        let mut expected: BTreeSet<ShareId> = made.iter().map(|(_, id)| *id).collect();
        expected.extend([limited, repeated]);
        let live: BTreeSet<ShareId> = held.shares.iter().map(|share| share.id()).collect();
        assert_eq!((live, held.shares.len()), (expected.clone(), expected.len()));
        let limited = held.shares.iter().find(|share| share.id() == limited).unwrap();
        let taken = u64::from(limited.downloads().unwrap().taken());
        assert_eq!(taken, counted.iter().sum::<u64>(), "each confirmed download counts once");
        let ended = |found: &ShareLookup| matches!(found, ShareLookup::Ended(tombstone) if tombstone.why == ShareEnding::Expired);
        assert!(held.found.iter().all(ended), "nothing is resurrected");
        let mut ends = BTreeMap::<ShareId, u64>::new();
        for notification in &held.notifications {
            assert_eq!(notification.what, ShareNotificationKind::Ended(ShareEnding::Expired));
            *ends.entry(notification.id).or_default() += 1;
        }
        assert!(ends.len() as u64 == DUE && ends.values().all(|count| *count == 1));
        cluster.stop().await;
    });
}
