//! Properties of the planner, checked against an oracle that does not use its code.

use std::time::Duration;

use proptest::prelude::*;
use reelyard_core::event::RequestId;
use reelyard_core::names::FileName;
use reelyard_replication::Piece;
use reelyard_yard::task_manager::PlanningRound;
use reelyard_yard::task_manager::{NewTask, TaskEvent};
use reelyard_yard::task_manager::{PlannerWaits, Skip};

use crate::planner_case::oracle::Oracle;
use crate::planner_case::world::{PlannerWorld, apply};
use crate::planner_case::{NOW, PlannerCase, case};

fn number_of(case: &PlannerCase, task: &NewTask) -> usize {
    (0..case.files.len()).find(|&file| case.name(file) == task.name).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_round_plans_the_best_eligible_file_and_no_other(case in case()) {
        let mut world = PlannerWorld::of(&case);
        let round = world.round();
        prop_assert!(round.to_look_up.is_empty(), "every master was looked up");
        let mut oracle = Oracle::new(&case);
        oracle.last_turn = world.last_planned_to();
        for task in &round.tasks {
            let file = number_of(&case, task);
            // The best eligible file is next: hot before graded, never an ignored or placed one, never the
            // same twice.
            prop_assert_eq!(oracle.eligible().first().copied(), Some(file), "{:?}", task);
            prop_assert_ne!(task.source, task.destination);
            let source = (0..case.sources.len()).find(|&s| case.source(s) == task.source).unwrap();
            let destination = (0..case.destinations.len())
                .find(|&d| case.destination(d) == task.destination)
                .unwrap();
            let pairs = oracle.pairs(file);
            prop_assert!(pairs.contains(&(source, destination)), "{:?}", task);
            let best = pairs.iter().map(|&(_, destination)| oracle.rank(destination)).min();
            prop_assert_eq!(Some(oracle.rank(destination)), best, "{:?}", task);
            oracle.last_turn = Some(task.destination);
            oracle.occupy(source, destination, task.size);
            oracle.planned.insert(file);
        }
        // No file that could be copied remains.
        prop_assert_eq!(oracle.eligible(), Vec::<usize>::new());
    }

    #[test]
    fn a_plan_can_be_applied_and_the_next_round_plans_nothing_more(case in case()) {
        let mut world = PlannerWorld::of(&case);
        let round = world.round();
        // A task in progress occupies its space before and after it is applied.
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

    #[test]
    fn a_file_whose_copy_is_being_recorded_is_not_planned(case in case()) {
        let planned = PlannerWorld::of(&case).round().tasks;
        let Some(best) = planned.first() else { return Ok(()) };
        let mut world = PlannerWorld::of(&case);
        let found = TaskEvent::Placed { host: best.destination, name: best.name.clone() };
        world.in_flight.begin(RequestId(u128::MAX), vec![found]);
        prop_assert!(world.round().tasks.iter().all(|task| task.name != best.name));
    }

    #[test]
    fn incremental_changes_give_the_same_plan_as_a_complete_pass(
        case in case(),
        emptied in any::<proptest::sample::Index>(),
    ) {
        let mut world = PlannerWorld::of(&case);
        for _ in 0..3 {
            let round = world.round();
            world.complete(&round.tasks);
        }
        world.empty(&case, emptied.index(case.destinations.len()));
        let followed = world.round();
        let fresh = world.with_fresh_planner(&case).round();
        prop_assert_eq!(followed.tasks, fresh.tasks);
        prop_assert_eq!(followed.waiting, fresh.waiting);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_ring_spreads_evenly_over_rounds_of_any_length(
        sources in 1..5usize,
        destinations in 1..6usize,
        files in 0..40usize,
        forgetful in any::<bool>(),
    ) {
        let case = PlannerCase::plain(sources, destinations, files, true);
        let mut world = PlannerWorld::of(&case);
        let mut taken = vec![0usize; destinations];
        loop {
            let round = world.round();
            if round.tasks.is_empty() {
                break;
            }
            for task in &round.tasks {
                let to = (0..destinations).find(|&d| case.destination(d) == task.destination);
                taken[to.unwrap()] += 1;
            }
            world.complete(&round.tasks);
            if forgetful {
                // The position in the ring does not depend on tasks that are still in the list.
                world.forget_ended();
            }
            let (least, most) = (taken.iter().min().unwrap(), taken.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{:?}", taken);
        }
        prop_assert_eq!(taken.iter().sum::<usize>(), files);
    }
}

#[test]
fn files_without_room_are_checked_once_and_return_with_room() {
    let mut case = PlannerCase::plain(1, 2, 50, false);
    for file in &mut case.files {
        file.size = 100;
    }
    // The host with space is down, and the other one has no space for any file.
    case.destinations[0].up = false;
    case.destinations[1].room = Some(50);
    let mut world = PlannerWorld::of(&case);
    for _ in 0..2 {
        let round = world.round();
        assert!(round.tasks.is_empty());
        assert_eq!(round.skipped.get(&Skip::NoRoom), Some(&50), "set aside and counted");
    }
    assert_eq!(world.wanted(), 0, "the next rounds go through none of them");
    world.up(case.destination(0));
    let tasks = world.round().tasks;
    assert_eq!((tasks.len(), tasks[0].destination), (1, case.destination(0)));
    assert_eq!(tasks[0].name, case.name(0));
}

#[test]
fn an_old_source_without_a_destination_keeps_no_round_searching() {
    let mut case = PlannerCase::plain(2, 1, 50, false);
    case.sources[1].ours = false;
    let mut world = PlannerWorld::of(&case);
    let round = world.round();
    assert_eq!(round.tasks.len(), 1);
    assert_eq!(round.waiting, Some(PlannerWaits::Source), "and it names the reason of the wait");
}

#[test]
fn a_source_that_can_serve_no_destination_keeps_no_round_searching() {
    let mut case = PlannerCase::plain(1, 2, 50, false);
    // One destination is in backoff together with it, the other is full.
    case.held_pairs = vec![(0, 0)];
    case.destinations[1].room = Some(0);
    let round = PlannerWorld::of(&case).round();
    assert_eq!((round.tasks.len(), round.skipped.len()), (0, 0), "{:?}", round.skipped);
    assert_eq!(round.waiting, Some(PlannerWaits::Source));
}

#[test]
fn files_without_a_free_source_are_examined_at_a_pace() {
    let mut case = PlannerCase::plain(2, 2, 600, false);
    for file in &mut case.files {
        file.size = 100;
    }
    // The free source is an old cfw, and fits only the destination with little space.
    case.sources[0].ours = false;
    case.destinations[0].fetches_from_old = true;
    case.destinations[0].room = Some(50);
    case.files[0].under_way = Some((1, 1, true));
    let mut world = PlannerWorld::of(&case);
    for _ in 0..3 {
        assert!(world.round().tasks.is_empty());
        assert_eq!(world.wanted(), 600 - 256);
    }
    for second in 1..4 {
        assert!(world.round_at(NOW.after(Duration::from_secs(second))).tasks.is_empty());
    }
    assert_eq!(world.wanted(), 1, "all except the running one are set aside");
    // The planner finds the small file among the later ones, and the others once a pair of hosts fits.
    world.look(&case, 599, 10, NOW);
    let task = world.round_at(NOW.after(Duration::from_secs(4))).tasks.remove(0);
    assert_eq!((task.name, task.destination), (case.name(599), case.destination(0)));
    case.destinations[1].fetches_from_old = true;
    world.see(case.destination(1), &case.destinations[1], None);
    let task = world.round_at(NOW.after(Duration::from_secs(4))).tasks.remove(0);
    assert_eq!((task.name, task.destination), (case.name(1), case.destination(1)));
}

#[test]
fn the_master_of_a_file_without_room_is_checked_again() {
    let mut case = PlannerCase::plain(1, 1, 40, false);
    for file in &mut case.files {
        file.size = 5000;
    }
    let mut world = PlannerWorld::of(&case);
    assert_eq!(world.round().skipped.get(&Skip::TooBig), Some(&40));
    assert!(world.round().to_look_up.is_empty());
    let later = NOW.after(Duration::from_secs(3600));
    assert_eq!(world.round_at(later).to_look_up.len(), 16);
    assert!(world.round_at(later).to_look_up.is_empty(), "the rate is limited");
    world.look(&case, 7, 5000, later);
    assert!(world.round_at(later).tasks.is_empty(), "it is as large as before");
    world.look(&case, 7, 500, later);
    assert_eq!(world.round_at(later).tasks.remove(0).name, case.name(7));
}

#[test]
fn a_hot_file_that_fits_nowhere_is_named_also_with_busy_sources() {
    let mut case = PlannerCase::plain(1, 2, 4, false);
    for file in [1, 2, 3] {
        case.files[file].hits = 10 - file as u32;
        case.files[file].size = 100;
    }
    case.files[0].under_way = Some((0, 0, true));
    case.destinations[0].room = Some(60);
    case.destinations[1].room = Some(50);
    let mut world = PlannerWorld::of(&case);
    let named = |world: &mut PlannerWorld| -> Vec<(u64, u32)> {
        let wants = world.round().wants_room;
        wants.iter().map(|wish| (wish.size, wish.hits)).collect()
    };
    assert_eq!(named(&mut world), [(100, 9), (100, 8), (100, 7)], "hottest first");
    // Without a source no copy would follow the removals.
    for (up, expected) in [(false, 0), (true, 3)] {
        case.sources[0].up = up;
        world.see(case.source(0), &case.sources[0], None);
        assert_eq!(named(&mut world).len(), expected);
    }
    // The planner waits for a destination that has space and is down.
    case.destinations[1].up = false;
    case.destinations[1].room = Some(100);
    world.see(case.destination(1), &case.destinations[1], None);
    assert_eq!(named(&mut world), []);
}

#[test]
fn room_that_was_made_for_a_file_is_kept_for_it() {
    let mut case = PlannerCase::plain(2, 1, 3, false);
    case.files[1].hits = 9;
    case.files[2].hits = 5;
    for (file, size) in [(0, 10), (1, 60), (2, 80)] {
        case.files[file].size = size;
    }
    // The hottest file fits without more space; the freed space is for the other one.
    case.destinations[0].room = Some(100);
    let mut world = PlannerWorld::of(&case);
    let until = NOW.after(Duration::from_secs(60));
    world.room_made(case.destination(0), &case.name(2), 80, until);
    let round = world.round();
    let planned = |round: &PlanningRound| -> Vec<FileName> {
        round.tasks.iter().map(|task| task.name.clone()).collect()
    };
    assert_eq!(
        planned(&round),
        [case.name(2), case.name(0)],
        "the remaining space is for any file"
    );
    assert_eq!(round.wants_room.iter().map(|wish| wish.size).collect::<Vec<_>>(), [60]);
    let round = world.round_at(until);
    assert_eq!(planned(&round)[0], case.name(1), "but not permanently");
}
