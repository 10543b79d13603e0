//! The Remover over messages: a real journal, a real TaskManager, a manual clock, and probes in place of the
//! Catalog and the CfwWorkers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::names::FileName;
use reelyard_core::supervision::Route;
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::legacy::cfw::Deleted;
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::catalog::{MastersChanged, RankingChanged, RisingChanged};
use reelyard_yard::cfw_worker::{AskFailure, DeleteCopy};
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::remover::{
    Ending, PinFile, Reason, RemovalMode, RemovalRecord, RemoveNow, Remover, RemoverCollaborators,
    RemoverSettings, RemoverView, RemoverWaits, RoomVerdict, Spared,
};
use reelyard_yard::task_manager::{TaskManagerView, TaskSettings};

use crate::task_manager::task_manager_inputs::ranking;
use crate::task_manager::task_manager_yard::{
    GIB, SIZE, SharedWorld, TaskManagerYard, YardPlan, destination,
};

/// The deletions that hosts were asked for, and their answers.
#[derive(Default)]
struct Deletions {
    asked: Vec<(HostAddr, FileName)>,
    /// The host deletes the copy, but its answer is lost.
    loses_replies: bool,
}

struct ProbeDeleter {
    host: HostAddr,
    world: SharedWorld,
    names: reelyard_core::names::NameTable,
    deletions: Arc<Mutex<Deletions>>,
}

impl Actor for ProbeDeleter {
    type Context = Context<Self>;
}

impl Handler<DeleteCopy> for ProbeDeleter {
    type Result = Result<Deleted, AskFailure>;

    fn handle(&mut self, asked: DeleteCopy, _: &mut Context<Self>) -> Self::Result {
        let file = self.names.intern(&asked.name);
        let mut world = self.world.lock().unwrap();
        let host = world.hosts.get_mut(&self.host).unwrap();
        let was_there = host.files.remove(&file.0);
        host.used -= if was_there { SIZE } else { 0 };
        let mut deletions = self.deletions.lock().unwrap();
        deletions.asked.push((self.host, asked.name));
        match (deletions.loses_replies, was_there) {
            (true, _) => Err(AskFailure::TimedOut(Duration::from_secs(5))),
            (false, true) => Ok(Deleted::Removed),
            (false, false) => Ok(Deleted::Absent),
        }
    }
}

struct RemoverYard {
    yard: TaskManagerYard,
    remover: Addr<Remover>,
    views: ViewHandle<RemoverView>,
    deletions: Arc<Mutex<Deletions>>,
}

/// The settings of a test, which define how full its destinations become.
fn settings() -> (TaskSettings, RemoverSettings) {
    (TaskSettings::default(), RemoverSettings::default())
}

async fn opened(
    dir: &Path,
    destinations: u8,
    (tasks, removals): (TaskSettings, RemoverSettings),
) -> RemoverYard {
    opened_by(None, dir, destinations, (tasks, removals)).await
}

/// The same, led by the node with this identity.
async fn opened_by(
    identity: Option<ManagerIdentity>,
    dir: &Path,
    destinations: u8,
    (tasks, removals): (TaskSettings, RemoverSettings),
) -> RemoverYard {
    let views = ViewHandle::default();
    let of = YardPlan::of(1, destinations);
    let plot = YardPlan { settings: tasks, removals: views.clone(), identity, ..of };
    let pieces = [PieceId::Tasks, PieceId::Removals];
    let journal = JournalOptions::alone(dir, 1);
    let journal = Journal::open(journal, Arc::new(NoPeers), &pieces).await.unwrap();
    let yard = plot.open_on(journal.clone(), 1_000_000);
    let deletions = Arc::<Mutex<Deletions>>::default();
    let mut delete = HashMap::new();
    for host in &plot.destinations {
        let (world, names) = (yard.world.clone(), yard.names.clone());
        let deleter = ProbeDeleter { host: *host, world, names, deletions: deletions.clone() };
        delete.insert(*host, Route::fixed(deleter.start().recipient()));
    }
    let collaborators = RemoverCollaborators {
        look_up: yard.probes.look_up.clone(),
        refresh: yard.probes.refresh.clone(),
        delete: delete.into(),
        tasks: yard.views.clone(),
    };
    let (names, clock) = (yard.names.clone(), yard.clock.clone());
    let remover = Remover::new(removals, names, clock, journal, collaborators, views.clone());
    let remover = remover.start();
    yard.subscribers.lock().unwrap().push(remover.clone().recipient());
    let opened = RemoverYard { yard, remover, views, deletions };
    opened.yard.until("this node leads", |view| view.epoch).await;
    opened.until("the Remover leads", |view| view.epoch).await;
    for host in &plot.destinations {
        let (from, to, at) = (Health::Unknown, Health::Up, opened.yard.clock.now());
        let up = HealthChanged { host: *host, from, to, at };
        opened.remover.send(up).await.unwrap();
    }
    plot.up(&opened.yard).await;
    opened
}

impl RemoverYard {
    async fn until<T>(&self, what: &str, show: impl Fn(&RemoverView) -> Option<T>) -> T {
        eventually_some(what, || {
            let shown = show(&self.views.load());
            async move { shown }
        })
        .await
    }

    /// Grades these files for both actors, best first, each with a master of [`SIZE`].
    async fn grade(&self, files: &[&str]) {
        self.yard.grade(files).await;
        let is_compared = |view: &TaskManagerView| {
            (view.inputs_passed || !view.input_faults.is_empty()).then_some(())
        };
        self.yard.until("the inputs are compared", is_compared).await;
        self.grade_for_removal(files).await;
    }

    /// Grades these files for the Remover only.
    async fn grade_for_removal(&self, files: &[&str]) {
        let ids: Vec<_> = files.iter().map(|file| self.yard.file(file)).collect();
        let ranked = |file: &_| RankedFile { file: *file, size: Some(SIZE), listed_on: Vec::new() };
        let ranking = Ranking::from_files(ids.iter().map(ranked));
        self.remover.send(RankingChanged(Arc::new(ranking))).await.unwrap();
        let files = ids.iter().map(|id| id.0).collect();
        let masters = Masters { files, ..Masters::default() };
        self.remover.send(MastersChanged(Arc::new(masters))).await.unwrap();
    }

    async fn heat(&self, hot: &[(&str, u32)]) {
        self.yard.heat(hot).await;
        let hot = hot.iter().map(|(file, hits)| (self.yard.file(file), *hits));
        let rising = RisingHits::new(hot, &self.yard.names);
        self.remover.send(RisingChanged(Arc::new(rising))).await.unwrap();
    }

    /// Puts these files on a host and makes both actors observe it.
    async fn holds(&self, host: HostAddr, files: &[&str]) {
        let ids: Vec<u32> = files.iter().map(|file| self.yard.file(file).0).collect();
        self.yard.alter(host, |probed| {
            probed.files = ids.into_iter().collect();
            probed.used = SIZE * probed.files.len() as u64;
        });
        self.yard.clock.advance(Duration::from_millis(10));
        self.see(host).await;
    }

    /// Makes both actors observe a host.
    async fn see(&self, host: HostAddr) {
        let worker = self.yard.probes.refresh.to(host).unwrap();
        // A host that does not answer sends no notification.
        let _ = worker.send(reelyard_yard::cfw_worker::Refresh).await.unwrap();
        self.yard.wait_until_applied().await;
    }

    /// Runs a round and returns its result.
    async fn round(&self) -> Arc<RemoverView> {
        let before = self.views.load().last.as_ref().map(|round| round.at);
        self.yard.clock.advance(Duration::from_millis(10));
        self.remover.send(RemoveNow).await.unwrap().unwrap();
        self.until("a round", |view| {
            view.last.as_ref().filter(|round| Some(round.at) > before).map(drop)
        })
        .await;
        self.views.load()
    }

    async fn ended(&self, count: usize) -> Vec<RemovalRecord> {
        self.until("removals ended", |view| {
            let ended = view.history.newest_first().map(|(_, record)| record.clone());
            let ended: Vec<_> = ended.collect();
            (ended.len() == count && view.open.is_empty()).then_some(ended)
        })
        .await
    }

    fn asked(&self) -> Vec<(HostAddr, FileName)> {
        self.deletions.lock().unwrap().asked.clone()
    }
}

#[actix::test]
async fn nothing_is_removed_before_the_remaining_copy_is_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), 2, settings()).await;
    yard.grade(&["a", "b"]).await;
    yard.holds(destination(1), &["a", "b"]).await;
    yard.holds(destination(2), &["a"]).await;
    // The host with more space keeps its copy, and does not answer now.
    yard.yard.alter(destination(2), |host| host.silent = true);
    let view = yard.round().await;
    let decided = view.last.as_ref().unwrap().decided[0].clone();
    assert_eq!((decided.host, decided.keeper), (destination(1), Some(destination(2))));
    assert_eq!(decided.spared, Some(Spared::NotConfirmed));
    assert_eq!(yard.asked(), []);

    yard.yard.alter(destination(2), |host| host.silent = false);
    yard.round().await;
    let ended = yard.ended(1).await;
    assert_eq!(yard.asked(), [(destination(1), TaskManagerYard::name("a"))]);
    assert_eq!((ended[0].keeper, &ended[0].ending), (Some(destination(2)), &Ending::Removed));
    yard.see(destination(1)).await;
    yard.round().await;
    assert_eq!(yard.asked().len(), 1, "nothing more is to go");
}

#[actix::test]
async fn a_deletion_without_an_answer_stays_open_until_its_host_was_listed() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), 2, settings()).await;
    yard.grade(&["a", "b"]).await;
    yard.holds(destination(1), &["a", "b"]).await;
    yard.holds(destination(2), &["a"]).await;
    yard.deletions.lock().unwrap().loses_replies = true;
    yard.round().await;
    yard.until("the host is asked", |_| (!yard.asked().is_empty()).then_some(())).await;
    let view = yard.round().await;
    assert_eq!((view.open.len(), view.history.len()), (1, 0), "the result is unknown");
    assert_eq!(view.last.as_ref().unwrap().decided, [], "it counts as gone");
    yard.yard.clock.advance(Duration::from_secs(1));
    yard.see(destination(1)).await;
    let ended = yard.ended(1).await;
    assert_eq!(ended[0].ending, Ending::Absent, "as its host's next list says");
    assert_eq!(yard.asked().len(), 1);
}

#[actix::test]
async fn pinned_files_stay_and_a_dry_run_removes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let removals = RemoverSettings { mode: RemovalMode::DryRun, ..RemoverSettings::default() };
    let yard = opened(dir.path(), 2, (TaskSettings::default(), removals)).await;
    yard.grade(&["a"]).await;
    yard.holds(destination(1), &["a"]).await;
    yard.holds(destination(2), &["a"]).await;
    let view = yard.round().await;
    assert_eq!(view.last.as_ref().unwrap().decided.len(), 1);
    assert!(view.open.is_empty() && yard.asked().is_empty());
    let (asked_by, request) = ("op".to_owned(), RequestId::random());
    let pin = PinFile { name: TaskManagerYard::name("a"), pinned: true, asked_by, request };
    assert!(yard.remover.send(pin.clone()).await.unwrap().unwrap());
    assert!(yard.remover.send(pin).await.unwrap().unwrap(), "asked twice, it is the same answer");
    let view = yard.round().await;
    let last = view.last.as_ref().unwrap();
    assert!(last.decided.is_empty());
    assert_eq!(last.spared.get(&Spared::Pinned), Some(&1));
}

#[actix::test]
async fn removal_and_copy_for_a_hotter_file_are_one_plan() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), 1, settings()).await;
    let files: Vec<String> = (0..20).map(|file| format!("f{file:02}")).collect();
    let mut graded: Vec<&str> = files.iter().map(String::as_str).collect();
    graded.extend(["warm", "hot"]);
    // Eighteen of twenty fill the disk up to its limit: the two worst files wait for space.
    yard.yard.alter(destination(1), |host| host.capacity = 20 * GIB);
    yard.holds(destination(1), &graded[..18]).await;
    yard.grade(&graded).await;
    yard.heat(&[("hot", 9), ("warm", 5)]).await;
    yard.yard.pass(Duration::from_secs(1)).await;
    yard.yard.until("both lack room", |view| (view.plan.wants_room.len() == 2).then_some(())).await;
    yard.round().await;
    let task = yard.yard.open_task("hot").await;
    assert_eq!((task.destination, task.hits), (destination(1), 9));
    let ended = yard.ended(1).await;
    assert_eq!(
        yard.asked(),
        [(destination(1), TaskManagerYard::name("f17"))],
        "the worst, and no more"
    );
    assert!(matches!(&ended[0].reason, Reason::MakesRoom { better_hits: 9, .. }));
    let view = yard.round().await;
    let sought = &view.last.as_ref().unwrap().rooms;
    assert_eq!(sought[0].verdict, RoomVerdict::TooFewHits { from: 6 });
    yard.yard.finish(&task).await;
    assert_eq!(yard.asked().len(), 1);
}

#[actix::test]
async fn nothing_is_removed_before_the_inputs_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let yard = opened(dir.path(), 2, settings()).await;
    yard.grade_for_removal(&["a"]).await;
    yard.holds(destination(1), &["a"]).await;
    yard.holds(destination(2), &["a"]).await;
    let view = yard.round().await;
    assert_eq!(view.last.as_ref().unwrap().waits, Some(RemoverWaits::Inputs));
    assert_eq!(yard.asked(), []);

    yard.grade(&["a"]).await;
    let view = yard.round().await;
    assert_eq!(view.last.as_ref().unwrap().waits, None);
    yard.ended(1).await;
    assert_eq!(yard.asked().len(), 1, "one of two copies goes");
}

#[actix::test]
async fn a_new_leader_with_worse_inputs_removes_nothing_until_they_are_good() {
    let dir = tempfile::tempdir().unwrap();
    let node = |number| Some(ManagerIdentity::of_node(number));
    let yard = opened_by(node(1), dir.path(), 2, settings()).await;
    yard.grade(&["a"]).await;
    let read = ranking(&yard.yard, &["a"], 100, 10);
    yard.yard.manager.send(RankingChanged(read)).await.unwrap();
    yard.yard.open_task("a").await;
    yard.yard.journal.stop().await;

    let yard = opened_by(node(2), dir.path(), 2, settings()).await;
    yard.grade(&["a"]).await;
    let read = |rows, modified| RankingChanged(ranking(&yard.yard, &["a"], rows, modified));
    yard.yard.manager.send(read(1, 20)).await.unwrap();
    yard.yard.until("it is refused", |view| view.input_faults.first().copied()).await;
    yard.holds(destination(1), &["a"]).await;
    yard.holds(destination(2), &["a"]).await;
    let view = yard.round().await;
    let last = view.last.as_ref().unwrap();
    assert_eq!((last.waits, last.decided.len()), (Some(RemoverWaits::Inputs), 0));
    assert_eq!(yard.asked(), []);

    yard.yard.manager.send(read(100, 10)).await.unwrap();
    let is_good = |view: &TaskManagerView| view.inputs_passed.then_some(());
    yard.yard.until("it is used", is_good).await;
    let view = yard.round().await;
    assert_eq!(view.last.as_ref().unwrap().waits, None);
    yard.ended(1).await;
    assert_eq!(yard.asked().len(), 1, "one of two copies goes");
}
