//! The pools of the configuration. They are committed when this node starts to decide about boxes,
//! and after each reload. Settings on record set each pool once: afterwards a new leader changes no pool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use reelyard_boxes::box_lease::{BoxError, BoxLease, PoolSpec, PutPool};
use reelyard_core::supervision::Supervised;
use reelyard_journal::Journal;
use reelyard_protocol::boxes::PoolName;
use reelyard_replication::Leadership;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::node::live_config::ActiveConfig;

/// Recorded as the requester of these changes.
const CONFIGURATION: &str = "configuration";

/// Pause before the next attempt if the outcome is unknown.
const SOON: Duration = Duration::from_millis(250);

/// Pause before the next attempt if a pool was refused.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// The configured pools, with the reason for each that was refused. Clones share the state.
#[derive(Clone)]
pub struct ConfiguredPools(Arc<ConfiguredPoolsState>);

/// The pools that a configuration wants.
#[derive(Clone)]
struct WantedPools {
    specs: BTreeMap<PoolName, PoolSpec>,
    /// The version of the settings on record that has them.
    version: Option<u64>,
}

impl WantedPools {
    fn of(in_force: &ActiveConfig) -> Self {
        let (specs, version) = (in_force.config.r#box.pools.0.clone(), in_force.version);
        WantedPools { specs, version }
    }
}

struct ConfiguredPoolsState {
    wanted: watch::Sender<WantedPools>,
    /// Why pools do not match the configuration.
    refused: ArcSwap<BTreeMap<PoolName, String>>,
}

impl ConfiguredPools {
    pub(super) fn of(in_force: &ActiveConfig) -> Self {
        let wanted = watch::Sender::new(WantedPools::of(in_force));
        ConfiguredPools(Arc::new(ConfiguredPoolsState { wanted, refused: ArcSwap::default() }))
    }

    /// Applies a reloaded configuration.
    pub(super) fn change(&self, in_force: &ActiveConfig) {
        self.0.wanted.send_replace(WantedPools::of(in_force));
    }

    /// The pools that do not match the configuration, with the reason.
    pub fn refused(&self) -> Arc<BTreeMap<PoolName, String>> {
        self.0.refused.load_full()
    }

    /// Commits the pools whenever that is due, until the journal has stopped.
    pub(super) async fn keep(self, actor: Supervised<BoxLease>, journal: Journal) {
        let (mut wanted, mut leadership) = (self.0.wanted.subscribe(), journal.leadership());
        let mut decisions = journal.decisions();
        let mut due = wanted.borrow_and_update().clone();
        loop {
            let decides = *decisions.borrow_and_update();
            let again = match *leadership.borrow_and_update() {
                Leadership::Leading { .. } if !decides => None,
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
                // This task keeps both senders alive.
                _ = wanted.changed() => {}
                _ = decisions.changed() => {}
                // A retry commits only the pools that failed: the API may have changed the others.
                () = sleep(again.unwrap_or_default()), if again.is_some() => continue,
            }
            due = wanted.borrow_and_update().clone();
        }
    }

    /// Another node decides now, so its refusals are unknown here.
    fn forget(&self) -> Option<Duration> {
        self.0.refused.store(Arc::default());
        None
    }

    /// Commits the pools in `due`; those that fail remain in it. Returns the pause before the next
    /// attempt, if one is needed.
    async fn put(&self, actor: &Supervised<BoxLease>, due: &mut WantedPools) -> Option<Duration> {
        let (mut refused, mut again) = (BTreeMap::new(), None);
        for (pool, spec) in std::mem::take(&mut due.specs) {
            let (by_settings, asked_by) = (due.version, CONFIGURATION.to_owned());
            let put = PutPool {
                pool: pool.clone(),
                spec: spec.clone(),
                by_settings,
                asked_by,
                request: None,
            };
            match actor.ask(put).await {
                Ok(Ok(_)) => continue,
                Ok(Err(BoxError::Refused(why))) => {
                    again = again.or(Some(TRY_AGAIN));
                    refused.insert(pool.clone(), why.to_string());
                }
                // The actor does not decide yet, is busy, or was restarted.
                Ok(Err(_)) | Err(_) => again = Some(SOON),
            }
            due.specs.insert(pool, spec);
        }
        let before = self.refused();
        for (pool, why) in refused.iter().filter(|(pool, why)| before.get(pool) != Some(why)) {
            tracing::warn!(%pool, why, "cannot apply the configuration of a pool, retrying");
        }
        self.0.refused.store(Arc::new(refused));
        again
    }
}
