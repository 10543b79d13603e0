//! Clients of a pool must see the same results as with boxes that are granted one after the other. The tests
//! record histories of real clients of a real node while they kill the node, the worker and holders. A
//! linearizability tester then checks each history against that model.

use std::time::Duration;

use futures::future::join_all;
use reelyard_integration_tests::probes::waiting::eventually;
use reelyard_integration_tests::rigs::running::on_a_system;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::history::{BoxHistory, BoxHistoryYard, HookLog, LeaseOperation, LeaseResult};

/// The number of clients and of boxes.
const CLIENTS: u32 = 5;
const BOXES: u32 = 3;

/// The number of kills, and the number of grants between two kills.
const KILLS: usize = 4;
const GRANTS: usize = 10;

/// A client's lease lasts longer than the test. Only leases of killed holders expire.
const TTL: &str = "60s";

#[test]
fn boxes_without_cleaning_are_granted_one_after_the_other() {
    on_a_system(async {
        let mut yard = BoxHistoryYard::start(None);
        let pool = json!({ "size": BOXES, "first_id": 0, "ttl_default": TTL });
        yard.ask("PUT", "/pools/p", Some(pool)).await.unwrap();
        let history = BoxHistory::default();
        let clients = start_clients(&yard, &history, None, 11);
        for _ in 0..KILLS {
            let mut holder = yard.holder(&history).await;
            granted(&history).await;
            yard.node.kill();
            holder.kill();
            yard.node.start_again().unwrap();
        }
        history.stop();
        join_all(clients).await.into_iter().for_each(Result::unwrap);
        let counts = history.check(BOXES, true);
        assert!(counts.granted >= KILLS * GRANTS && counts.released > 0, "{counts:?}");
    });
}

#[test]
fn boxes_that_are_cleaned_are_handed_out_one_after_the_other() {
    on_a_system(async {
        let dir = tempfile::tempdir().unwrap();
        let log = HookLog::below(dir.path());
        let history = with_a_worker(&log, None, 12).await;
        let counts = history.check(BOXES, false);
        assert!(counts.granted >= KILLS * GRANTS && counts.released > 0, "{counts:?}");
        // The order of the hooks must not show two holders of one box either.
        crate::history::check_hooks(&log, BOXES);
    });
}

#[test]
fn ids_that_are_drawn_are_cleaned_before_another_holder_has_them() {
    on_a_system(async {
        let dir = tempfile::tempdir().unwrap();
        let log = HookLog::below(dir.path());
        // There are few ids, so that each is drawn many times.
        let ids = BOXES + 1;
        let history = with_a_worker(&log, Some(ids), 13).await;
        assert!(history.granted() >= KILLS * GRANTS);
        crate::history::check_hooks(&log, ids);
    });
}

/// The history of clients of a pool with a worker. The test kills holders, and the worker and the node in
/// turn.
async fn with_a_worker(log: &HookLog, ids: Option<u32>, seed: u64) -> BoxHistory {
    let mut yard = BoxHistoryYard::start(Some(log));
    yard.put_hosted_pool(BOXES, TTL, ids).await;
    let history = BoxHistory::default();
    let clients = start_clients(&yard, &history, Some(log), seed);
    for round in 0..KILLS {
        let mut holder = yard.holder(&history).await;
        granted(&history).await;
        holder.kill();
        if round % 2 == 0 {
            yard.kill_worker();
        } else {
            yard.node.kill();
            yard.node.start_again().unwrap();
        }
    }
    history.stop();
    join_all(clients).await.into_iter().for_each(Result::unwrap);
    history
}

/// Waits for some more grants.
async fn granted(history: &BoxHistory) {
    let before = history.granted();
    eventually("boxes are granted", || history.granted() >= before + GRANTS).await;
}

fn start_clients(
    yard: &BoxHistoryYard,
    history: &BoxHistory,
    log: Option<&HookLog>,
    seed: u64,
) -> Vec<JoinHandle<()>> {
    let clients = (0..CLIENTS).map(|number| {
        let (api, history, log) = (yard.api(), history.clone(), log.cloned());
        let mut dice = fastrand::Rng::with_seed(seed * 100 + u64::from(number));
        actix::spawn(async move {
            while !history.is_over() {
                let wait = if dice.bool() { Duration::ZERO } else { Duration::from_secs(30) };
                history.invoke(number, LeaseOperation::Acquire);
                let lease = api.acquire("p", &format!("client {number}"), wait).await;
                let Some(lease) = lease else {
                    history.give(number, LeaseResult::NoBox);
                    tokio::time::sleep(Duration::from_millis(dice.u64(1..20))).await;
                    continue;
                };
                history.give(
                    number,
                    LeaseResult::Granted { number: lease.number, token: lease.token },
                );
                log.iter().for_each(|log| log.held(&lease));
                tokio::time::sleep(Duration::from_millis(dice.u64(0..30))).await;
                let token = lease.token;
                if dice.u8(..4) == 0 {
                    history.invoke(number, LeaseOperation::Verify { token });
                    history.give(number, LeaseResult::Live(api.verify(&lease).await));
                }
                log.iter().for_each(|log| log.released(&lease));
                history.invoke(number, LeaseOperation::Release { token });
                api.release(&lease).await;
                history.give(number, LeaseResult::Released);
                if dice.u8(..4) == 0 {
                    history.invoke(number, LeaseOperation::Verify { token });
                    history.give(number, LeaseResult::Live(api.verify(&lease).await));
                }
            }
        })
    });
    clients.collect()
}
