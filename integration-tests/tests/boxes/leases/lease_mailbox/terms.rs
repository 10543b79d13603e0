//! The terms of leases, and calls after their end.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use reelyard_boxes::box_lease::{
    BoxLeaseRequest, BoxLeaseSettings, BoxPhase, BoxRefusal, Lease, LeaseEnd, PoolSpec,
    ReleaseLease, RenewLease, RevokeLease, VerifyLease,
};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::clock::Clock;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::boxes::box_yard::{
    BoxYard, START, ask, nth_token, one, p, refused, seconds,
};
use reelyard_protocol::boxes::{FenceToken, LeaseId, Reason};

use super::{MS, named, spec, timed_out, yard};

#[actix::test]
async fn a_box_is_leased_released_expired_and_leased_again() {
    let (_dir, yard) = yard(PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(7, 1) }).await;
    let first = yard.take("a").await;
    let until = Some(START.after(seconds(60)));
    assert_eq!((first.box_id(), first.token, first.expires_at), (7, nth_token(1), until));
    assert!(timed_out(yard.acquire(ask("b", 0)).await));
    yard.release(&first).await.unwrap();
    let second = yard.take("b").await;
    assert_eq!((second.box_id(), second.token), (7, nth_token(2)));
    let waiting = yard.acquire(BoxLeaseRequest { ttl: Some(seconds(10)), ..ask("c", 100) });
    yard.until_waiting(1).await;
    yard.advance(seconds(60) - MS).await;
    assert_eq!((yard.verify(&second), yard.count(BoxPhase::Leased)), (Ok(()), 1));
    yard.advance(MS).await;
    let third = one(waiting.await);
    assert_eq!(yard.verify(&second), Err(BoxRefusal::Expired));
    // Its term begins with the grant, not with the request.
    assert_eq!((third.token, third.expires_at), (nth_token(3), Some(START.after(seconds(70)))));
    assert_eq!(refused(yard.release(&second).await), BoxRefusal::Expired);
    assert_eq!(yard.views.pool(&p()).unwrap().totals.granted, 3);
    yard.close().await;
}

#[actix::test]
async fn late_repeated_and_foreign_calls_are_distinguished_and_change_nothing() {
    let (_dir, yard) = yard(PoolSpec { grace: seconds(5), ..spec(3) }).await;
    let [released, expired, revoked] =
        [yard.take("a").await, yard.take("b").await, yard.take("c").await];
    yard.release(&released).await.unwrap();
    let reason = Reason::new("the host is needed").unwrap();
    let asked_by = "an operator".to_owned();
    let revoke =
        RevokeLease { lease: revoked.id, reason: Some(reason.clone()), asked_by, request: None };
    yard.send(revoke.clone()).await.unwrap();
    yard.advance(seconds(60)).await;
    yard.ended(&expired).await;
    let live = yard.take("d").await;
    let why_revoked = BoxRefusal::Revoked { reason: Some(reason) };
    let of = |lease: &Lease, token: FenceToken| (lease.id, token);
    let foreign = FenceToken(live.token.0 + 1);
    let calls = [
        (of(&released, released.token), BoxRefusal::AlreadyReleased),
        (of(&expired, expired.token), BoxRefusal::Expired),
        (of(&revoked, revoked.token), why_revoked.clone()),
        (of(&released, live.token), BoxRefusal::WrongToken),
        (of(&live, foreign), BoxRefusal::WrongToken),
        ((LeaseId(7), live.token), BoxRefusal::UnknownLease),
    ];
    let before = yard.views.with_table(|table| format!("{table:?}"));
    for ((lease, token), why) in calls {
        let release = ReleaseLease { lease, token, may_be_repeated: false };
        assert_eq!(refused(yard.send(release).await), why);
        let renew = RenewLease { lease, token, ttl: None };
        assert_eq!(refused(yard.send(renew).await), why);
        assert_eq!(yard.views.verify(lease, token).err(), Some(why));
    }
    assert_eq!(refused(yard.send(revoke).await), why_revoked);
    assert_eq!(yard.views.with_table(|table| format!("{table:?}")), before);
    let ended = yard.views.ended(&p(), Some(revoked.number), u64::MAX, 9).lines;
    assert_eq!((ended[0].how, ended[0].by.as_deref()), (LeaseEnd::Revoked, Some("an operator")));
    yard.close().await;
}

#[actix::test]
async fn a_renewal_lasts_from_then_on_but_never_beyond_the_longest_hold() {
    let longest = PoolSpec { max_hold: Some(seconds(100)), ttl_max: seconds(90), ..spec(1) };
    let (_dir, yard) = yard(longest).await;
    let lease = yard.take("a").await;
    yard.advance(seconds(59)).await;
    let renew = |ttl| RenewLease { lease: lease.id, token: lease.token, ttl: Some(ttl) };
    let bad = refused(yard.send(renew(seconds(90) + MS)).await);
    assert_eq!(bad, BoxRefusal::BadTtl { most: seconds(90) });
    assert_eq!(refused(yard.send(renew(Duration::ZERO)).await), bad);
    let renewed = yard.send(renew(seconds(40))).await.unwrap();
    assert_eq!(renewed.expires_at, Some(START.after(seconds(99))));
    // Only a second is added; the wall clock has no effect.
    yard.clock.step_by(50_000);
    let renewed = yard.renew(&lease).await.unwrap();
    assert_eq!((renewed.term, renewed.renewals), (seconds(41), 2));
    yard.advance(seconds(41) - MS).await;
    assert_eq!(yard.renew(&lease).await.unwrap().term, MS);
    yard.advance(MS).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired);
    yard.close().await;
}

#[actix::test]
async fn a_lease_ends_by_the_monotonic_clock_with_a_grace() {
    let (_dir, yard) = yard(PoolSpec { grace: seconds(5), ..spec(1) }).await;
    let lease = yard.take("a").await;
    let next = yard.acquire(ask("b", 1000));
    yard.until_waiting(1).await;
    // The wall clock was set far ahead: no time has passed.
    yard.clock.step_by(3_600_000);
    yard.advance(seconds(60) - MS).await;
    assert_eq!(yard.verify(&lease), Ok(()));
    yard.clock.advance(MS);
    assert_eq!(refused(yard.renew(&lease).await), BoxRefusal::Expired, "before the timer saw it");
    // All calls give the same answer.
    let verify = |lease: &Lease| VerifyLease { lease: lease.id, token: lease.token };
    assert_eq!(refused(yard.send(verify(&lease)).await), BoxRefusal::Expired);
    assert_eq!(refused(yard.release(&lease).await), BoxRefusal::Expired);
    yard.look().await;
    yard.ended(&lease).await;
    yard.advance(seconds(5) - MS).await;
    assert_eq!((yard.count(BoxPhase::Draining), yard.count(BoxPhase::Leased)), (1, 0));
    yard.advance(MS).await;
    let lease = one(next.await);
    // The wall clock was set far back: that extends no lease.
    yard.clock.step_by(-3_600_000);
    yard.advance(seconds(60) - MS).await;
    assert_eq!(yard.send(verify(&lease)).await.map(|lease| lease.token), Ok(lease.token));
    yard.advance(MS).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired);
    yard.close().await;
}

/// Where a lease that was granted at [`START`] for 60 s ends after a change of the leader.
const ENDS: Duration = Duration::from_secs(61);

#[actix::test]
async fn a_lease_survives_restarts_only_by_renewals() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let mut yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(spec(2)).await;
    let [lost, renewed] = [yard.take("a").await, yard.take("b").await];
    let since_start = || clock.now().since(START);
    while since_start() < ENDS {
        yard.close().await;
        clock.advance(seconds(20).min(ENDS - MS - since_start()));
        yard = BoxYard::open(dir.path(), &clock).await;
        assert_eq!(yard.verify(&lost), Ok(()), "{:?}", since_start());
        yard.renew(&renewed).await.unwrap();
        if since_start() == ENDS - MS {
            yard.advance(MS).await;
        }
    }
    assert_eq!(yard.ended(&lost).await, BoxRefusal::Expired);
    assert_eq!(yard.verify(&renewed), Ok(()));
    yard.close().await;
}

#[actix::test]
async fn a_clock_step_between_restarts_ends_no_lease_and_keeps_none() {
    // A step that the first restart finds hides the end, so the lease gets its full term at 25 s.
    for (steps, ends) in [([0, 3_600_000], 61), ([0, -3_600_000], 61), ([3_600_000, 0], 86)] {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(START);
        let mut yard = BoxYard::open(dir.path(), &clock).await;
        yard.put(spec(1)).await;
        let lease = yard.take("a").await;
        for set in steps {
            yard.close().await;
            clock.step_by(set);
            clock.advance(seconds(25));
            yard = BoxYard::open(dir.path(), &clock).await;
            yard.look().await;
        }
        yard.advance(seconds(ends - 50) - MS).await;
        assert_eq!(yard.verify(&lease), Ok(()), "{steps:?}");
        yard.advance(MS).await;
        assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired, "{steps:?}");
        yard.close().await;
    }
}

#[actix::test]
async fn reboots_keep_the_end_of_a_lease() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let mut yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(spec(1)).await;
    let lease = yard.take("a").await;
    for passed in [20, 20, 20] {
        yard.close().await;
        clock.advance(seconds(passed));
        clock.reboot();
        yard = BoxYard::open(dir.path(), &clock).await;
        yard.look().await;
        assert_eq!(yard.verify(&lease), Ok(()));
    }
    yard.advance(seconds(1) - MS).await;
    assert_eq!(yard.verify(&lease), Ok(()));
    yard.advance(MS).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired);
    yard.close().await;
}

#[actix::test]
async fn after_a_restart_the_longest_hold_limits_renewals() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let yard = BoxYard::open(dir.path(), &clock).await;
    yard.put(PoolSpec { max_hold: Some(seconds(100)), ..spec(2) }).await;
    let lease = yard.take("a").await;
    clock.advance(seconds(50));
    yard.close().await;
    clock.advance(seconds(10));
    let yard = BoxYard::open(dir.path(), &clock).await;
    assert_eq!(yard.renew(&lease).await.unwrap().term, seconds(40));
    yard.advance(seconds(40) - MS).await;
    assert_eq!(yard.verify(&lease), Ok(()));
    yard.advance(MS).await;
    assert_eq!(yard.ended(&lease).await, BoxRefusal::Expired);
    yard.close().await;
}

#[actix::test]
async fn the_record_of_ended_leases_is_bounded() {
    let (_dir, yard) = yard(spec(1)).await;
    let mut ended: Vec<Arc<Lease>> = Vec::new();
    for _ in 0..3 {
        ended.push(one(yard.acquire(named(&format!("n{}", ended.len()), 0)).await));
        yard.release(&ended[ended.len() - 1]).await.unwrap();
    }
    let keep_ended_most = NonZeroU64::MIN;
    let settings = BoxLeaseSettings { keep_ended_most, ..BoxLeaseSettings::default() };
    yard.send(ChangeSettings(settings)).await;
    yard.look().await;
    eventually("two are forgotten", || yard.verify(&ended[1]) == Err(BoxRefusal::UnknownLease))
        .await;
    assert_eq!(yard.verify(&ended[2]), Err(BoxRefusal::AlreadyReleased));
    // After its record is forgotten, a request counts as new.
    let again = one(yard.acquire(named("n0", 0)).await);
    assert_eq!(again.token, nth_token(4));
    yard.advance(BoxLeaseSettings::default().keep_ended).await;
    eventually("all are", || yard.verify(&ended[2]) == Err(BoxRefusal::UnknownLease)).await;
    yard.close().await;
}
