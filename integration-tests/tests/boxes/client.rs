//! The Rust client with a real node.

use std::future::Future;
use std::time::{Duration, Instant};

use reelyard::box_client::{BoxClient, BoxClientError};
use reelyard_api::{Span, WantedLease};
use reelyard_integration_tests::probes::waiting::{eventually, eventually_some};
use reelyard_integration_tests::rigs::boxes::box_node::BoxNode;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::boxes::{FenceToken, Holder};
use serde_json::{Value, json};

use crate::stub::StubNode;

/// Runs a test with a node of `size` boxes and a client for it.
fn with<F: Future<Output = ()>>(size: u32, test: impl FnOnce(BoxNode, BoxClient) -> F) {
    let boxes = BoxNode::start(&[]).unwrap();
    boxes.put("p", json!({ "size": size, "first_id": 5, "grace": "0s" }));
    let token = boxes.ground.admin_token().unwrap();
    let client = BoxClient::new(&format!("http://{}", boxes.ground.node), Some(token)).unwrap();
    on_a_system(test(boxes, client));
}

/// Runs a test with a client of a node that gives scripted answers.
fn with_stub<F: Future<Output = ()>>(test: impl FnOnce(StubNode, BoxClient) -> F) {
    let stub = StubNode::start();
    let client = BoxClient::new(&format!("http://{}", stub.addr), None).unwrap();
    on_a_system(test(stub, client));
}

fn wanted_by(holder: &str) -> WantedLease {
    WantedLease::by(Holder::new(holder).unwrap())
}

fn free(boxes: &BoxNode) -> u64 {
    boxes.get("/pools/p").body["boxes"]["free"].as_u64().unwrap()
}

#[test]
fn a_held_box_is_released_in_every_way_of_dropping_it() {
    with(2, async |boxes, client| {
        let wanted = WantedLease { count: 2, ..wanted_by("me") };
        let held = client.acquire("p", &wanted).await.unwrap();
        assert_eq!((held.box_id(), held.token()), (5, held.leases()[0].token));
        assert_eq!((held.leases().len(), free(&boxes)), (2, 0));
        held.check().unwrap();
        let (lease, token) = (held.leases()[1].lease_id, held.leases()[1].token);
        let verified = client.verify(lease, token).await.unwrap().unwrap();
        assert_eq!((verified.box_id, verified.holder.as_str()), (6, "me"));
        assert!(client.verify(lease, FenceToken(9)).await.unwrap().is_none());
        held.release().await.unwrap();
        assert_eq!(free(&boxes), 2);
        assert!(client.verify(lease, token).await.unwrap().is_none());

        let dropped = client.acquire("p", &wanted).await.unwrap();
        drop(dropped);
        eventually("both are released", || free(&boxes) == 2).await;
    });
}

#[test]
fn it_is_renewed_until_it_is_lost() {
    with(1, async |boxes, client| {
        let wanted = WantedLease { ttl: Some(Span(Duration::from_secs(6))), ..wanted_by("me") };
        let mut held = client.acquire("p", &wanted).await.unwrap();
        let renewals = || boxes.get("/pools/p/leases").body["items"][0]["renewals"].as_u64();
        eventually("it is renewed", || renewals() >= Some(2)).await;
        held.check().unwrap();
        let path = format!("/leases/{}/revoke", held.leases()[0].lease_id);
        assert_eq!(boxes.post(&path, json!({ "reason": "maintenance" })).status, 200);
        let lost = held.lost().await;
        assert!(lost.why.contains("maintenance"), "{lost}");
        assert_eq!(held.check(), Err(lost.clone()));
        let answer = held.release().await;
        assert!(
            matches!(&answer, Err(BoxClientError::Lost(again)) if *again == lost),
            "{answer:?}"
        );
    });
}

#[test]
fn a_lease_after_a_long_wait_is_renewed_before_an_immediate_one() {
    with(2, async |boxes, client| {
        let ttl = Duration::from_secs(18);
        let other = boxes.take("p", json!({ "holder": "another", "ttl": "10m" }));
        let wanted = |holder: &str| WantedLease { ttl: Some(Span(ttl)), ..wanted_by(holder) };
        let old = WantedLease { wait: Span(Duration::from_secs(600)), ..wanted("old") };
        let fresh = client.acquire("p", &wanted("fresh")).await.unwrap();
        let lets_go = async {
            eventually("it waits", || boxes.get("/pools/p").body["waiting"] == 1).await;
            let began = Instant::now();
            // More than a tenth of its term, and far less than the third after which the other renewal is
            // due.
            eventually("it has waited long", || began.elapsed() > ttl / 9).await;
            assert_eq!(boxes.with(&other, "release").status, 200);
        };
        let (held, ()) = tokio::join!(client.acquire("p", &old), lets_go);
        let held = held.unwrap();
        let renewals = |page: &Value, holder: &str| {
            let leases = page["items"].as_array().unwrap();
            leases.iter().find(|one| one["holder"] == holder).unwrap()["renewals"].as_u64().unwrap()
        };
        let page = eventually_some("the fresh one is renewed", || async {
            let page = boxes.get("/pools/p/leases").body;
            (renewals(&page, "fresh") > 0).then_some(page)
        })
        .await;
        // Once immediately, and then at the normal interval.
        assert!((1..5).contains(&renewals(&page, "old")), "{page}");
        fresh.release().await.unwrap();
        held.release().await.unwrap();
    });
}

#[test]
fn reasons_for_a_missing_box_are_distinguished() {
    with(1, async |boxes, client| {
        let held = client.acquire("p", &wanted_by("me")).await.unwrap();
        let second = client.acquire("p", &wanted_by("you")).await;
        assert!(matches!(second, Err(BoxClientError::NoBoxInTime(_))), "{second:?}");
        let none = client.acquire("q", &wanted_by("you")).await;
        let Err(BoxClientError::Refused(problem)) = none else { panic!("{none:?}") };
        assert_eq!(problem.word(), "no-pool");
        let nobody = BoxClient::new("http://127.0.0.1:9", None).unwrap();
        let nobody = nobody.acquire("p", &wanted_by("me")).await;
        assert!(matches!(nobody, Err(BoxClientError::Unreachable { .. })), "{nobody:?}");
        assert!(BoxClient::new("ftp://127.0.0.1:9", None).is_err());

        // A client that stops waiting leaves the queue.
        let wanted = WantedLease { wait: Span(Duration::from_secs(600)), ..wanted_by("you") };
        let waits = |count: u64| boxes.get("/pools/p").body["waiting"] == count;
        tokio::select! {
            answered = client.acquire("p", &wanted) => panic!("{answered:?}"),
            () = eventually("it waits", || waits(1)) => {}
        }
        eventually("no client waits", || waits(0)).await;
        held.release().await.unwrap();
    });
}

#[test]
fn a_request_by_name_is_granted_once() {
    with(2, async |boxes, client| {
        let wanted = WantedLease { request_id: Some("job 7".to_owned()), ..wanted_by("me") };
        let (first, again) =
            tokio::join!(client.acquire("p", &wanted), client.acquire("p", &wanted));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!(first.leases()[0].lease_id, again.leases()[0].lease_id);
        assert_eq!(free(&boxes), 1);
        first.release().await.unwrap();
        let answer = again.release().await;
        let Err(BoxClientError::Refused(problem)) = answer else { panic!("{answer:?}") };
        assert_eq!(problem.word(), "lease-released");
    });
}

#[test]
fn a_connection_that_hangs_does_not_cost_the_lease() {
    with_stub(async |stub, client| {
        let wanted = wanted_by("me");
        let grants = async { stub.called().await.answer_lease(201, "6s") };
        let (held, ()) = tokio::join!(client.acquire("p", &wanted), grants);
        let mut held = held.unwrap();
        let hangs = stub.called().await;
        let again = tokio::select! {
            again = stub.called() => again,
            lost = held.lost() => panic!("{lost}"),
        };
        assert_eq!(hangs.path, again.path);
        let before = held.until();
        again.answer_lease(200, "10m");
        eventually("it is renewed", || held.until() > before).await;
        held.check().unwrap();
        let releases = async { stub.called().await.refuse(410, "lease-released") };
        let (released, ()) = tokio::join!(held.release(), releases);
        assert!(released.is_err());
    });
}

#[test]
fn a_request_with_an_uncertain_answer_is_repeated_also_without_a_wait() {
    for (status, kind) in [(504, "outcome-unknown"), (503, "leader-changed"), (502, "none")] {
        with_stub(async |stub, client| {
            let wanted = wanted_by("me");
            let answers = async {
                let first = stub.called().await;
                let name = first.body["request_id"].clone();
                first.refuse(status, kind);
                let again = stub.called().await;
                assert_eq!(again.body["request_id"], name);
                again.answer_lease(201, "10m");
            };
            let (held, ()) = tokio::join!(client.acquire("p", &wanted), answers);
            assert_eq!(held.unwrap().box_id(), 7);
        });
    }
}

#[test]
fn a_request_that_certainly_failed_is_reported_at_once() {
    with_stub(async |stub, client| {
        let wanted = wanted_by("me");
        let answers = async { stub.called().await.refuse(503, "busy") };
        let (held, ()) = tokio::join!(client.acquire("p", &wanted), answers);
        let Err(BoxClientError::Refused(problem)) = held else { panic!("{held:?}") };
        assert_eq!(problem.word(), "busy");
    });
}
