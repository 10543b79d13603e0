//! The real planner in the state of a drawn yard.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostRole};
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_core::traffic::{Rates, Traffic};
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::{InFlight, Piece};
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::cfw_worker::{HostCallStatus, HostObserved, Inventory};
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::room::RoomMade;
use reelyard_yard::task_manager::{
    BackingOff, Blamed, GivenUp, HostSetting, HostTable, NewTask, TaskBook, TaskEnding, TaskEvent,
    TaskSettings,
};
use reelyard_yard::task_manager::{Planner, PlanningContext, PlanningRound};

use super::{CaseHost, NOW, PlannerCase, kind_of};

/// The real planner with its inputs.
pub struct PlannerWorld {
    names: NameTable,
    pub book: TaskBook,
    pub in_flight: InFlight<TaskEvent>,
    hosts: HostTable,
    planner: Planner,
    settings: TaskSettings,
}

impl PlannerWorld {
    pub fn of(case: &PlannerCase) -> Self {
        let names = NameTable::new();
        let mut book = TaskBook::new(names.clone());
        let mut settings: Vec<HostSetting> = Vec::new();
        for number in 0..case.destinations.len() {
            let both = case.both && number == 0;
            let role = if both { HostRole::Both } else { HostRole::Destination };
            settings.push(HostSetting { addr: case.destination(number), role });
        }
        for number in usize::from(case.both)..case.sources.len() {
            settings.push(HostSetting { addr: case.source(number), role: HostRole::Source });
        }
        let mut roles: Vec<_> = settings.iter().map(|host| (host.addr, host.role)).collect();
        let (from, to) = ("10.9.9.1:1".parse().unwrap(), "10.9.9.2:1".parse().unwrap());
        roles.extend([(from, HostRole::Source), (to, HostRole::Destination)]);
        apply(&mut book, TaskEvent::HostsConfigured { hosts: roles });
        let world = PlannerWorld {
            names,
            book,
            in_flight: InFlight::default(),
            hosts: HostTable::new(&settings),
            planner: Planner::default(),
            settings: case.settings(),
        };
        world.with_hosts(case).with_tasks(case).with_back_offs(case, from, to).with_inputs(case)
    }

    fn with_hosts(mut self, case: &PlannerCase) -> Self {
        let sources = case.sources.iter().enumerate();
        for (number, source) in sources.filter(|(number, _)| !(case.both && *number == 0)) {
            self.see(case.source(number), source, None);
        }
        for (number, destination) in case.destinations.iter().enumerate() {
            let held = (0..case.files.len())
                .filter(|&file| case.files[file].placed_on == Some(number))
                .map(|file| self.names.intern(&case.name(file)).0);
            let inventory = destination.asked.then(|| Inventory {
                files: held.collect(),
                unreadable_names: 0,
                at: NOW,
            });
            self.see(case.destination(number), destination, inventory);
        }
        self
    }

    /// Adds an observation of a host.
    pub fn see(&mut self, addr: HostAddr, host: &CaseHost, inventory: Option<Inventory>) {
        let to = if host.up { Health::Up } else { Health::Suspect };
        let from = Health::Unknown;
        self.hosts.health_changed(&HealthChanged { host: addr, from, to, at: NOW });
        self.hosts.set_calls(&HostCallStatus {
            host: addr,
            calls: host.calls,
            epoch: None,
            managers: Vec::new(),
            at: NOW,
        });
        let disk =
            host.room.map(|room| (DiskFigures { avail: room, ..DiskFigures::default() }, NOW));
        let inventory = inventory.map(Arc::new);
        self.hosts.observe(&HostObserved {
            host: addr,
            kind: kind_of(host),
            inventory,
            disk,
            traffic: host.link.map(|percent| (traffic(percent), NOW)),
            at: NOW,
        });
    }

    /// Records that the Remover freed space for a file on a host.
    pub fn room_made(&mut self, addr: HostAddr, name: &FileName, size: u64, until: Millis) {
        let room =
            RoomMade { file: self.names.intern(name), size, until, freed: 0, is_exchange: false };
        self.hosts.set_rooms_made([(addr, room)].into());
    }

    fn with_tasks(mut self, case: &PlannerCase) -> Self {
        for (number, file) in case.files.iter().enumerate() {
            if let Some((source, destination, applied)) = file.under_way {
                let id = 1 + i64::try_from(number).unwrap();
                let event = TaskEvent::Created(case.new_task(id, number, source, destination));
                if applied {
                    apply(&mut self.book, event);
                } else {
                    self.in_flight.begin(RequestId(u128::try_from(number).unwrap()), vec![event]);
                }
            }
        }
        self
    }

    fn with_back_offs(mut self, case: &PlannerCase, from: HostAddr, to: HostAddr) -> Self {
        let mut blamed: Vec<Blamed> = Vec::new();
        let files = (0..case.files.len()).filter(|&file| case.files[file].backs_off);
        blamed.extend(files.map(|file| Blamed::File(case.name(file))));
        let sources = (0..case.sources.len()).filter(|&host| case.sources[host].backs_off);
        blamed.extend(sources.map(|host| Blamed::Source(case.source(host))));
        let hosts = (0..case.destinations.len()).filter(|&host| case.destinations[host].backs_off);
        blamed.extend(hosts.map(|host| Blamed::Destination(case.destination(host))));
        let pairs = case.held_pairs.iter();
        blamed
            .extend(pairs.map(|pair| Blamed::Pair(case.source(pair.0), case.destination(pair.1))));
        let held = blamed.into_iter().map(|blamed| (blamed, NOW.after(Duration::from_secs(1))));
        let mut tried: Vec<Blamed> = Vec::new();
        let sources = (0..case.sources.len()).filter(|&host| case.sources[host].on_probation);
        tried.extend(sources.map(|host| Blamed::Source(case.source(host))));
        let hosts =
            (0..case.destinations.len()).filter(|&host| case.destinations[host].on_probation);
        tried.extend(hosts.map(|host| Blamed::Destination(case.destination(host))));
        let tried = tried.into_iter().map(|blamed| (blamed, NOW));
        let blamed: Vec<(Blamed, Millis)> = held.chain(tried).collect();
        for (id, (blamed, until)) in (1000..).zip(blamed) {
            let failed = NewTask {
                id: TaskId(id),
                name: FileName::new("failed").unwrap(),
                dir: String::new(),
                source: from,
                destination: to,
                grade: 0,
                hits: 0,
                size: 0,
                copy_speed: None,
                source_cap: 1,
                asked_by: None,
            };
            apply(&mut self.book, TaskEvent::Created(failed));
            let ending = TaskEnding { how: GivenUp::Failed, reason: String::new(), blame: None };
            let back_off = Some(BackingOff { blamed, until });
            apply(&mut self.book, TaskEvent::Ended { id: TaskId(id), ending, back_off });
        }
        self
    }

    /// Replaces the planner by a new one with the same inputs.
    pub fn with_fresh_planner(mut self, case: &PlannerCase) -> Self {
        self.planner = Planner::default();
        self.with_inputs(case)
    }

    /// Completes every planned copy.
    pub fn complete(&mut self, planned: &[NewTask]) {
        for task in planned {
            apply(&mut self.book, TaskEvent::Created(task.clone()));
            let id = task.id;
            apply(&mut self.book, TaskEvent::Completed { id, size: None, hash: None });
            let file = self.names.intern(&task.name);
            self.planner.came(task.destination, [file], &self.book, &self.hosts);
        }
    }

    /// Sets a host up.
    pub fn up(&mut self, host: HostAddr) {
        let (from, to) = (Health::Suspect, Health::Up);
        self.hosts.health_changed(&HealthChanged { host, from, to, at: NOW });
    }

    /// The number of files that the next round would examine.
    pub fn wanted(&self) -> u64 {
        self.planner.counts().1
    }

    /// Removes ended tasks from the list.
    pub fn forget_ended(&mut self) {
        let tasks = self.book.ended().keys().copied().collect();
        apply(&mut self.book, TaskEvent::Forgot { tasks, back_offs: Vec::new() });
    }

    /// The destination of the last plan, applied or not.
    pub fn last_planned_to(&self) -> Option<HostAddr> {
        let created = self.in_flight.events().filter_map(|event| match event {
            TaskEvent::Created(task) => Some(task),
            _ => None,
        });
        let in_flight = created.max_by_key(|task| task.id).map(|task| task.destination);
        in_flight.or(self.book.last_planned_to())
    }

    /// The host reports that it has no files any more.
    pub fn empty(&mut self, case: &PlannerCase, number: usize) {
        let (host, destination) = (case.destination(number), &case.destinations[number]);
        let at = NOW.after(Duration::from_secs(1));
        let held = self.book.placement(host).map(|placement| placement.files.clone());
        let names = |id: u32| self.names.name(FileId(id));
        let removed = held.iter().flat_map(|held| held.iter()).map(names).collect::<Vec<_>>();
        let kind = kind_of(destination);
        let inventory = Some(Arc::new(Inventory { at, ..Inventory::default() }));
        let disk = self.hosts.get(host).and_then(|known| known.disk);
        let seen = HostObserved { host, kind, inventory, disk, traffic: None, at };
        let (_, left) = self.hosts.observe(&seen);
        let added = Vec::new();
        let event = TaskEvent::InventoryDiffered { host, added, removed, complete: true };
        apply(&mut self.book, event);
        let held = held.iter().flat_map(|held| held.iter());
        let left: Vec<FileId> = left.iter().chain(held).map(FileId).collect();
        self.planner.left(left, &self.book, &self.hosts);
    }

    fn with_inputs(mut self, case: &PlannerCase) -> Self {
        let ids: Vec<_> =
            (0..case.files.len()).map(|file| self.names.intern(&case.name(file))).collect();
        let files = || ids.iter().copied().zip(&case.files);
        let ranked = files().filter(|(_, file)| file.graded).map(|(id, file)| {
            let listed = file.listed_on.map(|host| case.destination(host).ip());
            RankedFile { file: id, size: None, listed_on: listed.into_iter().collect() }
        });
        self.planner.set_ranking(Arc::new(Ranking::from_files(ranked)));
        let hot = files().filter(|(_, file)| file.hits > 0).map(|(id, file)| (id, file.hits));
        self.planner.set_rising(&RisingHits::new(hot, &self.names));
        let masters = files().filter(|(_, file)| file.master).map(|(id, _)| id.0).collect();
        self.planner.set_masters(Arc::new(Masters { files: masters, ..Masters::default() }));
        let looks = files().map(|(id, file)| {
            let (dir, size, modified) = ("/data".into(), file.size, Millis(0));
            let found = MasterLook::Found { dir, size, modified };
            (id, if file.master_found { found } else { MasterLook::Absent })
        });
        self.planner.learn(looks.collect::<Vec<_>>(), &self.settings, NOW);
        self
    }

    /// Records that the master of this file has `size` bytes.
    pub fn look(&mut self, case: &PlannerCase, number: usize, size: u64, at: Millis) {
        let file = self.names.intern(&case.name(number));
        let found = MasterLook::Found { dir: "/data".into(), size, modified: at };
        self.planner.learn([(file, found)], &self.settings, at);
    }

    pub fn round(&mut self) -> PlanningRound {
        self.round_at(NOW)
    }

    pub fn round_at(&mut self, now: Millis) -> PlanningRound {
        self.planner.round(&PlanningContext {
            book: &self.book,
            in_flight: &self.in_flight,
            hosts: &self.hosts,
            settings: &self.settings,
            leading_since: NOW,
            now,
        })
    }
}

/// A link with this outgoing load.
fn traffic(percent: u32) -> Traffic {
    let (sends, receives) = (BitsPerSecond(u64::from(percent) * 10_000_000), BitsPerSecond(0));
    let (interface, speed) = ("eth0".to_owned(), Some(BitsPerSecond(1_000_000_000)));
    let copies = Some(Rates::default());
    Traffic { interface, speed, all: Rates { sends, receives }, copies, over_ms: 10_000 }
}

/// Applies an event that must be valid.
pub fn apply(book: &mut TaskBook, event: TaskEvent) {
    book.apply(NOW, &event).unwrap();
}
