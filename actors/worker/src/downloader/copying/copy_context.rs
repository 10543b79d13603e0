//! The resources that the copies of a downloader use, and the receivers of their reports. They outlive an
//! incarnation of the actor.

use std::sync::Arc;

use actix::{Addr, Recipient};
use reelyard_core::clock::Clock;
use tokio::sync::watch;

use super::copy_threads::CopyThreads;
use crate::downloader::fetching::fetch::Fetcher;
use crate::downloader::messages::{TransferMoved, TransfersArrived, TransfersEnded};
use crate::kept_state::state_store::StateStore;

/// The parts that every copy uses.
pub(in crate::downloader) struct CopyContext {
    pub(in crate::downloader) fetcher: Fetcher,
    pub(in crate::downloader) store: Arc<StateStore>,
    pub(in crate::downloader) clock: Clock,
    pub(in crate::downloader) threads: CopyThreads,
    /// The number of running copies, also of earlier incarnations.
    pub(in crate::downloader) at_work: watch::Sender<usize>,
}

impl CopyContext {
    /// Returns when no copy is being made.
    pub(in crate::downloader) async fn no_copy_under_way(&self) {
        // This keeps the sender alive.
        let _ = self.at_work.subscribe().wait_for(|copies| *copies == 0).await;
    }
}

/// The actor that began a copy, as the copy's thread sees it.
#[derive(Clone)]
pub(in crate::downloader) struct CopyListener {
    pub(in crate::downloader) moved: Recipient<TransferMoved>,
    pub(in crate::downloader) arrived: Recipient<TransfersArrived>,
    pub(in crate::downloader) ended: Recipient<TransfersEnded>,
}

impl CopyListener {
    pub(in crate::downloader) fn of<A>(addr: &Addr<A>) -> Self
    where
        A: actix::Actor<Context = actix::Context<A>>
            + actix::Handler<TransferMoved>
            + actix::Handler<TransfersArrived>
            + actix::Handler<TransfersEnded>,
    {
        CopyListener {
            moved: addr.clone().recipient(),
            arrived: addr.clone().recipient(),
            ended: addr.clone().recipient(),
        }
    }
}
