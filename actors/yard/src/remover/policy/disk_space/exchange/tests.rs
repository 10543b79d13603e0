use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::host::HostKind;
use reelyard_core::names::ByFile;
use reelyard_core::settings::SettingValue;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_replication::{AppliedEvent, InFlight, Piece};

use super::*;
use crate::catalog::MasterLook;
use crate::catalog::popularity::popularity_order::{FileDemand, KnownHours};
use crate::catalog::ranking::{Ranking, SizedFile};
use crate::catalog::sources::masters::Masters;
use crate::cfw_worker::{HostObserved, Inventory};
use crate::heartbeat::{Health, HealthChanged};
use crate::remover::policy::arrivals::RecentArrivals;
use crate::remover::samples::{host, name};
use crate::remover::{
    Confirmation, CopyHolderStatus, Ending, LookedSize, RemovalBook, RemovalEvent,
    RemoverPieceContext, RemoverPolicy, RemoverSettings, RoomWanted,
};
use crate::room::CountedRoom;
use crate::settings::copies::CopiesWanted;
use crate::settings::popularity::DailyBudget;

const NOW: Millis = Millis(10_000_000);

/// Hosts of 1000 bytes with a limit of 90 % and a low-water mark of 85 %, full to the mark.
struct ExchangeFixture {
    policy: RemoverPolicy,
    book: RemovalBook,
    files: Vec<FileId>,
    arrivals: RecentArrivals,
    hosts: u8,
    rows: Vec<Row>,
    observed: Duration,
    /// Free bytes below the limit of each host.
    room: u64,
    /// When the disks were read from which that was counted.
    counted_at: Millis,
}

/// A file: name, size, host (0 for none), requests a day.
type Row = (&'static str, u64, u8, f64);

/// A yard whose log is known for as long as exchanges need.
fn yard(rows: &[Row], hosts: u8, settings: RemoverSettings) -> ExchangeFixture {
    let observed = settings.exchange.min_stay;
    yard_observed_for(observed, rows, hosts, settings)
}

fn yard_observed_for(
    observed: Duration,
    rows: &[Row],
    hosts: u8,
    settings: RemoverSettings,
) -> ExchangeFixture {
    let (mut policy, book) = (RemoverPolicy::new(settings), RemovalBook::default());
    let files: Vec<FileId> = rows.iter().map(|(text, ..)| book.file(&name(text))).collect();
    let all = files.iter().map(|file| file.0).collect();
    policy.set_masters(Arc::new(Masters { files: all, ..Masters::default() }));
    let arrivals = RecentArrivals::default();
    let (rows, room, counted_at) = (rows.to_vec(), 50, NOW);
    let mut yard =
        ExchangeFixture { policy, book, files, arrivals, hosts, rows, observed, room, counted_at };
    yard.set_demand(true, |_, a_day| a_day);
    yard.set_hosts();
    for last in 1..=hosts {
        let (host, at) = (host(last), NOW);
        let (from, to) = (Health::Unknown, Health::Up);
        yard.policy.health_changed(&HealthChanged { host, from, to, at });
        let held = yard.files.iter().zip(&yard.rows).filter(|(_, row)| row.2 == last);
        let files = held.map(|(file, _)| file.0).collect();
        let disk = DiskFigures { used: 850, avail: 150, total: 1000, ..DiskFigures::default() };
        let inventory = Some(Arc::new(Inventory { files, unreadable_names: 0, at }));
        let kind = HostKind::Reelyard {
            data_addr: "10.0.0.1:9".parse().unwrap(),
            fetches_from_old: false,
            data_tls: false,
        };
        let disk = Some((disk, at));
        yard.policy.observe(&HostObserved { host, kind, inventory, disk, traffic: None, at });
    }
    yard
}

/// No limit by day or for one file.
fn settings() -> RemoverSettings {
    let mut settings = RemoverSettings { make_room_percent: 50, ..RemoverSettings::default() };
    settings.exchange.daily_budget = DailyBudget::Bytes(1_000_000);
    settings
}

impl ExchangeFixture {
    fn set_hosts(&mut self) {
        let hosts = (1..=self.hosts).map(|last| (host(last), CopyHolderStatus::Serves));
        self.policy.set_hosts(hosts, self.arrivals.clone());
    }

    /// Sets the demand of the rows. `kept` gives the rate with the longer memory, by the index of the file.
    fn set_demand(&mut self, in_force: bool, kept: impl Fn(usize, f64) -> f64) {
        let mut demand = ByFile::new(FileDemand::default());
        let files = self.files.iter().zip(&self.rows);
        for (index, (file, (.., a_day))) in files.clone().enumerate() {
            let (rate, kept_rate) = (RequestRate::of(*a_day), RequestRate::of(kept(index, *a_day)));
            demand.set(*file, FileDemand { rate, kept_rate });
        }
        let sized =
            files.map(|(file, (_, size, ..))| SizedFile { file: *file, size: *size, copies: 2 });
        let (files, observed) = (self.files.clone().into(), self.observed);
        let order = PopularityOrder {
            files,
            demand,
            known_hours: ByFile::new(KnownHours::ALWAYS),
            mean_size: 100.0,
            half_life_days: 7.0,
            requests_a_day: 100.0,
            observed,
        };
        let ranking = Ranking::from_sized_files(sized).with_demand(&Arc::new(order), in_force);
        self.policy.set_ranking(Arc::new(ranking));
    }

    /// The copy at `index` of the first host was removed for this reason.
    fn was_removed(&mut self, index: usize, size: u64, reason: Reason, at: Millis) {
        let name = self.book.names().name(self.files[index]);
        let asked_by = "test".to_owned();
        let host = host(1);
        let intent =
            Intent { host, name: name.clone(), size: Some(size), reason, keeper: None, asked_by };
        self.book.apply(at, &RemovalEvent::Intended(intent)).unwrap();
        let ended = RemovalEvent::Ended { host, name, ending: Ending::Removed };
        self.book.apply(at, &ended).unwrap();
    }

    /// The host `last` has the file at `index`, too.
    fn holds_also(&mut self, last: u8, index: usize) {
        let (host, at) = (host(last), NOW);
        let holder = self.policy.holders().get(host).unwrap();
        let (kind, disk) = (holder.kind, holder.disk);
        let mut files = holder.files().unwrap().clone();
        files.insert(self.files[index].0);
        let inventory = Some(Arc::new(Inventory { files, unreadable_names: 0, at }));
        self.policy.observe(&HostObserved { host, kind, inventory, disk, traffic: None, at });
    }

    /// Proposes exchanges for these files, given by index and size.
    fn propose(&mut self, wishes: &[(usize, u64)]) -> RemovalProposal {
        self.propose_with_hits(0, wishes)
    }

    /// The same for files with these rising hits.
    fn propose_with_hits(&mut self, hits: u32, wishes: &[(usize, u64)]) -> RemovalProposal {
        let files = wishes.iter().map(|(index, size)| WantsRoom {
            file: self.files[*index],
            size: *size,
            hits,
            grade: 1,
            old_hosts_carry: true,
        });
        let room = CountedRoom { bytes: self.room, disk_read_at: self.counted_at };
        let rooms = (1..=self.hosts).map(|last| (host(last), room)).collect();
        self.policy.set_room_wanted(RoomWanted { files: files.collect(), rooms });
        let in_flight = InFlight::default();
        let context = RemoverPieceContext { book: &self.book, in_flight: &in_flight, now: NOW };
        self.policy.propose(context)
    }

    fn removed(&self, proposal: &RemovalProposal) -> Vec<String> {
        let names = self.book.names();
        proposal.removals.iter().map(|removal| names.name(removal.file).to_string()).collect()
    }
}

#[test]
fn a_wanted_file_replaces_the_copies_with_the_least_demand() {
    let rows = [("new", 100, 0, 9.0), ("a", 60, 1, 3.0), ("b", 60, 1, 2.0), ("c", 400, 1, 90.0)];
    let mut yard = yard(&rows, 1, settings());
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b", "a"]);
    let reason = &proposal.removals[0].reason;
    let better = |text: &str| reason.better().is_some_and(|(name, _)| name.to_string() == text);
    assert!(better("new") && reason.words().contains("exchanged for new"), "{}", reason.words());
    let verdict = &proposal.rooms[0].verdict;
    assert!(matches!(verdict, RoomVerdict::Exchanged { goes: 120, .. }), "{verdict:?}");
}

#[test]
fn a_file_with_little_more_demand_replaces_nothing() {
    let rows = [("new", 100, 0, 4.4), ("a", 100, 1, 3.0)];
    let mut yard = yard(&rows, 1, settings());
    let proposal = yard.propose(&[(0, 100)]);
    assert!(proposal.removals.is_empty());
    let needed = match proposal.rooms[0].verdict {
        RoomVerdict::TooLittleDemand { needed, .. } => needed.unwrap(),
        ref other => panic!("{other:?}"),
    };
    assert!((4_490..4_510).contains(&needed), "{needed}");
}

#[test]
fn the_host_that_loses_the_least_makes_the_room() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 3.0), ("b", 100, 2, 1.0)];
    let mut yard = yard(&rows, 2, settings());
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b"]);
}

#[test]
fn each_host_makes_room_for_one_file_in_a_round() {
    let rows = [
        ("new", 50, 0, 9.0),
        ("newer", 50, 0, 9.0),
        ("newest", 50, 0, 9.0),
        ("a", 50, 1, 1.0),
        ("b", 50, 1, 1.0),
        ("c", 50, 2, 1.0),
    ];
    let mut yard = yard(&rows, 2, settings());
    let proposal = yard.propose(&[(0, 50), (1, 50), (2, 50)]);
    assert_eq!(proposal.removals.len(), 2);
    assert_eq!(proposal.rooms[2].verdict, RoomVerdict::AfterOthers);
}

#[test]
fn files_for_which_no_room_is_possible_do_not_stop_others() {
    // Larger than the share of a disk; larger than the budget; none of the copies has a size that fits.
    let cases: [(u64, u64, u64); 3] =
        [(501, 1_000_000, 100), (400, 300, 100), (500, 1_000_000, 300)];
    for (size, budget, other) in cases {
        let mut rows = vec![
            ("new", 100, 0, 9.0),
            ("a", 100, 1, 1.0),
            ("b", other, 1, 1.5),
            ("c", 300, 1, 2.0),
        ];
        let names: Vec<String> = (0..100).map(|number| format!("large-{number}")).collect();
        let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
        rows.extend(names.iter().map(|name| (*name, size, 0, 900.0)));
        let mut settings = settings();
        settings.exchange.daily_budget = DailyBudget::Bytes(budget);
        let mut yard = yard(&rows, 1, settings);
        if other == 300 {
            yard.arrivals.min_stay.insert((host(1), yard.files[1]));
            yard.set_hosts();
        }
        let large = (4..104).map(|index| (index, size));
        let wishes: Vec<(usize, u64)> = large.chain([(0, 100)]).collect();
        let proposal = yard.propose(&wishes);
        let verdict = &proposal.rooms.last().unwrap().verdict;
        assert!(matches!(verdict, RoomVerdict::Exchanged { .. }), "{size}: {:?}", proposal.rooms);
        assert_eq!(proposal.rooms.len(), 17, "the rest is not shown");
    }
}

#[test]
fn a_copy_larger_than_the_share_does_not_stop_its_host() {
    let rows = [("new", 100, 0, 9.0), ("huge", 600, 1, 0.0), ("a", 100, 1, 1.0)];
    let mut yard = yard(&rows, 1, settings());
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["a"]);
}

#[test]
fn only_sizes_that_an_exchange_may_need_are_looked_up() {
    let names: Vec<String> = (0..100).map(|number| format!("unsized-{number}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let mut rows: Vec<Row> = names.iter().map(|name| (*name, 0, 1, 1.0)).collect();
    rows.push(("new", 150, 0, 9.0));
    let mut yard = yard(&rows, 1, settings());
    // Each counts as the mean of 100 bytes.
    assert_eq!(yard.propose(&[(100, 150)]).to_size.len(), 2);
}

#[test]
fn a_copy_of_unknown_size_is_looked_up_before_better_ones_go() {
    // A size of 0 in hitcount.history is no size.
    let rows = [("new", 100, 0, 9.0), ("unsized", 0, 1, 1.0), ("a", 100, 1, 2.0)];
    for (size, expected) in [(150, "unsized"), (40, "a")] {
        let mut yard = yard(&rows, 1, settings());
        let proposal = yard.propose(&[(0, 100)]);
        assert!(proposal.removals.is_empty());
        assert_eq!(proposal.rooms[0].verdict, RoomVerdict::SizesUnknown);
        assert_eq!(proposal.to_size, [yard.files[1]].into());
        yard.policy.learn_sizes(vec![(yard.files[1], LookedSize::Bytes(size))]);
        let proposal = yard.propose(&[(0, 100)]);
        assert_eq!(yard.removed(&proposal)[0], expected, "the least demand for each byte");
    }
}

#[test]
fn copies_are_sorted_again_once_their_sizes_are_known() {
    let rows = [
        ("new", 100, 0, 9.0),
        ("small", 0, 1, 1.0),
        ("smaller", 0, 1, 1.2),
        ("worst", 100, 1, 1.5),
    ];
    let mut yard = yard(&rows, 1, settings());
    let mut asked = Vec::new();
    loop {
        let proposal = yard.propose(&[(0, 100)]);
        if proposal.to_size.is_empty() {
            assert_eq!(yard.removed(&proposal), ["worst"]);
            break;
        }
        assert!(proposal.removals.is_empty());
        asked.extend(proposal.to_size.iter().copied());
        let sizes = proposal.to_size.iter().map(|file| (*file, LookedSize::Bytes(50)));
        yard.policy.learn_sizes(sizes.collect());
    }
    assert_eq!(asked, [yard.files[1], yard.files[2]]);
}

#[test]
fn a_copy_whose_size_cannot_be_known_stays_and_stops_nothing() {
    let rows = [("new", 100, 0, 9.0), ("unsized", 0, 1, 1.0), ("a", 100, 1, 2.0)];
    let mut yard = yard(&rows, 1, settings());
    yard.policy.learn_sizes(vec![(yard.files[1], LookedSize::NoMaster)]);
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["a"]);
    assert!(proposal.to_size.is_empty(), "it was looked up");
}

#[test]
fn the_budget_of_a_day_is_not_exceeded() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let mut settings = settings();
    settings.exchange.daily_budget = DailyBudget::Bytes(99);
    let mut yard = yard(&rows, 1, settings);
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(proposal.rooms[0].verdict, RoomVerdict::BudgetSpent { goes: 100, left: 99 });
    assert!(proposal.removals.is_empty());
}

#[test]
fn only_exchanges_of_the_last_day_use_the_budget() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0), ("x", 30, 1, 90.0), ("y", 7, 1, 90.0)];
    let mut settings = settings();
    settings.exchange.daily_budget = DailyBudget::Bytes(1000);
    let mut yard = yard(&rows, 1, settings);
    let exchanged = |size: u64| Reason::Exchanged {
        better: name("new"),
        better_size: size,
        better_demand: 9000,
        demand: 1000,
    };
    let makes_room = Reason::MakesRoom {
        better: name("new"),
        better_size: 7,
        better_grade: None,
        better_hits: 4,
        grade: None,
    };
    let tick = Duration::from_millis(1);
    yard.was_removed(2, 30, exchanged(30), NOW.before(BUDGET_PERIOD - tick));
    yard.was_removed(2, 30, exchanged(30), NOW.before(BUDGET_PERIOD));
    yard.was_removed(3, 7, makes_room, NOW);
    // The clock was two days back for one removal, and years ahead for another.
    yard.was_removed(2, 30, exchanged(30), NOW.before(2 * BUDGET_PERIOD));
    yard.was_removed(2, 30, exchanged(30), NOW.after(700 * BUDGET_PERIOD));
    assert_eq!(yard.propose(&[]).exchange_budget.unwrap().left, 970);
}

#[test]
fn the_longer_memory_protects_a_copy() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0), ("b", 100, 1, 2.0)];
    let mut yard = yard(&rows, 1, settings());
    assert_eq!(yard.propose(&[(0, 100)]).removals.len(), 1);
    yard.set_demand(true, |index, a_day| if index == 1 { 8.0 } else { a_day });
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b"]);
    yard.set_demand(true, |_, a_day| a_day.max(8.0));
    let proposal = yard.propose(&[(0, 100)]);
    assert!(proposal.removals.is_empty(), "{:?}", yard.removed(&proposal));
    let verdict = &proposal.rooms[0].verdict;
    assert!(
        matches!(verdict, RoomVerdict::TooLittleDemand { needed: Some(12_000..=12_010), .. }),
        "{verdict:?}"
    );
}

#[test]
fn shadow_shows_the_same_verdicts_and_removes_nothing() {
    let rows = [("new", 100, 0, 9.0), ("late", 100, 0, 1.2), ("a", 60, 1, 3.0), ("b", 60, 1, 2.0)];
    let mut yard = yard(&rows, 1, settings());
    let on = yard.propose(&[(0, 100), (1, 100)]);
    assert_eq!(yard.removed(&on), ["b", "a"]);
    yard.set_demand(false, |_, a_day| a_day);
    let shadow = yard.propose(&[(0, 100), (1, 100)]);
    assert!(shadow.removals.is_empty() && shadow.under_way.going.is_empty());
    let shown = |rooms: &[RoomSought]| -> Vec<RoomVerdict> {
        rooms.iter().map(|room| room.clone().only_shown().verdict).collect()
    };
    assert_ne!(on.rooms, shadow.rooms, "the words differ");
    assert_eq!(shown(&on.rooms), shown(&shadow.rooms));
    assert_eq!(
        shadow.rooms[0].verdict.words(),
        "it would replace copies on 10.0.0.1:80: b, a (120 bytes). Expected requests a day: 9.00 \
         instead of 4.17"
    );
    let left = [&on, &shadow].map(|proposal| proposal.exchange_budget.unwrap().left);
    assert_eq!(left, [1_000_000 - 120, 1_000_000], "what is only shown uses no budget");
}

#[test]
fn a_file_that_no_round_examined_is_judged_alone() {
    let rows = [("new", 100, 0, 9.0), ("late", 100, 0, 5.0), ("a", 100, 1, 1.0)];
    let mut yard = yard(&rows, 1, settings());
    yard.propose(&[(0, 100)]);
    let in_flight = InFlight::default();
    let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
    let verdict = yard.policy.exchange_outlook(yard.files[1], 100, context).unwrap();
    let RoomVerdict::Exchanged { is_only_shown: true, files, .. } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(files, [name("a").to_text()]);
}

#[test]
fn an_exchange_that_is_no_longer_in_force_is_dropped() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let mut yard = yard(&rows, 1, settings());
    let proposal = yard.propose(&[(0, 100)]);
    let masters = proposal.removals.iter().map(|removal| removal.file).collect();
    let seen = Confirmation { asked_at: NOW, masters, ..Confirmation::default() };
    for (in_force, expected) in [(true, 1), (false, 0)] {
        yard.set_demand(in_force, |_, a_day| a_day);
        let in_flight = InFlight::default();
        let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
        let (events, _) = yard.policy.confirm(proposal.removals.clone(), &seen, context);
        assert_eq!(events.len(), expected);
    }
}

#[test]
fn a_copy_stays_for_its_minimum_time() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0), ("b", 100, 1, 2.0)];
    let mut yard = yard(&rows, 1, settings());
    yard.arrivals.min_stay.insert((host(1), yard.files[1]));
    yard.set_hosts();
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b"]);
    assert_eq!(proposal.spared.get(&Spared::MinStay), Some(&1));
}

#[test]
fn pinned_ignored_and_hot_copies_are_never_exchanged() {
    use crate::catalog::load_balancer::rising::RisingHits;
    let rows =
        [("new", 100, 0, 9.0), ("M64adv", 100, 1, 0.0), ("hot", 100, 1, 0.0), ("pin", 100, 1, 0.0)];
    let mut settings = settings();
    settings.ignore_prefixes = vec![b"M64".to_vec()];
    let mut yard = yard(&rows, 1, settings);
    let hot = RisingHits::new([(yard.files[2], 5)], yard.book.names());
    yard.policy.set_rising(&hot);
    let pin = RemovalEvent::Pinned { name: name("pin"), asked_by: "test".to_owned() };
    yard.book.apply(NOW, &pin).unwrap();
    let proposal = yard.propose(&[(0, 100)]);
    assert!(proposal.removals.is_empty(), "{:?}", yard.removed(&proposal));
}

#[test]
fn without_the_order_of_demand_nothing_is_exchanged() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let mut yard = yard(&rows, 1, settings());
    let plain = Ranking::from_files_wanting(yard.files.iter().map(|file| (*file, 1)));
    yard.policy.set_ranking(Arc::new(plain));
    let proposal = yard.propose(&[(0, 100)]);
    assert!(proposal.removals.is_empty() && proposal.rooms.is_empty());
}

#[test]
fn a_budget_in_percent_is_of_all_disks() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let mut settings = settings();
    settings.exchange.daily_budget = DailyBudget::from_text("5%").unwrap();
    let mut yard = yard(&rows, 2, settings);
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["a"], "5% of 2000 bytes are 100");
}

#[test]
fn nothing_is_exchanged_before_the_log_is_known_for_a_day() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let almost = settings().exchange.min_stay - Duration::from_secs(60);
    let mut yard = yard_observed_for(almost, &rows, 1, settings());
    let proposal = yard.propose(&[(0, 100)]);
    assert!(proposal.removals.is_empty());
    let verdict = &proposal.rooms[0].verdict;
    assert_eq!(*verdict, RoomVerdict::TooShortLog { observed: 86_340, needed: 86_400 });
    assert_eq!(verdict.words(), "exchanges need 1day of event log, and 23h 59m are known");
}

#[test]
fn a_proposal_shows_what_is_left_of_the_budget() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let mut settings = settings();
    settings.exchange.daily_budget = DailyBudget::Bytes(150);
    let mut yard = yard(&rows, 1, settings);
    let nothing = yard.propose(&[]).exchange_budget.unwrap();
    assert_eq!((nothing.bytes, nothing.left), (150, 150));
    assert_eq!(yard.propose(&[(0, 100)]).exchange_budget.unwrap().left, 50);
}

#[test]
fn an_exchange_frees_no_more_than_the_size_of_the_file() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0), ("b", 100, 1, 2.0)];
    let mut yard = yard(&rows, 1, settings());
    // Hot copies use the room above the low-water mark.
    yard.room = 0;
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["a"]);
}

#[test]
fn demand_is_compared_for_each_byte() {
    let rows = [("new", 50, 0, 3.0), ("a", 200, 1, 6.0)];
    let mut yard = yard(&rows, 1, settings());
    let proposal = yard.propose(&[(0, 50)]);
    assert_eq!(yard.removed(&proposal), ["a"]);
    let verdict = &proposal.rooms[0].verdict;
    let lost = RequestRate::of(6.0).thousandths() / 4;
    assert!(
        matches!(verdict, RoomVerdict::Exchanged { goes: 200, lost: found, .. } if found.abs_diff(lost) <= 1),
        "{verdict:?}"
    );
}

#[test]
fn a_hot_file_needs_no_budget_and_replaces_the_least_demanded_copies() {
    let rows = [("hot", 100, 0, 0.0), ("a", 60, 1, 5.0), ("b", 80, 2, 1.0)];
    let mut settings = settings();
    settings.exchange.daily_budget = DailyBudget::Bytes(0);
    let mut yard = yard(&rows, 2, settings);
    let proposal = yard.propose_with_hits(9, &[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b"]);
}

#[test]
fn a_hot_file_with_few_hits_is_exchanged_without_a_budget() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let mut settings = settings();
    settings.exchange.daily_budget = DailyBudget::Bytes(0);
    let mut yard = yard(&rows, 1, settings);
    let from = yard.policy.settings().make_room_hits;
    for (hits, is_exchange) in [(from - 1, true), (from, false)] {
        let proposal = yard.propose_with_hits(hits, &[(0, 100)]);
        assert_eq!(yard.removed(&proposal), ["a"]);
        let verdicts: Vec<_> = proposal.rooms.iter().map(|room| &room.verdict).collect();
        assert_eq!(verdicts.len(), 1);
        assert_eq!(matches!(verdicts[0], RoomVerdict::Exchanged { .. }), is_exchange, "{hits}");
        let reason = &proposal.removals[0].reason;
        assert!(matches!(reason, Reason::MakesRoom { .. }), "it is exempt from the budget");
    }
}

#[test]
fn room_that_was_counted_before_a_removal_decides_nothing() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    for hits in [0, 9] {
        let mut yard = yard(&rows, 1, settings());
        yard.counted_at = Millis(NOW.0 - 1);
        let proposal = yard.propose_with_hits(hits, &[(0, 100)]);
        assert_eq!(yard.removed(&proposal), ["a"], "no copy was removed yet");
        yard.policy.lighten(host(1), Millis(NOW.0 - 1));
        let proposal = yard.propose_with_hits(hits, &[(0, 100)]);
        assert!(proposal.removals.is_empty(), "{:?}", yard.removed(&proposal));
    }
}

/// Copies were exchanged on the first host for the first file.
fn exchanged(yard: &mut ExchangeFixture, minutes_ago: i64) {
    let (better, better_size) = (name("new"), 100);
    let reason = Reason::Exchanged { better, better_size, better_demand: 9_000, demand: 1_000 };
    let gone = yard.files.len() - 1;
    yard.was_removed(gone, 100, reason, Millis(NOW.0 - 60_000 * minutes_ago));
}

fn is_down(yard: &mut ExchangeFixture, last: u8) {
    let (host, from, to, at) = (host(last), Health::Up, Health::Down, NOW);
    yard.policy.health_changed(&HealthChanged { host, from, to, at });
    yard.set_hosts();
}

#[test]
fn copies_are_exchanged_once_for_a_file_that_does_not_arrive() {
    let rows =
        [("new", 100, 0, 9.0), ("a", 100, 1, 1.0), ("b", 100, 2, 1.0), ("gone", 100, 0, 1.0)];
    let mut yard = yard(&rows, 2, settings());
    exchanged(&mut yard, 120);
    let proposal = yard.propose(&[(0, 100)]);
    assert!(proposal.removals.is_empty(), "{:?}", yard.removed(&proposal));
    let verdict = &proposal.rooms[0].verdict;
    let wait = 22 * 60 * 60;
    assert_eq!(*verdict, RoomVerdict::DidNotArrive { host: host(1), wait });
    assert!(verdict.words().ends_with("can follow in 22h"), "{}", verdict.words());
    is_down(&mut yard, 1);
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b"], "its host was lost");
}

#[test]
fn room_on_a_host_that_is_down_keeps_no_file_waiting() {
    let rows =
        [("new", 100, 0, 9.0), ("a", 100, 1, 1.0), ("b", 100, 2, 1.0), ("gone", 100, 0, 1.0)];
    let mut yard = yard(&rows, 2, settings());
    exchanged(&mut yard, 10);
    let earlier = RoomVerdict::MadeEarlier { host: host(1) };
    assert_eq!(yard.propose(&[(0, 100)]).rooms[0].verdict, earlier);
    is_down(&mut yard, 1);
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["b"]);
}

#[test]
fn a_second_copy_gains_half_of_the_demand() {
    for (holder, expected) in [(0, 1), (2, 0)] {
        let rows = [("new", 100, holder, 9.0), ("a", 100, 1, 4.0)];
        let mut yard = yard(&rows, 2, settings());
        assert_eq!(yard.propose(&[(0, 100)]).removals.len(), expected);
    }
}

#[test]
fn a_copy_on_a_draining_host_takes_no_demand() {
    let rows = [("new", 100, 2, 9.0), ("a", 100, 1, 4.0), ("gone", 100, 0, 1.0)];
    let mut yard = yard(&rows, 2, settings());
    let leaving = [(host(1), CopyHolderStatus::Serves), (host(2), CopyHolderStatus::Leaves)];
    yard.policy.set_hosts(leaving, RecentArrivals::default());
    assert_eq!(yard.propose(&[(0, 100)]).removals.len(), 1);
    exchanged(&mut yard, 120);
    let proposal = yard.propose(&[(0, 100)]);
    let verdict = &proposal.rooms[0].verdict;
    assert!(matches!(verdict, RoomVerdict::DidNotArrive { .. }), "{verdict:?}");
}

#[test]
fn one_of_several_copies_goes_first_if_its_share_is_least() {
    // Two copies share ten requests a day.
    let rows = [("new", 100, 0, 99.0), ("single", 100, 1, 8.0), ("shared", 100, 1, 10.0)];
    let copies = CopiesWanted { by_grade_info: true, most: 2 };
    let mut yard = yard(&rows, 2, RemoverSettings { copies, ..settings() });
    yard.holds_also(2, 2);
    let proposal = yard.propose(&[(0, 100)]);
    assert_eq!(yard.removed(&proposal), ["shared"]);
    let relieved = yard.policy.holders().get(host(1)).unwrap().clone();
    let in_flight = InFlight::default();
    let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
    let worst = yard.policy.decision_context(context).worst_first(&relieved);
    assert_eq!(worst, [yard.files[2], yard.files[1]], "also on a disk over its limit");
}

#[test]
fn one_round_removes_one_of_several_copies() {
    let rows = [("new", 100, 0, 99.0), ("other", 100, 0, 99.0), ("shared", 100, 1, 10.0)];
    let copies = CopiesWanted { by_grade_info: true, most: 2 };
    let mut yard = yard(&rows, 2, RemoverSettings { copies, ..settings() });
    yard.holds_also(2, 2);
    let proposal = yard.propose(&[(0, 100), (1, 100)]);
    assert_eq!(yard.removed(&proposal), ["shared"]);
}

#[test]
fn a_large_file_may_replace_many_small_ones() {
    let names: Vec<String> = (0..50).map(|number| format!("small-{number}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let mut rows: Vec<Row> = names.iter().map(|name| (*name, 10, 1, 0.1)).collect();
    rows.push(("new", 400, 0, 99.0));
    let mut yard = yard(&rows, 1, settings());
    assert_eq!(yard.propose(&[(50, 400)]).removals.len(), 40);
}

#[test]
fn a_master_without_an_answer_is_looked_up_again_after_a_minute() {
    let rows = [("new", 100, 0, 9.0), ("unsized", 0, 1, 1.0)];
    for (look, seconds_ago, expected) in
        [(MasterLook::Unknown, 59, 0), (MasterLook::Unknown, 60, 1), (MasterLook::Absent, 60, 0)]
    {
        let mut yard = yard(&rows, 1, settings());
        let proposal = yard.propose(&[(0, 100)]);
        assert_eq!(proposal.to_size.len(), 1);
        let asked_at = Millis(NOW.0 - seconds_ago * 1_000);
        let looks = vec![(yard.files[1], look)];
        let (_, sizes) = Confirmation::of(&proposal, asked_at, looks);
        yard.policy.learn_sizes(sizes);
        assert_eq!(yard.propose(&[(0, 100)]).to_size.len(), expected, "{seconds_ago}");
    }
}

#[test]
fn a_dry_run_and_shadow_show_only_exchanges_that_would_be() {
    let rows = [("new", 100, 0, 9.0), ("a", 100, 1, 1.0)];
    let few = settings().make_room_hits - 1;
    for (mode, in_force, hits) in
        [(RemovalMode::DryRun, true, 0), (RemovalMode::On, false, few), (RemovalMode::On, true, 0)]
    {
        let mut yard = yard(&rows, 1, RemoverSettings { mode, ..settings() });
        yard.set_demand(in_force, |_, a_day| a_day);
        let proposal = yard.propose_with_hits(hits, &[(0, 100)]);
        let verdicts: Vec<_> = proposal.rooms.iter().map(|room| &room.verdict).collect();
        let [RoomVerdict::Exchanged { is_only_shown, .. }] = verdicts[..] else {
            panic!("{verdicts:?}")
        };
        assert_eq!(*is_only_shown, mode == RemovalMode::DryRun || !in_force);
    }
}

#[test]
fn an_exchange_is_only_shown_when_one_of_its_copies_is_kept() {
    let rows = [("new", 100, 0, 9.0), ("a", 60, 1, 1.0), ("b", 60, 1, 1.0)];
    let mut yard = yard(&rows, 1, settings());
    let mut proposal = yard.propose(&[(0, 100)]);
    let masters = [proposal.removals[0].file].into();
    let seen = Confirmation { asked_at: NOW, masters, ..Confirmation::default() };
    let in_flight = InFlight::default();
    let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
    let (_, spared) = yard.policy.confirm(proposal.removals.clone(), &seen, context);
    proposal.show_only(&spared, |better| yard.book.file(better));
    let verdict = &proposal.rooms[0].verdict;
    assert!(verdict.words().starts_with("it would replace"), "{}", verdict.words());
}

#[test]
fn an_exchange_counts_once_when_it_is_on_record() {
    let rows = [("new", 100, 0, 9.0), ("a", 60, 1, 1.0), ("b", 60, 1, 1.0)];
    let mut yard = yard(&rows, 1, settings());
    let proposal = yard.propose(&[(0, 100)]);
    let masters = yard.files.iter().copied().collect();
    let seen = Confirmation { asked_at: NOW, masters, ..Confirmation::default() };
    let in_flight = InFlight::default();
    let context = RemoverPieceContext { book: &yard.book, in_flight: &in_flight, now: NOW };
    let (events, _) = yard.policy.confirm(proposal.removals, &seen, context);
    assert_eq!((events.len(), yard.policy.counters.exchanges), (2, 0));
    // The events of an entry are applied before they are reported. The last one is refused, because the first took
    // effect already.
    let events: Vec<RemovalEvent> = events.iter().chain(&events[..1]).cloned().collect();
    let results: Vec<_> = events.iter().map(|event| yard.book.apply(NOW, event)).collect();
    for (event, result) in events.into_iter().zip(results) {
        let applied = AppliedEvent { request: RequestId(0), at: NOW, event, result };
        yard.policy.on_applied(&applied, &yard.book, true, NOW);
    }
    assert_eq!(yard.policy.counters.exchanges, 1);
}
