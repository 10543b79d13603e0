//! A node that lacks more than the log of the others gets a snapshot.

use reelyard_integration_tests::probes::journal_probe::ReadNoRows;

use super::*;

#[test]
fn a_node_that_was_away_for_long_is_given_a_snapshot() {
    give_a_snapshot(None);
}

#[test]
fn a_damaged_snapshot_is_fetched_again() {
    give_a_snapshot(Some(SnapshotFault::Damage));
}

#[test]
fn a_snapshot_goes_on_after_a_lost_part_or_answer() {
    give_a_snapshot(Some(SnapshotFault::LostPart));
    give_a_snapshot(Some(SnapshotFault::LostAnswer));
}

#[test]
fn an_installed_snapshot_is_not_sent_again_when_its_outcome_is_lost() {
    give_a_snapshot(Some(SnapshotFault::LostOutcome));
}

/// Its bytes are as they were sent, and a row is of another program.
#[test]
fn a_snapshot_with_an_unreadable_row_ends_no_node() {
    on_a_system(async {
        let cluster = JournalCluster::found().await;
        let (leader, _) = cluster.leader(|_, _| true).await;
        cluster.commit(0, 0).await;
        cluster.agreed().await;
        let away = leader % 3 + 1;
        let MemberJournal { journal, probe, .. } = &cluster.members[&away];
        probe.send(ReadNoRows(true)).await.unwrap();
        cluster.hub.isolate(away);
        let left_at = journal.status().last_log.unwrap();
        let of_leader = || cluster.members[&leader].journal.status();
        let mut id = 1;
        let mut snapshot_after = async |index: u64| {
            while of_leader().snapshot.unwrap_or(0) < index {
                cluster.commit(id, 500).await;
                id += 1;
            }
        };
        snapshot_after(left_at + 100).await;
        let before = cluster.look(away).await;
        cluster.hub.heal();
        eventually("the snapshot is sent", || cluster.hub.snapshot_parts() > 0).await;
        eventually("it is refused", || of_leader().snapshots_sent.is_empty()).await;
        assert_eq!(journal.status().failure, None);
        let after = cluster.look(away).await;
        assert_eq!((after.installs, &after.books), (before.installs, &before.books));
        probe.send(ReadNoRows(false)).await.unwrap();
        // The same snapshot rests for a minute.
        snapshot_after(of_leader().snapshot.unwrap_or(0) + 100).await;
        assert_same(&cluster.agreed().await);
        assert!(cluster.look(away).await.installs > before.installs);
        cluster.stop().await;
    });
}

/// A node comes back after the others have dropped the log that it lacks.
fn give_a_snapshot(fault: Option<SnapshotFault>) {
    on_a_system(async move {
        let cluster = JournalCluster::found().await;
        let (leader, _) = cluster.leader(|_, _| true).await;
        cluster.commit(0, 0).await;
        let away = NODES.into_iter().find(|&node| node != leader).unwrap();
        cluster.agreed().await;
        cluster.hub.isolate(away);
        let left_at = cluster.members[&away].journal.status().last_log.unwrap();
        let mut id = 1;
        while cluster.members[&leader].journal.status().snapshot.unwrap_or(0) < left_at + 100 {
            cluster.commit(id, 500).await;
            id += 1;
        }
        let installs = cluster.look(away).await.installs;
        if let Some(fault) = fault {
            cluster.hub.disturb_snapshot(fault);
        }
        cluster.hub.heal();
        let views = cluster.agreed().await;
        assert_same(&views);
        assert_eq!(views[0].books.taken, (0..id).collect::<Vec<_>>());
        assert!(cluster.look(away).await.installs > installs, "it was not given a snapshot");
        assert!(cluster.members[&away].journal.status().snapshot > Some(left_at));
        assert!(cluster.hub.was_disturbed() || fault.is_none(), "nothing met the fault");
        if fault == Some(SnapshotFault::LostOutcome) {
            assert_eq!(cluster.hub.snapshot_parts(), 1, "the snapshot is small");
        }
        cluster.stop().await;
    });
}
