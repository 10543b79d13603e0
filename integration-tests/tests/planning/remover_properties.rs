//! Invariants of the Remover for all states of hosts and all faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::{ByFile, FileId, FileName, NameTable};
use reelyard_protocol::legacy::cfw::{Deleted, DiskFigures};
use reelyard_replication::{AppliedEvent, InFlight, Piece};
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::popularity::popularity_order::{
    FileDemand, KnownHours, PopularityOrder,
};
use reelyard_yard::catalog::popularity::request_rate::RequestRate;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::cfw_worker::{AskFailure, HostObserved, Inventory};
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::remover::{
    Confirmation, CopyHolderStatus, ExchangeRules, Intent, Reason, RecentArrivals, RemovalBook,
    RemovalEvent, RemovalOutcome, RemovalProposal, RemoverPieceContext, RemoverPolicy,
    RemoverSettings, RoomWanted,
};
use reelyard_yard::room::{CountedRoom, WantsRoom};
use reelyard_yard::settings::popularity::DailyBudget;

const FILES: u32 = 14;
const HOSTS: u8 = 5;
/// The size of every file, so that the use of a disk follows from its files.
const SIZE: u64 = 10;
const CAPACITY: u64 = 100;
/// The number of hits from which the Remover frees space.
const MUCH_HOTTER: u32 = 4;
/// The bytes that exchanges may remove in a day: two files.
const BUDGET: u64 = 2 * SIZE;
/// The largest part of a disk that it may free for one file: percent and bytes, because of [`CAPACITY`].
const SHARE: u32 = 20;

/// One randomly drawn file.
#[derive(Clone, Debug)]
struct FileTraits {
    graded: bool,
    has_master: bool,
    ignored: bool,
    pinned: bool,
    hot: bool,
    /// Expected requests a day.
    requests: u32,
    /// More of them with the longer memory.
    longer: u32,
    /// Its copies arrived too recently for an exchange.
    is_young: bool,
}

/// One randomly drawn host.
#[derive(Clone, Debug)]
struct RemoverHost {
    status: CopyHolderStatus,
    old: bool,
    files: BTreeSet<u32>,
    /// Bytes of other programs on its disk.
    foreign: u64,
}

/// A step between rounds.
#[derive(Clone, Debug)]
enum RemoverStep {
    Down(u8),
    Up(u8),
    /// A copy appears without a plan.
    Copied(u8, u32),
    /// A copy vanishes without a report of its host.
    Lost(u8, u32),
    Listed(u8),
    /// A file that fits on no host: its number, size and hits. Without hits it needs an exchange. Without
    /// a size the request ends. The disks were read this number of seconds before.
    Wanted(u32, u64, u32, u64),
    /// A round; the next deletions end as listed.
    Round(Vec<Deletion>),
    Wait(u64),
    /// The clock is set back by seconds.
    SetBack(u64),
}

/// The result of a deletion.
#[derive(Clone, Copy, Debug)]
enum Deletion {
    Done,
    /// The host deletes the copy, but its answer is lost.
    DoneWithoutReport,
    /// The request never arrives.
    Lost,
    /// The request arrives after the next listing.
    Late,
    /// The request was not sent.
    NotAsked,
}

fn host(index: u8) -> HostAddr {
    format!("10.0.0.{}:80", index + 1).parse().unwrap()
}

fn traits() -> impl Strategy<Value = FileTraits> {
    let mostly = prop::bool::weighted(0.85);
    let rarely = || prop::bool::weighted(0.12);
    let demand = (0..30_u32, 0..15_u32);
    (mostly, prop::bool::weighted(0.85), rarely(), rarely(), rarely(), demand, rarely()).prop_map(
        |(graded, has_master, ignored, pinned, hot, (requests, longer), is_young)| FileTraits {
            graded,
            has_master,
            ignored,
            pinned,
            hot,
            requests,
            longer,
            is_young,
        },
    )
}

fn drawn() -> impl Strategy<Value = RemoverHost> {
    let status = prop_oneof![
        6 => Just(CopyHolderStatus::Serves),
        2 => Just(CopyHolderStatus::Leaves),
        1 => Just(CopyHolderStatus::Apart),
    ];
    let files = prop::collection::btree_set(0..FILES, 0..9);
    (status, any::<bool>(), files, 0..40_u64)
        .prop_map(|(status, old, files, foreign)| RemoverHost { status, old, files, foreign })
}

fn step() -> impl Strategy<Value = RemoverStep> {
    let deletion = prop_oneof![
        6 => Just(Deletion::Done),
        1 => Just(Deletion::DoneWithoutReport),
        1 => Just(Deletion::Lost),
        1 => Just(Deletion::Late),
        1 => Just(Deletion::NotAsked),
    ];
    prop_oneof![
        1 => (0..HOSTS).prop_map(RemoverStep::Down),
        2 => (0..HOSTS).prop_map(RemoverStep::Up),
        2 => (0..HOSTS, 0..FILES).prop_map(|(host, file)| RemoverStep::Copied(host, file)),
        1 => (0..HOSTS, 0..FILES).prop_map(|(host, file)| RemoverStep::Lost(host, file)),
        3 => (0..HOSTS).prop_map(RemoverStep::Listed),
        2 => (0..FILES, 5..60_u64, 0..9_u32, 0..3_u64)
            .prop_map(|(file, size, hits, age)| RemoverStep::Wanted(file, size, hits, age)),
        6 => prop::collection::vec(deletion, 1..6).prop_map(RemoverStep::Round),
        1 => (1..30_u64).prop_map(RemoverStep::Wait),
        1 => (1..900_u64).prop_map(RemoverStep::SetBack),
    ]
}

/// The true state of the yard, and the Remover's view of it.
struct RemoverWorld {
    names: NameTable,
    ids: Vec<FileId>,
    traits: Vec<FileTraits>,
    hosts: BTreeMap<HostAddr, (RemoverHost, bool)>,
    policy: RemoverPolicy,
    book: RemovalBook,
    now: Millis,
    /// Deletions in transit.
    late: Vec<(HostAddr, u32)>,
    /// Files that were removed because a disk was too full: only these may have no copy left.
    relieved: BTreeSet<u32>,
}

impl RemoverWorld {
    fn new(traits: Vec<FileTraits>, hosts: Vec<RemoverHost>) -> Self {
        let names = NameTable::new();
        let ids: Vec<FileId> = (0..FILES)
            .map(|file| {
                let ads = if traits[file as usize].ignored { "AD-" } else { "" };
                names.intern(&FileName::new(format!("{ads}f{file:02}.mpg")).unwrap())
            })
            .collect();
        let settings = RemoverSettings {
            ignore_prefixes: vec![b"AD-".to_vec()],
            storage_limit_percent: 80,
            low_water_percent: 60,
            doubt: Duration::from_secs(600),
            old_host_quiet: Duration::ZERO,
            make_room_hits: MUCH_HOTTER,
            make_room_percent: SHARE,
            exchange: ExchangeRules {
                daily_budget: DailyBudget::Bytes(BUDGET),
                ..RemoverSettings::default().exchange
            },
            ..RemoverSettings::default()
        };
        let mut policy = RemoverPolicy::new(settings);
        let graded = ids.iter().zip(&traits).filter(|(_, traits)| traits.graded);
        let ranked = graded.map(|(file, _)| RankedFile {
            file: *file,
            size: Some(SIZE),
            listed_on: Vec::new(),
        });
        let ranking = Ranking::from_files(ranked);
        let mut demand = ByFile::new(FileDemand::default());
        for (file, traits) in ids.iter().zip(&traits).filter(|(_, traits)| traits.graded) {
            let rate = RequestRate::of(f64::from(traits.requests));
            let kept_rate = RequestRate::of(f64::from(traits.requests + traits.longer));
            demand.set(*file, FileDemand { rate, kept_rate });
        }
        let observed = RemoverSettings::default().exchange.min_stay;
        let order = PopularityOrder {
            files: ranking.files().into(),
            demand,
            known_hours: ByFile::new(KnownHours::ALWAYS),
            mean_size: 1.0,
            half_life_days: 7.0,
            requests_a_day: 100.0,
            observed,
        };
        policy.set_ranking(Arc::new(ranking.with_demand(&Arc::new(order), true)));
        let masters = ids.iter().zip(&traits).filter(|(_, traits)| traits.has_master);
        let files = masters.map(|(file, _)| file.0).collect();
        policy.set_masters(Arc::new(Masters { files, ..Masters::default() }));
        let hot = ids.iter().zip(&traits).filter(|(_, traits)| traits.hot);
        policy.set_rising(&RisingHits::new(hot.map(|(file, _)| (*file, 9)), &names));
        let yard: Vec<_> =
            (0..HOSTS).zip(&hosts).map(|(index, drawn)| (host(index), drawn.status)).collect();
        let mut arrivals = RecentArrivals::default();
        for (file, _) in ids.iter().zip(&traits).filter(|(_, traits)| traits.is_young) {
            arrivals.min_stay.extend((0..HOSTS).map(|index| (host(index), *file)));
        }
        policy.set_hosts(yard, arrivals);
        let mut book = RemovalBook::new(names.clone());
        for (file, traits) in ids.iter().zip(&traits) {
            if traits.pinned {
                let event =
                    RemovalEvent::Pinned { name: names.name(*file), asked_by: "me".to_owned() };
                book.apply(Millis(0), &event).unwrap();
            }
        }
        let hosts = (0..HOSTS).zip(hosts).map(|(index, drawn)| (host(index), (drawn, false)));
        let mut world = RemoverWorld {
            names,
            ids,
            traits,
            hosts: hosts.collect(),
            policy,
            book,
            now: Millis(1_000_000),
            late: Vec::new(),
            relieved: BTreeSet::new(),
        };
        world.policy.become_leader(world.now);
        for index in 0..HOSTS {
            world.set_up(index, true);
        }
        world
    }

    fn set_up(&mut self, index: u8, up: bool) {
        let addr = host(index);
        self.hosts.get_mut(&addr).unwrap().1 = up;
        let (from, to) = (Health::Unknown, if up { Health::Up } else { Health::Down });
        self.policy.health_changed(&HealthChanged { host: addr, from, to, at: self.now });
        if up {
            self.list(addr);
        }
    }

    fn used(drawn: &RemoverHost) -> u64 {
        (drawn.files.len() as u64 * SIZE + drawn.foreign).min(CAPACITY)
    }

    /// The host reports its files if it answers.
    fn list(&mut self, addr: HostAddr) {
        self.now = self.now.after(Duration::from_millis(10));
        let (drawn, up) = &self.hosts[&addr];
        if !up || drawn.status == CopyHolderStatus::Apart {
            return;
        }
        let files = drawn.files.iter().map(|file| self.ids[*file as usize].0).collect();
        let used = RemoverWorld::used(drawn);
        let disk = DiskFigures { used, avail: CAPACITY - used, ..DiskFigures::default() };
        let data_addr = addr.socket();
        let ours = HostKind::Reelyard { data_addr, fetches_from_old: false, data_tls: false };
        let at = self.now;
        self.policy.observe(&HostObserved {
            host: addr,
            kind: if drawn.old { HostKind::Cfw } else { ours },
            inventory: Some(Arc::new(Inventory { files, unreadable_names: 0, at })),
            disk: Some((disk, at)),
            traffic: None,
            at,
        });
        for late in std::mem::take(&mut self.late) {
            if late.0 == addr {
                self.hosts.get_mut(&addr).unwrap().0.files.remove(&late.1);
            } else {
                self.late.push(late);
            }
        }
    }

    fn propose(&mut self) -> RemovalProposal {
        let in_flight = InFlight::default();
        let RemoverWorld { policy, book, now, .. } = self;
        policy.propose(RemoverPieceContext { book, in_flight: &in_flight, now: *now })
    }

    fn apply(&mut self, event: RemovalEvent) {
        self.now = self.now.after(Duration::from_millis(1));
        let result = self.book.apply(self.now, &event);
        assert_eq!(result, Ok(RemovalOutcome::Applied), "{event:?}");
        let request = RequestId(0);
        let applied = AppliedEvent { request, at: self.now, event, result };
        self.policy.on_applied(&applied, &self.book, true, applied.at);
    }

    /// Records the known results.
    fn clear(&mut self) {
        let in_flight = InFlight::default();
        let context =
            RemoverPieceContext { book: &self.book, in_flight: &in_flight, now: self.now };
        for event in self.policy.cleared(context) {
            self.apply(event);
        }
    }

    fn holders(&self, file: u32) -> Vec<HostAddr> {
        let holds =
            |(_, (drawn, _)): &(&HostAddr, &(RemoverHost, bool))| drawn.files.contains(&file);
        self.hosts.iter().filter(holds).map(|(addr, _)| *addr).collect()
    }

    fn index(&self, name: &FileName) -> u32 {
        let file = self.names.find(name.as_bytes()).unwrap();
        u32::try_from(self.ids.iter().position(|id| *id == file).unwrap()).unwrap()
    }

    /// Runs a complete round. Returns the number of planned deletions.
    fn round(&mut self, deletions: &[Deletion]) -> usize {
        self.clear();
        let proposal = self.propose();
        let again = self.propose();
        assert_eq!(proposal.removals, again.removals, "nothing changed in between");
        let asked_at = self.now;
        for addr in proposal.to_confirm() {
            self.list(addr);
        }
        let masters = proposal.masters().into_iter().collect();
        let seen = Confirmation { asked_at, masters, absent: Default::default() };
        let in_flight = InFlight::default();
        let context =
            RemoverPieceContext { book: &self.book, in_flight: &in_flight, now: self.now };
        let (events, _) = self.policy.confirm(proposal.removals, &seen, context);
        self.check_rooms(&events);
        let mut ways = deletions.iter().cycle();
        for event in &events {
            self.apply(event.clone());
        }
        for event in &events {
            let RemovalEvent::Intended(intent) = event else { unreachable!() };
            self.check(intent);
            self.delete(intent, *ways.next().unwrap());
        }
        events.len()
    }

    /// The planner has no space for a file, or no longer wants it.
    fn want(&mut self, file: u32, size: u64, hits: u32, age: u64) {
        let wish = WantsRoom {
            file: self.ids[file as usize],
            size,
            hits,
            grade: 1,
            old_hosts_carry: true,
        };
        let disk_read_at = self.now.before(Duration::from_secs(age));
        let room = |drawn: &RemoverHost| {
            let bytes = 80_u64.saturating_sub(RemoverWorld::used(drawn));
            CountedRoom { bytes, disk_read_at }
        };
        let rooms = self.hosts.iter().map(|(addr, (drawn, _))| (*addr, room(drawn))).collect();
        let files = if size > 0 { vec![wish] } else { Vec::new() };
        self.policy.set_room_wanted(RoomWanted { files, rooms });
    }

    /// Checks the deletions for one file. They are on one host, and at most the allowed part. The file is much
    /// hotter, or has much more demand than all of them. Exchanges respect their budget.
    fn check_rooms(&self, events: &[RemovalEvent]) {
        let mut goes: BTreeMap<&FileName, BTreeMap<HostAddr, u64>> = BTreeMap::new();
        let (mut gained, mut lost, mut size, mut freed) = (0, 0, 0, 0);
        let demand = |name: &FileName| &self.traits[self.index(name) as usize];
        for event in events {
            let RemovalEvent::Intended(intent) = event else { unreachable!() };
            match &intent.reason {
                Reason::MakesRoom { better, better_hits, .. } if *better_hits >= MUCH_HOTTER => {
                    assert!(intent.keeper.is_none());
                    *goes.entry(better).or_default().entry(intent.host).or_default() += SIZE;
                }
                // A file with fewer hits is exchanged, but needs no budget.
                Reason::MakesRoom { better, better_size, .. }
                | Reason::Exchanged { better, better_size, .. } => {
                    let file = demand(&intent.name);
                    assert!(intent.keeper.is_none() && !file.is_young, "{intent:?}");
                    *goes.entry(better).or_default().entry(intent.host).or_default() += SIZE;
                    // The copies of a file share its demand.
                    let copies = |name| {
                        let file = self.ids[self.index(name) as usize];
                        let holders = self.policy.holders().askable();
                        let serving = holders.filter(|(_, holder)| {
                            holder.status == CopyHolderStatus::Serves && holder.lists(file)
                        });
                        serving.count() as u64
                    };
                    gained = u64::from(demand(better).requests) * 1000 / (copies(better) + 1);
                    size = *better_size;
                    let kept = if file.graded { file.requests + file.longer } else { 0 };
                    lost += u64::from(kept) * 1000 / copies(&intent.name).max(1);
                    freed += SIZE;
                }
                _ => {}
            }
        }
        // The demand is compared for each byte. Bytes freed beyond the size of the file serve other files.
        let lost = lost * size.min(freed) / freed.max(1);
        // Rates are rounded.
        assert!(gained + gained / 500 + 10 >= lost * 3 / 2, "{gained} instead of {lost}");
        let exchanged = self.book.history().newest_first().map(|(_, record)| record);
        let exchanged = exchanged.filter(|record| {
            record.ending.is_gone() && matches!(record.reason, Reason::Exchanged { .. })
        });
        assert!(exchanged.count() as u64 * SIZE <= BUDGET);
        for (better, hosts) in goes {
            assert!(hosts.len() == 1 && hosts.values().all(|bytes| *bytes <= 20), "{better}");
        }
    }

    fn check(&mut self, intent: &Intent) {
        let file = self.index(&intent.name);
        let traits = &self.traits[file as usize];
        assert!(traits.has_master && !traits.ignored && !traits.pinned, "{intent:?}");
        assert!(self.hosts[&intent.host].0.status != CopyHolderStatus::Apart);
        match intent.keeper {
            Some(keeper) => {
                let (drawn, up) = &self.hosts[&keeper];
                assert!(*up && drawn.status == CopyHolderStatus::Serves, "{intent:?}");
                assert!(
                    drawn.files.contains(&file),
                    "the copy that stays is not there: {intent:?}"
                );
                let late = self.late.contains(&(keeper, file));
                assert!(!late, "the copy that stays is about to go: {intent:?}");
            }
            None => {
                assert!(!traits.hot, "{intent:?}");
                self.relieved.insert(file);
            }
        }
    }

    fn delete(&mut self, intent: &Intent, way: Deletion) {
        let (addr, file) = (intent.host, self.index(&intent.name));
        let copy = (addr, self.ids[file as usize]);
        self.policy.asking(copy);
        let (drawn, up) = self.hosts.get_mut(&addr).unwrap();
        let lost = Err(AskFailure::TimedOut(Duration::from_secs(5)));
        let answer = match way {
            Deletion::NotAsked => Err(AskFailure::Busy),
            _ if !*up => lost,
            Deletion::Done if drawn.files.remove(&file) => Ok(Deleted::Removed),
            Deletion::Done => Ok(Deleted::Absent),
            Deletion::DoneWithoutReport => {
                drawn.files.remove(&file);
                lost
            }
            Deletion::Lost => lost,
            Deletion::Late => {
                self.late.push((addr, file));
                lost
            }
        };
        if let Some(event) = self.policy.answered(copy, &intent.name, &answer, self.now) {
            self.apply(event);
        }
    }

    fn happens(&mut self, step: RemoverStep) {
        match step {
            RemoverStep::Down(index) => self.set_up(index, false),
            RemoverStep::Up(index) => self.set_up(index, true),
            RemoverStep::Copied(index, file) => {
                self.hosts.get_mut(&host(index)).unwrap().0.files.insert(file);
            }
            RemoverStep::Lost(index, file) => {
                self.hosts.get_mut(&host(index)).unwrap().0.files.remove(&file);
            }
            RemoverStep::Listed(index) => self.list(host(index)),
            RemoverStep::Wanted(file, size, hits, age) => self.want(file, size, hits, age),
            RemoverStep::Round(deletions) => {
                // A copy whose deletion is in transit does not count.
                let is_sure = |world: &RemoverWorld, file| {
                    let mut holders = world.holders(file).into_iter();
                    holders.any(|addr| !world.late.contains(&(addr, file)))
                };
                let before: Vec<bool> = (0..FILES).map(|file| is_sure(self, file)).collect();
                self.round(&deletions);
                for file in 0..FILES {
                    let had = before[file as usize] && self.traits[file as usize].has_master;
                    let has = !self.holders(file).is_empty();
                    assert!(!had || has || self.relieved.contains(&file), "file {file} is gone");
                }
            }
            RemoverStep::Wait(seconds) => self.now = self.now.after(Duration::from_secs(seconds)),
            RemoverStep::SetBack(seconds) => {
                self.now = self.now.before(Duration::from_secs(seconds));
            }
        }
    }

    /// Runs rounds without faults until nothing is left to remove. Returns their number.
    fn run_to_completion(&mut self) -> usize {
        for rounds in 0..50 {
            self.now = self.now.after(Duration::from_secs(3600));
            for index in 0..HOSTS {
                self.list(host(index));
            }
            let goes = self.round(&[Deletion::Done]);
            let in_flight = InFlight::default();
            let context =
                RemoverPieceContext { book: &self.book, in_flight: &in_flight, now: self.now };
            let asks = !self.policy.to_refresh(context).is_empty();
            let doubts = self.book.doubts().values().any(|until| *until > self.now);
            if goes == 0 && self.book.open().is_empty() && !doubts && !asks {
                return rounds;
            }
        }
        panic!("it never comes to rest");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_copy_is_lost_and_all_work_ends(
        traits in prop::collection::vec(traits(), FILES as usize),
        hosts in prop::collection::vec(drawn(), HOSTS as usize),
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut world = RemoverWorld::new(traits, hosts);
        for step in steps {
            world.happens(step);
        }
        world.want(0, 0, 0, 0);
        for index in 0..HOSTS {
            world.set_up(index, true);
        }
        world.run_to_completion();
        for file in 0..FILES {
            let traits = world.traits[file as usize].clone();
            let holders = world.holders(file);
            let with = |status| {
                let is = |addr: &&HostAddr| world.hosts[*addr].0.status == status;
                holders.iter().filter(is).count()
            };
            if traits.has_master && !traits.ignored && !traits.pinned {
                prop_assert!(with(CopyHolderStatus::Serves) <= 1, "too many copies of {file}");
                let served = with(CopyHolderStatus::Serves) == 1;
                prop_assert!(!served || with(CopyHolderStatus::Leaves) == 0, "{file} did not leave");
            }
        }
        for (addr, (drawn, _)) in &world.hosts {
            let movable = drawn.files.iter().any(|file| {
                let traits = &world.traits[*file as usize];
                traits.has_master && !traits.ignored && !traits.pinned && !traits.hot
            });
            let over = RemoverWorld::used(drawn) > 80;
            let relieved = drawn.status == CopyHolderStatus::Serves;
            prop_assert!(!(over && movable && relieved), "{addr} stays over its limit");
        }
    }
}
