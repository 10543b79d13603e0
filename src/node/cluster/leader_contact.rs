//! How this node stands with the other members: whether it reaches the leader, and what needs attention.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_cluster::{LocalMember, PeerView};
use reelyard_core::clock::Millis;
use reelyard_core::durations::in_words;
use reelyard_journal::Journal;
use reelyard_protocol::cluster::RefusalKind;
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

    /// Why no leader takes a change from here now. None if this node leads with a quorum, or hears a leader with one. A
    /// leader with a full disk still refuses changes.
    pub fn no_leader(&self) -> Option<String> {
        let journal = self.journal()?;
        if self.was_removed(journal) {
            let own = journal.identity().number;
            return Some(format!(
                "node {own} was removed from the cluster: stop it. To take part again, it joins with an empty data_dir \
                 and a new invitation"
            ));
        }
        let leader = match *journal.leadership().borrow() {
            Leadership::Leading { .. } if journal.certainly_leads() => return None,
            Leadership::Stopped => return None,
            Leadership::Leading { .. } | Leadership::Nobody => {
                return Some("no node leads the yard: start more of its voters".to_owned());
            }
            Leadership::Following { leader } => leader,
        };
        let since = self.peers().into_iter().find(|peer| peer.number == leader);
        match since.and_then(|peer| peer.since_contact) {
            Some(since) if since <= self.patience() => {
                if let Some(why) = self.leader_calls().failure(leader) {
                    return Some(format!(
                        "node {leader} leads the yard, and this node cannot call it: {why}"
                    ));
                }
                without_quorum(leader, journal.since_quorum(), self.patience())
            }
            Some(since) => {
                let silent = in_words(since);
                Some(format!("node {leader} led the yard, and it has been silent for {silent}"))
            }
            None => Some(format!("node {leader} leads the yard, and it cannot be reached")),
        }
    }

    /// Whether the cluster has removed this node. It may not have got that entry: then the others refuse its calls.
    fn was_removed(&self, journal: &Journal) -> bool {
        let (own, members) = (journal.identity().number, journal.members());
        if members.iter().any(|member| member.number == own) {
            let is_refused = |peer: PeerView| {
                let last = peer.last_refusal.filter(|refusal| !refusal.is_ours);
                last.is_some_and(|refusal| refusal.kind == RefusalKind::Removed)
            };
            return self.peers().into_iter().any(is_refused);
        }
        // A node that has just joined still applies entries from before its number was given.
        members.iter().any(|member| member.number.max(member.record.numbers_given) >= own)
    }

    /// Why the leader refuses changes, if its disk is full. None on the leader itself.
    pub fn leader_disk_full(&self) -> Option<String> {
        let journal = self.journal()?;
        let leader = journal.leader().filter(|_| journal.leader_disk_full())?;
        Some(format!(
            "the disk of node {leader}, which leads the yard, is full: make room there. It hands over once most voters \
             have room"
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
            let number = member.number;
            let peer = peers.iter().find(|peer| peer.number == number);
            let why = match leads {
                true => trouble_of_leader(peer, journal.since_answer(number)),
                false => peer.and_then(trouble_of_follower),
            };
            Some((number, why?))
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
        for peer in self.peers().iter().filter(|peer| is_member(peer) && peer.skips_others) {
            warnings.push(format!(
                "node {} and this node skip different entries of the log, so their states may differ. Run \"reelyard \
                 store skip\" with the same entries on both, or let one of them join again with an empty data_dir",
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

/// Why the leader of this node takes no change, although it calls: no quorum certainly followed it `since` this time.
fn without_quorum(leader: u64, since: Option<Duration>, patience: Duration) -> Option<String> {
    match since {
        // Each call says how it was one call and one answer earlier.
        Some(since) if since <= patience * 2 => None,
        Some(since) => {
            let time = in_words(since);
            Some(format!("node {leader} leads the yard, and no quorum has answered it for {time}"))
        }
        None => Some(format!("node {leader} leads the yard, and no quorum has confirmed that yet")),
    }
}

/// Why a member does not take part, on the leader: it has not answered a call for this time. Its own calls do not count:
/// the leader needs its answers.
fn trouble_of_leader(peer: Option<&PeerView>, since_answer: Option<Duration>) -> Option<String> {
    if since_answer.is_some_and(|since| since <= SILENCE) {
        return None;
    }
    let unreachable = peer.and_then(|peer| peer.unreachable.clone());
    unreachable.or_else(|| match since_answer {
        Some(since) => Some(format!("it has been silent for {}", in_words(since))),
        None => Some("it has never answered".to_owned()),
    })
}

/// Why a follower cannot reach this member, if it just tried. It calls the leader only, so silence says nothing.
fn trouble_of_follower(peer: &PeerView) -> Option<String> {
    let is_silent = peer.since_contact.is_none_or(|since| since > SILENCE);
    peer.unreachable.clone().filter(|_| is_silent)
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
            skips_others: false,
            unreachable: unreachable.map(str::to_owned),
            last_refusal: None,
            refusals: BTreeMap::new(),
            sent: 0,
            received: 0,
            connections: 0,
        }
    }

    #[test]
    fn only_the_leader_judges_silence_and_only_by_answers() {
        let seconds = |silence: Option<u64>| silence.map(Duration::from_secs);
        for (unreachable, answered, expected) in [
            (None, Some(0), None),
            (None, Some(60), Some("it has been silent for 1 min")),
            (None, None, Some("it has never answered")),
            (Some("refused"), Some(60), Some("refused")),
            (Some("refused"), Some(0), None),
            (Some("refused"), None, Some("refused")),
        ] {
            // It calls the leader all the time, and the leader cannot call it.
            let found = trouble_of_leader(Some(&peer(unreachable, Some(0))), seconds(answered));
            assert_eq!(found.as_deref(), expected, "{unreachable:?} {answered:?}");
        }
        assert_eq!(trouble_of_leader(None, None).as_deref(), Some("it has never answered"));
        for (unreachable, contact, expected) in [
            (None, Some(60), None),
            (Some("refused"), Some(60), Some("refused")),
            (Some("refused"), None, Some("refused")),
            (Some("refused"), Some(0), None),
        ] {
            let found = trouble_of_follower(&peer(unreachable, contact));
            assert_eq!(found.as_deref(), expected, "{unreachable:?} {contact:?}");
        }
    }

    #[test]
    fn a_leader_that_lost_its_quorum_takes_no_change() {
        let patience = Duration::from_millis(500);
        let found = |since| without_quorum(1, since, patience);
        assert_eq!(found(Some(Duration::from_millis(900))), None);
        let lost = found(Some(Duration::from_secs(3)));
        assert!(lost.is_some_and(|text| text.contains("no quorum has answered it for 3 s")));
        assert!(found(None).is_some(), "a node that has just started has heard no leader");
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
