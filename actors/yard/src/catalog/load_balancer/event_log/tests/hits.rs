//! Hits of the window: which rows count, and each once.

use proptest::prelude::*;

use super::*;
use crate::catalog::load_balancer::hit_counter::MOST_UNKNOWN_HOT;
use crate::catalog::views::CatalogInputState;

#[test]
fn a_torn_row_waits_for_its_rest() {
    let mut yard = EventLogFixture::new();
    let (row, now) = (row("a-b.mpg", MIDNIGHT), MIDNIGHT);
    append(&yard.path(3), &row);
    append(&yard.path(3), &row[..40]);
    assert_eq!(yard.hits(now), 1);
    assert!(yard.log.days[1].view().input.tally.torn);
    append(&yard.path(3), &row[40..]);
    assert_eq!(yard.hot(now), hot("a-b.mpg", 2));
    let view = yard.log.days[1].view();
    assert_eq!((view.input.tally.bad(), view.hits), (0, 2));
    assert!(!view.input.tally.torn);
}

#[test]
fn only_the_watched_address_counts_and_it_is_an_address() {
    let mut yard = EventLogFixture::new();
    for other in ["10.0.0.35", "10a0b0c3", "10.0.0.33"] {
        append(&yard.path(3), &row("A", MIDNIGHT).replace(WATCHED, other));
    }
    append(&yard.path(3), ",,,,\n0x40ffff,1\n");
    assert_eq!(yard.hits(MIDNIGHT), 0);
    let view = yard.log.days[1].view();
    assert_eq!((view.selections_elsewhere, view.input.tally.bad()), (2, 3));
    yard.log.settings.watch_address = None;
    append(&yard.path(3), &row("A", MIDNIGHT).replace(WATCHED, "::1"));
    assert_eq!(yard.hits(MIDNIGHT), 1);
}

#[test]
fn both_days_are_followed_around_midnight() {
    let mut yard = EventLogFixture::new();
    let before = Millis(MIDNIGHT.0 - 1000);
    append(&yard.path(2), &row("A", before));
    assert_eq!(yard.hits(before), 1);
    append(&yard.path(3), &row("A", MIDNIGHT));
    append(&yard.path(2), &row("A", before));
    let soon = Millis(MIDNIGHT.0 + 5000);
    assert_eq!(yard.hot(soon), hot("A", 3));
    let late = Millis(MIDNIGHT.0 + 600_000);
    assert_eq!(yard.hot(late), []);
    assert_eq!(yard.log.days.len(), 1, "no demand is counted without a ranking");
}

#[test]
fn a_rotated_log_is_read_to_its_end_before_the_new_one() {
    let mut yard = EventLogFixture::new();
    let path = yard.path(3);
    append(&path, &row("A", MIDNIGHT));
    assert_eq!(yard.hits(MIDNIGHT), 1);
    append(&path, &row("A", MIDNIGHT));
    let old = yard.dir.path().join("old");
    fs::rename(&path, &old).unwrap();
    append(&path, &row("B", MIDNIGHT));
    assert_eq!(yard.hits(MIDNIGHT), 3);
    append(&old, &row("A", MIDNIGHT));
    assert_eq!(yard.hot(MIDNIGHT), hot("A", 3));
    fs::remove_file(&path).unwrap();
    assert_eq!(yard.hits(MIDNIGHT), 4);
    assert_eq!(yard.log.days[1].view().input.state, CatalogInputState::Missing);
    append(&path, &row("B", MIDNIGHT.after(std::time::Duration::from_secs(1))));
    assert_eq!(yard.hits(MIDNIGHT), 5);
}

#[test]
fn a_log_that_is_cut_or_mirrored_counts_each_row_once() {
    let mut yard = EventLogFixture::new();
    let path = yard.path(3);
    append(&path, &row("A", MIDNIGHT).repeat(3));
    assert_eq!(yard.hits(MIDNIGHT), 3);
    let mirrored = fs::read_to_string(&path).unwrap() + &row("B", MIDNIGHT);
    let copy = yard.dir.path().join("copy");
    fs::write(&copy, mirrored).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(yard.hits(MIDNIGHT), 4);
    fs::write(&path, row("C", MIDNIGHT)).unwrap();
    assert_eq!(yard.hits(MIDNIGHT), 5);
}

#[test]
fn names_that_viewers_invent_do_not_fill_the_table_of_names() {
    use crate::catalog::load_balancer::unknown_hits::MOST_NAMES;
    let mut yard = EventLogFixture::new();
    yard.log.names.intern_all([&b"known"[..]]);
    let mut text = row("known", MIDNIGHT);
    text += &row("wanted", MIDNIGHT).repeat(3);
    (0..MOST_NAMES).for_each(|number| text += &row(&format!("x{number}"), MIDNIGHT));
    // More names that become hot than may.
    (0..2000).for_each(|number| text += &row(&format!("y{number}"), MIDNIGHT).repeat(2));
    append(&yard.path(3), &text);
    let hot = yard.hot(MIDNIGHT);
    assert_eq!((hot.len(), hot[0].clone()), (MOST_UNKNOWN_HOT, ("wanted".to_owned(), 3)));
    assert_eq!(yard.log.names.len(), 1 + MOST_UNKNOWN_HOT);
    assert!(yard.log.hits.unknown.names() <= MOST_NAMES);
    // Hits of a name that gets its file number later count together with its earlier hits.
    append(&yard.path(3), &row("later2", MIDNIGHT));
    yard.log.look(MIDNIGHT);
    yard.log.names.intern_all([&b"later2"[..]]);
    append(&yard.path(3), &row("later2", MIDNIGHT));
    assert!(yard.hot(MIDNIGHT).contains(&("later2".to_owned(), 2)));
    yard.log.look(Millis(MIDNIGHT.0 + 660_000));
    assert_eq!((yard.log.hits.count(), yard.log.hits.became_hot.len()), (0, 0));
}

#[test]
fn a_clock_set_back_counts_no_hit_twice() {
    let mut yard = EventLogFixture::new();
    append(&yard.path(2), &row("A", Millis(MIDNIGHT.0 - 1000)));
    assert_eq!(yard.hits(MIDNIGHT), 1);
    assert_eq!(yard.hits(Millis(MIDNIGHT.0 + 660_000)), 0);
    assert_eq!(yard.hits(Millis(MIDNIGHT.0 - 500)), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn looking_between_any_two_bytes_equals_looking_once(
        parts in proptest::collection::vec((0_u32..3, -700_i64..400, 0_u8..6), 1..20),
        ends in proptest::collection::vec(0_usize..2000, 0..12),
    ) {
        let mut text = Vec::new();
        for (file, offset, kind) in parts {
            let row = row(&format!("f {file}"), Millis(MIDNIGHT.0 + offset * 1000));
            match kind {
                0 => text.extend_from_slice(b"\xff\xfe,,\r\n"),
                1 => text.extend_from_slice(&row.as_bytes()[..row.len() / 2]),
                2 => text.extend_from_slice(row.replace('\n', "\r\n").as_bytes()),
                _ => text.extend_from_slice(row.as_bytes()),
            }
        }
        let (mut cut, mut whole) = (EventLogFixture::new(), EventLogFixture::new());
        let mut ends: Vec<usize> = ends.into_iter().map(|at| at % text.len()).collect();
        ends.sort_unstable();
        for end in ends.into_iter().chain([text.len()]) {
            fs::write(cut.path(3), &text[..end]).unwrap();
            cut.log.look(MIDNIGHT);
        }
        fs::write(whole.path(3), &text).unwrap();
        prop_assert_eq!(cut.hot(MIDNIGHT), whole.hot(MIDNIGHT));
        prop_assert_eq!(cut.hits(MIDNIGHT), whole.hits(MIDNIGHT));
        prop_assert_eq!(cut.view(), whole.view());
    }
}
