//! The pools that the configuration names: they are put on record whenever this node begins to decide
//! on boxes, and whenever the configuration was read again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use reelyard_actors::box_lease::{BoxError, BoxLease, PoolName, PoolSpec, PutPool};
use reelyard_actors::journal::{Journal, Leadership};
use reelyard_actors::supervision::Supervised;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::config::NodeConfig;

/// Who asks.
const CONFIGURATION: &str = "configuration";

/// After what time they are put once more where it is not known yet what comes of it.
const SOON: Duration = Duration::from_millis(250);

/// After what time a pool is put once more that could not be as the configuration has it.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The pools of the configuration, and which of them are not so. Clones share it.
#[derive(Clone)]
pub struct ConfiguredPools(Arc<ConfiguredPoolsState>);

/// Pools by name, each with how it is to be.
type PoolSpecs = BTreeMap<PoolName, PoolSpec>;

struct ConfiguredPoolsState {
    wanted: watch::Sender<PoolSpecs>,
    /// Why pools are not as the configuration has them.
    refused: ArcSwap<BTreeMap<PoolName, String>>,
}

impl ConfiguredPools {
    pub(super) fn of(config: &NodeConfig) -> Self {
        let wanted = watch::Sender::new(config.r#box.pools.0.clone());
        ConfiguredPools(Arc::new(ConfiguredPoolsState { wanted, refused: ArcSwap::default() }))
    }

    /// The configuration was read again.
    pub(super) fn change(&self, config: &NodeConfig) {
        self.0.wanted.send_replace(config.r#box.pools.0.clone());
    }

    /// Which pools are not as the configuration has them, and why.
    pub fn refused(&self) -> Arc<BTreeMap<PoolName, String>> {
        self.0.refused.load_full()
    }

    /// Puts them whenever that is due, until the journal has stopped.
    pub(super) async fn keep(self, actor: Supervised<BoxLease>, journal: Journal) {
        let (mut wanted, mut leadership) = (self.0.wanted.subscribe(), journal.leadership());
        let mut due = wanted.borrow_and_update().clone();
        loop {
            let again = match *leadership.borrow_and_update() {
                Leadership::Leading { .. } => self.put(&actor, &mut due).await,
                Leadership::Following { .. } | Leadership::Nobody => self.forget(),
                Leadership::Stopped => return,
            };
            tokio::select! {
                changed = leadership.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                // The sender lives as long as this.
                _ = wanted.changed() => {}
                // What was put is not put again by that: the API may have changed it since.
                () = sleep(again.unwrap_or_default()), if again.is_some() => continue,
            }
            due = wanted.borrow_and_update().clone();
        }
    }

    /// Another node decides: what it refused is not known here.
    fn forget(&self) -> Option<Duration> {
        self.0.refused.store(Arc::default());
        None
    }

    /// Puts those that are due; the ones that could not be put stay so. Answers after what time that is
    /// to be tried again, if there are any.
    async fn put(&self, actor: &Supervised<BoxLease>, due: &mut PoolSpecs) -> Option<Duration> {
        let (mut refused, mut again) = (BTreeMap::new(), None);
        for (pool, spec) in std::mem::take(due) {
            let asked_by = CONFIGURATION.to_owned();
            let put = PutPool { pool: pool.clone(), spec: spec.clone(), asked_by };
            match actor.ask(put).await {
                Ok(Ok(_)) => continue,
                Ok(Err(BoxError::Refused(why))) => {
                    again = again.or(Some(TRY_AGAIN));
                    refused.insert(pool.clone(), why.to_string());
                }
                // It does not decide yet, has too much to do, or was restarted.
                Ok(Err(_)) | Err(_) => again = Some(SOON),
            }
            due.insert(pool, spec);
        }
        let before = self.refused();
        for (pool, why) in refused.iter().filter(|(pool, why)| before.get(pool) != Some(why)) {
            tracing::warn!(%pool, why, "cannot apply the configuration of a pool, retrying");
        }
        self.0.refused.store(Arc::new(refused));
        again
    }
}
