//! Old cfws whose downloader fails: such a host reports `done` but holds nothing. The decisions use a virtual
//! clock, each event is applied at once, and every host polls as cfw does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_replication::{AppliedEvent, InFlight, Piece};
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::cfw_worker::{HostObserved, Inventory};
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::task_manager::Unusable;
use reelyard_yard::task_manager::{
    Blamed, HostSetting, TaskBook, TaskEvent, TaskPieceContext, TaskPolicy, TaskSettings, TaskState,
};

use crate::task_manager::task_manager_yard::{GIB, SIZE, destination, source};

const START: Millis = Millis(1_800_000_000_000);
/// The number of ranked files.
const FILES: u32 = 40;
/// One step of the virtual clock.
const STEP: Duration = Duration::from_millis(100);
/// The polling interval of a cfw.
const POLL: Duration = Duration::from_secs(1);
/// The duration of a copy.
const COPYING: Duration = Duration::from_millis(600);
/// The time until a broken downloader fails.
const FAILING: Duration = Duration::from_millis(100);
/// The limit of the duration of a trial.
const LONGEST: Duration = Duration::from_secs(150);

/// The parameters of a trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    sources: u8,
    healthy: u8,
    broken: u8,
    /// Additional free bytes on the disk of a broken host.
    more_room: u64,
}

/// An old destination and its current work.
#[derive(Default)]
struct OldHost {
    is_broken: bool,
    files: Vec<u32>,
    capacity: u64,
    polls_at: Millis,
    /// The task, its file, and the time at which the host reports `done`.
    at_work: Option<(TaskId, FileId, Millis)>,
}

struct BrokenHostYard {
    now: Millis,
    book: TaskBook,
    in_flight: InFlight<TaskEvent>,
    policy: TaskPolicy,
    hosts: BTreeMap<HostAddr, OldHost>,
    failures: BTreeMap<HostAddr, u32>,
    /// The blamed side of each failure, in order.
    blamed: Vec<Option<Blame>>,
}

impl BrokenHostYard {
    fn new(trial: Trial) -> Self {
        let sources = (1..=trial.sources).map(source);
        let mut hosts: BTreeMap<HostAddr, OldHost> = BTreeMap::new();
        for last in 1..=trial.broken + trial.healthy {
            let is_broken = last <= trial.broken;
            let capacity = 1000 * GIB + if is_broken { trial.more_room } else { 0 };
            hosts.insert(destination(last), OldHost { is_broken, capacity, ..OldHost::default() });
        }
        let destinations = hosts.keys().copied();
        let settings: Vec<HostSetting> = sources
            .map(|addr| HostSetting { addr, role: HostRole::Source })
            .chain(destinations.map(|addr| HostSetting { addr, role: HostRole::Destination }))
            .collect();
        let mut yard = BrokenHostYard {
            now: START,
            book: TaskBook::new(NameTable::new()),
            in_flight: InFlight::default(),
            policy: TaskPolicy::new(TaskSettings::default(), &settings),
            hosts,
            failures: BTreeMap::new(),
            blamed: Vec::new(),
        };
        yard.policy.become_leader(START);
        for host in settings {
            let (from, to) = (Health::Unknown, Health::Up);
            yard.turn();
            yard.policy.health_changed(&HealthChanged { host: host.addr, from, to, at: START });
            yard.look(host.addr);
        }
        yard.grade();
        yard
    }

    fn grade(&mut self) {
        let name = |number| FileName::new(format!("F{number:02}.mpg")).unwrap();
        let files: Vec<FileId> =
            (0..FILES).map(|number| self.book.names().intern(&name(number))).collect();
        let ranked = |file: &FileId| RankedFile { file: *file, size: None, listed_on: Vec::new() };
        self.policy.set_ranking(Arc::new(Ranking::from_files(files.iter().map(ranked))));
        let files = files.iter().map(|file| file.0).collect();
        self.policy.set_masters(Arc::new(Masters { files, ..Masters::default() }));
    }

    fn decision_parts(&mut self) -> (&mut TaskPolicy, TaskPieceContext<'_>) {
        let BrokenHostYard { policy, book, in_flight, now, .. } = self;
        (policy, TaskPieceContext { book, in_flight, now: *now })
    }

    fn apply(&mut self, event: TaskEvent) {
        if let TaskEvent::Ended { id, ending, .. } = &event {
            let host = self.book.task(*id).unwrap().destination;
            *self.failures.entry(host).or_default() += 1;
            self.blamed.push(ending.blame);
        }
        let at = self.now;
        let result = self.book.apply(at, &event);
        assert!(result.is_ok(), "{event:?}: {result:?}");
        let applied = AppliedEvent { request: RequestId(0), at, event, result };
        self.policy.on_applied(&applied, &self.book, None);
    }

    /// Handles everything that is due, and plans, until nothing changes.
    fn turn(&mut self) {
        loop {
            let (policy, decision_parts) = self.decision_parts();
            let mut events = policy.due(decision_parts);
            let round = policy.round(decision_parts);
            let now = decision_parts.now;
            let look = |file: &FileId| {
                let dir = "/data".into();
                (*file, MasterLook::Found { dir, size: SIZE, modified: START })
            };
            let seen: Vec<(FileId, MasterLook)> = round.to_look_up.iter().map(look).collect();
            let has_looked = !seen.is_empty();
            policy.looked(round.to_look_up, seen, now);
            events.extend(round.tasks.into_iter().map(TaskEvent::Created));
            if events.is_empty() && !has_looked {
                return;
            }
            for event in events {
                self.apply(event);
            }
            let (policy, decision_parts) = self.decision_parts();
            for host in policy.claims_to_check(decision_parts) {
                self.look(host);
            }
        }
    }

    /// Makes the node observe a host.
    fn look(&mut self, host: HostAddr) {
        let at = self.now;
        let seen = |inventory, disk| HostObserved {
            host,
            kind: HostKind::Cfw,
            inventory,
            disk,
            traffic: None,
            at,
        };
        let seen = match self.hosts.get(&host) {
            None => seen(None, None),
            Some(old) => {
                let used = old.files.len() as u64 * SIZE;
                let (total, avail) = (old.capacity, old.capacity - used);
                let disk = DiskFigures { total, used, avail, ..DiskFigures::default() };
                let files = old.files.iter().copied().collect();
                let inventory = Inventory { files, unreadable_names: 0, at };
                seen(Some(Arc::new(inventory)), Some((disk, at)))
            }
        };
        self.policy.observe(&seen, &self.book);
    }

    fn patch(&mut self, id: TaskId, to: OldState) {
        let (policy, decision_parts) = self.decision_parts();
        for event in policy.decision_context(decision_parts).change(id, Some(to)).unwrap() {
            self.apply(event);
        }
        let (policy, decision_parts) = self.decision_parts();
        for host in policy.claims_to_check(decision_parts) {
            self.look(host);
        }
    }

    /// One step of a host's loop.
    fn step(&mut self, addr: HostAddr) {
        let now = self.now;
        let host = self.hosts.get_mut(&addr).unwrap();
        match host.at_work {
            Some((id, file, done_at)) if done_at <= now => {
                host.at_work = None;
                host.polls_at = now;
                if !host.is_broken {
                    host.files.push(file.0);
                }
                self.patch(id, OldState::Done);
            }
            None if host.polls_at <= now => {
                let mine = |task: &&Arc<reelyard_yard::task_manager::Task>| {
                    task.destination == addr && task.state == TaskState::Ready
                };
                let Some(task) = self.book.open().values().find(mine) else {
                    host.polls_at = now.after(POLL);
                    return;
                };
                let takes = if host.is_broken { FAILING } else { COPYING };
                let file = self.book.names().intern(&task.name);
                let id = task.id;
                host.at_work = Some((id, file, now.after(takes)));
                self.patch(id, OldState::Working);
            }
            _ => {}
        }
    }

    fn placed(&self) -> usize {
        self.hosts.values().map(|host| host.files.len()).sum()
    }

    fn run_a_step(&mut self) {
        self.turn();
        let hosts: Vec<HostAddr> = self.hosts.keys().copied().collect();
        for host in hosts {
            self.step(host);
        }
        self.turn();
        self.now = self.now.after(STEP);
    }

    /// Runs until every file is placed. Returns the time; `None` after [`LONGEST`].
    fn run(&mut self) -> Option<Duration> {
        while self.placed() < FILES as usize {
            if self.now.since(START) > LONGEST {
                return None;
            }
            self.run_a_step();
        }
        Some(self.now.since(START))
    }
}

#[test]
fn hosts_that_fail_everything_cost_no_more_than_as_long_again() {
    let mut too_slow = Vec::new();
    for (sources, broken) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let healthy = 3 - broken;
        for more_room in [0, 500 * GIB] {
            let trial = Trial { sources, healthy, broken, more_room };
            let without = BrokenHostYard::new(Trial { broken: 0, ..trial }).run().unwrap();
            let mut yard = BrokenHostYard::new(trial);
            let took = yard.run();
            let (placed, failures) = (yard.placed(), &yard.failures);
            println!("{trial:?}: {took:?}, {without:?} without, {failures:?}");
            if took.is_none_or(|took| took > 2 * without) {
                too_slow.push(format!("{trial:?}: {placed} placed in {took:?}, not {without:?}"));
            }
        }
    }
    assert!(too_slow.is_empty(), "{too_slow:#?}");
}

#[test]
fn a_failing_host_backs_off_with_a_reason_and_no_file_does() {
    let mut yard =
        BrokenHostYard::new(Trial { sources: 1, healthy: 2, broken: 1, more_room: 500 * GIB });
    while yard.failures.is_empty() {
        yard.run_a_step();
    }
    let host = destination(1);
    let held = &yard.book.back_offs()[&Blamed::Destination(host)];
    let reason = format!("{host} reported done but does not list F00.mpg");
    assert_eq!(held.reason, reason);
    let (policy, decision_parts) = yard.decision_parts();
    let part = policy.round(decision_parts).parts[&host];
    assert_eq!(part.no_destination, Some(Unusable::BacksOff));
    yard.run().unwrap();
    let is_file = |blamed: &&Blamed| matches!(blamed, Blamed::File(_));
    assert_eq!(yard.book.back_offs().keys().find(is_file), None, "no file failed twice");
    assert!(yard.blamed.iter().all(|blame| *blame == Some(Blame::Destination)));
}

#[test]
fn a_host_gets_a_trial_copy_and_takes_part_when_repaired() {
    let mut yard =
        BrokenHostYard::new(Trial { sources: 2, healthy: 1, broken: 1, more_room: 500 * GIB });
    let host = destination(1);
    while yard.placed() < 4 {
        yard.run_a_step();
        let back_off = yard.book.back_offs().get(&Blamed::Destination(host));
        let is_held = back_off.is_some_and(|held| held.holds(yard.now));
        let there = yard.book.open().values().filter(|task| task.destination == host).count();
        assert!(!is_held || there == 0, "nothing is planned on a host that backs off");
        assert!(back_off.is_none() || there <= 1, "one at a time on probation");
    }
    yard.hosts.get_mut(&host).unwrap().is_broken = false;
    yard.run().unwrap();
    assert!(!yard.hosts[&host].files.is_empty());
    assert_eq!(yard.book.back_offs().get(&Blamed::Destination(host)), None);
}
