//! A CfwWorker and a host that answers probes while its other calls fail.

use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::HostRole;
use reelyard_core::names::NameTable;
use reelyard_integration_tests::fakes::stand_in_cfw::StandInCfw;
use reelyard_integration_tests::fakes::stand_in_subscriber::{Notifications, subscriber};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, CfwWorkerView, CircuitState, HostCallKind,
    HostCallStatus, LookDue, ProbeHeartbeat, Refresh, ResetBreaker, SubscribeToCallStatus,
    http_client,
};
use tempfile::TempDir;

struct BreakerYard {
    host: StandInCfw,
    worker: Addr<CfwWorker>,
    view: ViewHandle<CfwWorkerView>,
    statuses: Notifications<HostCallStatus>,
    clock: Clock,
    _dir: TempDir,
}

impl BreakerYard {
    /// An old cfw after its first observation.
    async fn open() -> BreakerYard {
        BreakerYard::open_with(CfwWorkerSettings::default()).await
    }

    async fn open_with(settings: CfwWorkerSettings) -> BreakerYard {
        let dir = TempDir::new().unwrap();
        let host = StandInCfw::start(dir.path()).unwrap();
        let clock = Clock::manual(Millis(1_795_240_000_000));
        let http = http_client(&settings).unwrap();
        let role = HostRole::Destination;
        let names = NameTable::new();
        let worker = CfwWorker::new(host.addr(), role, settings, http, names, clock.clone());
        let view = worker.view();
        let worker = worker.start();
        let (addr, statuses) = subscriber();
        worker.send(SubscribeToCallStatus { to: addr.recipient() }).await.unwrap();
        let mut yard = BreakerYard { host, worker, view, statuses, clock, _dir: dir };
        assert_eq!(yard.statuses.next().await.calls, CircuitState::Closed);
        yard.probe().await;
        yard.worker.send(Refresh).await.unwrap().unwrap();
        yard
    }

    async fn probe(&self) {
        let probe = ProbeHeartbeat { timeout: Duration::from_secs(5) };
        self.worker.send(probe).await.unwrap().unwrap();
    }

    /// Moves the clock and makes the worker do what is due.
    async fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.worker.send(LookDue).await.unwrap();
    }

    fn looks(&self) -> u64 {
        self.view.load().looks
    }

    fn calls(&self) -> CircuitState {
        self.view.load().calls
    }

    /// Waits until an observation that began now is complete.
    async fn looked(&self) {
        let now = self.clock.now();
        let finished = || {
            let is_new = self.view.load().disk_at == Some(now);
            async move { is_new.then_some(()) }
        };
        eventually_some("the look has ended", finished).await;
    }
}

#[actix::test]
async fn failed_calls_stop_calls_to_a_host_and_trust_returns_in_steps() {
    let mut yard = BreakerYard::open().await;
    yard.host.set_df_failing(true);
    for _ in 0..3 {
        // Its list succeeds each time: only the disk call fails.
        yard.worker.send(Refresh).await.unwrap().unwrap();
    }
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Open);
    let trouble = yard.view.load().trouble.clone().unwrap();
    assert_eq!((trouble.call, trouble.back_off.failures), (HostCallKind::Disk, 1));

    // From now on the worker sends only probes.
    let (looks, calls) = (yard.looks(), yard.host.calls().len());
    yard.pass(5).await;
    yard.probe().await;
    let refused = yard.worker.send(Refresh).await.unwrap();
    assert!(
        matches!(&refused, Err(AskFailure::NotAsked(why)) if why.contains("circuit breaker is open"))
    );
    assert_eq!(yard.looks(), looks);
    assert_eq!(yard.host.calls()[calls..], ["HEAD /hb"]);

    // The trial call fails: the next pause is longer.
    yard.pass(5).await;
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Probation);
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Open);
    let trouble = yard.view.load().trouble.clone().unwrap();
    assert_eq!(trouble.back_off.failures, 2);
    assert!(trouble.back_off.until.since(yard.clock.now()) >= Duration::from_secs(18));

    // Two successful calls in sequence close the breaker.
    yard.host.set_df_failing(false);
    yard.pass(20).await;
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Probation);
    yard.looked().await;
    assert_eq!(yard.calls(), CircuitState::Probation);
    yard.pass(5).await;
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Closed);
    assert!(yard.view.load().trouble.is_none());
}

#[actix::test]
async fn an_operator_closes_the_breaker_and_a_look_follows_at_once() {
    let mut yard = BreakerYard::open().await;
    yard.host.set_df_failing(true);
    for _ in 0..3 {
        yard.worker.send(Refresh).await.unwrap().unwrap();
    }
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Open);
    yard.host.set_df_failing(false);
    yard.clock.advance(Duration::from_secs(1));
    yard.worker.send(ResetBreaker).await.unwrap();
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Closed);
    yard.looked().await;
    assert_eq!(yard.calls(), CircuitState::Closed);
}

/// A trial call may take longer than the cool-down. The breaker keeps its state until the answer, and a
/// failure makes the next cool-down longer.
#[actix::test]
async fn lists_that_time_out_lengthen_each_cool_down() {
    let list_timeout = Duration::from_millis(300);
    let settings = CfwWorkerSettings { list_timeout, ..CfwWorkerSettings::default() };
    let mut yard = BreakerYard::open_with(settings).await;
    yard.host.set_holding_lists(true);
    for _ in 0..3 {
        let failed = yard.worker.send(Refresh).await.unwrap();
        assert!(matches!(failed, Err(AskFailure::TimedOut(_))), "{failed:?}");
    }
    assert_eq!(yard.statuses.next().await.calls, CircuitState::Open);
    for failures in 2..5 {
        let until = yard.view.load().trouble.clone().unwrap().back_off.until;
        yard.pass(until.since(yard.clock.now()).as_secs() + 1).await;
        assert_eq!(yard.statuses.next().await.calls, CircuitState::Probation);
        // The trial call runs as long as a list may take, which is longer than the cool-down was.
        yard.pass(300).await;
        assert_eq!(yard.statuses.next().await.calls, CircuitState::Open);
        let trouble = yard.view.load().trouble.clone().unwrap();
        assert_eq!((trouble.call, trouble.back_off.failures), (HostCallKind::List, failures));
    }
}
