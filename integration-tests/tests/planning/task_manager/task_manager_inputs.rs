//! A new leader compares its inputs with those on record.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::manager::ManagerIdentity;
use reelyard_integration_tests::rigs::running::on_a_system;
use reelyard_protocol::worker::ContentHash;
use reelyard_yard::catalog::RankingChanged;
use reelyard_yard::catalog::files::input_contents::{InputContents, RankingFiles};
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::task_manager::{ExplainFile, InputFault, RecordedInput};
use reelyard_yard::task_manager::{PlanVerdict, PlannerWaits};

use super::task_manager_yard::{TaskManagerYard, YardPlan};

const START: i64 = 1_000_000;

/// The same files, with a grade.info of `rows` rows that was written at `modified`.
pub fn ranking(yard: &TaskManagerYard, files: &[&str], rows: u64, modified: i64) -> Arc<Ranking> {
    let ids = files.iter().map(|file| yard.file(file));
    let ranked = ids.map(|file| RankedFile { file, size: None, listed_on: Vec::new() });
    let digest = ContentHash([u8::try_from(rows % 251).unwrap(); 32]);
    let grade_info = Some(InputContents { digest, rows, modified: Millis(modified) });
    let read = RankingFiles { grade_info, hitcount_history: None };
    Arc::new(Ranking::from_files(ranked).made_of(read))
}

async fn grade(yard: &TaskManagerYard, files: &[&str], rows: u64, modified: i64) {
    let ranking = ranking(yard, files, rows, modified);
    yard.manager.send(RankingChanged(ranking)).await.unwrap();
    let ids: Vec<_> = files.iter().map(|file| yard.file(file)).collect();
    yard.list_masters(&ids).await;
}

/// The yard of a node that leads.
async fn led_by(node: u64, dir: &Path) -> TaskManagerYard {
    let identity = Some(ManagerIdentity::of_node(node));
    YardPlan { identity, ..YardPlan::of(1, 1) }.open_up(dir, START).await
}

#[test]
fn a_new_leader_with_a_smaller_ranking_waits_until_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = led_by(1, dir.path()).await;
        grade(&yard, &["a.mpg"], 100, 10).await;
        yard.open_task("a.mpg").await;
        yard.journal.stop().await;

        let yard = led_by(2, dir.path()).await;
        grade(&yard, &["b.mpg"], 89, 20).await;
        let faults = yard
            .until("the smaller ranking is refused", |view| {
                let waits = view.plan.last.as_ref()?.waiting.as_ref()? == &PlannerWaits::Inputs;
                waits.then(|| view.input_faults.clone())
            })
            .await;
        let (input, rows, recorded, node) = (RecordedInput::GradeInfo, 89, 100, 1);
        assert_eq!(faults, [InputFault::Shrunk { input, rows, recorded, node }]);
        yard.pass(Duration::from_secs(60)).await;
        let view = yard.views.load();
        assert_eq!(view.open.len(), 1, "only the task of the leader before");
        let explain = ExplainFile { name: TaskManagerYard::name("b.mpg") };
        let explained = yard.manager.send(explain).await.unwrap();
        assert_eq!(explained.verdict, PlanVerdict::InputsRefused);

        // Older and whole, it is still refused. Newer and whole, it is used without a command.
        grade(&yard, &["b.mpg"], 101, 9).await;
        yard.until("the older ranking is refused", |view| {
            matches!(view.input_faults[..], [InputFault::Older { .. }]).then_some(())
        })
        .await;
        grade(&yard, &["a.mpg", "b.mpg"], 101, 11).await;
        yard.until("the whole ranking is used", |view| view.input_faults.is_empty().then_some(()))
            .await;
        let task = yard.open_task("a.mpg").await;
        yard.finish(&task).await;
        yard.open_task("b.mpg").await;
        yard.journal.stop().await;
    });
}

#[test]
fn a_leader_goes_on_with_its_own_list_that_shrinks() {
    let dir = tempfile::tempdir().unwrap();
    on_a_system(async {
        let yard = led_by(1, dir.path()).await;
        grade(&yard, &["a.mpg"], 100, 10).await;
        let task = yard.open_task("a.mpg").await;
        grade(&yard, &["b.mpg"], 5, 11).await;
        yard.finish(&task).await;
        yard.open_task("b.mpg").await;
        yard.journal.stop().await;

        let yard = led_by(1, dir.path()).await;
        grade(&yard, &["c.mpg"], 2, 12).await;
        yard.until("its own record is no limit", |view| {
            (view.plan.last.is_some() && view.input_faults.is_empty()).then_some(())
        })
        .await;
        yard.journal.stop().await;
    });
}
