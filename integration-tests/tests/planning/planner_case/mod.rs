//! Randomly drawn yards for the property tests of the planner.

pub mod oracle;
pub mod world;

use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::cfw_worker::CircuitState;
use reelyard_yard::task_manager::{LinkRules, NewTask, PlacementPolicy, TaskSettings};

pub const NOW: Millis = Millis(1_800_000_000_000);

#[derive(Clone, Debug)]
pub struct CaseFile {
    pub graded: bool,
    pub hits: u32,
    pub size: u64,
    pub master: bool,
    pub master_found: bool,
    pub ignored: bool,
    pub uncarried: bool,
    pub backs_off: bool,
    pub placed_on: Option<usize>,
    pub listed_on: Option<usize>,
    /// The source and destination of its copy in progress, and whether the task is applied.
    pub under_way: Option<(usize, usize, bool)>,
}

#[derive(Clone, Debug)]
pub struct CaseHost {
    pub up: bool,
    pub ours: bool,
    pub kind_known: bool,
    /// Whether it is a Reelyard worker that can fetch from old cfws.
    pub fetches_from_old: bool,
    pub backs_off: bool,
    /// Whether its backoff is over and no success has followed.
    pub on_probation: bool,
    /// The state of its circuit breaker.
    pub calls: CircuitState,
    pub asked: bool,
    pub room: Option<u64>,
    /// The outgoing load of its link by other programs in percent; `None` when unknown.
    pub link: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct PlannerCase {
    pub files: Vec<CaseFile>,
    pub sources: Vec<CaseHost>,
    pub destinations: Vec<CaseHost>,
    /// Whether the first source is also the first destination.
    pub both: bool,
    pub held_pairs: Vec<(usize, usize)>,
    pub cap: usize,
    pub ungraded_hot: bool,
    pub ring: bool,
    /// The load in percent above which a host takes no part; `None` without a limit.
    pub mark: Option<u32>,
}

fn likely(percent: u8) -> impl Strategy<Value = bool> {
    (0..100u8).prop_map(move |drawn| drawn < percent)
}

fn file() -> impl Strategy<Value = CaseFile> {
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
        CaseFile {
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

fn host() -> impl Strategy<Value = CaseHost> {
    let ours = (any::<bool>(), likely(30), likely(90));
    let flags = (likely(80), likely(15), likely(20), likely(85));
    let calls = prop_oneof![
        8 => Just(CircuitState::Closed),
        1 => Just(CircuitState::Open),
        1 => Just(CircuitState::Probation),
    ];
    let figures = (option::weighted(0.9, 0..150u64), option::of(0..120u32));
    (ours, flags, calls, figures).prop_map(|(kind, flags, calls, (room, link))| {
        let (ours, fetches_from_old, kind_known) = kind;
        let (up, backs_off, on_probation, asked) = flags;
        let on_probation = on_probation && !backs_off;
        CaseHost {
            up,
            ours,
            fetches_from_old,
            kind_known,
            backs_off,
            on_probation,
            calls,
            asked,
            room,
            link,
        }
    })
}

prop_compose! {
    /// A yard with hosts and files in all states.
    pub fn case()(
        files in vec(file(), 0..14),
        sources in vec(host(), 1..5),
        destinations in vec(host(), 1..5),
        both in likely(30),
        held_pairs in vec((0..4usize, 0..4usize), 0..3),
        cap in 1..3usize,
        ungraded_hot in any::<bool>(),
        ring in any::<bool>(),
        mark in option::of(60..100u32),
    ) -> PlannerCase {
        let mut case =
            PlannerCase { files, sources, destinations, both, held_pairs, cap, ungraded_hot, ring, mark };
        case.make_consistent();
        case
    }
}

fn addr(kind: &str, number: usize) -> HostAddr {
    let net = if kind == "source" { 1 } else { 2 };
    format!("10.0.{net}.{}:8888", number + 1).parse().unwrap()
}

pub fn kind_of(host: &CaseHost) -> HostKind {
    match (host.kind_known, host.ours) {
        (false, _) => HostKind::Unknown,
        (true, true) => HostKind::Reelyard {
            data_addr: "10.0.0.1:8889".parse().unwrap(),
            fetches_from_old: host.fetches_from_old,
            data_tls: false,
        },
        (true, false) => HostKind::Cfw,
    }
}

impl PlannerCase {
    /// Removes impossible states from the drawn case: hosts with the same address, tasks from a host to
    /// itself, and sources with too many tasks.
    fn make_consistent(&mut self) {
        if self.both {
            let (source, destination) = (&self.sources[0], &mut self.destinations[0]);
            (destination.up, destination.ours) = (source.up, source.ours);
            destination.fetches_from_old = source.fetches_from_old;
            destination.kind_known = source.kind_known;
            destination.calls = source.calls;
            destination.link = source.link;
        }
        let (sources, destinations) = (self.sources.len(), self.destinations.len());
        let mut served = vec![0; sources];
        for file in &mut self.files {
            for place in [&mut file.placed_on, &mut file.listed_on] {
                *place = place.map(|place| place % destinations);
            }
            // A host without any call has no known files.
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

    /// A yard without faults: Reelyard hosts, and graded files of one size.
    pub fn plain(sources: usize, destinations: usize, files: usize, ring: bool) -> Self {
        let file = CaseFile {
            graded: true,
            hits: 0,
            size: 1,
            master: true,
            master_found: true,
            ignored: false,
            uncarried: false,
            backs_off: false,
            placed_on: None,
            listed_on: None,
            under_way: None,
        };
        let host = CaseHost {
            up: true,
            ours: true,
            fetches_from_old: false,
            kind_known: true,
            backs_off: false,
            on_probation: false,
            calls: CircuitState::Closed,
            asked: true,
            room: Some(1000),
            link: None,
        };
        PlannerCase {
            files: vec![file; files],
            sources: vec![host.clone(); sources],
            destinations: vec![host; destinations],
            both: false,
            held_pairs: Vec::new(),
            cap: 1,
            ungraded_hot: false,
            ring,
            mark: None,
        }
    }

    pub fn source(&self, number: usize) -> HostAddr {
        addr(if self.both && number == 0 { "destination" } else { "source" }, number)
    }

    pub fn destination(&self, number: usize) -> HostAddr {
        addr("destination", number)
    }

    pub fn name(&self, number: usize) -> FileName {
        let file = &self.files[number];
        let prefix = if file.ignored { "AD" } else { "" };
        let suffix = if file.uncarried { "\n" } else { "" };
        FileName::new(format!("{prefix}{number:02}.mpg{suffix}")).unwrap()
    }

    pub fn settings(&self) -> TaskSettings {
        let (source_mark_percent, destination_mark_percent) = (self.mark, self.mark);
        TaskSettings {
            links: LinkRules {
                source_mark_percent,
                destination_mark_percent,
                ..LinkRules::default()
            },
            copies_per_source: self.cap,
            placement: if self.ring { PlacementPolicy::Ring } else { PlacementPolicy::Room },
            ungraded_hot: self.ungraded_hot,
            ignore_prefixes: vec![b"AD".to_vec()],
            storage_limit_percent: 100,
            fill_percent: 100,
            first_look: Duration::ZERO,
            ..TaskSettings::default()
        }
    }

    /// The priority of a file: hot files first, then most hits, best grade, and name.
    pub fn priority(&self, number: usize) -> (std::cmp::Reverse<u32>, usize) {
        let file = &self.files[number];
        let grade = if file.graded { number } else { usize::MAX - self.files.len() + number };
        (std::cmp::Reverse(file.hits), grade)
    }

    pub fn new_task(&self, id: i64, file: usize, source: usize, destination: usize) -> NewTask {
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
            asked_by: None,
        }
    }
}
