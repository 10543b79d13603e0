//! The highest epoch that a worker has seen of each cluster. It refuses orders of older leaders, also
//! after a restart.
//!
//! An epoch counts only from the obeyed cluster. That is the cluster of the node at the address of the
//! setting `node`. Without that setting it is the first cluster that called, until an operator
//! [adopts](EpochGuard::adopt) the worker for another one. A jump of more than [`MOST_AHEAD`] is refused.
//! No cluster elects so often, and after one such call the worker would refuse its own node.
//!
//! Boxes may be of a cluster that is not obeyed: see [`EpochGuard::serve`]. Its epochs are compared only
//! with each other, not with those of the obeyed cluster.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use reelyard_core::event::Epoch;
use reelyard_core::manager::YardId;

pub use super::known_epochs::{Deposed, KnownEpochs, MOST_AHEAD, NotObeyed};
use crate::kept_state::state_store::StateStore;
use crate::kept_state::state_store_error::StateStoreError;

/// Guards one worker against deposed leaders. Clones guard the same one.
#[derive(Clone)]
pub struct EpochGuard {
    store: Arc<StateStore>,
    /// Held while a leader's epoch is checked and its order is executed.
    known: Arc<Mutex<KnownEpochs>>,
    /// The same, readable at any time: the holder of `known` may be waiting for the disk.
    published: Arc<ArcSwap<KnownEpochs>>,
}

/// The largest step of an epoch above the highest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochStepLimit {
    /// By [`MOST_AHEAD`].
    Bounded,
    /// By any number: an operator requested it, with proof of the token.
    Unbounded,
}

impl EpochGuard {
    /// A guard with the epochs in `store`.
    pub fn open(store: Arc<StateStore>) -> Result<Self, StateStoreError> {
        let known = store.known_epochs()?;
        let published = Arc::new(ArcSwap::from_pointee(known.clone()));
        Ok(EpochGuard { store, known: Arc::new(Mutex::new(known)), published })
    }

    /// The highest epoch of the obeyed cluster. Never waits.
    pub fn highest(&self) -> Epoch {
        self.published.load().highest()
    }

    /// The highest epoch of a cluster; without a cluster, of the obeyed one. Never waits.
    pub fn highest_of(&self, cluster: Option<YardId>) -> Epoch {
        self.published.load().highest_of(cluster)
    }

    /// A leader of `cluster` calls in `epoch`. A higher epoch than before is durable when this returns;
    /// then it blocks on the disk.
    pub fn accept_leader(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
    ) -> Result<Result<(), NotObeyed>, StateStoreError> {
        self.obey(cluster, epoch, || ())
    }

    /// Whether a call of a leader of `cluster` in `epoch` would be obeyed. Raises no epoch.
    pub fn would_obey(&self, cluster: Option<YardId>, epoch: Epoch) -> Result<(), NotObeyed> {
        self.held().called(cluster, epoch).map(drop)
    }

    /// Whether a request of a leader of `cluster` in `epoch` for its boxes would be served. Raises no
    /// epoch.
    pub fn would_serve(&self, cluster: Option<YardId>, epoch: Epoch) -> Result<(), NotObeyed> {
        self.held().served(cluster, epoch).map(drop)
    }

    /// A leader of `cluster`, which need not be obeyed, makes a request in `epoch` for its own boxes. A
    /// higher epoch than before is durable when this returns; blocks on the disk then.
    pub fn serve(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
    ) -> Result<Result<(), NotObeyed>, StateStoreError> {
        self.serve_within(cluster, epoch, EpochStepLimit::Bounded)
    }

    /// The same, with a limit on how far a cluster that is not obeyed may be ahead of its known epoch.
    pub fn serve_within(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
        step_limit: EpochStepLimit,
    ) -> Result<Result<(), NotObeyed>, StateStoreError> {
        let mut known = self.held();
        let served = match (known.served(cluster, epoch), step_limit) {
            (Err(NotObeyed::BoxesTooFarAhead { cluster, .. }), EpochStepLimit::Unbounded) => {
                known.beside(cluster, epoch).map(Some)
            }
            (served, _) => served,
        };
        match served {
            Ok(Some(more)) => self.keep(&mut known, more).map(Ok),
            Ok(None) => Ok(Ok(())),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Carries out a decision of a leader of `cluster` in `epoch`, unless the worker knows a later
    /// leader. No other leader is accepted until it is finished. So the next leader finds it finished or
    /// refused, and it never takes effect later.
    pub fn obey<T>(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
        act: impl FnOnce() -> T,
    ) -> Result<Result<T, NotObeyed>, StateStoreError> {
        let mut known = self.held();
        match known.called(cluster, epoch) {
            Ok(Some(more)) => self.keep(&mut known, more)?,
            Ok(None) => {}
            Err(refusal) => return Ok(Err(refusal)),
        }
        Ok(Ok(act()))
    }

    /// The node that this worker asks for orders answers as a node of `cluster` in `epoch`. Blocks on the
    /// disk if this is new.
    pub fn answered(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
    ) -> Result<Result<(), NotObeyed>, StateStoreError> {
        let mut known = self.held();
        match known.answered(cluster, epoch) {
            Ok(Some(more)) => {
                if let (Some(from), Some(to)) = (known.cluster(), more.cluster())
                    && from != to
                {
                    tracing::warn!(%from, %to, %epoch, "the worker now obeys another cluster");
                }
                self.keep(&mut known, more).map(Ok)
            }
            Ok(None) => Ok(Ok(())),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// `cluster` is obeyed from now on, from `epoch` on, whatever it knew before. Answers the highest
    /// epoch before. Durable when this returns.
    pub fn adopt(&self, cluster: YardId, epoch: Epoch) -> Result<Epoch, StateStoreError> {
        let mut known = self.held();
        let (before, from) = (known.highest(), known.cluster());
        let more = known.leading(Some(cluster), epoch);
        self.keep(&mut known, more)?;
        let from = from.map(|from| from.to_string()).unwrap_or_default();
        tracing::warn!(%cluster, %epoch, from, %before, "the worker was adopted on request");
        Ok(before)
    }

    fn held(&self) -> MutexGuard<'_, KnownEpochs> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This is made durable first, because a restart must not lose the cluster that this worker obeys.
    fn keep(&self, known: &mut KnownEpochs, more: KnownEpochs) -> Result<(), StateStoreError> {
        self.store.keep_known_epochs(&more)?;
        self.published.store(Arc::new(more.clone()));
        *known = more;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
