//! Messages of other actors.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::names::FileId;

use super::Catalog;
use crate::catalog::messages::*;
use crate::catalog::single_flight::SingleFlightReader;
use crate::catalog::sources::source_dirs::look_up_master;

/// The longest wait of a look-up for its turn. Then it is answered `Unknown`: a directory of masters probably hangs.
const PATIENCE: Duration = Duration::from_secs(3);

impl Handler<InputMayHaveChanged> for Catalog {
    type Result = ();

    fn handle(&mut self, InputMayHaveChanged(input): InputMayHaveChanged, ctx: &mut Context<Self>) {
        match input {
            InputKind::Ranking => {
                self.input_notified(
                    ctx,
                    |catalog| Some(&mut catalog.ranking_inputs),
                    Self::on_ranking_read,
                );
            }
            InputKind::Masters => {
                self.input_notified(
                    ctx,
                    |catalog| Some(&mut catalog.source_dirs),
                    Self::on_masters_listed,
                );
            }
            InputKind::EventLog => {
                self.input_notified(ctx, |catalog| catalog.event_log.as_mut(), Self::on_log_read);
            }
        }
    }
}

impl Handler<CheckInputsNow> for Catalog {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: CheckInputsNow, ctx: &mut Context<Self>) -> Self::Result {
        let asked = [
            Some(self.ranking_inputs.ask()),
            Some(self.source_dirs.ask()),
            self.event_log.as_mut().map(SingleFlightReader::ask),
        ];
        self.look_at_all(ctx);
        Box::pin(async move {
            for end in asked.into_iter().flatten() {
                // It is dropped without an answer only when the actor ends. Then this answer is dropped
                // too.
                let _ = end.await;
            }
        })
    }
}

impl Handler<SaveDemand> for Catalog {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: SaveDemand, ctx: &mut Context<Self>) -> Self::Result {
        let log = self.event_log.as_mut().filter(|_| self.checkpoint.is_some());
        let saved = log.map(SingleFlightReader::ask);
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.request();
        }
        self.begin_look(ctx, |catalog| catalog.event_log.as_mut(), Self::on_log_read);
        Box::pin(async move {
            if let Some(saved) = saved {
                // It is dropped without an answer only when the actor ends.
                let _ = saved.await;
            }
        })
    }
}

impl Handler<SubscribeToCatalog> for Catalog {
    type Result = ();

    fn handle(&mut self, SubscribeToCatalog(mut new): SubscribeToCatalog, _: &mut Context<Self>) {
        if let Some(ranking) = &self.view.ranking {
            new.ranking.notify(&RankingChanged(Arc::clone(ranking)));
        }
        if let Some(masters) = &self.view.masters {
            new.masters.notify(&MastersChanged(Arc::clone(masters)));
        }
        new.rising.notify(&RisingChanged(Arc::clone(&self.view.rising)));
        self.subscribers.ranking.add_all(new.ranking);
        self.subscribers.rising.add_all(new.rising);
        self.subscribers.masters.add_all(new.masters);
    }
}

impl Handler<LookUpMasters> for Catalog {
    type Result = ResponseFuture<Vec<(FileId, MasterLook)>>;

    fn handle(&mut self, asked: LookUpMasters, _: &mut Context<Self>) -> Self::Result {
        let turn = Arc::clone(&self.look_ups).acquire_owned();
        let (names, dirs) = (self.names.clone(), self.settings.source_dirs.clone());
        let sizes = self.view.master_sizes.clone();
        Box::pin(async move {
            let files = asked.files.clone();
            // The semaphore is never closed, so only the time-out refuses a turn.
            let looks = match tokio::time::timeout(PATIENCE, turn).await {
                Ok(Ok(turn)) => tokio::task::spawn_blocking(move || {
                    let _turn = turn;
                    let look = |file| (file, look_up_master(&dirs, &names.name(file)));
                    let looks: Vec<_> = asked.files.into_iter().map(look).collect();
                    sizes.learn(&looks);
                    looks
                })
                .await
                .ok(),
                _ => None,
            };
            let unknown = |file| (file, MasterLook::Unknown);
            looks.unwrap_or_else(|| files.into_iter().map(unknown).collect())
        })
    }
}
