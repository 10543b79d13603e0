//! The contact of this node, as the leader, with its followers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_core::cluster_time::ClusterTime;
use reelyard_core::event::Epoch;

use super::clock_skew::from_median;
use super::{ContactMark, LeaderNews, RECENT};

/// A leader without the answers of a quorum is silent after this number of leases, so that the others can elect
/// another one.
const PATIENT_LEASES: u32 = 2;

/// It is silent for this number of leases, and speaks as long, by turns. An election takes less than three.
const LEASES_PER_TURN: u32 = 4;

/// The contact with the followers. Clones share it.
#[derive(Clone)]
pub(in crate::raft) struct QuorumContact {
    node: u64,
    clock: Clock,
    /// The same clock, never behind an earlier leader and the other voters.
    in_cluster: Clock,
    time: ClusterTime,
    /// How long a voter elects no other leader after it followed a call.
    lease: Duration,
    clock_bound: Duration,
    state: Arc<Mutex<QuorumState>>,
}

#[derive(Default)]
struct QuorumState {
    /// The sets of voters. Each of them must agree to an election.
    voters: Vec<BTreeSet<u64>>,
    /// The last epoch in which this node began to decide.
    led: Option<Epoch>,
    /// Whether it decides in that epoch now.
    is_leading: bool,
    /// The term of its calls as a leader, and the moment of the first one.
    first_call: Option<(u64, Duration)>,
    followers: BTreeMap<u64, FollowerContact>,
}

#[derive(Clone, Copy, Default)]
struct FollowerContact {
    mark: Option<ContactMark>,
    /// The moment when the last call was sent that the node followed, and the term of that call.
    followed: Option<(u64, Duration)>,
    /// The moment when the last such answer arrived, and the term of the call.
    arrived: Option<(u64, Duration)>,
    /// How far its wall clock is ahead of the own one, in milliseconds, and when this was measured.
    ahead: Option<(i64, Duration)>,
}

impl QuorumContact {
    /// Node `node`, which does not lead yet.
    pub(in crate::raft) fn new(
        node: u64,
        (clock, time): (Clock, &ClusterTime),
        lease: Duration,
        clock_bound: Duration,
    ) -> Self {
        let in_cluster = clock.clone().in_cluster(Arc::new(time.by_leader()));
        let (time, state) = (time.clone(), Arc::default());
        QuorumContact { node, clock, in_cluster, time, lease, clock_bound, state }
    }

    /// The present moment.
    pub(in crate::raft) fn now(&self) -> Duration {
        self.clock.uptime()
    }

    /// Each of these sets of voters decides about the leader.
    pub(in crate::raft) fn set_voters(&self, voters: &[BTreeSet<u64>]) {
        let mut state = self.state();
        if state.voters != voters {
            state.voters = voters.to_vec();
        }
    }

    /// This node decides in `epoch` from now on. None: it does not decide.
    pub(in crate::raft) fn set_leading(&self, epoch: Option<Epoch>) {
        let mut state = self.state();
        state.is_leading = epoch.is_some();
        if epoch.is_some() {
            state.led = epoch;
        }
    }

    /// The news for a follower, with a call in `term`: how far the log is applied here, and whether the disk is full.
    /// None until the follower has sent a mark, and while this node does not decide.
    pub(in crate::raft) fn news(
        &self,
        to: u64,
        term: u64,
        (applied, disk_full): (u64, bool),
    ) -> Option<LeaderNews> {
        let state = self.state();
        if !state.is_leading || state.led != Some(Epoch(term)) {
            return None;
        }
        let mark = state.followers.get(&to)?.mark?;
        let now = self.now();
        let age = now.saturating_sub(self.known_at_of(&state, now)?);
        let age_us = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        let distances = self.clock_distances_of(&state, now);
        let distance = |node: u64| distances.get(&node).copied().unwrap_or_default();
        let wall =
            self.is_within_bound(distance(self.node)).then(|| self.in_cluster.reading().wall);
        Some(LeaderNews { mark, age_us, applied, disk_full, wall, ahead_ms: distance(to) })
    }

    /// A follower has answered a call, which was sent at this moment, with this mark. If it follows, the term counts.
    pub(in crate::raft) fn answered(
        &self,
        from: u64,
        mark: ContactMark,
        (sent, followed): (Duration, Option<u64>),
    ) {
        let now = self.now();
        let way = now.saturating_sub(sent);
        // The clock was read there about halfway between. A long way says nothing: this process may have been paused.
        let ahead_ms = mark.wall.0.saturating_sub(self.clock.reading().wall.before(way / 2).0);
        let ahead = (way <= self.clock_bound).then_some((ahead_ms, now));
        let arrived = followed.map(|term| (term, now));
        let followed = followed.map(|term| (term, sent));
        let mut state = self.state();
        let follower = state.followers.entry(from).or_default();
        follower.mark = Some(mark);
        follower.ahead = ahead.or(follower.ahead);
        // A newer term counts, and in one term the later moment.
        follower.followed = follower.followed.max(followed);
        follower.arrived = follower.arrived.max(arrived);
        // An end that a voter has reached stays reached here, and by the next call at all others. Its clock was read
        // earlier, so this is no later than its time now. Of two voters nobody knows which clock is right.
        let is_measured = ahead.is_some_and(|(ahead_ms, _)| self.is_within_bound(ahead_ms / 2));
        let distances = self.clock_distances_of(&state, now);
        let is_right = |distance: &i64| self.is_within_bound(*distance);
        if state.is_leading && is_measured && distances.get(&from).is_some_and(is_right) {
            self.time.raise_leader(mark.wall, now);
        }
    }

    /// Whether a leader in `term` makes no calls now, because no quorum answers. Its calls can arrive although no answer
    /// does. Then the others would follow a leader that decides nothing. It also speaks by turns: that is how it finds
    /// out whether they answer again.
    pub(in crate::raft) fn keeps_silent(&self, term: u64) -> bool {
        let (mut state, now) = (self.state(), self.now());
        let first = state.first_call.filter(|(known, _)| *known == term).unwrap_or((term, now));
        state.first_call = Some(first);
        // A late answer counts when it arrives: with slow disks all answers are late.
        let arrived = state.quorum_moment(term, (self.node, now), |follower| follower.arrived);
        let unanswered = now.saturating_sub(arrived.unwrap_or(first.1).max(first.1));
        match unanswered.checked_sub(self.lease * PATIENT_LEASES) {
            Some(time) => {
                let turn = (self.lease * LEASES_PER_TURN).as_nanos().max(1);
                (time.as_nanos() / turn).is_multiple_of(2)
            }
            None => false,
        }
    }

    /// The last moment at which this node certainly was the leader. None if it never was.
    pub(in crate::raft) fn known_at(&self) -> Option<Duration> {
        self.known_at_of(&self.state(), self.now())
    }

    /// Whether no other node can lead now.
    pub(in crate::raft) fn certainly_leads(&self) -> bool {
        let (state, now) = (self.state(), self.now());
        state.is_leading && self.known_at_of(&state, now) == Some(now)
    }

    /// How far the wall clock of each voter is ahead of the median, in milliseconds. Voters that did not answer lately
    /// are missing.
    pub(in crate::raft) fn clock_distances(&self) -> BTreeMap<u64, i64> {
        self.clock_distances_of(&self.state(), self.now())
    }

    /// Whether a clock with this distance from the median may lead.
    pub(in crate::raft) fn is_within_bound(&self, distance_ms: i64) -> bool {
        u128::from(distance_ms.unsigned_abs()) <= self.clock_bound.as_millis()
    }

    fn clock_distances_of(&self, state: &QuorumState, now: Duration) -> BTreeMap<u64, i64> {
        let is_recent = |at: Duration| now.saturating_sub(at) <= RECENT;
        let mut ahead = BTreeMap::from([(self.node, 0)]);
        for voter in state.voters.iter().flatten().filter(|voter| **voter != self.node) {
            let measured = state.followers.get(voter).and_then(|follower| follower.ahead);
            if let Some((ahead_ms, _)) = measured.filter(|(_, at)| is_recent(*at)) {
                ahead.insert(*voter, ahead_ms);
            }
        }
        from_median(&ahead)
    }

    fn known_at_of(&self, state: &QuorumState, now: Duration) -> Option<Duration> {
        let Epoch(led) = state.led?;
        let followed = state.quorum_followed(led, self.node, now)?;
        let has_lease = state.is_leading && now.saturating_sub(followed) <= self.lease;
        Some(if has_lease { now } else { followed })
    }

    fn state(&self) -> MutexGuard<'_, QuorumState> {
        // No code under this lock can panic during a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QuorumState {
    /// The last moment at which a majority of each set followed this node in `term`. It is one of them.
    fn quorum_followed(&self, term: u64, own: u64, now: Duration) -> Option<Duration> {
        self.quorum_moment(term, (own, now), |follower| follower.followed)
    }

    /// The last moment in `term` that a majority of each set has reached. For the own node it is `now`.
    fn quorum_moment(
        &self,
        term: u64,
        (own, now): (u64, Duration),
        of_follower: impl Fn(&FollowerContact) -> Option<(u64, Duration)>,
    ) -> Option<Duration> {
        let of_voter = |voter: &u64| match of_follower(self.followers.get(voter)?)? {
            (known, at) if known == term => Some(at),
            _ => None,
        };
        let moments = self.voters.iter().map(|voters| {
            let moment = |voter: &u64| if *voter == own { Some(now) } else { of_voter(voter) };
            let mut moments: Vec<Option<Duration>> = voters.iter().map(moment).collect();
            moments.sort_unstable_by(|one, other| other.cmp(one));
            moments.get(voters.len() / 2).copied().flatten()
        });
        // Without any set nothing is known.
        moments.min().flatten()
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MARK: ContactMark = ContactMark { process: 1, at_us: 2, wall: Millis(10_000) };

    fn leader_of(voters: &[&[u64]]) -> (Clock, QuorumContact) {
        let clock = Clock::manual(Millis(0));
        clock.advance(10 * SECOND);
        let contact =
            QuorumContact::new(1, (clock.clone(), &ClusterTime::default()), SECOND, SECOND);
        let voters: Vec<BTreeSet<u64>> =
            voters.iter().map(|set| set.iter().copied().collect()).collect();
        contact.set_voters(&voters);
        contact.set_leading(Some(Epoch(3)));
        (clock, contact)
    }

    #[test]
    fn a_leader_is_certain_while_a_quorum_followed_within_its_lease() {
        let (clock, contact) = leader_of(&[&[1, 2, 3]]);
        assert_eq!((contact.known_at(), contact.certainly_leads()), (None, false));
        // A call of an earlier term does not count.
        contact.answered(2, MARK, (contact.now(), Some(2)));
        assert!(!contact.certainly_leads());
        contact.answered(2, MARK, (contact.now(), Some(3)));
        clock.advance(SECOND);
        assert_eq!((contact.known_at(), contact.certainly_leads()), (Some(11 * SECOND), true));
        clock.advance(SECOND);
        assert_eq!((contact.known_at(), contact.certainly_leads()), (Some(10 * SECOND), false));
        // The answer to a call that was sent earlier changes nothing.
        contact.answered(2, MARK, (9 * SECOND, Some(3)));
        assert_eq!(contact.known_at(), Some(10 * SECOND));
        contact.answered(3, MARK, (contact.now(), Some(3)));
        assert!(contact.certainly_leads());
        // It gives the lead away, and still knows until when it led.
        contact.set_leading(None);
        clock.advance(SECOND);
        assert_eq!((contact.known_at(), contact.certainly_leads()), (Some(12 * SECOND), false));
    }

    #[test]
    fn a_leader_without_answers_is_silent_and_speaks_by_turns() {
        let (clock, contact) = leader_of(&[&[1, 2, 3]]);
        let silent_for = |seconds: u32, term: u64| -> Vec<bool> {
            let looks = (0..seconds).map(|_| {
                clock.advance(SECOND);
                contact.keeps_silent(term)
            });
            looks.collect()
        };
        assert!(!contact.keeps_silent(3));
        let turns = silent_for(10, 3);
        assert_eq!(turns, [false, true, true, true, true, false, false, false, false, true]);
        contact.answered(2, MARK, (contact.now(), Some(3)));
        assert_eq!(silent_for(2, 3), [false, true]);
        // An answer that was long on its way is an answer.
        contact.answered(2, MARK, (contact.now().saturating_sub(5 * SECOND), Some(3)));
        assert_eq!(silent_for(2, 3), [false, true]);
        // In a later term it does not decide yet, and is answered.
        assert!(!contact.keeps_silent(4));
        assert_eq!(silent_for(1, 4), [false]);
        contact.answered(2, MARK, (contact.now(), Some(4)));
        assert_eq!(silent_for(2, 4), [false, true]);
    }

    #[test]
    fn while_the_voters_change_both_sets_count() {
        let (_, contact) = leader_of(&[&[1, 2, 3], &[1, 4, 5]]);
        contact.answered(2, MARK, (contact.now(), Some(3)));
        assert!(!contact.certainly_leads());
        contact.answered(4, MARK, (contact.now(), Some(3)));
        assert!(contact.certainly_leads());
    }

    #[test]
    fn a_node_alone_is_its_own_quorum() {
        let (clock, contact) = leader_of(&[&[1]]);
        clock.advance(100 * SECOND);
        assert!(contact.certainly_leads());
        contact.set_voters(&[]);
        assert!(!contact.certainly_leads());
    }

    #[test]
    fn news_need_a_mark_and_the_epoch_of_the_leader() {
        let (clock, contact) = leader_of(&[&[1, 2, 3]]);
        assert_eq!(contact.news(2, 3, (7, true)), None);
        contact.answered(2, MARK, (contact.now(), Some(3)));
        let wall = Some(Millis(10_000));
        let news =
            LeaderNews { mark: MARK, age_us: 0, applied: 7, disk_full: true, wall, ahead_ms: 0 };
        assert_eq!(contact.news(2, 3, (7, true)), Some(news));
        assert_eq!((contact.news(2, 4, (7, true)), contact.news(3, 3, (7, true))), (None, None));
        clock.advance(2 * SECOND);
        assert_eq!(
            contact.news(2, 3, (7, true)),
            Some(LeaderNews { age_us: 2_000_000, wall: Some(Millis(12_000)), ..news })
        );
        contact.set_leading(None);
        assert_eq!(contact.news(2, 3, (7, true)), None);
    }

    #[test]
    fn a_leader_is_never_behind_a_voter_with_a_right_clock() {
        let (clock, contact) = leader_of(&[&[1, 2, 3]]);
        let wall = |from: u64, wall: i64| {
            let mark = ContactMark { wall: Millis(wall), ..MARK };
            contact.answered(from, mark, (contact.now(), Some(3)));
            contact.news(from, 3, (7, false)).and_then(|news| news.wall)
        };
        assert_eq!(wall(2, 10_100), Some(Millis(10_100)));
        assert_eq!(wall(3, 10_900), Some(Millis(10_900)));
        // A wrong clock does not count, and a lost one stays reached.
        assert_eq!(wall(3, 11_300), Some(Millis(10_900)));
        clock.advance(SECOND);
        assert_eq!(wall(2, 11_100), Some(Millis(11_890)));
        let (_, contact) = leader_of(&[&[1, 2]]);
        contact.answered(
            2,
            ContactMark { wall: Millis(3_600_000), ..MARK },
            (contact.now(), Some(3)),
        );
        let news = contact.news(2, 3, (7, false)).and_then(|news| news.wall);
        assert_eq!(news, Some(Millis(10_000)));
    }

    #[test]
    fn each_follower_learns_how_far_its_clock_is_from_the_median() {
        let (clock, contact) = leader_of(&[&[1, 2, 3]]);
        let answer = |from: u64, wall: i64| {
            let mark = ContactMark { wall: Millis(wall), ..MARK };
            contact.answered(from, mark, (contact.now(), Some(3)));
        };
        answer(2, 10_300);
        answer(3, 2_000);
        assert_eq!(contact.clock_distances(), BTreeMap::from([(1, 0), (2, 300), (3, -8_000)]));
        let ahead = |to: u64| contact.news(to, 3, (7, false)).map(|news| news.ahead_ms);
        assert_eq!((ahead(2), ahead(3)), (Some(300), Some(-8_000)));
        assert!(contact.is_within_bound(300) && !contact.is_within_bound(-8_000));
        // An answer that took long, because this process was paused.
        let sent = contact.now();
        clock.advance(4 * SECOND);
        let mark = ContactMark { wall: Millis(10_300), ..MARK };
        contact.answered(2, mark, (sent, Some(3)));
        assert_eq!(contact.clock_distances().get(&2), Some(&300));
        clock.step_by(-4_000);
        // The leader is the one with another time, and its time counts nowhere.
        answer(3, 10_200);
        clock.step_by(-9_000);
        answer(2, 10_300);
        answer(3, 10_200);
        assert_eq!(contact.clock_distances().get(&1), Some(&-9_200));
        assert_eq!(contact.news(2, 3, (7, false)).and_then(|news| news.wall), None);
    }
}
