//! The Downloader over messages: a manual clock, a source on a thread, no node.

use std::sync::Arc;

use actix::{Context, Handler, Message};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::FileName;
use reelyard_core::supervision::Supervision;
use reelyard_integration_tests::fakes::worker_fake_source::{self, SourceTrouble};
use reelyard_integration_tests::rigs::worker::worker_rig::Rig;
use reelyard_protocol::worker::{Report, ReportedState, TaskId};
use reelyard_worker::downloader::copying::order::CopyOrder;
use reelyard_worker::downloader::disk::base_dir::BaseDir;
use reelyard_worker::downloader::fetching::fetch::Fetcher;
use reelyard_worker::downloader::fetching::partials::{KeepFor, Partials};
use reelyard_worker::downloader::fetching::source_stream::SourcePort;
use reelyard_worker::downloader::{
    Downloader, DownloaderHandle, LinkWork, ReportsDelivered, StopTransfers, TakeOrders,
};
use reelyard_worker::kept_state::state_store::StateStore;
use tokio::sync::watch;

struct DownloaderRig {
    rig: Rig,
    store: Arc<StateStore>,
    downloads: DownloaderHandle,
    work: watch::Receiver<LinkWork>,
}

const NOW: Millis = Millis(1_000_000);

impl DownloaderRig {
    fn new() -> Self {
        let rig = Rig::new();
        let clock = Clock::manual(NOW);
        let store = Arc::new(StateStore::open(&rig.place.path().join("state")).unwrap());
        let base = Arc::new(BaseDir::open(&rig.copies()).unwrap());
        let (kept, keep_for) = (Arc::clone(&store), KeepFor::default());
        let partials = Partials::new(Arc::clone(&base), kept, clock.clone(), keep_for);
        let mut fetcher = Fetcher::new(base, partials, clock.clone());
        fetcher.storage_limit_percent = 100.into();
        let supervision = Supervision::of("downloader");
        let downloads = DownloaderHandle::start(supervision, fetcher, Arc::clone(&store), clock, 1);
        let work = downloads.work();
        DownloaderRig { rig, store, downloads, work }
    }

    /// An order to fetch from a source with `trouble`.
    fn order(&self, id: i64, trouble: SourceTrouble) -> CopyOrder {
        CopyOrder {
            id: TaskId(id),
            name: FileName::new(format!("{id}.mpg")).unwrap(),
            dir: "/data".into(),
            source: self.rig.host,
            source_tls: false,
            source_data: Some(SourcePort { addr: worker_fake_source::start(trouble), tls: false }),
            size: None,
            copy_speed: None,
            tickets: None,
        }
    }

    async fn reports_until(&mut self, reached: impl FnMut(&LinkWork) -> bool) -> Vec<Report> {
        self.work.wait_for(reached).await.unwrap().reports.clone()
    }
}

fn ends(work: &LinkWork) -> usize {
    work.reports.iter().filter(|report| report.is_end()).count()
}

#[actix::test]
async fn an_end_is_durable_before_its_report_and_kept_until_accepted() {
    let mut fixture = DownloaderRig::new();
    let orders =
        vec![fixture.order(1, SourceTrouble::Errs), fixture.order(2, SourceTrouble::WrongHash)];
    fixture.downloads.addr().send(TakeOrders { orders }).await.unwrap();

    let reports = fixture.reports_until(|work| ends(work) == 2).await;

    assert!(reports.iter().all(|report| report.at == NOW));
    let reported: Vec<(i64, bool)> = reports.iter().map(|r| (r.task.0, r.is_end())).collect();
    assert_eq!(reported, [(1, false), (1, true), (2, false), (2, true)], "one at a time, in order");
    let ended: Vec<Report> = reports.iter().filter(|report| report.is_end()).cloned().collect();
    assert_eq!(fixture.store.reports().unwrap(), ended);
    assert_eq!(fixture.work.borrow().known, [TaskId(1), TaskId(2)]);

    let taken = ReportsDelivered { sent: reports, cancelled: vec![] };
    fixture.downloads.addr().send(taken).await.unwrap();
    assert_eq!(*fixture.work.borrow(), LinkWork::default());
}

#[actix::test]
async fn stopping_is_answered_when_the_last_copy_has_ended() {
    let mut fixture = DownloaderRig::new();
    let orders =
        vec![fixture.order(1, SourceTrouble::FallsSilent), fixture.order(2, SourceTrouble::Errs)];
    fixture.downloads.addr().send(TakeOrders { orders }).await.unwrap();
    fixture
        .reports_until(|work| work.reports.iter().any(|r| r.state == ReportedState::Working))
        .await;

    fixture.downloads.addr().send(StopTransfers).await.unwrap();

    assert_eq!(*fixture.work.borrow(), LinkWork::default());
    assert_eq!(fixture.store.reports().unwrap(), []);
    let temp = fixture.rig.copies().join("temp.downloaded");
    assert_eq!(std::fs::read_dir(temp).unwrap().count(), 0);
}

#[actix::test]
async fn a_cancelled_copy_is_abandoned() {
    let mut fixture = DownloaderRig::new();
    let orders =
        vec![fixture.order(1, SourceTrouble::FallsSilent), fixture.order(2, SourceTrouble::Errs)];
    fixture.downloads.addr().send(TakeOrders { orders }).await.unwrap();
    let sent = fixture.reports_until(|work| !work.reports.is_empty()).await;

    let cancelled = vec![TaskId(1)];
    fixture.downloads.addr().send(ReportsDelivered { sent, cancelled }).await.unwrap();

    let reports = fixture.reports_until(|work| ends(work) == 1).await;
    assert!(reports.iter().all(|report| report.task == TaskId(2)), "the next one had its turn");
}

/// Causes a panic in a downloader.
#[derive(Message)]
#[rtype(result = "()")]
struct PanicDownloader;

impl Handler<PanicDownloader> for Downloader {
    type Result = ();

    fn handle(&mut self, _: PanicDownloader, _: &mut Context<Self>) {
        panic!("the downloader was asked to panic");
    }
}

#[actix::test]
async fn a_downloader_that_panics_keeps_its_reports_and_begins_its_copies_again() {
    let mut fixture = DownloaderRig::new();
    let orders =
        vec![fixture.order(1, SourceTrouble::Errs), fixture.order(2, SourceTrouble::FallsSilent)];
    fixture.downloads.addr().send(TakeOrders { orders: orders.clone() }).await.unwrap();
    let works_on_2 = |work: &LinkWork| {
        work.reports
            .iter()
            .any(|report| (report.task, &report.state) == (TaskId(2), &ReportedState::Working))
    };
    fixture.reports_until(works_on_2).await;
    let begun = fixture.downloads.view().counters.begun;

    fixture.downloads.addr().send(PanicDownloader).await.unwrap_err();

    let kept = fixture.reports_until(|work| !works_on_2(work)).await;
    assert_eq!(kept, fixture.store.reports().unwrap());
    assert_eq!(fixture.work.borrow().known, [TaskId(1)], "the copy was given up, the end kept");
    fixture.downloads.addr().send(TakeOrders { orders }).await.unwrap();
    fixture.reports_until(works_on_2).await;
    assert_eq!(fixture.downloads.view().counters.begun, begun + 1);
    fixture.downloads.stop().await;
    let temp = fixture.rig.copies().join("temp.downloaded");
    assert_eq!(std::fs::read_dir(temp).unwrap().count(), 0);
}
