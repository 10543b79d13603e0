//! The turns of the ShareExpiryActor, and its reports of delays.

use std::time::Duration;

use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::clock::Clock;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_shares::share_expiry::{Effort, ShareExpirySettings};

use crate::expiry::expiry_yard::*;

#[actix::test]
async fn the_next_turn_begins_when_the_next_share_is_due() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    let next = || yard.views.view().next_tick;
    yard.create(film(3600)).await;
    eventually("it sleeps for long", || next() > Duration::from_millis(600)).await;
    let id = yard.create(film(60)).await.id();
    yard.clock.advance(Duration::from_millis(59_700));
    eventually("it wakes in time", || {
        let next = next();
        next > Duration::ZERO && next <= Duration::from_millis(300)
    })
    .await;
    yard.clock.advance(Duration::from_millis(300));
    // Without any message, the planned turn reclaims it.
    yard.ended(id).await;
    yard.closed().await;
}

#[actix::test]
async fn reclaimed_shares_are_counted_with_their_delay() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), settings(), &Clock::manual(START)).await;
    yard.pause(true).await;
    for ttl in [60, 62] {
        yard.create(film(ttl)).await;
    }
    yard.clock.advance(seconds(65));
    yard.pause(false).await;
    eventually("both are reclaimed", || yard.views.view().counters.reclaimed == 2).await;
    let lags = yard.views.view().lags;
    assert_eq!((lags.count(), lags.sum), (2, seconds(5 + 3)));
    yard.closed().await;
}

#[actix::test]
async fn little_effort_takes_more_turns_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let effort = |effort| ShareExpirySettings { effort, ..settings() };
    let yard = opened(dir.path(), effort(Effort::LEAST), &Clock::manual(START)).await;
    yard.pause(true).await;
    for _ in 0..20 {
        let wave = (0..1000).map(|_| yard.expiry.send(film(60)));
        for created in futures::future::join_all(wave).await {
            created.unwrap().unwrap();
        }
    }
    yard.clock.advance(seconds(60));
    yard.pause(false).await;
    eventually("its share of a core is used up", || yard.views.view().counters.time_caps > 0).await;
    yard.expiry.send(ChangeSettings(effort(Effort::MOST))).await.unwrap();
    eventually("all are reclaimed", || yard.views.view().counters.reclaimed == 20_000).await;
    yard.closed().await;
}
