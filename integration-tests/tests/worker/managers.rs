//! A worker reports the managers that called it recently.

use reelyard_core::clock::Clock;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::{MANAGER_HEADER, ManagerId, YardId};
use reelyard_integration_tests::fakes::worker_fake_cfm::FakeCfm;
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::worker::worker_rig::{Rig, started};
use reelyard_protocol::http_client::without_tls;
use reelyard_protocol::worker::{ManagerAction, WorkerInfo};

async fn info(host: HostAddr) -> WorkerInfo {
    let answer =
        without_tls().build().unwrap().get(format!("http://{host}/info")).send().await.unwrap();
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
}

#[actix::test]
async fn callers_that_list_or_delete_are_recorded_by_name_or_address() {
    let rig = Rig::new();
    let mut settings = rig.destination("127.0.0.1:1");
    settings.nodes.clear();
    let worker = started(settings).await;
    let http = without_tls().no_proxy().build().unwrap();
    let url = |path: &str| format!("http://{}{path}", rig.host);
    let begun = Clock::system().now();
    // Every program may send a probe, and request the disk use and the identity.
    http.head(url("/hb")).send().await.unwrap();
    http.get(url("/df")).send().await.unwrap();
    assert!(info(rig.host).await.managers.is_empty());

    let node = ManagerId { cluster: YardId(0xbeef), node: 2 };
    for _ in 0..2 {
        let named = http.get(url("/inventory")).header(MANAGER_HEADER, node.to_string());
        named.send().await.unwrap();
    }
    http.get(url("/files")).send().await.unwrap();
    let garbled = http.delete(url("/files/a.mpg")).header(MANAGER_HEADER, "nobody\u{e9}");
    garbled.send().await.unwrap();

    let managers = info(rig.host).await.managers;
    let mut reported: Vec<_> =
        managers.iter().map(|seen| (seen.manager, seen.does, seen.times)).collect();
    reported.sort();
    let expected = [
        (None, ManagerAction::Lists, 1),
        (None, ManagerAction::Deletes, 1),
        (Some(node), ManagerAction::Lists, 2),
    ];
    assert_eq!(reported, expected);
    assert!(managers.iter().all(|seen| seen.from == "127.0.0.1"), "{managers:?}");
    assert!(managers.iter().all(|seen| seen.first >= begun && seen.last >= seen.first));
    worker.stop().await;
}

#[actix::test]
async fn a_worker_that_polls_an_old_cfm_says_whose_orders_it_takes() {
    let (rig, cfm) = (Rig::new(), FakeCfm::start());
    let worker = started(rig.destination(cfm.url.trim_start_matches("http://"))).await;
    let host = rig.host;
    let http = without_tls().no_proxy().build().unwrap();
    let takes_orders = || async {
        let answer = http.get(format!("http://{host}/info")).send().await.ok()?;
        let info: WorkerInfo = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
        let orders = info.managers.into_iter().find(|seen| seen.does == ManagerAction::Orders)?;
        Some((orders.manager, orders.from))
    };
    let orders = eventually_some("the worker says whose orders it takes", takes_orders).await;
    assert_eq!(orders, (None, cfm.url.clone()));
    worker.stop().await;
    cfm.stop().await;
}
