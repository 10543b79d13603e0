//! The worker's side of a copy: takes orders, fetches masters from other workers' data ports, verifies them,
//! renames them to their final names, and reports. Also the data port, from which other workers fetch.
//!
//! The actor owns the list of running copies. Each batch of copies has its own thread, and the link to the
//! node has its own tasks. So message handlers never wait for disk or network. After a panic the next
//! incarnation begins with the reports in the store. The node's next answer names the copies to begin again.

pub mod copying;
pub mod disk;
pub mod fetching;
pub mod legacy;
pub mod managers;
mod messages;
pub mod settings;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture,
};
use reelyard_core::actor_parts::ViewHandle;
use tokio::sync::{oneshot, watch};

pub use messages::{
    DownloaderView, LinkWork, ReportsDelivered, StopTransfers, TakeOrders, TransferMoved,
    TransfersArrived, TransfersEnded,
};

use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_protocol::worker::{Report, TaskId};

use crate::downloader::copying::active_copy::{ActiveCopy, ActiveCopyGuard};
use crate::downloader::copying::cancel::CopyCancellation;
use crate::downloader::copying::copy_batch::CopyBatch;
use crate::downloader::copying::copy_context::{CopyContext, CopyListener};
use crate::downloader::copying::copy_threads::CopyThreads;
use crate::downloader::copying::order::CopyOrder;
use crate::downloader::copying::publisher::Publisher;
use crate::downloader::copying::transfers::{TransferAction, Transfers};
use crate::downloader::fetching::fetch::Fetcher;
use crate::downloader::fetching::live_rate::LiveRate;
use crate::kept_state::state_store::StateStore;
use messages::CopiesAtOnceChanged;

/// How often leftovers of copies are collected.
const COLLECT_EVERY: Duration = Duration::from_secs(600);

/// How long an actor that stops may take before it is ended.
const STOPPING: Duration = Duration::from_secs(20);

/// How long a change may wait before it is published.
const PUBLISH_WITHIN: Duration = Duration::from_millis(2);

/// How often copies that wait for the disk give a sign of life.
const REPORT_WAITING_EVERY: Duration = Duration::from_secs(10);

/// How long a store that cannot be read is not tried again.
const STORE_REST: Duration = Duration::from_secs(1);

/// A running downloader, supervised. Cheap to clone.
#[derive(Clone)]
pub struct DownloaderHandle {
    actor: Supervised<Downloader>,
    shared: Arc<DownloaderShared>,
}

/// The state that outlives an incarnation of the actor.
struct DownloaderShared {
    copies: Arc<CopyContext>,
    publisher: Arc<Publisher>,
    copies_at_once: LiveSetting<usize>,
    /// The state that the link reads.
    work: watch::Sender<LinkWork>,
    view: ViewHandle<DownloaderView>,
}

impl DownloaderHandle {
    /// Starts a downloader that makes up to `copies_at_once` copies, on the current arbiter. It begins with
    /// the reports in `store`, which an earlier run could not deliver.
    pub fn start(
        supervision: Supervision,
        fetcher: Fetcher,
        store: Arc<StateStore>,
        clock: Clock,
        copies_at_once: usize,
    ) -> Self {
        let copies = CopyContext {
            fetcher,
            store,
            clock,
            threads: CopyThreads::default(),
            at_work: watch::Sender::new(0),
        };
        let shared = Arc::new(DownloaderShared {
            copies: Arc::new(copies),
            publisher: Arc::default(),
            copies_at_once: copies_at_once.into(),
            work: watch::Sender::default(),
            view: ViewHandle::default(),
        });
        let of_actor = Arc::clone(&shared);
        let actor = Supervised::start(supervision, move || Downloader::new(Arc::clone(&of_actor)));
        DownloaderHandle { actor, shared }
    }

    /// The current incarnation. Do not keep it: a panic replaces it.
    pub fn addr(&self) -> Addr<Downloader> {
        self.actor.addr()
    }

    /// The state for the link to the node, renewed on each change.
    pub fn work(&self) -> watch::Receiver<LinkWork> {
        self.shared.work.subscribe()
    }

    /// Makes up to this many copies at once from now on. Running copies continue.
    pub fn change_copies_at_once(&self, copies: usize) {
        self.shared.copies_at_once.set(copies);
        self.addr().do_send(CopiesAtOnceChanged);
    }

    /// The observable state, renewed on each change.
    pub fn view(&self) -> Arc<DownloaderView> {
        self.shared.view.load()
    }

    /// How the actor is.
    pub fn status(&self) -> SupervisionStatus {
        self.actor.status()
    }

    /// Cancels every copy and stops permanently. Returns when the last thread has ended.
    pub async fn stop(&self) {
        // An error means that the actor has already ended, or waits for its store. Its copies are cancelled
        // with it.
        let _ = tokio::time::timeout(STOPPING, self.addr().send(StopTransfers)).await;
        self.actor.stop().await;
        self.shared.copies.no_copy_under_way().await;
    }
}

impl DownloaderShared {
    /// The reports that an earlier run, or an earlier incarnation of the actor, could not deliver. It waits
    /// for copies of the earlier incarnation, because they may still end with a report. A new copy of the
    /// same task would also share their temporary files.
    async fn reports_of_earlier(&self) -> Vec<Report> {
        self.copies.no_copy_under_way().await;
        loop {
            let store = Arc::clone(&self.copies.store);
            match tokio::task::spawn_blocking(move || store.reports()).await {
                Ok(Ok(reports)) => return reports,
                Ok(Err(error)) => tracing::error!(%error, "kept reports cannot be read"),
                Err(error) => tracing::error!(%error, "kept reports cannot be read"),
            }
            tokio::time::sleep(STORE_REST).await;
        }
    }
}

/// The actor that makes this host's copies and reports how they end.
pub struct Downloader {
    transfers: Transfers,
    shared: Arc<DownloaderShared>,
    /// Handles that end each running copy.
    cancels: HashMap<TaskId, CopyCancellation>,
    /// Handles that set the rate of each running copy.
    live_rates: HashMap<TaskId, LiveRate>,
    /// Callers that wait for the last copy to end.
    stopping: Vec<oneshot::Sender<()>>,
    /// Whether it publishes within a moment.
    is_to_publish: bool,
}

impl Downloader {
    fn new(shared: Arc<DownloaderShared>) -> Self {
        let transfers = Transfers::new(*shared.copies_at_once.now(), Vec::new());
        Downloader {
            transfers,
            shared,
            cancels: HashMap::new(),
            live_rates: HashMap::new(),
            stopping: Vec::new(),
            is_to_publish: false,
        }
    }

    fn start_transfers(&mut self, kept: Vec<Report>) {
        let counters = self.shared.view.load().counters;
        let at_once = *self.shared.copies_at_once.now();
        self.transfers = Transfers::new(at_once, kept).counting_on(counters);
        self.publish();
    }

    fn carry_out(&mut self, acts: Vec<TransferAction>, ctx: &mut Context<Self>) {
        for act in acts {
            match act {
                TransferAction::Begin(batch) => self.begin(batch, &ctx.address()),
                TransferAction::GiveUp(task) => {
                    tracing::info!(%task, "copy cancelled: it is no longer wanted here");
                    if let Some(cancel) = self.cancels.get(&task) {
                        cancel.cancel();
                    }
                }
            }
        }
        self.publish_soon(ctx);
    }

    /// Publishes once for all changes that happen meanwhile, because small files cause many.
    fn publish_soon(&mut self, ctx: &mut Context<Self>) {
        if !std::mem::replace(&mut self.is_to_publish, true) {
            ctx.run_later(PUBLISH_WITHIN, |downloader, _| downloader.publish());
        }
    }

    /// Sets new rates for the running copies.
    fn pace(&self, orders: &[CopyOrder]) {
        for order in orders {
            let Some(live_rate) = self.live_rates.get(&order.id) else { continue };
            if live_rate.set(order.copy_speed) {
                let rate = order.copy_speed.map(|rate| rate.to_string());
                let rate = rate.as_deref().unwrap_or("unlimited");
                tracing::info!(task = %order.id, rate, "the rate of a copy changed");
            }
        }
    }

    fn begin(&mut self, batch: Vec<CopyOrder>, addr: &Addr<Self>) {
        let Some(first) = batch.first() else { return };
        let copies = batch.len();
        tracing::info!(task = %first.id, file = first.name.to_string(), source = %first.source, copies, "copy started");
        let tasks: Vec<TaskId> = batch.iter().map(|order| order.id).collect();
        let copies = batch.into_iter().map(|order| self.copy_of(order, addr)).collect();
        let batch = CopyBatch::new(copies, Arc::clone(&self.shared.publisher));
        if let Err(error) = self.shared.copies.threads.begin(Box::new(|| batch.make())) {
            // Without a report: the tasks are still ordered and are begun again by the next answer.
            tracing::error!(?tasks, %error, "no thread can be started for copies");
            addr.do_send(TransfersEnded {
                ends: tasks.into_iter().map(|task| (task, None)).collect(),
            });
        }
    }

    fn copy_of(&mut self, order: CopyOrder, addr: &Addr<Self>) -> ActiveCopy {
        let cancel = CopyCancellation::default();
        self.cancels.insert(order.id, cancel.clone());
        let rate = LiveRate::at(order.copy_speed);
        self.live_rates.insert(order.id, rate.clone());
        let under_way = ActiveCopyGuard::begin(&self.shared.copies);
        ActiveCopy { order, cancel, rate, under_way, listener: CopyListener::of(addr) }
    }

    fn publish(&mut self) {
        self.is_to_publish = false;
        let reports = self.transfers.reports();
        self.shared.view.publish(DownloaderView {
            under_way: self.transfers.under_way().cloned().collect(),
            waiting: self.transfers.waiting(),
            unacknowledged: reports.iter().filter(|report| report.is_end()).count(),
            counters: self.transfers.counters(),
        });
        let work = LinkWork { known: self.transfers.known(), reports: reports.to_vec() };
        self.shared.work.send_if_modified(|current| {
            let changed = *current != work;
            *current = work;
            changed
        });
    }
}

impl Actor for Downloader {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let shared = Arc::clone(&self.shared);
        let kept = async move { shared.reports_of_earlier().await };
        // Nothing else is handled before this. An earlier order could be for a task whose end is among the
        // reports.
        ctx.wait(kept.into_actor(self).map(|kept, downloader, _| downloader.start_transfers(kept)));
        ctx.run_interval(REPORT_WAITING_EVERY, |downloader, ctx| {
            downloader.transfers.report_waiting(downloader.shared.copies.clock.now());
            downloader.publish_soon(ctx);
        });
        ctx.run_interval(COLLECT_EVERY, |downloader, _| {
            let copies = Arc::clone(&downloader.shared.copies);
            tokio::task::spawn_blocking(move || copies.fetcher.partials.collect_or_warn());
        });
    }
}

impl Drop for Downloader {
    /// After a panic the next incarnation restarts the copies.
    fn drop(&mut self) {
        self.cancels.values().for_each(CopyCancellation::cancel);
    }
}

impl Handler<TakeOrders> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TakeOrders, ctx: &mut Context<Self>) {
        self.pace(&message.orders);
        let acts = self.transfers.order(message.orders, self.shared.copies.clock.now());
        self.carry_out(acts, ctx);
        // The sender may read the published state as soon as it is answered.
        self.publish();
    }
}

impl Handler<ReportsDelivered> for Downloader {
    type Result = ();

    fn handle(&mut self, message: ReportsDelivered, ctx: &mut Context<Self>) {
        let now = self.shared.copies.clock.now();
        let (reported, acts) = self.transfers.taken(&message.sent, &message.cancelled, now);
        if !reported.is_empty() {
            let store = Arc::clone(&self.shared.copies.store);
            tokio::task::spawn_blocking(move || {
                for task in reported {
                    if let Err(error) = store.forget_report(task) {
                        tracing::warn!(%task, %error, "a delivered report could not be removed from the \
                            state store");
                    }
                }
            });
        }
        self.carry_out(acts, ctx);
        self.publish();
    }
}

impl Handler<TransferMoved> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TransferMoved, ctx: &mut Context<Self>) {
        self.transfers.moved(message.task, message.bytes, self.shared.copies.clock.now());
        self.publish_soon(ctx);
    }
}

impl Handler<TransfersArrived> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TransfersArrived, ctx: &mut Context<Self>) {
        let acts = self.transfers.arrived(&message.copies, self.shared.copies.clock.now());
        self.carry_out(acts, ctx);
    }
}

impl Handler<CopiesAtOnceChanged> for Downloader {
    type Result = ();

    fn handle(&mut self, _: CopiesAtOnceChanged, ctx: &mut Context<Self>) {
        let at_once = *self.shared.copies_at_once.now();
        let acts = self.transfers.change_at_once(at_once, self.shared.copies.clock.now());
        self.carry_out(acts, ctx);
    }
}

impl Handler<TransfersEnded> for Downloader {
    type Result = ();

    fn handle(&mut self, message: TransfersEnded, ctx: &mut Context<Self>) {
        let now = self.shared.copies.clock.now();
        for (task, report) in message.ends {
            self.cancels.remove(&task);
            self.live_rates.remove(&task);
            let acts = self.transfers.ended(task, report, now);
            self.carry_out(acts, ctx);
        }
        if self.cancels.is_empty() {
            // No message is handled after the last waiting caller has its answer.
            self.publish();
            for waiter in self.stopping.drain(..) {
                // A caller that no longer waits needs no answer.
                let _ = waiter.send(());
            }
        }
    }
}

impl Handler<StopTransfers> for Downloader {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopTransfers, ctx: &mut Context<Self>) -> ResponseFuture<()> {
        let acts = self.transfers.stop();
        self.carry_out(acts, ctx);
        let (sender, ended) = oneshot::channel();
        if !self.cancels.is_empty() {
            self.stopping.push(sender);
        }
        Box::pin(async move {
            // An error means that there was no copy to wait for.
            let _ = ended.await;
        })
    }
}
