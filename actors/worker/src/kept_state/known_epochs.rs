//! The highest epoch that a worker knows of each cluster, and the callers that it therefore refuses. Pure.

use reelyard_core::event::Epoch;
use reelyard_core::manager::YardId;
use serde::{Deserialize, Serialize};

/// The largest step of an epoch above the highest one. It is far larger than real steps: an election
/// raises an epoch by one, and `reelyard store restore` by about a thousand.
pub const MOST_AHEAD: u64 = 100_000;

/// The largest number of clusters with stored epochs: the obeyed one, its predecessors, and those whose
/// boxes are here.
pub(super) const MOST_CLUSTERS: usize = 64;

/// The known epochs: the cluster that is obeyed comes first. Stored in this form. Pure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownEpochs(Vec<(Option<YardId>, Epoch)>);

/// A leader of an older epoch than this worker has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("epoch {given} is out of date: this worker knows a leader of epoch {highest}")]
pub struct Deposed {
    /// The epoch it leads in.
    pub given: Epoch,
    /// The highest epoch so far.
    pub highest: Epoch,
}

/// Why a leader is not obeyed. For an operator to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotObeyed {
    /// A later leader has called.
    #[error(
        "{0}. If that epoch is wrong, run \"reelyard hosts adopt\" for this worker at its node"
    )]
    Deposed(#[from] Deposed),
    /// It is of another cluster.
    #[error(
        "cluster {given} does not lead this worker, which obeys cluster {obeyed}. To change that, run \
         \"reelyard hosts adopt\" for this worker at a node of {given}"
    )]
    Foreign {
        /// The cluster of the leader.
        given: YardId,
        /// The cluster that is obeyed.
        obeyed: YardId,
    },
    /// Its epoch is not plausible.
    #[error(
        "epoch {given} is refused: it is more than {most} above {highest}, the highest epoch that this \
         worker knows. If it is right, run \"reelyard hosts adopt\" for this worker at \
         its node",
        most = MOST_AHEAD
    )]
    TooFarAhead {
        /// The epoch it claims.
        given: Epoch,
        /// The highest epoch so far.
        highest: Epoch,
    },
    /// The same for a cluster that is not obeyed and makes a request for its boxes.
    #[error(
        "epoch {given} of cluster {cluster} is refused: it is more than {most} above {highest}, the \
         highest epoch of that cluster that this worker knows. If it is right, run \"reelyard box pools \
         adopt\" for the pool at a node of that cluster",
        most = MOST_AHEAD
    )]
    BoxesTooFarAhead {
        /// The cluster that sent the request.
        cluster: YardId,
        /// The epoch it claims.
        given: Epoch,
        /// The highest epoch so far.
        highest: Epoch,
    },
    /// The limit of stored clusters is reached.
    #[error(
        "cluster {cluster} is refused: this worker already knows {most} clusters, which is the limit. Set \
         a token on the worker, stop it, remove its state directory and start it again",
        most = MOST_CLUSTERS
    )]
    TooManyClusters {
        /// The cluster that sent the request.
        cluster: YardId,
    },
}

impl Deposed {
    /// Whether the epoch `given` of a leader is higher than `highest`, the highest seen one. Then it must
    /// be durable before anything else is done.
    ///
    /// # Errors
    /// A later leader is known.
    pub fn check(given: Epoch, highest: Epoch) -> Result<bool, Deposed> {
        if given < highest { Err(Deposed { given, highest }) } else { Ok(given > highest) }
    }
}

impl KnownEpochs {
    /// The state of a worker that has only seen this epoch, of an unknown cluster.
    pub fn only(epoch: Epoch) -> Self {
        KnownEpochs(if epoch == Epoch::default() { Vec::new() } else { vec![(None, epoch)] })
    }

    /// The cluster that is obeyed.
    pub fn cluster(&self) -> Option<YardId> {
        self.0.first()?.0
    }

    /// The highest epoch of the cluster that is obeyed.
    pub fn highest(&self) -> Epoch {
        self.0.first().map(|(_, epoch)| *epoch).unwrap_or_default()
    }

    /// The highest epoch of a cluster. Without a cluster, and while no cluster is known by its id, the
    /// epoch of the obeyed one.
    pub fn highest_of(&self, cluster: Option<YardId>) -> Epoch {
        match self.cluster() {
            Some(obeyed) if cluster.is_some_and(|given| given != obeyed) => {
                let known = self.0.iter().find(|(known, _)| *known == cluster);
                known.map(|(_, epoch)| *epoch).unwrap_or_default()
            }
            _ => self.highest(),
        }
    }

    /// The state after a leader of `cluster` has called in `epoch`; none if nothing changes. A caller
    /// that names no cluster can be deposed, and raises no epoch.
    pub(super) fn called(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
    ) -> Result<Option<KnownEpochs>, NotObeyed> {
        if let (Some(given), Some(obeyed)) = (cluster, self.cluster())
            && given != obeyed
        {
            return Err(NotObeyed::Foreign { given, obeyed });
        }
        let raises = is_raised(epoch, self.highest())?;
        let is_new = cluster.is_some() && (raises || self.cluster().is_none());
        Ok(is_new.then(|| self.leading(cluster, epoch)))
    }

    /// The same for a request of a leader for boxes. It may belong to a cluster that is not obeyed.
    pub(super) fn served(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
    ) -> Result<Option<KnownEpochs>, NotObeyed> {
        let given = match self.called(cluster, epoch) {
            Err(NotObeyed::Foreign { given, .. }) => given,
            of_obeyed => return of_obeyed,
        };
        let raises =
            is_raised(epoch, self.highest_of(cluster)).map_err(|refusal| match refusal {
                NotObeyed::TooFarAhead { given: epoch, highest } => {
                    NotObeyed::BoxesTooFarAhead { cluster: given, given: epoch, highest }
                }
                refusal => refusal,
            })?;
        if raises { self.beside(given, epoch).map(Some) } else { Ok(None) }
    }

    /// A cluster that is not obeyed leads in `epoch`, regardless of earlier epochs.
    pub(super) fn beside(&self, cluster: YardId, epoch: Epoch) -> Result<KnownEpochs, NotObeyed> {
        let others = self.0.iter().filter(|(known, _)| *known != Some(cluster));
        let mut all: Vec<_> = others.copied().collect();
        if all.len() == MOST_CLUSTERS {
            return Err(NotObeyed::TooManyClusters { cluster });
        }
        // Behind the one that is obeyed.
        all.push((Some(cluster), epoch));
        Ok(KnownEpochs(all))
    }

    /// The same for the node that the worker itself asks for orders. A node of another cluster at that
    /// address was put there by the operator, so its cluster is obeyed from now on.
    pub(super) fn answered(
        &self,
        cluster: Option<YardId>,
        epoch: Epoch,
    ) -> Result<Option<KnownEpochs>, NotObeyed> {
        let cluster = cluster.or(self.cluster());
        // There is no epoch to compare with if the cluster has never called.
        let is_unknown = self.0.iter().all(|(known, _)| known.is_some() && *known != cluster);
        let raises = match cluster {
            Some(_) if is_unknown => true,
            _ => is_raised(epoch, self.highest_of(cluster))?,
        };
        let is_new = raises || cluster != self.cluster();
        Ok(is_new.then(|| self.leading(cluster, epoch)))
    }

    /// `cluster` leads in `epoch`, regardless of earlier epochs.
    pub(super) fn leading(&self, cluster: Option<YardId>, epoch: Epoch) -> KnownEpochs {
        let others = self.0.iter().filter(|(known, _)| known.is_some() && *known != cluster);
        let all = std::iter::once((cluster, epoch)).chain(others.copied());
        KnownEpochs(all.take(MOST_CLUSTERS).collect())
    }
}

/// Whether `epoch` is higher than any before, and may be.
fn is_raised(given: Epoch, highest: Epoch) -> Result<bool, NotObeyed> {
    let raises = Deposed::check(given, highest)?;
    if given.0.saturating_sub(highest.0) > MOST_AHEAD {
        return Err(NotObeyed::TooFarAhead { given, highest });
    }
    Ok(raises)
}
