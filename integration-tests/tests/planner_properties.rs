//! Properties of the planner, checked against an oracle that knows nothing of how it works.
#![allow(clippy::unwrap_used)]

mod planner_case;

use planner_case::oracle::Oracle;
use planner_case::world::{World, apply};
use planner_case::{Case, NOW, case};
use proptest::prelude::*;
use reelyard_actors::event::RequestId;
use reelyard_actors::journal::Piece;
use reelyard_actors::task_manager::{NewTask, TaskEvent};

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
        oracle.last_turn = world.last_planned_to();
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
            let best = pairs.iter().map(|&(_, destination)| oracle.rank(destination)).min();
            prop_assert_eq!(Some(oracle.rank(destination)), best, "{:?}", task);
            oracle.last_turn = Some(task.destination);
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

    #[test]
    fn following_changes_comes_to_the_same_as_looking_at_everything_anew(
        case in case(),
        emptied in any::<proptest::sample::Index>(),
    ) {
        let mut world = World::of(&case);
        for _ in 0..3 {
            let round = world.round();
            world.complete(&round.tasks);
        }
        world.empty(&case, emptied.index(case.destinations.len()));
        let followed = world.round();
        let anew = world.with_fresh_planner(&case).round();
        prop_assert_eq!(followed.tasks, anew.tasks);
        prop_assert_eq!(followed.waiting, anew.waiting);
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
        let case = Case::plain(sources, destinations, files, true);
        let mut world = World::of(&case);
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
                // Where the ring stopped does not depend on tasks that are still in the list.
                world.forget_ended();
            }
            let (least, most) = (taken.iter().min().unwrap(), taken.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{:?}", taken);
        }
        prop_assert_eq!(taken.iter().sum::<usize>(), files);
    }
}
