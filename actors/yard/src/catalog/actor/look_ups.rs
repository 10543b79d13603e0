//! Look-ups of single masters, for the planner and for copies by hand.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::names::FileId;

use super::Catalog;
use crate::catalog::messages::{LookUpMasters, MasterLook};
use crate::catalog::sources::source_dirs::look_up_master;

/// The longest wait of a look-up for its turn. Then it is answered `Unknown`: a directory of masters probably hangs.
const PATIENCE: Duration = Duration::from_secs(3);

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
