//! All peers, and the refusals of callers without a number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use reelyard_core::clock::Millis;
use reelyard_protocol::cluster::{ConnectionRefusal, RefusalKind};

use super::peer_record::PeerRecord;
use super::peer_view::{PeerRefusal, PeerView};
use crate::transport::log_limit::LogLimit;

/// How many peers are remembered. A cluster has fewer members.
const MOST_PEERS: usize = 64;

/// The side that refused a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) enum RefusedBy {
    /// This node.
    Us,
    /// The other node.
    Peer,
}

/// All peers of this node.
#[derive(Debug, Default)]
pub(in crate::transport) struct PeerBook {
    peers: Mutex<BTreeMap<u64, Arc<PeerRecord>>>,
    /// Refused callers that are no members.
    others: Mutex<BTreeMap<RefusalKind, u64>>,
    lines: LogLimit<(Option<u64>, RefusalKind)>,
    reachability: LogLimit<(u64, bool)>,
}

impl PeerBook {
    /// The record of this peer. Beyond a large number of peers, the record is not kept.
    pub(in crate::transport) fn peer(&self, number: u64) -> Arc<PeerRecord> {
        let mut peers = self.peers();
        if let Some(peer) = peers.get(&number) {
            return Arc::clone(peer);
        }
        let peer = Arc::new(PeerRecord::new(number));
        if peers.len() < MOST_PEERS {
            peers.insert(number, Arc::clone(&peer));
        }
        peer
    }

    /// Counts a refused connection with a member, and logs it once a minute.
    pub(in crate::transport) fn refused(
        &self,
        number: u64,
        by: RefusedBy,
        refusal: &ConnectionRefusal,
        at: Millis,
    ) {
        let ConnectionRefusal { kind, why } = refusal.clone();
        let is_ours = by == RefusedBy::Us;
        self.peer(number).refused(PeerRefusal { at, kind, why, is_ours });
        let Some(silent) = self.lines.admit((Some(number), refusal.kind), Instant::now()) else {
            return;
        };
        let ConnectionRefusal { kind, why } = refusal;
        match by {
            RefusedBy::Us => tracing::warn!(
                node = number, %kind, why, silent, "refused a connection with another node"
            ),
            RefusedBy::Peer => tracing::warn!(
                node = number, %kind, why, silent, "another node refused a connection"
            ),
        }
    }

    /// Counts a refused caller that is no member, and logs one line a minute for each reason.
    pub(in crate::transport) fn refused_other(
        &self,
        caller: impl ToString,
        refusal: &ConnectionRefusal,
    ) {
        *self.others().entry(refusal.kind).or_default() += 1;
        if let Some(silent) = self.lines.admit((None, refusal.kind), Instant::now()) {
            let (caller, ConnectionRefusal { kind, why }) = (caller.to_string(), refusal);
            tracing::warn!(caller, %kind, why, silent, "refused a connection to cluster.listen");
        }
    }

    /// Notes the outcome of an attempt to connect. A node that is away gets at most one line a minute, with the number
    /// of attempts. After such a line it gets one when it is back, and its failures are forgotten.
    pub(in crate::transport) fn attempted(&self, peer: &PeerRecord, outcome: Result<(), &str>) {
        let node = peer.number();
        match outcome {
            Ok(()) if !peer.reached() => return,
            Ok(()) => self.reachability.forget(&(node, false)),
            Err(why) => peer.not_reached(why),
        }
        let Some(silent) = self.reachability.admit((node, outcome.is_ok()), Instant::now()) else {
            return;
        };
        match outcome {
            Ok(()) => tracing::info!(node, silent, "another node can be reached again"),
            Err(why) => {
                tracing::warn!(node, why, silent, "another node cannot be reached");
                self.reachability.release(&(node, true));
            }
        }
    }

    pub(in crate::transport) fn views(&self) -> Vec<PeerView> {
        self.peers().values().map(|peer| peer.view()).collect()
    }

    pub(in crate::transport) fn refusals_of_others(&self) -> BTreeMap<RefusalKind, u64> {
        self.others().clone()
    }

    fn peers(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<PeerRecord>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn others(&self) -> MutexGuard<'_, BTreeMap<RefusalKind, u64>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
