//! Three TaskManagers on three journals over a network in memory: the leader decides, and all hold the same
//! state.

use std::sync::Arc;

use reelyard_core::event::PieceId;
use reelyard_core::host::HostAddr;
use reelyard_integration_tests::fakes::memory_hub::{MemoryHub, NODES};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::JournalOptions;
use reelyard_yard::task_manager::{Task, TaskManagerView};

use crate::task_manager::task_manager_yard::{TaskManagerYard, YardPlan};

const START: i64 = 1_800_000_000_000;

/// The node whose TaskManager leads in an epoch after `epoch`.
async fn leader(yards: &[TaskManagerYard], epoch: u64) -> usize {
    eventually_some("one TaskManager leads", || async {
        let epochs = yards.iter().map(|yard| yard.views.load().epoch.map_or(0, |epoch| epoch.0));
        let (node, newest) = epochs.enumerate().max_by_key(|&(_, epoch)| epoch)?;
        (newest > epoch).then_some(node)
    })
    .await
}

type TaskReplicaState = (Vec<Arc<Task>>, Vec<Arc<Task>>, Vec<(HostAddr, Vec<String>)>);

/// The state of a node with names instead of file ids, because file ids differ between nodes.
fn held(yard: &TaskManagerYard, view: &TaskManagerView) -> TaskReplicaState {
    let named = |id| yard.names.name(reelyard_core::names::FileId(id)).to_string();
    let placements = view.placements.iter().map(|(host, files)| {
        let mut names: Vec<String> = files.iter().map(named).collect();
        names.sort();
        (*host, names)
    });
    let open = view.open.values().cloned().collect();
    (open, view.ended.values().cloned().collect(), placements.collect())
}

#[test]
fn leadership_moves_and_all_hold_the_same_tasks_and_placements() {
    let dirs = NODES.map(|_| tempfile::tempdir().unwrap());
    on_a_system(async {
        let hub = MemoryHub::default();
        let plot = YardPlan::of(1, 2);
        let mut yards = Vec::new();
        for (node, dir) in NODES.into_iter().zip(&dirs) {
            yards.push(plot.open_on(
                hub.open(JournalOptions::alone(dir.path(), node), PieceId::Tasks).await,
                START,
            ));
        }
        for yard in &yards {
            plot.up(yard).await;
            yard.grade(&["a.mpg", "b.mpg"]).await;
        }
        let old = leader(&yards, 0).await;
        let task = yards[old].open_task("a.mpg").await;
        for yard in &yards {
            assert_eq!(*yard.open_task("a.mpg").await, *task);
        }
        let epoch = yards[old].views.load().epoch.unwrap().0;
        hub.isolate(NODES[old]);
        let new = leader(&yards, epoch).await;
        assert_ne!(new, old);
        yards[old].until("the old leader steps back", |v| v.epoch.is_none().then_some(())).await;
        yards[new].finish(&task).await;
        let next = yards[new].open_task("b.mpg").await;
        hub.heal();
        assert_eq!(*yards[old].open_task("b.mpg").await, *next);
        eventually_some("all hold the same", || async {
            let all: Vec<TaskReplicaState> =
                yards.iter().map(|yard| held(yard, &yard.views.load())).collect();
            all.iter().all(|held| *held == all[0] && held.0.len() == 1).then_some(())
        })
        .await;
        // A task is on record everywhere before its leader gets the outcome.
        let counted = eventually_some("the leader has counted it", || async {
            let counted = yards.iter().map(|yard| yard.views.load().counters.created);
            let counted: Vec<u64> = counted.collect();
            (counted.iter().sum::<u64>() >= 2).then_some(counted)
        })
        .await;
        assert_eq!(counted.iter().sum::<u64>(), 2, "only the leader decides: {counted:?}");
        let bystander = (0..3).find(|node| ![old, new].contains(node)).unwrap();
        assert_eq!(counted[bystander], 0);
        for yard in &yards {
            yard.journal.stop().await;
        }
    });
}
