//! The TaskManager of a node whose journal refuses commits.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::event::PieceId;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_yard::task_manager::{CheckTasksNow, TaskManagerView};

use crate::task_manager::task_manager_yard::YardPlan;

const START: i64 = 1_800_000_000_000;

#[test]
fn a_failed_commit_is_decided_again_only_after_a_pause() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        // The reserve is larger than any disk, therefore the journal refuses every commit.
        let settings = JournalOptions { reserve: 1 << 60, ..JournalOptions::alone(dir.path(), 1) };
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Tasks]).await.unwrap();
        let yard = YardPlan::of(1, 1).open_on(journal, START);
        let uncommitted = |view: &TaskManagerView| view.counters.uncommitted;
        yard.until("a commit failed", |view| (uncommitted(view) > 0).then_some(())).await;
        for _ in 0..200 {
            yard.manager.send(CheckTasksNow).await.unwrap();
        }
        yard.pass(Duration::from_secs(1)).await;
        let count = yard
            .until("it is tried again", |view| Some(uncommitted(view)).filter(|n| *n > 1))
            .await;
        assert_eq!(count, 2);
        yard.journal.stop().await;
    });
}
