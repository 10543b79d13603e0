//! The cursor of a page of rows: the last row of the page before, and its place in the list.

/// Between the place and the key of a row.
const BETWEEN: char = '~';

/// The cursor of the page behind this row. `place` is the number of rows up to it.
pub fn cursor(place: usize, key: &str) -> String {
    format!("{place}{BETWEEN}{key}")
}

/// The first row of the page behind a cursor. `position` finds a row by its key. If the row has left the list, its
/// place counts; behind the last row it is the last page.
pub fn first_behind(
    cursor: &str,
    (rows, total): (usize, usize),
    position: impl FnOnce(&str) -> Option<usize>,
) -> usize {
    let (place, key) = cursor.split_once(BETWEEN).unwrap_or(("", cursor));
    let known = position(key).map(|last| last + 1);
    let first = known.or_else(|| place.parse().ok()).unwrap_or(0);
    let last_page = total.saturating_sub(1) / rows * rows;
    if first < total { first } else { last_page }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stays_where_it_is_when_its_cursor_row_leaves() {
        let keys: Vec<String> = (0..130).map(|number| format!("k{number}")).collect();
        let first = |keys: &[String], cursor: &str| {
            first_behind(cursor, (50, keys.len()), |key| keys.iter().position(|one| one == key))
        };
        let second = cursor(50, "k49");
        assert_eq!((first(&keys, ""), first(&keys, &second)), (0, 50));
        // Rows that come in before it push the page.
        let more = [vec!["new".to_owned()], keys.clone()].concat();
        assert_eq!(first(&more, &second), 51);
        let fewer: Vec<String> = keys.iter().filter(|key| *key != "k49").cloned().collect();
        assert_eq!(first(&fewer, &second), 50);
        assert_eq!(first(&keys[..20], &second), 0);
        assert_eq!(first(&keys[..20], &cursor(100, "k99")), 0);
        assert_eq!(first(&keys[..70], &cursor(100, "k99")), 50);
        assert_eq!(first(&[], &second), 0);
        // A cursor of an older page, and one that names nothing.
        assert_eq!((first(&keys, "k49"), first(&keys, "absent")), (50, 0));
    }
}
