//! Boxes of a node: the BoxLeaseActor with its settings, its link to workers, and the configured
//! pools.

use std::sync::{Mutex, PoisonError};

use reelyard_api::ChangeEvent;
use reelyard_boxes::box_lease::{AcquireRoutes, BoxLease, BoxLink, BoxViewHandle};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::change_feed::Feed;
use reelyard_core::clock::Clock;
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::supervision::{Supervised, Supervision};
use reelyard_core::token::WorkerKeys;
use reelyard_journal::Journal;
use reelyard_replication::Owner;
use tokio::task::JoinHandle;

use super::configured_pools::ConfiguredPools;
use crate::config::NodeConfig;
use crate::node::live_config::{ActiveConfig, LiveConfig};
use crate::node::settings;

/// The BoxLeaseActor of a node with its parts.
pub struct BoxServices {
    /// Owns pools, boxes and leases.
    pub actor: Supervised<BoxLease>,
    /// View of pools, boxes and leases.
    pub views: BoxViewHandle,
    /// Routes for requests for boxes.
    pub routes: AcquireRoutes,
    /// Pools of the configuration.
    pub configured: ConfiguredPools,
    /// Calls to the workers that run hooks.
    pub link: BoxLink,
    keeping: Mutex<Option<JoinHandle<()>>>,
}

impl BoxServices {
    /// Starts the actor on the current arbiter.
    ///
    /// # Errors
    ///
    /// The HTTP client for calls to workers cannot be created.
    pub(super) fn start(
        live: &LiveConfig,
        clock: &Clock,
        journal: &Journal,
        changes: &Feed<ChangeEvent>,
        identity: &ManagerIdentity,
        keys: &WorkerKeys,
    ) -> Result<Self, reqwest::Error> {
        let of_calls = settings::box_link(&live.now().config);
        let link = BoxLink::start(of_calls, identity.clone(), keys.clone())?;
        let (views, hosts) = (BoxViewHandle::default(), link.hosts());
        let configured = ConfiguredPools::of(&live.now());
        let actor = {
            let (live, clock, journal) = (live.clone(), clock.clone(), journal.clone());
            let (views, changes) = (views.clone(), changes.clone());
            Supervised::start(Supervision::of("box_lease"), move || {
                let now = live.now();
                let settings = now.config.r#box.memory.clone();
                let bound = now.config.cluster.clock.clock_bound;
                let (clock, journal) = (clock.clone(), journal.clone());
                BoxLease::new(settings, clock, journal, hosts.clone(), views.clone())
                    .with_clock_bound(bound)
                    .with_change_feed(changes.publisher())
            })
        };
        let routes = AcquireRoutes { acquire: actor.route(), leave: actor.route() };
        let keeping = actix_rt::spawn(configured.clone().keep(actor.clone(), journal.clone()));
        let keeping = Mutex::new(Some(keeping));
        Ok(BoxServices { actor, views, routes, configured, link, keeping })
    }

    /// Applies a new configuration.
    pub(in crate::node) fn apply_config(&self, before: &NodeConfig, in_force: &ActiveConfig) {
        let after = &in_force.config;
        let of_both = (before.r#box.memory.clone(), after.r#box.memory.clone());
        ChangeSettings::send(&self.actor, of_both);
        let (old, new) = (settings::box_link(before), settings::box_link(after));
        if old != new
            && let Err(error) = self.link.change_settings(new)
        {
            tracing::error!(%error, "cannot change the settings of calls about boxes");
        }
        self.configured.change(in_force);
    }

    /// Stops the actor. Waiting requests are answered.
    pub(super) async fn stop(&self) {
        // No code under this lock can panic during a change.
        let keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeping) = keeping {
            keeping.abort();
        }
        self.actor.stop().await;
    }
}
