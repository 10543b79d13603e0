//! The facts about one peer, written by all connections with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_core::clock::Millis;
use reelyard_protocol::cluster::{FormatLevels, NodeHello, RefusalKind, SettingsDigest};

use super::peer_view::{PeerRefusal, PeerView};

/// After this time a failure to connect says nothing: a follower calls the other followers only when no node leads.
const FAILURE_COUNTS_FOR: Duration = Duration::from_secs(5);

/// Weight of a new round trip in the average.
const WEIGHT: u32 = 8;

/// Bytes and connections.
#[derive(Debug, Default)]
pub(in crate::transport) struct PeerTraffic {
    sent: AtomicU64,
    received: AtomicU64,
    connections: AtomicU64,
}

impl PeerTraffic {
    pub(in crate::transport) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(in crate::transport) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(in crate::transport) fn opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(in crate::transport) fn closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Another node, as all connections with it see it.
#[derive(Debug, Default)]
pub(in crate::transport) struct PeerRecord {
    number: u64,
    traffic: Arc<PeerTraffic>,
    facts: Mutex<PeerFacts>,
}

#[derive(Debug, Default)]
struct PeerFacts {
    contact: Option<Instant>,
    round_trip: Option<Duration>,
    clock_skew_ms: Option<i64>,
    hello: Option<(String, FormatLevels, SettingsDigest)>,
    skips_others: bool,
    /// The last failure to connect, until a success.
    failure: Option<(Instant, String)>,
    last_refusal: Option<PeerRefusal>,
    refusals: BTreeMap<RefusalKind, u64>,
}

impl PeerRecord {
    pub(super) fn new(number: u64) -> Self {
        PeerRecord { number, ..PeerRecord::default() }
    }

    pub(in crate::transport) fn number(&self) -> u64 {
        self.number
    }

    pub(in crate::transport) fn traffic(&self) -> Arc<PeerTraffic> {
        Arc::clone(&self.traffic)
    }

    /// An accepted hello of a node that skips other entries of the log, or not. Answers whether it did not do so before.
    pub(in crate::transport) fn greeted(&self, hello: &NodeHello, skips_others: bool) -> bool {
        let mut facts = self.facts();
        facts.contact = Some(Instant::now());
        facts.hello = Some((hello.program.clone(), hello.levels, hello.settings));
        let before = std::mem::replace(&mut facts.skips_others, skips_others);
        skips_others && !before
    }

    /// A message of the peer.
    pub(in crate::transport) fn contacted(&self) {
        self.facts().contact = Some(Instant::now());
    }

    /// A small message went there and back in `on_the_way`, without the work there. The peer answered at its time
    /// `theirs`, and the answer arrived here at `ours`.
    pub(in crate::transport) fn measured(
        &self,
        on_the_way: Duration,
        theirs: Millis,
        ours: Millis,
    ) {
        let mut facts = self.facts();
        let average = match facts.round_trip {
            Some(before) => (before * (WEIGHT - 1) + on_the_way) / WEIGHT,
            None => on_the_way,
        };
        facts.round_trip = Some(average);
        let back = i64::try_from(on_the_way.as_millis() / 2).unwrap_or(i64::MAX);
        let sent = ours.0.saturating_sub(back);
        facts.clock_skew_ms = Some(theirs.0.saturating_sub(sent));
    }

    /// A connection to the peer was made. Returns whether the attempt before failed.
    pub(in crate::transport) fn reached(&self) -> bool {
        self.facts().failure.take().is_some()
    }

    /// A connection to the peer failed.
    pub(in crate::transport) fn not_reached(&self, why: &str) {
        self.facts().failure = Some((Instant::now(), why.to_owned()));
    }

    pub(super) fn refused(&self, refusal: PeerRefusal) {
        let mut facts = self.facts();
        *facts.refusals.entry(refusal.kind).or_default() += 1;
        facts.last_refusal = Some(refusal);
    }

    pub(super) fn view(&self) -> PeerView {
        let facts = self.facts();
        let hello = facts.hello.as_ref();
        PeerView {
            number: self.number,
            since_contact: facts.contact.map(|at| at.elapsed()),
            round_trip: facts.round_trip,
            clock_skew_ms: facts.clock_skew_ms,
            program: hello.map(|(program, ..)| program.clone()),
            levels: hello.map(|(_, levels, _)| *levels),
            settings: hello.map(|(.., settings)| *settings),
            skips_others: facts.skips_others,
            unreachable: recent(facts.failure.as_ref(), Instant::now()),
            last_refusal: facts.last_refusal.clone(),
            refusals: facts.refusals.clone(),
            sent: self.traffic.sent.load(Ordering::Relaxed),
            received: self.traffic.received.load(Ordering::Relaxed),
            connections: self.traffic.connections.load(Ordering::Relaxed),
        }
    }

    fn facts(&self) -> MutexGuard<'_, PeerFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason of a failure that still counts.
fn recent(failure: Option<&(Instant, String)>, now: Instant) -> Option<String> {
    let (_, why) =
        failure.filter(|(at, _)| now.saturating_duration_since(*at) <= FAILURE_COUNTS_FOR)?;
    Some(why.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skew_of_a_clock_leaves_out_the_way_back() {
        let peer = PeerRecord::new(2);
        peer.measured(Duration::from_millis(80), Millis(10_000), Millis(7_040));
        let view = peer.view();
        assert_eq!(view.clock_skew_ms, Some(3_000));
        assert_eq!(view.round_trip, Some(Duration::from_millis(80)));
        peer.measured(Duration::from_millis(160), Millis(0), Millis(0));
        assert_eq!(peer.view().round_trip, Some(Duration::from_millis(90)));
    }

    #[test]
    fn only_a_change_of_reachability_is_news() {
        let peer = PeerRecord::new(2);
        assert!(!peer.reached());
        peer.not_reached("refused");
        peer.not_reached("silent");
        assert_eq!(peer.view().unreachable.as_deref(), Some("silent"));
        assert!(peer.reached());
        assert!(!peer.reached());
    }

    #[test]
    fn a_failed_attempt_counts_for_some_seconds() {
        let at = Instant::now();
        let failure = (at, "refused".to_owned());
        for (seconds, counts) in [(0, true), (5, true), (6, false)] {
            let found = recent(Some(&failure), at + Duration::from_secs(seconds));
            assert_eq!(found.is_some(), counts, "{seconds} s");
        }
    }
}
