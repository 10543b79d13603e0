use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookOutput, HooksName, LeaseId, PoolName};
use reelyard_replication::{FrozenPiece, Piece};

use super::box_table::{BoxTable, SharedTable};
use super::event::{BoxEvent, BoxLogEvent, BoxOutcome, BoxRefusal};
use super::leases::lease::LeaseEnd;
use super::pools::pool::BoxPhase;
use super::pools::spec::PoolSpec;
use super::snapshot::FrozenBoxTable;
use crate::box_lease::samples::{
    TERM, cleaned, cleaning, grant, granted, holder, hosted, output, p, phase, refused, release,
    table,
};

fn no_grace(size: u32) -> PoolSpec {
    PoolSpec { grace: Duration::ZERO, ..PoolSpec::of(0, size) }
}

fn expire(id: u128, renewals: u32) -> BoxEvent {
    BoxEvent::Expired { leases: vec![(LeaseId(id), renewals)] }
}

fn ended(table: &mut BoxTable, at: i64, event: &BoxEvent) -> usize {
    match table.apply(Millis(at), event) {
        Ok(BoxOutcome::Ended { leases }) => leases.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_boxes_of_a_grant_are_given_or_none() {
    let mut table = table(no_grace(3));
    granted(&mut table, 1, 1);
    for leases in [&[(2, 0), (3, 1)][..], &[(2, 0), (3, 0)], &[(2, 0), (3, 7)]] {
        assert_eq!(refused(&mut table, &grant(leases, None)), BoxRefusal::NotFree);
    }
    assert_eq!(refused(&mut table, &grant(&[(1, 0)], None)), BoxRefusal::IdInUse);
    assert_eq!(refused(&mut table, &grant(&[], None)), BoxRefusal::BadCount { most: 3 });
    let outcome = table.apply(Millis(0), &grant(&[(2, 0), (3, 2)], None));
    assert_eq!(outcome, Ok(BoxOutcome::Granted { first: FenceToken(2) }));
    let token = |id| table.live(LeaseId(id)).unwrap().token;
    assert_eq!([token(1), token(2), token(3)], [1, 2, 3].map(FenceToken));
}

#[test]
fn a_lease_ends_at_its_deadline_unless_it_was_renewed() {
    let mut table = table(no_grace(1));
    let token = granted(&mut table, 1, 0);
    assert_eq!(ended(&mut table, 99, &expire(1, 0)), 0);
    let renew = |term| BoxEvent::Renewed { lease: LeaseId(1), token, term };
    let most = table.pool(&p()).unwrap().spec().ttl_max;
    assert_eq!(refused(&mut table, &renew(Duration::ZERO)), BoxRefusal::BadTtl { most });
    let expires_at = Millis(150);
    let renewed = table.apply(Millis(50), &renew(TERM));
    assert_eq!(renewed, Ok(BoxOutcome::Renewed { expires_at, renewals: 1 }));
    assert_eq!(ended(&mut table, 150, &expire(1, 0)), 0, "that was decided before");
    assert_eq!(
        (ended(&mut table, 149, &expire(1, 1)), ended(&mut table, 150, &expire(1, 1))),
        (0, 1)
    );
    assert_eq!(refused(&mut table, &renew(TERM)), BoxRefusal::Expired);
    assert_eq!(refused(&mut table, &release(1, token)), BoxRefusal::Expired);
    assert_eq!(refused(&mut table, &release(1, FenceToken(9))), BoxRefusal::WrongToken);
}

#[test]
fn a_logical_box_drains_only_while_its_holder_may_still_use_it() {
    let revoke =
        |id| BoxEvent::Revoked { leases: vec![LeaseId(id)], by: String::new(), reason: None };
    let mut table = table(PoolSpec::of(0, 2));
    let token = granted(&mut table, 1, 0);
    granted(&mut table, 2, 1);
    table.apply(Millis(0), &release(1, token)).unwrap();
    assert_eq!(ended(&mut table, 0, &revoke(2)), 1);
    assert_eq!(
        (phase(&table, 0), phase(&table, 1)),
        (Some(BoxPhase::Free), Some(BoxPhase::Draining))
    );
    let cleaned = cleaned(&table, 1);
    table.apply(Millis(0), &cleaned).unwrap();
    assert_eq!(phase(&table, 1), Some(BoxPhase::Free));
    assert_eq!(refused(&mut table, &cleaned), BoxRefusal::WentOn);
    let mut table = self::table(no_grace(1));
    granted(&mut table, 1, 0);
    ended(&mut table, 0, &revoke(1));
    assert_eq!(phase(&table, 0), Some(BoxPhase::Free));
}

#[test]
fn a_hosted_box_is_held_when_ready_and_free_when_clean() {
    let mut table = table(hosted(1));
    let token = granted(&mut table, 1, 0);
    assert_eq!(refused(&mut table, &release(1, token)), BoxRefusal::NotReady);
    let prepared = BoxEvent::Prepared { leases: vec![LeaseId(1)], term: TERM };
    let outcome = table.apply(Millis(30), &prepared);
    assert_eq!(outcome, Ok(BoxOutcome::Prepared { expires_at: Millis(130) }));
    assert_eq!(refused(&mut table, &prepared), BoxRefusal::WentOn);
    let failed = BoxEvent::InitFailed { lease: LeaseId(1), output: output() };
    assert_eq!(refused(&mut table, &failed), BoxRefusal::WentOn);
    table.apply(Millis(40), &release(1, token)).unwrap();
    let (number, first) = (BoxNumber(0), cleaning(&table, 0));
    let clean_failed = |cleaning, attempt| BoxEvent::CleanFailed {
        pool: p(),
        number,
        cleaning,
        attempt,
        output: output(),
    };
    assert_eq!(refused(&mut table, &clean_failed(first, 2)), BoxRefusal::WentOn);
    assert_eq!(refused(&mut table, &clean_failed(first + 1, 1)), BoxRefusal::WentOn);
    assert_eq!(table.apply(Millis(0), &clean_failed(first, 1)), Ok(BoxOutcome::CleanAgain));
    assert_eq!(refused(&mut table, &clean_failed(first, 1)), BoxRefusal::WentOn);
    assert_eq!(refused(&mut table, &grant(&[(2, 0)], None)), BoxRefusal::NotFree);
    let cleaned = cleaned(&table, 0);
    table.apply(Millis(0), &cleaned).unwrap();
    assert_eq!(granted(&mut table, 2, 0), FenceToken(2));
}

#[test]
fn a_quarantined_box_returns_only_on_request_and_after_a_cleanup() {
    let mut table = table(hosted(1));
    let (pool, number) = (p(), BoxNumber(0));
    let quarantine = |cleaning| {
        let (pool, output, by) = (pool.clone(), output(), Some("x".to_owned()));
        BoxEvent::Quarantined { pool, number, cleaning, output, by }
    };
    assert_eq!(refused(&mut table, &quarantine(Some(1))), BoxRefusal::WentOn);
    table.apply(Millis(0), &quarantine(None)).unwrap();
    assert_eq!(refused(&mut table, &quarantine(None)), BoxRefusal::AlreadyQuarantined);
    for event in [
        BoxEvent::Reconciled { pool: p(), clean: vec![number], dirty: vec![] },
        BoxEvent::Recheck { pool: p() },
    ] {
        table.apply(Millis(0), &event).unwrap();
        assert_eq!(phase(&table, 0), Some(BoxPhase::Quarantined));
    }
    let back = BoxEvent::Unquarantined { pool: p(), number, by: "y".to_owned() };
    table.apply(Millis(0), &back).unwrap();
    assert_eq!(phase(&table, 0), Some(BoxPhase::Draining));
    assert_eq!(refused(&mut table, &back), BoxRefusal::NotQuarantined);
    let news: Vec<_> = table.box_log().newest_first().map(|(_, line)| line.news.clone()).collect();
    assert_eq!(news[0], BoxLogEvent::Unquarantined { by: "y".to_owned() });
}

#[test]
fn a_grant_that_reached_no_client_counts_as_never_granted() {
    let mut table = table(no_grace(2));
    let request = RequestId::of("n", b"boxes");
    let two = |first: u128| grant(&[(first, 0), (first + 1, 1)], Some("n"));
    table.apply(Millis(0), &two(1)).unwrap();
    assert_eq!(table.granted_to(request).unwrap().leases.len(), 2);
    let back = |ids: [u128; 2]| BoxEvent::NotTaken { leases: ids.map(LeaseId).to_vec() };
    assert_eq!((ended(&mut table, 0, &back([1, 2])), ended(&mut table, 0, &back([1, 2]))), (2, 0));
    assert_eq!(table.granted_to(request), None);
    table.apply(Millis(0), &two(3)).unwrap();
    let token = table.live(LeaseId(3)).unwrap().token;
    table.apply(Millis(0), &release(3, token)).unwrap();
    assert_eq!(refused(&mut table, &grant(&[(5, 0)], Some("n"))), BoxRefusal::GrantedBefore);
    // Until it is forgotten.
    assert_eq!(ended(&mut table, 0, &back([3, 4])), 1);
    let all = BoxEvent::Forgot { ended_before: 4, box_log_before: 0 };
    table.apply(Millis(0), &all).unwrap();
    assert_eq!(refused(&mut table, &release(3, token)), BoxRefusal::UnknownLease);
    table.apply(Millis(0), &grant(&[(5, 0)], Some("n"))).unwrap();
}

#[test]
fn a_pool_keeps_its_quota_and_its_busy_boxes() {
    let mut table = table(PoolSpec { quota: 2, ..no_grace(4) });
    granted(&mut table, 1, 3);
    let over = refused(&mut table, &grant(&[(2, 0), (3, 1)], None));
    assert_eq!(over, BoxRefusal::OverQuota { count: 1, most: 2 });
    let put = |spec| BoxEvent::PoolPut { pool: p(), spec: Box::new(spec) };
    assert_eq!(refused(&mut table, &put(hosted(4))), BoxRefusal::PoolInUse { pool: p() });
    table.apply(Millis(0), &put(no_grace(2))).unwrap();
    let pool = table.pool(&p()).unwrap();
    assert_eq!((pool.counts().all(), pool.held_by(&holder())), (3, 1));
    // It grows again before the box was given back.
    table.apply(Millis(0), &put(no_grace(4))).unwrap();
    let token = table.live(LeaseId(1)).unwrap().token;
    table.apply(Millis(0), &release(1, token)).unwrap();
    assert_eq!(phase(&table, 3), Some(BoxPhase::Free));
    let totals = table.pool(&p()).unwrap().totals();
    assert_eq!((totals.granted, totals.ended(LeaseEnd::Released)), (1, 1));
}

#[test]
fn stored_events_keep_their_numbers() {
    let number = |event: &BoxEvent| postcard::to_stdvec(event).unwrap()[0];
    let (pool, lease) = (p(), LeaseId(1));
    let spec = Box::new(PoolSpec::of(0, 1));
    let settings = spec.clone();
    let (term, beyond) = (TERM, FenceToken(9));
    for (event, expected) in [
        (BoxEvent::PoolPut { pool: pool.clone(), spec: spec.clone() }, 0),
        (BoxEvent::Forgot { ended_before: 1, box_log_before: 1 }, 16),
        (BoxEvent::PoolPutAlone { pool: pool.clone(), spec }, 17),
        (BoxEvent::TokensRaised { pool, beyond }, 18),
        (BoxEvent::Led { epoch: Epoch(3), beyond: Some(beyond) }, 19),
        (BoxEvent::TermsPassed { leases: vec![(lease, 0)] }, 20),
        (BoxEvent::TermsAgain { leases: vec![(lease, 0, term)] }, 21),
        (BoxEvent::WrongToken { lease, given: beyond, times: 2 }, 22),
        (BoxEvent::Adopted { pool: p(), output: HookOutput::cut("x"), by: "jo".to_owned() }, 24),
        (BoxEvent::PoolPutBySettings { pool: p(), spec: settings, version: 7 }, 25),
        (BoxEvent::LedOn { boot: BootId([7; 16]), uptime: term }, 26),
    ] {
        assert_eq!(number(&event), expected, "{event:?}");
    }
    let given = BoxEvent::TermsGiven {
        boot: BootId([7; 16]),
        uptime: Duration::new(3, 5),
        leases: vec![(LeaseId(1), 2, term)],
    };
    let id = 1_u128.to_be_bytes();
    let bytes = [&[23][..], &[7; 16], &[3, 5, 1], &id, &[2, 0, 128, 194, 215, 47]].concat();
    assert_eq!(postcard::to_stdvec(&given).unwrap(), bytes);
}

#[test]
fn a_version_of_the_settings_sets_a_pool_once() {
    let mut table = BoxTable::default();
    let by = |version, size| BoxEvent::PoolPutBySettings {
        pool: p(),
        spec: Box::new(no_grace(size)),
        version,
    };
    let by_request = |size| BoxEvent::PoolPutAlone { pool: p(), spec: Box::new(no_grace(size)) };
    let put = |created| Ok(BoxOutcome::PoolPut { created });
    assert_eq!(table.apply(Millis(0), &by(2, 4)), put(true));
    table.apply(Millis(0), &by_request(6)).unwrap();
    // A new leader sends it again, also for an earlier version.
    for version in [2, 1] {
        assert_eq!(table.apply(Millis(0), &by(version, 4)), Ok(BoxOutcome::AlreadySo));
    }
    assert_eq!(table.pool(&p()).unwrap().spec().size, 6);
    // A refused one may be sent again.
    let refused = PoolSpec { clean_attempts: 0, ..no_grace(3) };
    let refused = BoxEvent::PoolPutBySettings { pool: p(), spec: Box::new(refused), version: 3 };
    assert!(table.apply(Millis(0), &refused).is_err());
    assert_eq!(table.apply(Millis(0), &by(3, 3)), put(false));
    // A removed pool comes back with another version only, also after a restart.
    table.apply(Millis(0), &BoxEvent::PoolRemoved { pool: p() }).unwrap();
    let mut again = SharedTable::default();
    Box::new(FrozenBoxTable::of(&table)).write(&mut |row| again.thaw(row).unwrap());
    let mut again = again.write();
    assert_eq!(again.apply(Millis(0), &by(3, 3)), Ok(BoxOutcome::AlreadySo));
    assert!(again.pools().is_empty());
    assert_eq!(again.apply(Millis(0), &by(4, 3)), put(true));
}

#[test]
fn pools_that_shared_boxes_before_still_do_and_no_new_ones_may() {
    let (mut table, other) = (table(hosted(4)), PoolName::new("q").unwrap());
    let spec = Box::new(PoolSpec { hooks: HooksName::new("p").ok(), ..hosted(2) });
    let alone = BoxEvent::PoolPutAlone { pool: other.clone(), spec: spec.clone() };
    assert!(matches!(refused(&mut table, &alone), BoxRefusal::IdsTaken { .. }));
    let as_before = BoxEvent::PoolPut { pool: other.clone(), spec };
    assert_eq!(table.apply(Millis(0), &as_before), Ok(BoxOutcome::PoolPut { created: true }));
    // Apart from each other they may be changed.
    let spec = PoolSpec { hooks: HooksName::new("p").ok(), ..hosted(2) };
    let apart = Box::new(PoolSpec { first_id: BoxNumber(4), ..spec });
    let alone = BoxEvent::PoolPutAlone { pool: other, spec: apart };
    // Its boxes were never checked: none is in use.
    assert_eq!(table.apply(Millis(0), &alone), Ok(BoxOutcome::PoolPut { created: false }));
}

#[test]
fn tokens_are_raised_and_never_lowered() {
    let mut table = table(PoolSpec::of(0, 2));
    assert_eq!(granted(&mut table, 1, 0), FenceToken(1));
    let led = |epoch, beyond| BoxEvent::Led { epoch: Epoch(epoch), beyond };
    table.apply(Millis(0), &led(2, None)).unwrap();
    table.apply(Millis(0), &led(1002, Some(FenceToken(500)))).unwrap();
    assert_eq!((table.led(), granted(&mut table, 2, 1)), (Epoch(1002), FenceToken(501)));
    let raised = |beyond| BoxEvent::TokensRaised { pool: p(), beyond: FenceToken(beyond) };
    assert_eq!(table.apply(Millis(0), &raised(400)), Ok(BoxOutcome::AlreadySo));
    table.apply(Millis(0), &raised(600)).unwrap();
    assert_eq!(table.pool(&p()).unwrap().last_token(), FenceToken(600));
    // Also those of a pool that is gone.
    table.apply(Millis(0), &release(1, FenceToken(1))).unwrap();
    table.apply(Millis(0), &release(2, FenceToken(501))).unwrap();
    table.apply(Millis(0), &BoxEvent::PoolRemoved { pool: p() }).unwrap();
    table.apply(Millis(0), &led(2002, Some(FenceToken(900)))).unwrap();
    assert_eq!(table.highest_token(), FenceToken(900));
}

#[test]
fn a_term_of_an_earlier_version_is_given_once_until_a_renewal() {
    let mut table = table(PoolSpec::of(0, 2));
    let token = granted(&mut table, 1, 0);
    let again = |renewals| BoxEvent::TermsAgain { leases: vec![(LeaseId(1), renewals, TERM)] };
    let until = |table: &BoxTable| table.live(LeaseId(1)).unwrap().expires_at;
    table.apply(Millis(40), &again(0)).unwrap();
    table.apply(Millis(60), &again(0)).unwrap();
    assert_eq!(until(&table), Some(Millis(140)), "once");
    // A snapshot remembers it.
    let mut thawed = SharedTable::default();
    let mut rows = Vec::new();
    Box::new(FrozenBoxTable::of(&table)).write(&mut |row| rows.push(row.to_vec()));
    rows.iter().for_each(|row| thawed.thaw(row).unwrap());
    assert!(thawed.read().again[&LeaseId(1)].is_of(0));
    let renew = BoxEvent::Renewed { lease: LeaseId(1), token, term: TERM };
    table.apply(Millis(100), &renew).unwrap();
    table.apply(Millis(110), &again(0)).unwrap();
    assert_eq!(until(&table), Some(Millis(200)), "it was renewed since that was decided");
    table.apply(Millis(120), &again(1)).unwrap();
    assert_eq!(until(&table), Some(Millis(220)));
    let passed = |renewals| BoxEvent::TermsPassed { leases: vec![(LeaseId(1), renewals)] };
    assert_eq!(table.apply(Millis(0), &passed(0)), Ok(BoxOutcome::Ended { leases: vec![] }));
    // For any value of the wall clock.
    let ended = table.apply(Millis(0), &passed(1));
    assert_eq!(ended, Ok(BoxOutcome::Ended { leases: vec![LeaseId(1)] }));
    assert!(table.again.is_empty());
}

#[test]
fn each_boot_gives_a_full_term_once_and_its_end_is_remembered() {
    let (mut table, one, two) = (table(PoolSpec::of(0, 2)), BootId([1; 16]), BootId([2; 16]));
    let token = granted(&mut table, 1, 0);
    let until = |table: &BoxTable| table.live(LeaseId(1)).unwrap().expires_at;
    let uptime = Duration::from_secs(50);
    let given = |boot, renewals| BoxEvent::TermsGiven {
        boot,
        uptime,
        leases: vec![(LeaseId(1), renewals, TERM)],
    };
    // Terms of an older version have no boot.
    let again = BoxEvent::TermsAgain { leases: vec![(LeaseId(1), 0, TERM)] };
    table.apply(Millis(40), &again).unwrap();
    for (at, boot, expires_at) in [(60, one, 160), (70, one, 160), (80, two, 180), (90, one, 180)] {
        table.apply(Millis(at), &given(boot, 0)).unwrap();
        assert_eq!(until(&table), Some(Millis(expires_at)), "at {at}");
    }
    let mut rows = Vec::new();
    Box::new(FrozenBoxTable::of(&table)).write(&mut |row| rows.push(row.to_vec()));
    // Version, kind, lease, renewals, and for each boot when its term ends: 50.1 s.
    let ends = |boot| [&[boot; 16][..], &[50, 128, 194, 215, 47]].concat();
    let id = 1_u128.to_be_bytes();
    let row = [&[2, 10, 1][..], &id, &[0, 2], &ends(1), &ends(2)].concat();
    assert!(rows.contains(&row), "{rows:?}");
    let mut thawed = SharedTable::default();
    rows.iter().for_each(|row| thawed.thaw(row).unwrap());
    assert_eq!(thawed.read().again[&LeaseId(1)].end(0, two), Some(uptime + TERM));
    let renew = BoxEvent::Renewed { lease: LeaseId(1), token, term: TERM };
    table.apply(Millis(100), &renew).unwrap();
    table.apply(Millis(110), &given(one, 0)).unwrap();
    assert_eq!(until(&table), Some(Millis(200)), "it was renewed since that was decided");
    table.apply(Millis(120), &given(one, 1)).unwrap();
    assert_eq!(until(&table), Some(Millis(220)));
    // A row of an older version says of no boot.
    thawed.thaw(&[&[1, 9, 1][..], &id, &[3]].concat()).unwrap();
    assert!(thawed.read().again[&LeaseId(1)].is_of(3));
    assert_eq!(thawed.read().again[&LeaseId(1)].end(3, one), None);
}

#[test]
fn an_adoption_is_one_line_of_the_audit_at_the_first_box() {
    let mut table = table(PoolSpec::of(3, 2));
    let (output, by) = (HookOutput::cut("java lost boxes"), "jo".to_owned());
    let adopted = BoxEvent::Adopted { pool: p(), output: output.clone(), by: by.clone() };
    assert_eq!(table.apply(Millis(5), &adopted), Ok(BoxOutcome::Applied));
    let lines: Vec<_> = table.box_log().newest_first().map(|(_, line)| line).collect();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((line.at, line.number, line.token), (Millis(5), BoxNumber(3), None));
    assert_eq!(line.news, BoxLogEvent::Adopted { output, by });
    // Its kind has this number in stores.
    let bytes = [&[7, 15][..], b"java lost boxes", &[2], b"jo"].concat();
    assert_eq!(postcard::to_stdvec(&line.news).unwrap(), bytes);
}
