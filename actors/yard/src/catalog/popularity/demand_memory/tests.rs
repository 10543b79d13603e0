use std::time::Duration;

use super::*;
use crate::catalog::ranking::SizedFile;
use crate::settings::popularity::HalfLife;

const DAY: i64 = 86_400;
const NOON: i64 = 1_780_000_000;

fn ranking(sizes: &[u64]) -> Ranking {
    let files = (0..).zip(sizes).map(|(file, size)| SizedFile {
        file: FileId(file),
        size: *size,
        copies: 1,
    });
    Ranking::from_sized_files(files)
}

fn memory() -> DemandMemory {
    DemandMemory::new(HalfLives::of(HalfLife::Auto))
}

fn request(memory: &mut DemandMemory, file: u32, second: i64, times: u32) {
    for _ in 0..times {
        memory.request(FileId(file), Millis::from_unix_seconds(second));
    }
}

fn files(order: &PopularityOrder) -> Vec<u32> {
    order.files().iter().map(|file| file.0).collect()
}

#[test]
fn without_a_request_there_is_no_order() {
    assert!(memory().order(&ranking(&[1, 1]), |_| None).is_none());
}

#[test]
fn demand_for_each_byte_decides_and_the_grade_breaks_ties() {
    let mut memory = memory();
    request(&mut memory, 1, NOON, 40);
    request(&mut memory, 2, NOON, 50);
    request(&mut memory, 9, NOON + 20 * DAY, 1);
    let order = memory.order(&ranking(&[10, 10, 40, 10, 10]), |_| None).unwrap();
    assert_eq!(files(&order)[..2], [1, 2], "40 requests for 10 bytes exceed 50 for 40");
    let (third, fourth) = (order.demand(FileId(3)), order.demand(FileId(4)));
    assert!(third.rate > fourth.rate, "grade.info is the prior");
}

#[test]
fn old_requests_fade_and_deletion_remembers_longer() {
    let mut memory =
        DemandMemory::new(HalfLives::of(HalfLife::Fixed(Duration::from_secs(2 * 86_400))));
    memory.order(&ranking(&[10; 3]), |_| None);
    request(&mut memory, 0, NOON, 1);
    request(&mut memory, 1, NOON + 10 * DAY, 100);
    request(&mut memory, 2, NOON + 14 * DAY, 60);
    let order = memory.order(&ranking(&[10; 3]), |_| None).unwrap();
    assert_eq!(files(&order)[0], 2, "60 requests today exceed 100 of two half-lives ago");
    let yesterday = order.demand(FileId(1));
    assert!(yesterday.kept_rate.per_day() > 1.05 * yesterday.rate.per_day());
    assert!(order.demand(FileId(2)).kept_rate >= order.demand(FileId(2)).rate);
}

#[test]
fn a_young_file_is_compared_by_its_own_age() {
    let mut memory = memory();
    let old = ranking(&[10; 1]);
    for day in 0..14 {
        request(&mut memory, 0, NOON + day * DAY, 10);
        memory.order(&old, |_| None);
    }
    // File 1 appears on the last two days, with twice the requests.
    let both = ranking(&[10; 2]);
    for day in 14..16 {
        memory.order(&both, |_| None);
        request(&mut memory, 0, NOON + day * DAY, 10);
        request(&mut memory, 1, NOON + day * DAY, 20);
    }
    request(&mut memory, 0, NOON + 16 * DAY - 3600, 1);
    let order = memory.order(&both, |_| None).unwrap();
    assert_eq!(files(&order), [1, 0]);
}

#[test]
fn a_file_that_is_graded_later_keeps_its_age() {
    let mut memory = memory();
    for day in 0..14 {
        (0..2).for_each(|file| request(&mut memory, file, NOON + day * DAY, 5));
    }
    memory.order(&ranking(&[10; 1]), |_| None);
    request(&mut memory, 0, NOON + 14 * DAY, 1);
    let order = memory.order(&ranking(&[10; 2]), |_| None).unwrap();
    let rates = [0, 1].map(|file| order.demand(FileId(file)).rate.per_day());
    assert!(rates[1] < rates[0], "both had the same requests for 14 days: {rates:?}");
}

#[test]
fn a_file_that_is_no_longer_graded_keeps_its_demand() {
    let mut memory = memory();
    for day in 0..14 {
        (0..2).for_each(|file| request(&mut memory, file, NOON + day * DAY, 5));
        memory.order(&ranking(&[10; 2]), |_| None);
    }
    let order = memory.order(&ranking(&[10; 1]), |_| None).unwrap();
    assert_eq!(files(&order), [0]);
    let kept = [0, 1].map(|file| order.demand(FileId(file)).kept_rate.per_day());
    // Only the prior of its rank is gone.
    assert!(kept[1] > 4.0 && kept[1] < kept[0], "{kept:?}");
}

#[test]
fn sizes_of_masters_count_and_unknown_ones_are_the_mean() {
    let mut memory = memory();
    for file in 0..3 {
        request(&mut memory, file, NOON, 10);
    }
    request(&mut memory, 0, NOON + DAY, 1);
    let sizes = [Some(100), None, Some(10)];
    let order = memory.order(&ranking(&[10, 0, 0]), |file| sizes[file.0 as usize]).unwrap();
    assert_eq!(files(&order), [2, 1, 0]);
    let scores = [2, 1, 0].map(|file| order.for_each_byte(FileId(file), sizes[file as usize]));
    assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
    let mean = order.for_each_byte(FileId(1), None);
    assert_eq!(mean, order.for_each_byte(FileId(1), Some(55)));
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let (mut forwards, mut backwards) = (memory(), memory());
    let rows: Vec<(u32, i64)> =
        (0..500).map(|row| (row % 7, NOON + i64::from(row * row % 97) * 3000)).collect();
    rows.iter().for_each(|(file, at)| request(&mut forwards, *file, *at, 1));
    rows.iter().rev().for_each(|(file, at)| request(&mut backwards, *file, *at, 1));
    let ranking = ranking(&[10; 7]);
    let (a, b) =
        (forwards.order(&ranking, |_| None).unwrap(), backwards.order(&ranking, |_| None).unwrap());
    for file in 0..7 {
        let rates = [&a, &b].map(|order| order.demand(FileId(file)).rate.per_day());
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{file}: {rates:?}");
    }
}

#[test]
fn a_row_from_another_month_changes_nothing() {
    let mut memory = memory();
    request(&mut memory, 0, NOON, 5);
    let ranking = ranking(&[10; 2]);
    memory.order(&ranking, |_| None);
    request(&mut memory, 1, NOON - 400 * DAY, 1_000);
    request(&mut memory, 0, NOON + 60, 1);
    let order = memory.order(&ranking, |_| None).unwrap();
    assert_eq!(files(&order), [0, 1]);
}

#[test]
fn months_of_requests_stay_exact() {
    let mut memory = memory();
    let ranking = ranking(&[10; 2]);
    for hour in 0..24 * 200 {
        request(&mut memory, 0, NOON + hour * 3600, 2);
        if hour % 24 == 0 {
            memory.order(&ranking, |_| None);
        }
    }
    let order = memory.order(&ranking, |_| None).unwrap();
    let rate = order.demand(FileId(0)).rate.per_day();
    assert!((rate / 48.0 - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn weeks_of_requests_stay_exact_with_the_shortest_half_life() {
    let day = Duration::from_secs(86_400);
    let mut memory = DemandMemory::new(HalfLives::of(HalfLife::Fixed(day)));
    let ranking = ranking(&[10; 2]);
    for minute in 0..60 * 24 * 20 {
        request(&mut memory, 0, NOON + minute * 60, 1);
        if minute % 720 == 0 {
            memory.order(&ranking, |_| None);
        }
    }
    let order = memory.order(&ranking, |_| None).unwrap();
    let share = order.demand(FileId(0)).rate.per_day() / order.requests_a_day();
    assert!(share > 0.9 && order.requests_a_day() < 2000.0, "{share} {}", order.requests_a_day());
    assert!(order.demand(FileId(1)).rate < order.demand(FileId(0)).rate);
}

#[test]
fn the_parts_of_a_rate_explain_it() {
    let mut memory = memory();
    let ranking = ranking(&[10; 3]);
    memory.order(&ranking, |_| None);
    for day in 0..10 {
        request(&mut memory, 1, NOON + day * DAY, 4);
        memory.order(&ranking, |_| None);
    }
    let order = memory.order(&ranking, |_| None).unwrap();
    let parts = order.parts(FileId(1), 2);
    assert_eq!(parts.known_days, 9.0);
    let chosen = memory.chosen();
    let since = days(NOON + 9 * DAY - memory.summary().reference);
    let left = memory.half_lives.left_after(since)[chosen];
    let sum = f64::from(memory.of_file(FileId(1)).sums[chosen]) * left;
    assert!((parts.remembered / sum - 1.0).abs() < 0.01, "{parts:?} {sum}");
    let second = Priors::of(3).of_rank(2) * order.requests_a_day();
    assert!((parts.prior_a_day / second - 1.0).abs() < 0.001, "{parts:?}");
}

#[test]
fn calm_demand_chooses_a_long_memory_and_premieres_a_short_one() {
    let ranking = ranking(&[10; 200]);
    let mut rng = fastrand::Rng::with_seed(3);
    let mut calm = memory();
    let mut premieres = memory();
    for hour in 0..24 * 40 {
        for minute in 0..30 {
            let at = NOON + hour * 3600 + minute * 60;
            // Always the same distribution: low numbers are wanted more often.
            request(&mut calm, (rng.f64() * rng.f64() * 200.0) as u32, at, 1);
            // Each day other files.
            let today = u32::try_from(hour / 24 * 5 % 200).unwrap();
            request(&mut premieres, (today + rng.u32(0..10)) % 200, at, 1);
        }
        calm.order(&ranking, |_| None);
        premieres.order(&ranking, |_| None);
    }
    let chosen =
        |memory: &mut DemandMemory| memory.order(&ranking, |_| None).unwrap().half_life_days();
    assert_eq!(chosen(&mut calm), 14.0);
    assert_eq!(chosen(&mut premieres), 1.0);
}

#[test]
fn requests_of_one_batch_use_little_memory() {
    let mut memory = memory();
    (0..1_000_000).for_each(|file| request(&mut memory, file, NOON, 1));
    assert!(memory.pending.capacity() <= 2 * MOST_PENDING);
}

#[test]
fn a_short_or_empty_grade_info_makes_no_file_new() {
    let mut memory = memory();
    let known_days = |memory: &mut DemandMemory, files: usize, file: u32| {
        let order = memory.order(&ranking(&vec![10; files]), |_| None).unwrap();
        order.parts(FileId(file), file + 1).known_days
    };
    for day in 0..=14 {
        request(&mut memory, 0, NOON + day * DAY, 5);
        assert_eq!(known_days(&mut memory, 3, 2), day as f64);
    }
    for files_for_a_time in [2, 0] {
        memory.order(&ranking(&vec![10; files_for_a_time]), |_| None);
        assert_eq!(known_days(&mut memory, 3, 2), 14.0, "{files_for_a_time}");
    }
    memory.order(&ranking(&[]), |_| None);
    assert_eq!(known_days(&mut memory, 4, 3), 0.0, "it is new");
}

#[test]
fn a_good_rank_without_requests_fades() {
    let day = Duration::from_secs(86_400);
    let mut memory = DemandMemory::new(HalfLives::of(HalfLife::Fixed(day)));
    let ranking = ranking(&[10; 1000]);
    for part in 0..300 {
        (1..1000).for_each(|file| request(&mut memory, file, NOON + part * DAY / 10, 1));
        if part % 10 == 0 {
            memory.order(&ranking, |_| None);
        }
    }
    let order = memory.order(&ranking, |_| None).unwrap();
    let [first, other] = [0, 999].map(|file| order.demand(FileId(file)).rate.per_day());
    assert!(first < other, "no request against 10 a day: {first} {other}");
}

/// Two weeks of requests that are read at once. The first ten files have calm ones, and the next one has 24 a day on the
/// last two days. The last file is requested twice in the last minute.
fn weeks_read_at_once() -> DemandMemory {
    let mut memory = memory();
    for hour in 0..24 * 14 {
        let at = NOON + hour * 3600;
        request(&mut memory, (hour % 10) as u32, at, 4);
        if hour >= 24 * 12 {
            request(&mut memory, 10, at, 1);
        }
    }
    request(&mut memory, 11, NOON + 24 * 14 * 3600 - 60, 2);
    memory
}

#[test]
fn a_first_start_finds_the_new_titles() {
    let mut memory = weeks_read_at_once();
    let order = memory.order(&ranking(&[10; 12]), |_| None).unwrap();
    let known = |file: u32| order.parts(FileId(file), file + 1).known_days;
    assert!((known(0) - 14.0).abs() < 0.1 && (known(10) - 2.0).abs() < 0.1, "{}", known(10));
    assert!((known(11) - 14.0).abs() < 0.1, "two requests make no old file new: {}", known(11));
    assert_eq!(files(&order)[0], 10, "24 a day against 10");
    let rate = order.demand(FileId(10)).rate.per_day();
    assert!((15.0..30.0).contains(&rate), "{rate}");
}

#[test]
fn rows_before_the_first_order_may_come_in_any_order() {
    let mut memory = memory();
    request(&mut memory, 0, NOON + 14 * DAY, 5);
    request(&mut memory, 1, NOON + 14 * DAY, 5);
    request(&mut memory, 0, NOON, 5);
    let order = memory.order(&ranking(&[10; 2]), |_| None).unwrap();
    let known = [0, 1].map(|file| order.parts(FileId(file), file + 1).known_days);
    assert!((known[0] - 14.0).abs() < 0.1 && known[1] < 0.1, "{known:?}");
}

#[test]
fn a_first_start_chooses_the_half_life_by_the_logs() {
    let ranking = ranking(&[10; 200]);
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut calm, mut premieres) = (memory(), memory());
    for memory in [&mut calm, &mut premieres] {
        memory.set_grades(&ranking);
    }
    for hour in 0..24 * 20 {
        for minute in 0..30 {
            let at = NOON + hour * 3600 + minute * 60;
            request(&mut calm, (rng.f64() * rng.f64() * 200.0) as u32, at, 1);
            let today = u32::try_from(hour / 24 * 5 % 200).unwrap();
            request(&mut premieres, (today + rng.u32(0..10)) % 200, at, 1);
        }
    }
    let chosen =
        |memory: &mut DemandMemory| memory.order(&ranking, |_| None).unwrap().half_life_days();
    assert_eq!((chosen(&mut calm), chosen(&mut premieres)), (14.0, 1.0));
}

#[test]
fn requested_files_of_earlier_checkpoints_are_as_old_as_the_log() {
    for ordered in [0, 1] {
        let mut earlier = memory();
        (0..14).for_each(|day| request(&mut earlier, 0, NOON + day * DAY, 1));
        let summary = earlier.summary();
        let stored = FileMemory { since_hour: UNKNOWN, ..earlier.of_file(FileId(0)) };
        let mut memory = memory();
        memory.set_summary(DemandSummary { ordered, ..summary });
        memory.set_file(FileId(0), stored);
        request(&mut memory, 0, NOON + 14 * DAY, 1);
        let order = memory.order(&ranking(&[10]), |_| None).unwrap();
        assert!((order.parts(FileId(0), 1).known_days - 14.0).abs() < 0.1, "{ordered}");
    }
}
