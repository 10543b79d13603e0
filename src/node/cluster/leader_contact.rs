//! How this node stands with the other members: whether it reaches the leader, and what needs attention.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_cluster::{LocalMember, PeerView};
use reelyard_core::clock::Millis;
use reelyard_core::durations::in_words;
use reelyard_journal::Journal;
use reelyard_replication::{CallTarget, Leadership, Member};
use tokio::time::timeout;

use super::cluster_link::ClusterLink;

/// From this time before its end on, a certificate is warned of.
const CERTIFICATE_NOTICE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Time limit for one call of the leader.
const CALL_TIME: Duration = Duration::from_secs(1);

/// A time in which each member has sent several messages.
const SILENCE: Duration = Duration::from_secs(2);

impl ClusterLink {
    /// Calls the leader, unless that was done a moment ago. [`ClusterLink::no_leader`] counts the outcome.
    pub async fn check_leader(&self) {
        let Some(journal) = self.journal() else { return };
        let Leadership::Following { leader } = *journal.leadership().borrow() else { return };
        let member = journal.members().into_iter().find(|member| member.number == leader);
        let Some(member) = member.filter(|_| self.leader_calls().begin(leader)) else { return };
        let target = CallTarget { node: leader, record: member.record };
        let failure = match timeout(CALL_TIME, self.transport().open_forward(&target)).await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("it gives no connection within {} s", CALL_TIME.as_secs())),
        };
        self.leader_calls().end(leader, failure);
    }

    /// Why no leader takes a change from here now. None if this node leads with a quorum, or hears the leader. A leader
    /// with a full disk still refuses changes.
    pub fn no_leader(&self) -> Option<String> {
        let journal = self.journal()?;
        let leader = match *journal.leadership().borrow() {
            Leadership::Leading { .. } if journal.certainly_leads() => return None,
            Leadership::Stopped => return None,
            Leadership::Leading { .. } | Leadership::Nobody => {
                return Some("no node leads the yard".to_owned());
            }
            Leadership::Following { leader } => leader,
        };
        let since = self.peers().into_iter().find(|peer| peer.number == leader);
        match since.and_then(|peer| peer.since_contact) {
            Some(since) if since <= self.patience() => {
                let why = self.leader_calls().failure(leader)?;
                Some(format!("node {leader} leads the yard, and this node cannot call it: {why}"))
            }
            Some(since) => {
                let silent = in_words(since);
                Some(format!("node {leader} led the yard, and it has been silent for {silent}"))
            }
            None => Some(format!("node {leader} leads the yard, and it cannot be reached")),
        }
    }

    /// Why the leader refuses changes, if its disk is full. None on the leader itself.
    pub fn leader_disk_full(&self) -> Option<String> {
        let journal = self.journal()?;
        let leader = journal.leader().filter(|_| journal.leader_disk_full())?;
        Some(format!(
            "the disk of node {leader}, which leads the yard, is full: make room there, or make another node the leader \
             with \"reelyard cluster transfer\""
        ))
    }

    /// Why members cannot be reached, by number. Only the leader hears all of them.
    pub fn troubles(&self) -> BTreeMap<u64, String> {
        let Some(journal) = self.journal() else { return BTreeMap::new() };
        let leads = journal.leadership().borrow().epoch().is_some();
        let peers = self.peers();
        let own = journal.identity().number;
        let others = journal.members().into_iter().filter(|member| member.number != own);
        let trouble = |member: Member| {
            let peer = peers.iter().find(|peer| peer.number == member.number);
            Some((member.number, trouble(peer, leads)?))
        };
        others.filter_map(trouble).collect()
    }

    /// Whether the settings of the cluster in the file of this member differ from those of this node.
    pub fn differs(&self, peer: &PeerView) -> bool {
        // With settings on record no file decides about the cluster, and each node warns of its own file.
        if self.record_state().is_followed {
            return false;
        }
        peer.settings.is_some_and(|settings| settings != self.member().settings())
    }

    /// Everything that needs attention, as text lines.
    pub fn warnings(&self, now: Millis) -> Vec<String> {
        let troubles = self.troubles().into_iter();
        let mut warnings: Vec<String> = troubles
            .map(|(number, why)| format!("node {number} does not take part: {why}"))
            .collect();
        let members = self.journal().map(Journal::members).unwrap_or_default();
        let is_member = |peer: &PeerView| members.iter().any(|member| member.number == peer.number);
        for peer in self.peers().iter().filter(|peer| is_member(peer) && self.differs(peer)) {
            warnings.push(format!(
                "the settings of the cluster in the file of node {} differ from those here: make both files equal, \
                 and reload",
                peer.number
            ));
        }
        let record = self.record_state();
        if !record.differing_keys.is_empty() {
            warnings.push(format!(
                "the file of this node sets {} to other values than those on record: run \"reelyard config apply \
                 FILE\", or remove them and reload",
                record.differing_keys.join(", ")
            ));
        }
        if !record.silent_hooks.is_empty() {
            warnings.push(format!(
                "these webhooks have no valid secret on this node, so it sends nothing to them while it leads: \
                 {}. Correct their secret files, and run \"reelyard config reload\" here",
                record.silent_hooks.join(", ")
            ));
        }
        warnings.extend(record.not_followed.map(|why| {
            format!("the newest settings on record do not take effect on this node: {why}")
        }));
        let clocks = self.journal().map(Journal::wrong_clocks).unwrap_or_default();
        warnings.extend(clocks.into_iter().map(|(number, ahead_ms)| wrong_clock(number, ahead_ms)));
        warnings.extend(self.certificate_end().and_then(|ends| certificate_warning(ends, now)));
        warnings
    }
}

/// Why this peer cannot be reached. A failed attempt is out of date once the peer was heard again.
fn trouble(peer: Option<&PeerView>, leads: bool) -> Option<String> {
    let Some(peer) = peer else {
        return leads.then(|| "it has never answered".to_owned());
    };
    let silence = peer.since_contact.filter(|since| *since > SILENCE);
    match (&peer.unreachable, peer.since_contact, silence) {
        (Some(why), None, _) | (Some(why), _, Some(_)) => Some(why.clone()),
        (None, _, Some(since)) if leads => {
            Some(format!("it has been silent for {}", in_words(since)))
        }
        (None, None, _) if leads => Some("it has never answered".to_owned()),
        _ => None,
    }
}

fn wrong_clock(number: u64, ahead_ms: i64) -> String {
    let distance = in_words(Duration::from_millis(ahead_ms.unsigned_abs()));
    let side = if ahead_ms > 0 { "ahead of" } else { "behind" };
    format!(
        "the wall clock of node {number} is {distance} {side} the median of the voters, more than cluster.clock_bound. It \
         does not lead until the clock is correct"
    )
}

fn certificate_warning(ends: Millis, now: Millis) -> Option<String> {
    let left = ends.since(now);
    if left > CERTIFICATE_NOTICE {
        return None;
    }
    Some(format!(
        "the certificate in cluster.tls.cert_file ends at {ends}: make a new one with \"reelyard cluster certs renew\", \
         and reload"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(unreachable: Option<&str>, silence: Option<u64>) -> PeerView {
        PeerView {
            number: 2,
            since_contact: silence.map(Duration::from_secs),
            round_trip: None,
            clock_skew_ms: None,
            program: None,
            levels: None,
            settings: None,
            unreachable: unreachable.map(str::to_owned),
            last_refusal: None,
            refusals: BTreeMap::new(),
            sent: 0,
            received: 0,
            connections: 0,
        }
    }

    #[test]
    fn only_the_leader_judges_silence_and_an_old_failure_does_not_count() {
        for (unreachable, silence, leads, expected) in [
            (None, Some(0), true, None),
            (None, Some(60), true, Some("it has been silent for 1 min")),
            (None, Some(60), false, None),
            (Some("refused"), Some(60), false, Some("refused")),
            (Some("refused"), Some(0), true, None),
            (Some("refused"), None, false, Some("refused")),
            (None, None, true, Some("it has never answered")),
        ] {
            let found = trouble(Some(&peer(unreachable, silence)), leads);
            assert_eq!(found.as_deref(), expected, "{unreachable:?} {silence:?} {leads}");
        }
        assert_eq!(trouble(None, false), None);
    }

    #[test]
    fn a_wrong_clock_is_described_by_its_side() {
        assert!(wrong_clock(2, -5_000).contains("node 2 is 5 s behind the median"));
        assert!(wrong_clock(2, 5_000).contains("node 2 is 5 s ahead of the median"));
    }

    #[test]
    fn a_certificate_is_warned_of_in_its_last_month() {
        let ends = Millis::from_unix_seconds(1_800_000_000);
        let early = ends.before(CERTIFICATE_NOTICE + Duration::from_secs(1));
        assert_eq!(certificate_warning(ends, early), None);
        let warned = certificate_warning(ends, ends.before(CERTIFICATE_NOTICE));
        assert!(warned.is_some_and(|text| text.contains("certs renew")));
    }
}
