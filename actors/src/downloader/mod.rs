//! The worker's side of a copy: takes orders, fetches masters from other workers' data ports,
//! verifies them, puts them into place, and reports. Also what other workers fetch from: the data
//! port.
//!
//! The actor owns which copies are under way. Each copy runs on a thread of its own, and the link
//! to the node in tasks of its own: the mailbox waits for neither disk nor network.

pub mod base_dir;
pub mod cancel;
pub mod data_port;
pub mod epoch_guard;
pub mod fetch;
pub mod file_identity;
pub mod hash_desk;
mod messages;
pub mod node_link;
pub mod order;
mod outbox;
pub mod pacer;
pub mod source_link;
pub mod state_store;
pub mod ticket;
pub mod transfers;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::{Actor, Addr, AsyncContext, Context, Handler, ResponseFuture};
use arc_swap::ArcSwap;
use tokio::sync::{oneshot, watch};

pub use messages::{
    DownloaderView, LinkWork, ReportsDelivered, StopTransfers, TakeOrders, TransferEnded,
    TransferMoved,
};

use crate::clock::Clock;
use crate::downloader::cancel::Cancel;
use crate::downloader::fetch::{Fault, Fetcher};
use crate::downloader::order::CopyOrder;
use crate::downloader::state_store::{StateStore, StateStoreError};
use crate::downloader::transfers::{Act, Transfers};
use crate::wire::worker::{Blame, Report, Said, TaskId};

/// Longer reasons are cut, in characters: a report must fit the store and be read by people.
const LONGEST_REASON: usize = 1000;

/// The actor.
pub struct Downloader {
    transfers: Transfers,
    fetcher: Arc<Fetcher>,
    store: Arc<StateStore>,
    clock: Clock,
    /// What ends each copy under way.
    cancels: HashMap<TaskId, Cancel>,
    /// What the link reads.
    work: watch::Sender<LinkWork>,
    view: Arc<ArcSwap<DownloaderView>>,
    /// Who waits for the last copy to end.
    stopping: Vec<oneshot::Sender<()>>,
}

impl Downloader {
    /// A downloader that makes up to `copies_at_once` copies. Reads the reports that an earlier
    /// run could not deliver from `store`: blocks on the disk.
    pub fn new(
        fetcher: Fetcher,
        store: Arc<StateStore>,
        clock: Clock,
        copies_at_once: usize,
    ) -> Result<Self, StateStoreError> {
        let transfers = Transfers::new(copies_at_once, store.reports()?);
        let downloader = Downloader {
            transfers,
            fetcher: Arc::new(fetcher),
            store,
            clock,
            cancels: HashMap::new(),
            work: watch::Sender::default(),
            view: Arc::default(),
            stopping: Vec::new(),
        };
        downloader.publish();
        Ok(downloader)
    }

    /// What the link to the node needs to know, renewed on each change.
    pub fn work(&self) -> watch::Receiver<LinkWork> {
        self.work.subscribe()
    }

    /// The observable state, renewed on each change.
    pub fn view(&self) -> Arc<ArcSwap<DownloaderView>> {
        Arc::clone(&self.view)
    }

    fn carry_out(&mut self, acts: Vec<Act>, addr: &Addr<Self>) {
        for act in acts {
            match act {
                Act::Begin(order) => self.begin(order, addr),
                Act::GiveUp(task) => {
                    tracing::info!(%task, "copy given up: it is no longer wanted here");
                    if let Some(cancel) = self.cancels.get(&task) {
                        cancel.cancel();
                    }
                }
            }
        }
        self.publish();
    }

    fn begin(&mut self, order: CopyOrder, addr: &Addr<Self>) {
        tracing::info!(task = %order.id, file = %order.name, source = %order.source, "copy begun");
        let cancel = Cancel::default();
        self.cancels.insert(order.id, cancel.clone());
        let task = order.id;
        let copy = CopyThread {
            order,
            cancel,
            fetcher: Arc::clone(&self.fetcher),
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            downloader: addr.clone(),
        };
        let begun = std::thread::Builder::new().name(format!("copy-{task}")).spawn(|| copy.run());
        if let Err(error) = begun {
            // Without a report: the task is still ordered and is begun again by the next answer.
            tracing::error!(%task, %error, "no thread can be started for a copy");
            addr.do_send(TransferEnded { task, report: None });
        }
    }

    fn publish(&self) {
        let reports = self.transfers.reports();
        self.view.store(Arc::new(DownloaderView {
            under_way: self.transfers.under_way().cloned().collect(),
            waiting: self.transfers.waiting(),
            unacknowledged: reports.iter().filter(|report| report.is_end()).count(),
            counters: self.transfers.counters(),
        }));
        let work = LinkWork { known: self.transfers.known(), reports: reports.to_vec() };
        self.work.send_if_modified(|current| {
            let changed = *current != work;
            *current = work;
            changed
        });
    }
}

/// What the thread of one copy holds.
struct CopyThread {
    order: CopyOrder,
    cancel: Cancel,
    fetcher: Arc<Fetcher>,
    store: Arc<StateStore>,
    clock: Clock,
    downloader: Addr<Downloader>,
}

impl CopyThread {
    fn run(self) {
        let task = self.order.id;
        let progress = |bytes| self.downloader.do_send(TransferMoved { task, bytes });
        let fetching = || self.fetcher.fetch(&self.order, &self.cancel, &progress);
        let said = match catch_unwind(AssertUnwindSafe(fetching)) {
            Ok(Ok(copied)) => Some(Said::Done { size: copied.size, hash: copied.hash }),
            Ok(Err(Fault::Blamed(blame, reason))) => Some(failed(blame, reason)),
            Ok(Err(Fault::Cancelled)) => None,
            Err(_panic) => {
                Some(failed(Blame::Destination, "the copy panicked; see its log".to_owned()))
            }
        };
        let name = self.order.name.clone();
        let report = said.map(|said| Report { task, name, at: self.clock.now(), said });
        if let Some(report) = &report {
            self.tell(report);
            if let Err(error) = self.store.keep_report(report) {
                tracing::error!(%task, %error, "a report is not durable: a restart would lose it");
            }
        }
        self.downloader.do_send(TransferEnded { task, report });
    }

    fn tell(&self, report: &Report) {
        let (task, file, source) = (report.task, &report.name, self.order.source);
        match &report.said {
            Said::Done { size, hash } => {
                tracing::info!(%task, %file, %source, size, %hash, "copy verified and in place");
            }
            Said::Failed { blame, reason } => {
                tracing::warn!(%task, %file, %source, ?blame, reason, "copy failed");
            }
            Said::Working | Said::Progress { .. } => {}
        }
    }
}

fn failed(blame: Blame, reason: String) -> Said {
    Said::Failed { blame, reason: reason.chars().take(LONGEST_REASON).collect() }
}

impl Actor for Downloader {
    type Context = Context<Self>;
}

impl Handler<TakeOrders> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TakeOrders, ctx: &mut Context<Self>) {
        let acts = self.transfers.order(message.orders, self.clock.now());
        self.carry_out(acts, &ctx.address());
    }
}

impl Handler<ReportsDelivered> for Downloader {
    type Result = ();

    fn handle(&mut self, message: ReportsDelivered, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        let (settled, acts) = self.transfers.taken(&message.sent, &message.cancelled, now);
        if !settled.is_empty() {
            let store = Arc::clone(&self.store);
            tokio::task::spawn_blocking(move || {
                for task in settled {
                    if let Err(error) = store.forget_report(task) {
                        tracing::warn!(%task, %error, "a delivered report cannot be forgotten");
                    }
                }
            });
        }
        self.carry_out(acts, &ctx.address());
    }
}

impl Handler<TransferMoved> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TransferMoved, _: &mut Context<Self>) {
        self.transfers.moved(message.task, message.bytes, self.clock.now());
        self.publish();
    }
}

impl Handler<TransferEnded> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TransferEnded, ctx: &mut Context<Self>) {
        self.cancels.remove(&message.task);
        let acts = self.transfers.ended(message.task, message.report, self.clock.now());
        self.carry_out(acts, &ctx.address());
        if self.cancels.is_empty() {
            for waiter in self.stopping.drain(..) {
                // One who no longer waits need not be told.
                let _ = waiter.send(());
            }
        }
    }
}

impl Handler<StopTransfers> for Downloader {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopTransfers, ctx: &mut Context<Self>) -> ResponseFuture<()> {
        let acts = self.transfers.stop();
        self.carry_out(acts, &ctx.address());
        let (sender, ended) = oneshot::channel();
        if !self.cancels.is_empty() {
            self.stopping.push(sender);
        }
        Box::pin(async move {
            // An error means that there was nothing to wait for.
            let _ = ended.await;
        })
    }
}
