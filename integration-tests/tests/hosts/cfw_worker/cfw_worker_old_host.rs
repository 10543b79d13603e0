//! A CfwWorker with an old cfw: the data that it accepts and the data that it rejects.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostKind, HostRole};
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_integration_tests::fakes::stand_in_cfw::{HELD_LIST, StandInCfw};
use reelyard_integration_tests::fakes::stand_in_subscriber::{Notifications, subscriber};
use reelyard_integration_tests::probes::waiting::PATIENCE;
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_yard::cfw_worker::{
    AskFailure, CfwWorker, CfwWorkerSettings, CfwWorkerView, CopyArrived, DeleteCopy, HostObserved,
    Inventory, LookDue, ProbeHeartbeat, Refresh, SubscribeToHost, http_client,
};
use tempfile::TempDir;

const PROBE: ProbeHeartbeat = ProbeHeartbeat { timeout: PATIENCE };

/// The timeout of calls and lists in tests with missing answers. Other answers must arrive within it, on a
/// slow machine too.
const LIMIT: Duration = Duration::from_secs(4);

/// An old cfw over a real directory, its CfwWorker, and a subscriber.
struct OldHostYard {
    host: StandInCfw,
    worker: Addr<CfwWorker>,
    view: ViewHandle<CfwWorkerView>,
    observations: Notifications<HostObserved>,
    names: NameTable,
    clock: Clock,
    _dir: TempDir,
}

impl OldHostYard {
    async fn with(role: HostRole, files: &[&[u8]]) -> OldHostYard {
        OldHostYard::set_up(role, files, CfwWorkerSettings::default()).await
    }

    async fn limited(files: &[&[u8]]) -> OldHostYard {
        let settings = CfwWorkerSettings {
            call_timeout: LIMIT,
            list_timeout: LIMIT,
            ..CfwWorkerSettings::default()
        };
        OldHostYard::set_up(HostRole::Destination, files, settings).await
    }

    async fn set_up(role: HostRole, files: &[&[u8]], settings: CfwWorkerSettings) -> OldHostYard {
        let dir = TempDir::new().unwrap();
        let base = dir.path().join("copies");
        fs::create_dir(&base).unwrap();
        for file in files {
            fs::write(base.join(as_os(file)), b"x").unwrap();
        }
        let host = StandInCfw::start(&base).unwrap();
        let clock = Clock::manual(Millis(1_795_240_000_000));
        let names = NameTable::new();
        let http = http_client(&settings).unwrap();
        let worker =
            CfwWorker::new(host.addr(), role, settings, http, names.clone(), clock.clone());
        let view = worker.view();
        let worker = worker.start();
        let (addr, observations) = subscriber();
        worker.send(SubscribeToHost { to: addr.recipient() }).await.unwrap();
        OldHostYard { host, worker, view, observations, names, clock, _dir: dir }
    }

    async fn probe(&self) -> Result<Duration, AskFailure> {
        self.worker.send(PROBE).await.unwrap()
    }

    async fn refresh(&self) -> Result<Arc<Inventory>, AskFailure> {
        self.worker.send(Refresh).await.unwrap()
    }

    /// The error of a failed refresh.
    async fn failed_refresh(&self) -> AskFailure {
        self.refresh().await.map(|inventory| self.names_of(&inventory)).unwrap_err()
    }

    async fn delete(&self, name: &[u8]) -> Result<Deleted, AskFailure> {
        let name = FileName::new(name).unwrap();
        self.worker.send(DeleteCopy { name, epoch: Epoch(3) }).await.unwrap()
    }

    fn id(&self, name: &[u8]) -> FileId {
        self.names.intern(&FileName::new(name).unwrap())
    }

    fn names_of(&self, inventory: &Inventory) -> Vec<Vec<u8>> {
        let name = |id| self.names.name(FileId(id)).as_bytes().to_vec();
        let mut names: Vec<_> = inventory.files.iter().map(name).collect();
        names.sort();
        names
    }

    /// The names in the next notification of the subscriber.
    async fn next_reported(&mut self) -> Vec<Vec<u8>> {
        let inventory = self.observations.next().await.inventory.unwrap();
        self.names_of(&inventory)
    }

    /// Waits until `call` arrived `times` times.
    async fn was_called(&self, call: &str, times: usize) {
        tokio::time::timeout(PATIENCE, self.host.was_called(call, times)).await.unwrap();
    }

    fn files_on_disk(&self) -> Vec<Vec<u8>> {
        use std::os::unix::ffi::OsStrExt;
        let entries = fs::read_dir(self.host.dir()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().as_bytes().to_vec()).collect();
        names.sort();
        names
    }
}

fn as_os(name: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}

fn bytes(names: &[&[u8]]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.to_vec()).collect()
}

#[actix::test]
async fn an_answering_host_is_listed_once_and_then_at_its_interval() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[b"b.mpg", b"a.mpg"]).await;
    assert!(yard.probe().await.is_ok());
    let observed = yard.observations.next().await;
    assert_eq!(observed.kind, HostKind::Cfw);
    assert_eq!(yard.names_of(&observed.inventory.unwrap()), bytes(&[b"a.mpg", b"b.mpg"]));
    assert!(observed.disk.unwrap().0.total > 0);
    let view = yard.view.load();
    assert_eq!(view.inventory.unwrap().files, 2);
    assert_eq!((view.answers, view.looks, view.failed_looks), (Some(true), 1, 0));
    assert_eq!(yard.host.count_of("GET /info"), 1);

    // A successful probe does not cause another observation; the end of the interval does.
    assert!(yard.probe().await.is_ok());
    assert_eq!(yard.host.count_of("GET /files"), 1);
    yard.clock.advance(Duration::from_secs(70));
    yard.worker.send(LookDue).await.unwrap();
    assert_eq!(yard.next_reported().await, bytes(&[b"a.mpg", b"b.mpg"]));
    assert_eq!(yard.host.count_of("GET /files"), 2);
}

#[actix::test]
async fn a_host_that_cannot_be_listed_is_not_empty() {
    let mut yard = OldHostYard::limited(&[b"a.mpg", b"b.mpg"]).await;
    yard.probe().await.unwrap();
    yard.observations.next().await;

    yard.host.set_tearing_lists(true);
    let torn = yard.failed_refresh().await;
    assert!(matches!(torn, AskFailure::Unreachable(_)), "{torn:?}");
    yard.host.set_tearing_lists(false);

    yard.host.set_holding_lists(true);
    assert_eq!(yard.failed_refresh().await, AskFailure::TimedOut(LIMIT));
    yard.host.set_holding_lists(false);

    let away = yard.host.dir().with_extension("away");
    fs::rename(yard.host.dir(), &away).unwrap();
    assert_eq!(yard.failed_refresh().await, AskFailure::Status(500));
    fs::rename(&away, yard.host.dir()).unwrap();

    assert!(yard.observations.already().is_none(), "a failure was reported as an observation");
    let view = yard.view.load();
    assert_eq!(view.inventory.unwrap().files, 2);
    assert_eq!(view.failed_looks, 3);
    assert_eq!(view.last_failure.as_ref().unwrap().asked, "GET /files");
    // The breaker opened after that many failures. After the pause the host is called again.
    yard.clock.advance(Duration::from_secs(10));
    assert_eq!(yard.refresh().await.unwrap().files.len(), 2);
}

#[actix::test]
async fn disk_figures_that_cannot_be_read_are_not_zero() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[]).await;
    yard.host.set_df_failing(true);
    yard.probe().await.unwrap();
    let observed = yard.observations.next().await;
    assert_eq!(observed.inventory.unwrap().files.len(), 0);
    assert_eq!(observed.disk, None);
    assert_eq!(yard.view.load().last_failure.as_ref().unwrap().asked, "GET /df");

    // The call is repeated after a short pause, without a complete observation.
    yard.host.set_df_failing(false);
    yard.clock.advance(Duration::from_secs(5));
    yard.worker.send(LookDue).await.unwrap();
    assert!(yard.observations.next().await.disk.unwrap().0.total > 0);
    assert_eq!(yard.host.count_of("GET /files"), 1);
}

#[actix::test]
async fn a_pure_source_is_asked_for_its_identity_only() {
    let mut yard = OldHostYard::with(HostRole::Source, &[b"master.mpg"]).await;
    yard.probe().await.unwrap();
    let observed = yard.observations.next().await;
    assert_eq!((observed.kind, observed.disk), (HostKind::Cfw, None));
    assert!(observed.inventory.is_none());
    assert!(matches!(yard.failed_refresh().await, AskFailure::NotAsked(_)));
    assert!(matches!(yard.delete(b"master.mpg").await, Err(AskFailure::NotAsked(_))));
    yard.observations.next().await;
    yard.clock.advance(Duration::from_secs(300));
    yard.worker.send(LookDue).await.unwrap();
    yard.observations.next().await;
    let calls = yard.host.calls();
    assert!(calls.iter().all(|call| call == "HEAD /hb" || call == "GET /info"), "{calls:?}");
}

#[actix::test]
async fn a_silent_host_gets_only_probes_until_it_is_back() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[b"a.mpg"]).await;
    assert!(matches!(yard.failed_refresh().await, AskFailure::NotAsked(_)));
    yard.probe().await.unwrap();
    yard.observations.next().await;

    yard.host.set_frozen(true);
    let short = ProbeHeartbeat { timeout: LIMIT };
    let missed = yard.worker.send(short).await.unwrap();
    assert_eq!(missed, Err(AskFailure::TimedOut(LIMIT)));
    let before = yard.host.calls().len();
    yard.clock.advance(Duration::from_secs(3600));
    yard.worker.send(LookDue).await.unwrap();
    assert_eq!(yard.failed_refresh().await, AskFailure::TimedOut(LIMIT));
    assert_eq!(yard.delete(b"a.mpg").await, Err(AskFailure::TimedOut(LIMIT)));
    assert_eq!(yard.host.calls().len(), before);
    assert_eq!(yard.view.load().answers, Some(false));
    assert_eq!(yard.view.load().inventory.unwrap().files, 1);

    yard.host.set_frozen(false);
    fs::write(yard.host.dir().join("new.mpg"), b"x").unwrap();
    yard.probe().await.unwrap();
    assert_eq!(yard.next_reported().await, bytes(&[b"a.mpg", b"new.mpg"]));
}

#[actix::test]
async fn a_program_that_was_stopped_and_started_again_is_reached_again() {
    let yard = OldHostYard::with(HostRole::Destination, &[]).await;
    yard.probe().await.unwrap();
    let (addr, dir) = (yard.host.addr().to_string(), yard.host.dir().to_owned());
    drop(yard.host);
    // Threads of the stopped program may still answer on the open connection.
    let mut probes = 0;
    while yard.worker.send(PROBE).await.unwrap().is_ok() {
        probes += 1;
        assert!(probes < 10_000, "it is still answered");
    }
    let missed = yard.worker.send(PROBE).await.unwrap();
    assert!(matches!(missed, Err(AskFailure::Unreachable(_))), "{missed:?}");
    let again = StandInCfw::start_at(&dir, &addr).unwrap();
    assert!(yard.worker.send(PROBE).await.unwrap().is_ok());
    assert_eq!(again.count_of("HEAD /hb"), 1);
}

#[actix::test]
async fn a_report_of_an_arrival_does_not_renew_old_disk_figures() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[]).await;
    yard.probe().await.unwrap();
    let (_, asked) = yard.observations.next().await.disk.unwrap();
    yard.clock.advance(Duration::from_secs(1));
    let arrived = CopyArrived { file: yard.id(b"comes.mpg"), size: Some(1) };
    yard.worker.send(arrived).await.unwrap();
    let observations = yard.observations.next().await;
    let (_, still) = observations.disk.unwrap();
    assert_eq!(still, asked, "the copy is not in these figures");
}

#[actix::test]
async fn an_older_list_does_not_undo_an_arrival_or_a_removal() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[b"goes.mpg", b"stays.mpg"]).await;
    yard.probe().await.unwrap();
    yard.observations.next().await;

    yard.host.set_holding_lists(true);
    let refreshed = tokio::spawn(yard.worker.send(Refresh));
    // The host has read its directory before it deletes the file, because one thread handles both.
    yard.was_called("GET /files", 2).await;
    assert_eq!(yard.delete(b"goes.mpg").await, Ok(Deleted::Removed));
    assert_eq!(yard.next_reported().await, bytes(&[b"stays.mpg"]));
    let arrived = CopyArrived { file: yard.id(b"comes.mpg"), size: Some(1) };
    yard.worker.send(arrived).await.unwrap();
    assert_eq!(yard.next_reported().await, bytes(&[b"comes.mpg", b"stays.mpg"]));
    yard.host.set_holding_lists(false);

    let inventory = refreshed.await.unwrap().unwrap().unwrap();
    assert_eq!(yard.names_of(&inventory), bytes(&[b"comes.mpg", b"stays.mpg"]));
    assert_eq!(yard.next_reported().await, bytes(&[b"comes.mpg", b"stays.mpg"]));
    // A later list is more recent: that copy is not on this disk.
    let later = yard.refresh().await.unwrap();
    assert_eq!(yard.names_of(&later), bytes(&[b"stays.mpg"]));
}

#[actix::test]
async fn a_refresh_asked_for_during_a_look_gets_a_later_one() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[b"a.mpg"]).await;
    yard.probe().await.unwrap();
    yard.observations.next().await;
    yard.host.set_holding_lists(true);
    let first = tokio::spawn(yard.worker.send(Refresh));
    yard.was_called(HELD_LIST, 1).await;
    let later = [Refresh, Refresh].map(|refresh| yard.worker.send(refresh));
    // Messages are handled in order: after this answer both were handled.
    yard.worker.send(LookDue).await.unwrap();
    fs::write(yard.host.dir().join("b.mpg"), b"x").unwrap();
    yard.host.set_holding_lists(false);
    let first = first.await.unwrap().unwrap().unwrap();
    assert_eq!(yard.names_of(&first), bytes(&[b"a.mpg"]));
    for later in later {
        let inventory = later.await.unwrap().unwrap();
        assert_eq!(yard.names_of(&inventory), bytes(&[b"a.mpg", b"b.mpg"]));
    }
    assert_eq!(yard.host.count_of("GET /files"), 3);
}

#[actix::test]
async fn hostile_names_are_deleted_exactly_as_named() {
    let long = vec![b'x'; 255];
    let hostile: Vec<&[u8]> = vec![
        b"a#b.mpg",
        b"c?d.mpg",
        b"%411.mpg",
        b" sp ace ",
        b"..x",
        b"a&b+c;d.mpg",
        b"\xff\xfe\x80.mpg",
        "한글.mpg".as_bytes(),
        b"back\\slash",
        &long,
    ];
    // The files that a call with the raw name would affect.
    let bystanders: Vec<&[u8]> = vec![b"a", b"c", b"A1.mpg", b"sp"];
    let all: Vec<&[u8]> = hostile.iter().chain(&bystanders).copied().collect();
    let mut yard = OldHostYard::with(HostRole::Destination, &all).await;
    yard.probe().await.unwrap();
    let mut expected = bytes(&all);
    expected.sort();
    assert_eq!(yard.next_reported().await, expected);
    for name in &hostile {
        assert_eq!(yard.delete(name).await, Ok(Deleted::Removed), "{name:?}");
        expected.retain(|kept| kept != name);
        assert_eq!(yard.files_on_disk(), expected);
        assert_eq!(yard.next_reported().await, expected);
    }
    assert_eq!(yard.view.load().deleted, hostile.len() as u64);
}

#[actix::test]
async fn a_host_reports_the_result_of_a_deletion() {
    let mut yard = OldHostYard::limited(&[b"a.mpg"]).await;
    fs::create_dir(yard.host.dir().join("dir")).unwrap();
    yard.probe().await.unwrap();
    yard.observations.next().await;
    assert_eq!(yard.delete(b"dir").await, Ok(Deleted::Directory));
    fs::remove_file(yard.host.dir().join("a.mpg")).unwrap();
    assert_eq!(yard.delete(b"a.mpg").await, Ok(Deleted::Absent));
    assert_eq!(yard.next_reported().await, bytes(&[]));

    // Without an answer the result is unknown, therefore the host is observed.
    yard.worker.send(CopyArrived { file: yard.id(b"b.mpg"), size: None }).await.unwrap();
    assert_eq!(yard.next_reported().await, bytes(&[b"b.mpg"]));
    yard.host.set_frozen(true);
    assert_eq!(yard.delete(b"b.mpg").await, Err(AskFailure::TimedOut(LIMIT)));
    yard.host.set_frozen(false);
    assert_eq!(yard.next_reported().await, bytes(&[]));
}

#[actix::test]
async fn calls_beyond_the_bound_are_refused_at_once() {
    let settings =
        CfwWorkerSettings { open_calls: 2, waiting_calls: 3, ..CfwWorkerSettings::default() };
    let mut yard = OldHostYard::set_up(HostRole::Destination, &[], settings).await;
    yard.probe().await.unwrap();
    yard.observations.next().await;
    yard.host.set_frozen(true);
    let delete = || DeleteCopy { name: FileName::new("a").unwrap(), epoch: Epoch(1) };
    let waiting: Vec<_> = (0..5).map(|_| yard.worker.send(delete())).collect();
    assert_eq!(yard.worker.send(delete()).await.unwrap(), Err(AskFailure::Busy));
    assert_eq!(yard.view.load().open_requests, 5);
    yard.was_called("DELETE /files/a", 2).await;
    assert_eq!(yard.host.count_of("DELETE /files/a"), 2);
    yard.host.set_frozen(false);
    for call in waiting {
        assert_eq!(call.await.unwrap(), Ok(Deleted::Absent));
    }
    assert_eq!(yard.view.load().open_requests, 0);
}

#[actix::test]
async fn a_list_of_the_same_length_is_read_only_if_it_differs() {
    let mut yard = OldHostYard::with(HostRole::Destination, &[b"a.mpg", b"b.mpg"]).await;
    yard.probe().await.unwrap();
    yard.observations.next().await;
    assert_eq!(yard.host.count_of("GET /files"), 1);
    let unchanged = yard.refresh().await.unwrap();
    assert_eq!(yard.names_of(&unchanged), bytes(&[b"a.mpg", b"b.mpg"]));
    assert_eq!(yard.host.count_of("GET /files"), 2);
    fs::rename(yard.host.dir().join("a.mpg"), yard.host.dir().join("c.mpg")).unwrap();
    let changed = yard.refresh().await.unwrap();
    assert_eq!(yard.names_of(&changed), bytes(&[b"b.mpg", b"c.mpg"]));
    assert_eq!(yard.host.count_of("GET /files"), 4, "the names were needed after all");
    let file = yard.id(b"b.mpg");
    yard.worker.send(CopyArrived { file: yard.id(b"d.mpg"), size: None }).await.unwrap();
    assert_eq!(yard.delete(b"b.mpg").await.unwrap(), Deleted::Removed);
    let later = yard.refresh().await.unwrap();
    assert_eq!(yard.names_of(&later), bytes(&[b"c.mpg"]));
    assert!(!later.files.contains(file.0));
}
