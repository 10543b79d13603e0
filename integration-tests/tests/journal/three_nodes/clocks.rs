//! Nodes whose wall clocks differ.

use super::*;

#[test]
fn a_node_with_a_wrong_clock_does_not_lead() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let shift =
            |node: u64, ms: i64| cluster.members[&node].machine.0.store(ms, Ordering::SeqCst);
        let wrong = |node: u64| cluster.members[&node].journal.wrong_clocks();
        let (first, _) = cluster.leader(|_, _| true).await;
        cluster.commit(0, 0).await;
        shift(first, 5_000);
        let (second, epoch) = cluster.leader(|node, _| node != first).await;
        for node in [first, second] {
            eventually_some("the wrong clock is known", || async {
                let ahead = *wrong(node).get(&first)?;
                (4_000..6_000).contains(&ahead).then_some(())
            })
            .await;
        }
        // The other node is the only one that stands for election.
        cluster.hub.isolate(second);
        let (third, _) = cluster.leader(|_, now| now > epoch).await;
        assert!(![first, second].contains(&third), "node {third} leads");
        cluster.hub.heal();
        shift(first, 0);
        eventually_some("no clock is wrong", || async {
            cluster.members.keys().all(|node| wrong(*node).is_empty()).then_some(())
        })
        .await;
        cluster.commit(1, 0).await;
        cluster.stop().await;
    });
}

#[test]
fn no_node_is_behind_the_clock_of_any_voter() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (leader, _) = cluster.leader(|_, _| true).await;
        // Within the bound: first the clock of a follower, and then that of the leader.
        let follower = leader % 3 + 1;
        for (fast, ahead_ms, least_ms) in [(follower, 500, 300), (leader, 900, 600)] {
            cluster.members[&fast].machine.0.store(ahead_ms, Ordering::SeqCst);
            for member in cluster.members.values() {
                eventually_some("the greatest time is known", || async {
                    let ahead = member.in_cluster.now().since(Clock::system().now());
                    (ahead > Duration::from_millis(least_ms)).then_some(())
                })
                .await;
            }
        }
        // It stays so with the next leader.
        cluster.hub.isolate(leader);
        let (next, _) = cluster.leader(|node, _| node != leader).await;
        let ahead = cluster.members[&next].in_cluster.now().since(Clock::system().now());
        assert!(ahead > Duration::from_millis(600), "{ahead:?}");
        cluster.stop().await;
    });
}
