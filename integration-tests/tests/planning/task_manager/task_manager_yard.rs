//! A yard for tests of the TaskManager over messages. It has a real journal in a directory, a manual clock,
//! and probes in place of the Catalog and the CfwWorkers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::prelude::*;
use reelyard_api::ChangeEvent;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::change_feed::Feed;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::host::{BitsPerSecond, HostAddr, HostKind, HostRole};
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_core::supervision::Route;
use reelyard_core::traffic::{Rates, Traffic};
use reelyard_integration_tests::probes::waiting::eventually_some;
use reelyard_journal::{Journal, JournalOptions, NoPeers};
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_protocol::worker::{Blame, ContentHash, Report, ReportedState, ReportsTaken, TaskId};
use reelyard_replication::Owner;
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::catalog::{
    LookUpMasters, MasterLook, MastersChanged, RankingChanged, RisingChanged,
};
use reelyard_yard::cfw_worker::{
    AskFailure, CopyArrived, HostObserved, HostRoutes, Inventory, Refresh,
};
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::remover::RemoverView;
use reelyard_yard::task_manager::{
    ChangeRefused, ChangeTask, CheckTasksNow, HostRoster, HostSetting, TakeReports, Task,
    TaskCollaborators, TaskManager, TaskManagerView, TaskSettings, TaskState,
};

pub const GIB: u64 = 1 << 30;

/// The size of every master in bytes.
pub const SIZE: u64 = GIB;

/// The state behind the probes, which a test may change.
#[derive(Default)]
pub struct ProbedWorld {
    pub masters: HashMap<FileId, MasterLook>,
    pub hosts: BTreeMap<HostAddr, ProbedHost>,
    /// Every file that was looked up, in order.
    pub looked_up: Vec<FileId>,
    /// Copies whose arrival the TaskManager reported to a CfwWorker.
    pub arrived: Vec<(HostAddr, FileId)>,
}

/// A host as its probe reports it.
#[derive(Clone, Debug, Default)]
pub struct ProbedHost {
    pub kind: HostKind,
    pub files: BTreeSet<u32>,
    pub silent: bool,
    pub used: u64,
    pub capacity: u64,
    pub refreshes: u64,
    /// The outgoing load of its link in percent of its speed; reported with an observation.
    pub link_percent: Option<u64>,
}

pub type SharedWorld = Arc<Mutex<ProbedWorld>>;

struct ProbeCatalog(SharedWorld);

impl Actor for ProbeCatalog {
    type Context = Context<Self>;
}

impl Handler<LookUpMasters> for ProbeCatalog {
    type Result = Vec<(FileId, MasterLook)>;

    fn handle(&mut self, asked: LookUpMasters, _: &mut Context<Self>) -> Self::Result {
        let mut world = self.0.lock().unwrap();
        world.looked_up.extend(&asked.files);
        let look = |file| (file, world.masters.get(&file).cloned().unwrap_or(MasterLook::Absent));
        asked.files.into_iter().map(look).collect()
    }
}

struct ProbeWorker {
    host: HostAddr,
    world: SharedWorld,
    clock: Clock,
    subscribers: ObservationSubscribers,
}

/// Recipients that the TaskManager subscribed at the stand-in for the CfwWorkers.
pub type ObservationSubscribers = Arc<Mutex<Vec<Recipient<HostObserved>>>>;

impl Actor for ProbeWorker {
    type Context = Context<Self>;
}

impl Handler<Refresh> for ProbeWorker {
    type Result = Result<Arc<Inventory>, AskFailure>;

    fn handle(&mut self, _: Refresh, _: &mut Context<Self>) -> Self::Result {
        let mut world = self.world.lock().unwrap();
        let host = world.hosts.get_mut(&self.host).unwrap();
        host.refreshes += 1;
        if host.silent {
            return Err(AskFailure::TimedOut(Duration::from_secs(5)));
        }
        let seen = observation(self.host, host, self.clock.now());
        for subscribers in self.subscribers.lock().unwrap().iter() {
            subscribers.do_send(seen.clone());
        }
        Ok(seen.inventory.unwrap())
    }
}

impl Handler<CopyArrived> for ProbeWorker {
    type Result = ();

    fn handle(&mut self, copy: CopyArrived, _: &mut Context<Self>) {
        self.world.lock().unwrap().arrived.push((self.host, copy.file));
    }
}

fn observation(host: HostAddr, probed: &ProbedHost, at: Millis) -> HostObserved {
    let inventory =
        Inventory { files: probed.files.iter().copied().collect(), unreadable_names: 0, at };
    let disk = DiskFigures {
        total: probed.capacity,
        used: probed.used,
        avail: probed.capacity - probed.used,
        ..DiskFigures::default()
    };
    HostObserved {
        host,
        kind: probed.kind,
        inventory: Some(Arc::new(inventory)),
        disk: Some((disk, at)),
        traffic: probed.link_percent.map(|percent| (traffic(percent), at)),
        at,
    }
}

/// A link whose outgoing load by other programs is `percent`.
pub fn traffic(percent: u64) -> Traffic {
    let (sends, receives) = (BitsPerSecond(percent * 10_000_000), BitsPerSecond(0));
    let (interface, speed) = ("eth0".to_owned(), Some(BitsPerSecond(1_000_000_000)));
    let copies = Some(Rates::default());
    Traffic { interface, speed, all: Rates { sends, receives }, copies, over_ms: 10_000 }
}

/// A source whose address ends with `last`.
pub fn source(last: u8) -> HostAddr {
    format!("10.0.1.{last}:8888").parse().unwrap()
}

/// A destination whose address ends with `last`.
pub fn destination(last: u8) -> HostAddr {
    format!("10.0.2.{last}:8888").parse().unwrap()
}

pub fn ours(host: HostAddr) -> HostKind {
    let data_addr = std::net::SocketAddr::new(host.ip(), 8889);
    HostKind::Reelyard { data_addr, fetches_from_old: false, data_tls: false }
}

pub struct TaskManagerYard {
    pub names: NameTable,
    pub clock: Clock,
    pub journal: Journal,
    pub manager: Addr<TaskManager>,
    pub views: ViewHandle<TaskManagerView>,
    pub host_roster: ViewHandle<Option<HostRoster>>,
    pub world: SharedWorld,
    pub changes: Feed<ChangeEvent>,
    pub subscribers: ObservationSubscribers,
    pub probes: YardProbes,
}

/// The actor in place of the Catalog and the CfwWorkers.
pub struct YardProbes {
    pub look_up: Route<LookUpMasters>,
    pub refresh: HostRoutes<Refresh>,
}

/// The configuration of a yard.
#[derive(Clone)]
pub struct YardPlan {
    pub settings: TaskSettings,
    pub sources: Vec<HostAddr>,
    pub destinations: Vec<HostAddr>,
    /// Whether the destinations are old cfws.
    pub old: bool,
    /// The identity of this node; `None` without detection of other managers.
    pub identity: Option<ManagerIdentity>,
    /// The published state of the Remover.
    pub removals: ViewHandle<RemoverView>,
}

impl YardPlan {
    /// A plan with this number of Reelyard sources and destinations.
    pub fn of(sources: u8, destinations: u8) -> Self {
        YardPlan {
            settings: TaskSettings::default(),
            sources: (1..=sources).map(source).collect(),
            destinations: (1..=destinations).map(destination).collect(),
            old: false,
            identity: None,
            removals: ViewHandle::default(),
        }
    }

    /// Opens the yard in `dir`, with its clock at `start`. No host has been observed.
    pub async fn open(&self, dir: &Path, start: i64) -> TaskManagerYard {
        let settings = JournalOptions::alone(dir, 1);
        let journal = Journal::open(settings, Arc::new(NoPeers), &[PieceId::Tasks]).await.unwrap();
        let yard = self.open_on(journal, start);
        yard.until("this node leads", |view| view.epoch).await;
        yard
    }

    /// Opens the yard on a journal whose node may or may not lead.
    pub fn open_on(&self, journal: Journal, start: i64) -> TaskManagerYard {
        let changes = Feed::new(&Clock::manual(Millis(start)));
        self.open_with_feed(journal, start, changes)
    }

    /// Opens the yard on a journal, and reports changes on this feed.
    pub fn open_with_feed(
        &self,
        journal: Journal,
        start: i64,
        changes: Feed<ChangeEvent>,
    ) -> TaskManagerYard {
        let clock = Clock::manual(Millis(start));
        let world = SharedWorld::default();
        let subscribers = ObservationSubscribers::default();
        let mut refresh = HashMap::new();
        let mut arrived = HashMap::new();
        for &host in &self.destinations {
            let kind = if self.old { HostKind::Cfw } else { ours(host) };
            let probed = ProbedHost { kind, capacity: 1000 * GIB, ..ProbedHost::default() };
            world.lock().unwrap().hosts.insert(host, probed);
            let (world, clock, subscribers) = (world.clone(), clock.clone(), subscribers.clone());
            let worker = ProbeWorker { host, world, clock, subscribers }.start();
            refresh.insert(host, Route::fixed(worker.clone().recipient()));
            arrived.insert(host, Route::fixed(worker.recipient()));
        }
        let look_up = Route::fixed(ProbeCatalog(world.clone()).start().recipient());
        let probes = YardProbes { look_up: look_up.clone(), refresh: refresh.clone().into() };
        let hosts: Vec<HostSetting> = self
            .sources
            .iter()
            .map(|&addr| HostSetting { addr, role: HostRole::Source })
            .chain(
                self.destinations
                    .iter()
                    .map(|&addr| HostSetting { addr, role: HostRole::Destination }),
            )
            .collect();
        let names = NameTable::new();
        let (views, host_roster) = (ViewHandle::default(), ViewHandle::default());
        let manager = TaskManager::new(
            self.settings.clone(),
            &hosts,
            names.clone(),
            clock.clone(),
            journal.clone(),
            TaskCollaborators {
                look_up,
                refresh: refresh.into(),
                arrived: arrived.into(),
                removals: self.removals.clone(),
            },
            views.clone(),
        );
        let manager = manager.with_host_roster(host_roster.clone());
        let manager = match &self.identity {
            Some(identity) => manager.with_manager_identity(identity.clone()),
            None => manager,
        };
        let manager = manager.with_change_feed(changes.publisher()).start();
        subscribers.lock().unwrap().push(manager.clone().recipient());
        TaskManagerYard {
            names,
            clock,
            journal,
            manager,
            views,
            host_roster,
            world,
            changes,
            subscribers,
            probes,
        }
    }

    /// Opens the yard, with every host observed and up.
    pub async fn open_up(&self, dir: &Path, start: i64) -> TaskManagerYard {
        let yard = self.open(dir, start).await;
        self.up(&yard).await;
        yard
    }

    /// Makes every host observed and up.
    pub async fn up(&self, yard: &TaskManagerYard) {
        for &host in &self.sources {
            let kind = if self.old { HostKind::Cfw } else { ours(host) };
            let at = yard.clock.now();
            let seen = HostObserved { host, kind, inventory: None, disk: None, traffic: None, at };
            yard.manager.send(seen).await.unwrap();
        }
        for &host in self.sources.iter().chain(&self.destinations) {
            yard.health(host, Health::Up).await;
        }
        for &host in &self.destinations {
            yard.look(host).await;
        }
    }
}

impl TaskManagerYard {
    pub fn name(text: &str) -> FileName {
        FileName::new(text).unwrap()
    }

    pub fn file(&self, text: &str) -> FileId {
        self.names.intern(&TaskManagerYard::name(text))
    }

    /// Grades these files, best first, each with a master of [`SIZE`].
    pub async fn grade(&self, files: &[&str]) {
        let ids: Vec<FileId> = files.iter().map(|file| self.file(file)).collect();
        let ranked = |file: &FileId| RankedFile { file: *file, size: None, listed_on: Vec::new() };
        let ranking = Ranking::from_files(ids.iter().map(ranked));
        self.manager.send(RankingChanged(Arc::new(ranking))).await.unwrap();
        self.list_masters(&ids).await;
    }

    /// Gives each of these files a master of [`SIZE`], and no other file.
    pub async fn list_masters(&self, files: &[FileId]) {
        {
            let mut world = self.world.lock().unwrap();
            for &id in files {
                let modified = Millis(0);
                let found = MasterLook::Found { dir: "/data".into(), size: SIZE, modified };
                world.masters.entry(id).or_insert(found);
            }
        }
        let files = files.iter().map(|id| id.0).collect();
        let masters = Masters { files, ..Masters::default() };
        self.manager.send(MastersChanged(Arc::new(masters))).await.unwrap();
    }

    /// Makes these files hot.
    pub async fn heat(&self, hot: &[(&str, u32)]) {
        let hot = hot.iter().map(|(file, hits)| (self.file(file), *hits));
        let rising = RisingHits::new(hot, &self.names);
        self.manager.send(RisingChanged(Arc::new(rising))).await.unwrap();
    }

    pub async fn health(&self, host: HostAddr, to: Health) {
        let (from, at) = (Health::Unknown, self.clock.now());
        self.manager.send(HealthChanged { host, from, to, at }).await.unwrap();
    }

    /// Makes the TaskManager observe a host.
    pub async fn look(&self, host: HostAddr) {
        let seen = {
            let world = self.world.lock().unwrap();
            observation(host, &world.hosts[&host], self.clock.now())
        };
        self.manager.send(seen).await.unwrap();
    }

    /// The host reports its identity and disk, but its list fails.
    pub async fn look_without_list(&self, host: HostAddr) {
        let seen = {
            let world = self.world.lock().unwrap();
            observation(host, &world.hosts[&host], self.clock.now())
        };
        self.manager.send(HostObserved { inventory: None, ..seen }).await.unwrap();
    }

    pub fn alter(&self, host: HostAddr, change: impl FnOnce(&mut ProbedHost)) {
        change(self.world.lock().unwrap().hosts.get_mut(&host).unwrap());
    }

    /// Moves the clock and makes the TaskManager handle it.
    pub async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.manager.send(CheckTasksNow).await.unwrap();
    }

    /// Waits until all decisions so far are applied, by another commit after them.
    pub async fn wait_until_applied(&self) {
        let host = *self.world.lock().unwrap().hosts.keys().next().unwrap();
        let name = TaskManagerYard::name(&format!("behind-{}", self.names.len()));
        let state = ReportedState::Done { size: 0, hash: ContentHash([0; 32]) };
        let report = Report { task: TaskId(-1), name, at: self.clock.now(), state };
        let reports = TakeReports { host, reports: vec![report] };
        self.manager.send(reports).await.unwrap().unwrap();
    }

    /// Waits until `show` returns a value for the view.
    pub async fn until<T>(&self, what: &str, show: impl Fn(&TaskManagerView) -> Option<T>) -> T {
        eventually_some(what, || {
            let shown = show(&self.views.load());
            async move { shown }
        })
        .await
    }

    /// Waits for an open task of a file.
    pub async fn open_task(&self, file: &str) -> Arc<Task> {
        let what = format!("an open task of {file}");
        self.until(&what, |view| view.open.values().find(|task| is_of(task, file)).cloned()).await
    }

    /// Waits for the end of a task.
    pub async fn ended(&self, task: &Task, state: TaskState) -> Arc<Task> {
        let what = format!("task {} of {} is {state:?}", task.id, task.name);
        self.until(&what, |view| {
            view.ended.get(&task.id).filter(|task| task.state == state).cloned()
        })
        .await
    }

    /// Sends a report on a task as its destination.
    pub async fn report(&self, task: &Task, state: ReportedState) -> ReportsTaken {
        let report = Report { task: task.id, name: task.name.clone(), at: self.clock.now(), state };
        let reports = TakeReports { host: task.destination, reports: vec![report] };
        self.manager.send(reports).await.unwrap().unwrap()
    }

    /// Finishes a task as its Reelyard destination.
    pub async fn finish(&self, task: &Task) {
        self.land(task);
        self.report(task, ReportedState::Done { size: task.size, hash: ContentHash([7; 32]) })
            .await;
    }

    /// Puts the copy of a task on its destination without a report.
    pub fn land(&self, task: &Task) {
        let file = self.names.intern(&task.name);
        self.alter(task.destination, |host| {
            host.files.insert(file.0);
            host.used += task.size;
        });
    }

    pub async fn fail(&self, task: &Task, blame: Blame) {
        self.report(
            task,
            ReportedState::Failed { blame, reason: "as the test wants it".to_owned() },
        )
        .await;
    }

    /// Sends the `PATCH` of an old cfw.
    pub async fn patch(&self, task: &Task, to: OldState) -> Result<(), ChangeRefused> {
        let change = ChangeTask { id: task.id, to: Some(to), request: RequestId::random() };
        self.manager.send(change).await.unwrap()
    }
}

pub fn is_of(task: &Task, file: &str) -> bool {
    task.name.as_bytes() == file.as_bytes()
}
