//! The lead goes to another node when it must, and only then.

use reelyard_core::call_version::CALL_VERSION;
use reelyard_journal::HandOverError;

use super::*;

#[test]
fn a_hand_over_needs_no_election_and_loses_no_commit() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let done = Cell::new(false);
        let next = Cell::new(0);
        let writer = || async {
            while !done.get() {
                let id = next.replace(next.get() + 1);
                let refused = |error: &CommitError| {
                    matches!(error, CommitError::NotLeader { .. } | CommitError::Deposed)
                };
                // Each commit is answered, or refused before it was written.
                eventually_some("a commit is acknowledged", || async {
                    for member in cluster.members.values() {
                        let message =
                            CommitEvents { request: request_of(id), events: transfer(id, 1) };
                        match member.probe.send(message).await.unwrap() {
                            Ok(_) => return Some(()),
                            Err(error) => assert!(refused(&error), "{error}"),
                        }
                    }
                    None
                })
                .await;
            }
        };
        let changes = async {
            let mut handed_over = 0;
            while handed_over < 12 {
                let (leader, epoch) = cluster.leader(|_, _| true).await;
                let wanted = (handed_over % 2 == 0).then(|| leader % 3 + 1);
                let led = match cluster.members[&leader].journal.hand_over(wanted).await {
                    Ok(led) => led,
                    // On a busy machine an election may come first.
                    Err(HandOverError::NotLeader { .. }) => continue,
                    Err(error) => panic!("{error}"),
                };
                handed_over += 1;
                assert!(led != leader && wanted.is_none_or(|wanted| wanted == led));
                let next = cluster.leader(|_, now| now > epoch).await;
                assert_eq!(next, (led, Epoch(epoch.0 + 1)));
            }
            done.set(true);
        };
        futures::join!(changes, writer(), writer(), writer());
        assert_same(&cluster.agreed().await);
        let (leader, _) = cluster.leader(|_, _| true).await;
        let refused = cluster.members[&(leader % 3 + 1)].journal.hand_over(None).await.unwrap_err();
        assert_eq!(refused, HandOverError::NotLeader { leader: Some(leader) });
        let missing = cluster.members[&leader].journal.hand_over(Some(9)).await.unwrap_err();
        assert_eq!(missing, HandOverError::NoVoter(9));
        // Node 2 asks for votes in the name of node 1, in term 99.
        let vote = [CALL_VERSION, 1, 99, 1, 0, 0];
        let answer = cluster.members[&leader].journal.answer(2, &vote).await;
        let why = String::from_utf8_lossy(&answer);
        assert!(why.contains("node 2 calls in the name of node 1"), "{answer:?}");
        assert!(cluster.members[&leader].journal.status().term < 99);
        cluster.stop().await;
    });
}

#[test]
fn a_leader_goes_on_when_its_wanted_successor_is_silent() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (leader, epoch) = cluster.leader(|_, _| true).await;
        let silent = leader % 3 + 1;
        cluster.hub.isolate(silent);
        cluster.commit(1, 0).await;
        eventually_some("the successor counts as silent", || async {
            match cluster.members[&leader].journal.hand_over(Some(silent)).await.unwrap_err() {
                HandOverError::Silent(node) if node == silent => Some(()),
                // Before that it lacks the commit.
                HandOverError::Behind { .. } => None,
                error => panic!("{error}"),
            }
        })
        .await;
        cluster.commit(2, 0).await;
        assert_eq!(cluster.leader(|_, _| true).await, (leader, epoch));
        cluster.hub.heal();
        cluster.stop().await;
    });
}

/// The log of a new leader ends with entries that no quorum has confirmed yet.
#[test]
fn a_new_leader_decides_only_after_its_whole_log_is_applied() {
    const CALLS_WITHOUT_ENTRIES: u64 = 20;
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (old, epoch) = cluster.leader(|_, _| true).await;
        cluster.commit(1, 0).await;
        cluster.hub.hold_log(true);
        cluster.hub.isolate(old);
        let others = || cluster.members.iter().filter(|(node, _)| **node != old);
        eventually("another node has votes, and its entries do not arrive", || {
            cluster.hub.held_calls() >= CALLS_WITHOUT_ENTRIES
        })
        .await;
        for (node, member) in others() {
            let leads = member.journal.leadership().borrow().epoch();
            assert_eq!(leads, None, "node {node} decides by an old state");
        }
        cluster.hub.hold_log(false);
        cluster.leader(|node, now| node != old && now > epoch).await;
        cluster.hub.heal();
        cluster.commit(2, 0).await;
        assert_same(&cluster.agreed().await);
        cluster.stop().await;
    });
}

/// Its heartbeats arrive, so the others would follow it without end.
#[test]
fn a_leader_that_gets_no_answers_makes_room_for_another_one() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (deaf, epoch) = cluster.leader(|_, _| true).await;
        cluster.commit(1, 0).await;
        cluster.hub.deafen(deaf);
        cluster.leader(|node, now| node != deaf && now > epoch).await;
        cluster.commit(2, 0).await;
        cluster.hub.heal();
        cluster.commit(3, 0).await;
        assert_same(&cluster.agreed().await);
        cluster.stop().await;
    });
}

/// Its heartbeats are answered, so it would lead without end.
#[test]
fn a_leader_that_nobody_can_call_hands_over_to_one_in_reach() {
    // Three looks ask two voters each. Then both voters are asked about each other, and so is the leader.
    const BEFORE_A_HAND_OVER: u64 = 3 * 2 + 4;
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (hidden, epoch) = cluster.leader(|_, _| true).await;
        cluster.commit(1, 0).await;
        cluster.hub.refuse_connections(true);
        eventually("no node can be called for some looks", || {
            cluster.hub.refused_connections() > BEFORE_A_HAND_OVER
        })
        .await;
        assert_eq!(cluster.leader(|_, _| true).await, (hidden, epoch), "the next one is no better");
        cluster.hub.refuse_connections(false);
        cluster.hub.hide(hidden);
        cluster.leader(|node, now| node != hidden && now > epoch).await;
        cluster.hub.heal();
        cluster.commit(2, 0).await;
        assert_same(&cluster.agreed().await);
        cluster.stop().await;
    });
}

/// A node that is cut off asks the others again and again whether they hear a leader.
#[test]
fn a_flapping_link_causes_no_change_of_the_leader() {
    const CALLS_OF_A_CUT: u64 = 60;
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (leader, epoch) = cluster.leader(|_, _| true).await;
        let cut_off = leader % 3 + 1;
        for id in 0..3 {
            let before = cluster.hub.refused_calls(cut_off);
            cluster.hub.isolate(cut_off);
            // An election would begin after at most 24 heartbeats. Each question goes to two nodes.
            eventually("the node has long been cut off", || {
                cluster.hub.refused_calls(cut_off) >= before + CALLS_OF_A_CUT
            })
            .await;
            cluster.hub.heal();
            cluster.commit(id, 0).await;
            assert_same(&cluster.agreed().await);
            assert_eq!(cluster.leader(|_, _| true).await, (leader, epoch));
            assert_eq!(cluster.members[&cut_off].journal.status().term, epoch.0);
        }
        cluster.stop().await;
    });
}
