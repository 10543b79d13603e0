//! Properties of the planner, checked against rules that are written down here once more and
//! naively, from the generated yard alone.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use reelyard_actors::catalog::MasterLook;
use reelyard_actors::catalog::masters::Masters;
use reelyard_actors::catalog::ranking::{RankedFile, Ranking};
use reelyard_actors::catalog::rising::RisingHits;
use reelyard_actors::cfw_worker::{DiskFigures, HostObserved, Inventory};
use reelyard_actors::clock::Millis;
use reelyard_actors::event::RequestId;
use reelyard_actors::heartbeat::{Health, HealthChanged};
use reelyard_actors::host::{HostAddr, HostKind, HostRole};
use reelyard_actors::journal::{InFlight, Piece};
use reelyard_actors::names::{FileName, NameTable};
use reelyard_actors::task_manager::plan::{Planner, Round, Yard};
use reelyard_actors::task_manager::{
    BackingOff, Blamed, Ending, GivenUp, HostSetting, HostTable, NewTask, TaskBook, TaskEvent,
    TaskSettings,
};
use reelyard_actors::wire::worker::TaskId;

const NOW: Millis = Millis(1_800_000_000_000);

#[derive(Clone, Debug)]
struct File {
    graded: bool,
    hits: u32,
    size: u64,
    master: bool,
    master_found: bool,
    ignored: bool,
    uncarried: bool,
    backs_off: bool,
    placed_on: Option<usize>,
    listed_on: Option<usize>,
    /// From which source to which destination it is being copied, and whether that is applied.
    under_way: Option<(usize, usize, bool)>,
}

#[derive(Clone, Debug)]
struct Host {
    up: bool,
    ours: bool,
    kind_known: bool,
    backs_off: bool,
    asked: bool,
    room: Option<u64>,
}

#[derive(Clone, Debug)]
struct Case {
    files: Vec<File>,
    sources: Vec<Host>,
    destinations: Vec<Host>,
    /// Whether the first source is the first destination too.
    both: bool,
    held_pairs: Vec<(usize, usize)>,
    cap: usize,
    ungraded_hot: bool,
}

fn likely(percent: u8) -> impl Strategy<Value = bool> {
    (0..100u8).prop_map(move |drawn| drawn < percent)
}

fn file() -> impl Strategy<Value = File> {
    let flags = (likely(85), likely(90), likely(90), likely(15), likely(15), likely(15));
    let places = (
        option::weighted(0.2, 0..4usize),
        option::weighted(0.2, 0..4usize),
        option::weighted(0.2, (0..4usize, 0..4usize, any::<bool>())),
    );
    let hits = prop_oneof![2 => Just(0u32), 1 => 1..4u32];
    (flags, places, hits, 1..60u64).prop_map(|(flags, places, hits, size)| {
        let (graded, master, master_found, ignored, uncarried, backs_off) = flags;
        let (placed_on, listed_on, under_way) = places;
        File {
            graded,
            hits,
            size,
            master,
            master_found,
            ignored,
            uncarried,
            backs_off,
            placed_on,
            listed_on,
            under_way,
        }
    })
}

fn host() -> impl Strategy<Value = Host> {
    let flags = (likely(80), any::<bool>(), likely(90), likely(15), likely(85));
    (flags, option::weighted(0.9, 0..150u64)).prop_map(|(flags, room)| {
        let (up, ours, kind_known, backs_off, asked) = flags;
        Host { up, ours, kind_known, backs_off, asked, room }
    })
}

prop_compose! {
    fn case()(
        files in vec(file(), 0..14),
        sources in vec(host(), 1..5),
        destinations in vec(host(), 1..5),
        both in likely(30),
        held_pairs in vec((0..4usize, 0..4usize), 0..3),
        cap in 1..3usize,
        ungraded_hot in any::<bool>(),
    ) -> Case {
        let mut case = Case { files, sources, destinations, both, held_pairs, cap, ungraded_hot };
        case.make_consistent();
        case
    }
}

fn addr(kind: &str, number: usize) -> HostAddr {
    let net = if kind == "source" { 1 } else { 2 };
    format!("10.0.{net}.{}:8888", number + 1).parse().unwrap()
}

fn kind_of(host: &Host) -> HostKind {
    match (host.kind_known, host.ours) {
        (false, _) => HostKind::Unknown,
        (true, true) => HostKind::Reelyard { data_addr: "10.0.0.1:8889".parse().unwrap() },
        (true, false) => HostKind::Cfw,
    }
}

impl Case {
    /// Takes out of the drawn case what no yard can be in: two hosts under one address that
    /// differ, a task from a host to itself, a source that serves more than it may.
    fn make_consistent(&mut self) {
        if self.both {
            let (up, ours, known) =
                (self.sources[0].up, self.sources[0].ours, self.sources[0].kind_known);
            let destination = &mut self.destinations[0];
            (destination.up, destination.ours, destination.kind_known) = (up, ours, known);
        }
        let (sources, destinations) = (self.sources.len(), self.destinations.len());
        let mut served = vec![0; sources];
        for file in &mut self.files {
            for place in [&mut file.placed_on, &mut file.listed_on] {
                *place = place.map(|place| place % destinations);
            }
            // What was never asked is not known to hold anything.
            file.placed_on = file.placed_on.filter(|&place| self.destinations[place].asked);
            file.under_way = file
                .under_way
                .map(|(source, destination, applied)| {
                    (source % sources, destination % destinations, applied)
                })
                .filter(|(source, destination, _)| {
                    !(self.both && (*source, *destination) == (0, 0))
                })
                .filter(|(source, _, _)| {
                    served[*source] += 1;
                    served[*source] <= self.cap
                });
        }
        for pair in &mut self.held_pairs {
            *pair = (pair.0 % sources, pair.1 % destinations);
        }
    }

    fn source(&self, number: usize) -> HostAddr {
        addr(if self.both && number == 0 { "destination" } else { "source" }, number)
    }

    fn destination(&self, number: usize) -> HostAddr {
        addr("destination", number)
    }

    fn name(&self, number: usize) -> FileName {
        let file = &self.files[number];
        let prefix = if file.ignored { "AD" } else { "" };
        let suffix = if file.uncarried { "\n" } else { "" };
        FileName::new(format!("{prefix}{number:02}.mpg{suffix}")).unwrap()
    }

    fn settings(&self) -> TaskSettings {
        TaskSettings {
            copies_per_source: self.cap,
            ungraded_hot: self.ungraded_hot,
            ignore_prefixes: vec![b"AD".to_vec()],
            storage_limit_percent: 100,
            first_look: Duration::ZERO,
            ..TaskSettings::default()
        }
    }

    /// Files by priority: hot ones first, most hits, best grade, then by name.
    fn priority(&self, number: usize) -> (std::cmp::Reverse<u32>, usize) {
        let file = &self.files[number];
        let grade = if file.graded { number } else { usize::MAX - self.files.len() + number };
        (std::cmp::Reverse(file.hits), grade)
    }

    fn new_task(&self, id: i64, file: usize, source: usize, destination: usize) -> NewTask {
        NewTask {
            id: TaskId(id),
            name: self.name(file),
            dir: "/data".to_owned(),
            source: self.source(source),
            destination: self.destination(destination),
            grade: 1,
            hits: 0,
            size: self.files[file].size,
            copy_speed: None,
            source_cap: 9,
        }
    }
}

/// The real thing, brought into the state of the case.
struct World {
    names: NameTable,
    book: TaskBook,
    in_flight: InFlight<TaskEvent>,
    hosts: HostTable,
    planner: Planner,
    settings: TaskSettings,
}

impl World {
    fn of(case: &Case) -> Self {
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
        let world = World {
            names,
            book,
            in_flight: InFlight::default(),
            hosts: HostTable::new(&settings),
            planner: Planner::default(),
            settings: case.settings(),
        };
        world.with_hosts(case).with_tasks(case).with_back_offs(case, from, to).with_inputs(case)
    }

    fn with_hosts(mut self, case: &Case) -> Self {
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

    fn see(&mut self, addr: HostAddr, host: &Host, inventory: Option<Inventory>) {
        let to = if host.up { Health::Up } else { Health::Suspect };
        let from = Health::Unknown;
        self.hosts.health_changed(&HealthChanged { host: addr, from, to, at: NOW });
        let disk = host.room.map(|room| DiskFigures { avail: room, ..DiskFigures::default() });
        let inventory = inventory.map(Arc::new);
        self.hosts.observe(&HostObserved {
            host: addr,
            kind: kind_of(host),
            inventory,
            disk,
            at: NOW,
        });
    }

    fn with_tasks(mut self, case: &Case) -> Self {
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

    fn with_back_offs(mut self, case: &Case, from: HostAddr, to: HostAddr) -> Self {
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
        for (id, blamed) in (1000..).zip(blamed) {
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
            };
            apply(&mut self.book, TaskEvent::Created(failed));
            let ending = Ending { how: GivenUp::Failed, reason: String::new(), blame: None };
            let back_off = Some(BackingOff { blamed, until: NOW.after(Duration::from_secs(1)) });
            apply(&mut self.book, TaskEvent::Ended { id: TaskId(id), ending, back_off });
        }
        self
    }

    fn with_inputs(mut self, case: &Case) -> Self {
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

    fn round(&mut self) -> Round {
        self.planner.round(&Yard {
            book: &self.book,
            in_flight: &self.in_flight,
            hosts: &self.hosts,
            settings: &self.settings,
            leading_since: NOW,
            now: NOW,
        })
    }
}

fn apply(book: &mut TaskBook, event: TaskEvent) {
    book.apply(NOW, &event).unwrap();
}

/// The rules once more: what is left of a yard as copies are planned one after the other.
struct Oracle<'a> {
    case: &'a Case,
    served: Vec<usize>,
    load: Vec<usize>,
    room: Vec<Option<u64>>,
    planned: BTreeSet<usize>,
}

impl<'a> Oracle<'a> {
    fn new(case: &'a Case) -> Self {
        let mut oracle = Oracle {
            case,
            served: vec![0; case.sources.len()],
            load: vec![0; case.destinations.len()],
            room: case.destinations.iter().map(|host| host.room).collect(),
            planned: BTreeSet::new(),
        };
        for file in &case.files {
            if let Some((source, destination, _)) = file.under_way {
                oracle.occupy(source, destination, file.size);
            }
        }
        oracle
    }

    fn occupy(&mut self, source: usize, destination: usize, size: u64) {
        self.served[source] += 1;
        self.load[destination] += 1;
        let room = &mut self.room[destination];
        *room = room.map(|room| room.saturating_sub(size));
    }

    fn wants_copy(&self, number: usize) -> bool {
        let file = &self.case.files[number];
        let listed =
            file.graded && file.listed_on.is_some_and(|host| !self.case.destinations[host].asked);
        (file.graded || (file.hits > 0 && self.case.ungraded_hot))
            && file.master
            && file.master_found
            && !file.ignored
            && !file.backs_off
            && file.placed_on.is_none()
            && !listed
            && file.under_way.is_none()
            && !self.planned.contains(&number)
    }

    fn may_pair(&self, number: usize, source: usize, destination: usize) -> bool {
        let (file, case) = (&self.case.files[number], self.case);
        let (from, to) = (&case.sources[source], &case.destinations[destination]);
        let (from_ours, to_ours) = (from.ours && from.kind_known, to.ours && to.kind_known);
        case.source(source) != case.destination(destination)
            && !case.held_pairs.contains(&(source, destination))
            && from.up
            && !from.backs_off
            && self.served[source] < case.cap
            && to.up
            && to.kind_known
            && to.asked
            && !to.backs_off
            && self.room[destination].is_some_and(|room| file.size <= room)
            && (from_ours || !to_ours)
            && (to_ours || !file.uncarried)
    }

    fn pairs(&self, number: usize) -> Vec<(usize, usize)> {
        let sources = 0..self.case.sources.len();
        sources
            .flat_map(|source| (0..self.case.destinations.len()).map(move |to| (source, to)))
            .filter(|&(source, destination)| self.may_pair(number, source, destination))
            .collect()
    }

    fn eligible(&self) -> Vec<usize> {
        let mut files: Vec<usize> = (0..self.case.files.len())
            .filter(|&file| self.wants_copy(file) && !self.pairs(file).is_empty())
            .collect();
        files.sort_by_key(|&file| self.case.priority(file));
        files
    }
}

fn number_of(case: &Case, task: &NewTask) -> usize {
    (0..case.files.len()).find(|&file| case.name(file) == task.name).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_round_plans_the_best_eligible_file_and_nothing_that_may_not_be(case in case()) {
        let mut world = World::of(&case);
        let round = world.round();
        prop_assert!(round.to_look_up.is_empty(), "every master was looked at");
        let mut oracle = Oracle::new(&case);
        for task in &round.tasks {
            let file = number_of(&case, task);
            // The best eligible file goes next: hot before graded, never an ignored or placed
            // one, never one twice.
            prop_assert_eq!(oracle.eligible().first().copied(), Some(file), "{:?}", task);
            prop_assert_ne!(task.source, task.destination);
            let source = (0..case.sources.len()).find(|&s| case.source(s) == task.source).unwrap();
            let destination = (0..case.destinations.len())
                .find(|&d| case.destination(d) == task.destination)
                .unwrap();
            let pairs = oracle.pairs(file);
            prop_assert!(pairs.contains(&(source, destination)), "{:?}", task);
            // A busy destination only when no idle one can take it, and then the least busy;
            // among equals the one with the most room.
            let rank = |d: usize| (oracle.load[d], std::cmp::Reverse(oracle.room[d]));
            let best = pairs.iter().map(|&(_, d)| rank(d)).min();
            prop_assert_eq!(Some(rank(destination)), best);
            oracle.occupy(source, destination, task.size);
            oracle.planned.insert(file);
        }
        // Nothing that could still go was left behind.
        prop_assert_eq!(oracle.eligible(), Vec::<usize>::new());
    }

    #[test]
    fn what_is_planned_can_be_applied_and_the_next_round_plans_nothing_more(case in case()) {
        let mut world = World::of(&case);
        let round = world.round();
        // In flight it occupies what it needs, and so it does once it is applied.
        let events: Vec<TaskEvent> = round.tasks.iter().cloned().map(TaskEvent::Created).collect();
        world.in_flight.begin(RequestId(u128::MAX), events.clone());
        prop_assert!(world.round().tasks.is_empty());
        for pending in world.in_flight.events().cloned().collect::<Vec<_>>() {
            if !events.contains(&pending) {
                apply(&mut world.book, pending);
            }
        }
        for event in events {
            prop_assert!(world.book.apply(NOW, &event).is_ok());
        }
        world.in_flight.clear();
        prop_assert!(world.round().tasks.is_empty());
    }
}
