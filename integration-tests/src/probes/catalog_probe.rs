//! A subscriber of the Catalog that records its notifications for tests.

use std::mem::take;
use std::sync::Arc;

use actix::prelude::*;
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::ranking::Ranking;
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::catalog::{MastersChanged, RankingChanged, RisingChanged, Subscribers};

/// The notifications since the last request, in order.
#[derive(Debug, Default, MessageResponse)]
pub struct CatalogNotifications {
    /// The rankings that the Catalog published.
    pub rankings: Vec<Arc<Ranking>>,
    /// The lists of hot files that the Catalog published.
    pub rising: Vec<Arc<RisingHits>>,
    /// The listings of masters that the Catalog published.
    pub masters: Vec<Arc<Masters>>,
}

impl CatalogNotifications {
    /// Whether there was no notification.
    pub fn is_nothing(&self) -> bool {
        self.rankings.is_empty() && self.rising.is_empty() && self.masters.is_empty()
    }
}

/// Asks the probe for the notifications since the last request.
#[derive(Message)]
#[rtype(result = "CatalogNotifications")]
pub struct TakeNotifications;

/// An actor that records every notification of a Catalog.
#[derive(Default)]
pub struct CatalogProbe(CatalogNotifications);

impl CatalogProbe {
    /// Subscriptions of this probe to every kind of notification.
    pub fn subscribers(probe: &Addr<Self>) -> Subscribers {
        Subscribers {
            ranking: vec![probe.clone().recipient()].into(),
            rising: vec![probe.clone().recipient()].into(),
            masters: vec![probe.clone().recipient()].into(),
        }
    }
}

impl Actor for CatalogProbe {
    type Context = Context<Self>;
}

impl Handler<RankingChanged> for CatalogProbe {
    type Result = ();

    fn handle(&mut self, RankingChanged(ranking): RankingChanged, _: &mut Context<Self>) {
        self.0.rankings.push(ranking);
    }
}

impl Handler<RisingChanged> for CatalogProbe {
    type Result = ();

    fn handle(&mut self, RisingChanged(rising): RisingChanged, _: &mut Context<Self>) {
        self.0.rising.push(rising);
    }
}

impl Handler<MastersChanged> for CatalogProbe {
    type Result = ();

    fn handle(&mut self, MastersChanged(masters): MastersChanged, _: &mut Context<Self>) {
        self.0.masters.push(masters);
    }
}

impl Handler<TakeNotifications> for CatalogProbe {
    type Result = CatalogNotifications;

    fn handle(&mut self, _: TakeNotifications, _: &mut Context<Self>) -> CatalogNotifications {
        take(&mut self.0)
    }
}
