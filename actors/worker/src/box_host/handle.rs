//! The boxes of a worker, as its other parts see them, and the state that outlives an incarnation of
//! their actor.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use reelyard_core::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_protocol::boxes::{
    AdoptBoxes, BoxInspection, BoxNumber, FenceToken, HookAnswer, HookTarget, InspectBoxes,
    PoolName, RunHook,
};
use tokio::sync::{Semaphore, watch};

use super::BoxHost;
use super::messages::{EndHooks, SettingsChanged};
use super::ownership::claims::BoxClaims;
use super::shared::{BoxHostSettings, BoxHostShared};
use super::views::BoxHostView;
use crate::kept_state::epoch_guard::{EpochGuard, EpochStepLimit, NotObeyed};
use crate::kept_state::state_store::StateStore;
use crate::kept_state::state_store_error::StateStoreError;

/// How many checks of boxes run at a time.
const LOOKS_AT_ONCE: usize = 4;

/// How many requests from outside the actor may have at a time. Each is open while its hook waits.
const REQUESTS: usize = 4096;

/// How long an actor that stops may take before it is ended.
const STOPPING: Duration = Duration::from_secs(5);

/// The boxes of a worker, supervised. Cheap to clone.
#[derive(Clone)]
pub struct BoxHostHandle {
    actor: Supervised<BoxHost>,
    shared: Arc<BoxHostShared>,
}

impl BoxHostHandle {
    /// Starts to run hooks on the current arbiter. `marks` is a directory path that belongs to this
    /// worker only; the directory need not exist. The caller has called
    /// [`end_left_hooks`](super::end_left_hooks) with it.
    ///
    /// # Errors
    /// Fails if the claims in `store` cannot be read.
    pub fn start(
        settings: BoxHostSettings,
        epochs: EpochGuard,
        store: Arc<StateStore>,
        marks: PathBuf,
    ) -> Result<Self, StateStoreError> {
        let shared = Arc::new(BoxHostShared {
            owners: BoxClaims::open(store)?,
            settings: settings.into(),
            epochs,
            marks,
            at_work: watch::Sender::new(0),
            looks: Semaphore::new(LOOKS_AT_ONCE),
            view: ArcSwap::default(),
        });
        let supervision = Supervision { mailbox: REQUESTS, ..Supervision::of("box-host") };
        let of_actor = Arc::clone(&shared);
        let actor = Supervised::start(supervision, move || BoxHost::new(Arc::clone(&of_actor)));
        Ok(BoxHostHandle { actor, shared })
    }

    /// Runs a hook for a box, on request of a leader. Answers when it has ended.
    pub async fn run(&self, hook: RunHook) -> HookAnswer {
        let box_id = BoxNumber(hook.box_id);
        if let Err(why) = self.authorize(&hook.place, vec![box_id], hook.token).await {
            return HookAnswer::Silent { why };
        }
        let silent = |why: String| HookAnswer::Silent { why };
        self.actor.ask(hook).await.unwrap_or_else(|error| silent(error.to_string()))
    }

    /// Checks boxes, at the request of a leader. A box with a running hook is left out.
    ///
    /// # Errors
    /// Why no box was checked.
    pub async fn inspect(&self, look: InspectBoxes) -> Result<BoxInspection, String> {
        self.authorize(&look.place, look.boxes.clone(), None).await?;
        self.actor.ask(look).await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// An operator gives all boxes of a host to a pool, through a node of its cluster. Answers the pools
    /// that lost some.
    ///
    /// # Errors
    /// The node leads no longer, its epoch is refused, or the worker cannot store the change.
    pub async fn adopt(
        &self,
        adopt: AdoptBoxes,
        step_limit: EpochStepLimit,
    ) -> Result<Vec<PoolName>, String> {
        let (shared, place) = (Arc::clone(&self.shared), adopt.place);
        let adopting = move || {
            // A node that no longer leads is refused before and after.
            match shared.epochs.would_serve(place.cluster, place.epoch) {
                Ok(()) => {}
                Err(NotObeyed::BoxesTooFarAhead { .. })
                    if step_limit == EpochStepLimit::Unbounded => {}
                Err(refusal) => return Ok(Err(refusal.to_string())),
            }
            let losers = shared.owners.adopt(&place)?;
            let served = shared.epochs.serve_within(place.cluster, place.epoch, step_limit)?;
            if let Err(refusal) = served {
                return Ok(Err(refusal.to_string()));
            }
            let lost = losers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let (pool, hooks) = (&place.pool, place.hooks_name());
            tracing::warn!(%pool, hooks, lost, "boxes handed over to pool");
            Ok::<_, StateStoreError>(Ok(losers))
        };
        let adopted = tokio::task::spawn_blocking(adopting).await;
        adopted.map_err(|error| error.to_string())?.map_err(|error| no_state(&error))?
    }

    /// Checks the epoch of a leader's call for these boxes, and that they belong to its pool. The cluster
    /// of the pool need not be the one that the worker obeys.
    async fn authorize(
        &self,
        place: &HookTarget,
        boxes: Vec<BoxNumber>,
        token: Option<FenceToken>,
    ) -> Result<(), String> {
        let (shared, place) = (Arc::clone(&self.shared), place.clone());
        // A new owner and a new epoch must be durable before anything else. A cluster without boxes here
        // raises no epoch.
        let hearing = move || {
            if let Err(refusal) = shared.epochs.would_serve(place.cluster, place.epoch) {
                return Ok(Err(refusal.to_string()));
            }
            // A pool that this worker does not run is refused, and claims no box.
            if shared.settings.now().hooks.find(&place).is_err() {
                return Ok(Ok(()));
            }
            if let Err(refusal) = shared.owners.claim(&place, &boxes, token)? {
                return Ok(Err(refusal.to_string()));
            }
            let served = shared.epochs.serve(place.cluster, place.epoch)?;
            Ok::<_, StateStoreError>(served.map_err(|refusal| refusal.to_string()))
        };
        match tokio::task::spawn_blocking(hearing).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(why))) => {
                tracing::warn!(why, "box request refused");
                Err(why)
            }
            Ok(Err(error)) => Err(no_state(&error)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Uses these settings for hooks that start from now on.
    pub fn change_settings(&self, settings: BoxHostSettings) {
        self.shared.settings.set(settings);
        self.actor.addr().do_send(SettingsChanged);
    }

    /// The current view.
    pub fn view(&self) -> Arc<BoxHostView> {
        self.shared.view.load_full()
    }

    /// The configured sets of hooks, by name.
    pub fn names(&self) -> Vec<String> {
        self.shared.settings.now().hooks.0.keys().map(ToString::to_string).collect()
    }

    /// The supervision status of the actor.
    pub fn status(&self) -> SupervisionStatus {
        self.actor.status()
    }

    /// Ends running hooks and stops permanently; returns when no hook runs any more.
    pub async fn stop(&self) {
        // An error means that the actor has already ended, together with its runs.
        let _ = tokio::time::timeout(STOPPING, self.actor.addr().send(EndHooks)).await;
        self.shared.nothing_at_work().await;
        self.actor.stop().await;
    }
}

fn no_state(error: &StateStoreError) -> String {
    format!("the worker cannot use its state: {error}")
}
