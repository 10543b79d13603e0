//! Names are stored once, found by a part, and forgotten after two sweeps.

use super::*;

#[test]
fn names_are_found_by_a_part_that_is_in_one_name() {
    let table = NameTable::new();
    let names: Vec<String> = (0..9000).map(|number| format!("ab{number}.mpg")).collect();
    let ids = table.intern_all(names.iter().map(|name| name.as_bytes()));
    let dead: RoaringBitmap = [5, 70].into_iter().collect();
    table.sweep(&(0..9000).filter(|id| !dead.contains(*id)).collect());
    table.sweep(&(0..9000).filter(|id| !dead.contains(*id)).collect());
    for text in ["ab5", "5.mpg", "gab", "mpgab1", ".", "899", "b7", "absent", "ab8999.mpg"] {
        let expected: RoaringBitmap = (0..9000_u32)
            .filter(|id| !dead.contains(*id) && names[*id as usize].contains(text))
            .collect();
        assert_eq!(table.containing(text.as_bytes()), expected, "{text}");
        let all = (0..9000).collect();
        let has_text = |name: &[u8]| memchr::memmem::find(name, text.as_bytes()).is_some();
        assert_eq!(table.selected(&all, has_text), expected, "{text}");
    }
    assert_eq!(table.containing(b"").len(), 8998);
    assert!(ids.iter().all(Result::is_ok));
}

#[test]
fn a_name_is_stored_once_and_found_again() {
    let table = NameTable::new();
    let ids = table.intern_all((0..1000).map(|_| &b"same"[..]));
    assert!(ids.iter().all(|id| *id == Ok(FileId(0))));
    let names: Vec<String> = (0..1000).map(|i| format!("n{i}")).collect();
    let ids = table.intern_all(names.iter().map(|name| name.as_bytes()));
    assert_eq!(table.len(), 1001);
    for (name, id) in names.iter().zip(ids) {
        assert_eq!(table.name(id.unwrap()).as_utf8(), Some(name.as_str()));
        assert_eq!(table.find(name.as_bytes()), id.ok());
    }
    assert_eq!(table.find(b"never met"), None);
    let (hasher, reading) = (table.hasher(), table.lookup());
    let asked = names.iter().map(|name| name.as_bytes()).chain([&b"never met"[..], b"same"]);
    let hashed = asked.clone().map(|name| HashedName { name, hash: hasher.hash(name) });
    let expected: Vec<_> = asked.map(|name| reading.find(name)).collect();
    assert_eq!(reading.find_all(hashed), expected);
    drop(reading);
    let new = FileName::new("new").unwrap();
    assert_eq!(table.intern(&new), table.intern(&new));
    assert_eq!(table.len(), 1002);
}

fn ids(table: &NameTable, names: std::ops::Range<u32>) -> RoaringBitmap {
    let names: Vec<String> = names.map(|number| format!("{number:036}.mpg")).collect();
    let ids = table.intern_all(names.iter().map(|name| name.as_bytes()));
    ids.into_iter().map(|id| id.unwrap().0).collect()
}

#[test]
fn a_name_that_nothing_refers_to_at_two_sweeps_is_forgotten() {
    let table = NameTable::new();
    let live = ids(&table, 0..10);
    ids(&table, 10..20);
    let swept = |forgotten, suspects, kept| Some(Swept { forgotten, suspects, kept });
    assert_eq!(table.sweep(&live), swept(0, 10, 20));
    // One is found again, one came into a view.
    let name = table.name(FileId(12));
    assert_eq!(table.find(name.as_bytes()), Some(FileId(12)));
    let live = live | RoaringBitmap::from_iter([13]);
    assert_eq!(table.sweep(&live), swept(8, 1, 12));
    assert_eq!(table.find(name.as_bytes()), Some(FileId(12)));
    let gone = FileName::new(format!("{:036}.mpg", 11)).unwrap();
    assert_eq!((table.find(gone.as_bytes()), table.ids_given()), (None, 20));
    // An id that is still held somewhere means no other file, and its name says so.
    assert_eq!(table.name(FileId(11)).as_bytes(), FORGOTTEN);
    assert_eq!(table.lookup().bytes(FileId(11)), b"");
    assert_eq!(table.intern(&gone), FileId(20));
    assert_eq!(table.name(FileId(5)).as_utf8(), Some(&*format!("{:036}.mpg", 5)));
    assert_eq!((table.len(), table.bytes() > 0), (13, true));
}

#[test]
fn pinned_and_kept_names_survive_a_sweep() {
    let table = NameTable::new();
    let kept = Arc::new(ids(&table, 0..5));
    table.keep(&kept);
    let none = RoaringBitmap::new();
    table.sweep(&none).unwrap();
    let pin = table.pin();
    let found = table.find(table.name(FileId(1)).as_bytes());
    assert_eq!(found, Some(FileId(1)));
    let gathered = ids(&table, 5..10);
    assert_eq!(table.sweep(&none).map(|swept| swept.forgotten), Some(0));
    // The pin is older than the last sweep now: no view has the gathered ids yet.
    assert_eq!(table.sweep(&none), None);
    drop(pin);
    assert_eq!(table.sweep(&none), None, "it may have come into a view a moment ago");
    assert_eq!(table.sweep(&gathered).map(|swept| swept.kept), Some(10));
    drop(kept);
    table.sweep(&gathered).unwrap();
    assert_eq!(table.sweep(&gathered).map(|swept| swept.kept), Some(5));
}

#[test]
fn names_that_come_and_go_take_bounded_memory_and_give_it_back() {
    const ROUND: u32 = 10_000;
    let table = NameTable::new();
    let live = ids(&table, 0..1000);
    let before = table.bytes();
    let mut most = 0;
    for round in 1..=40 {
        let listed = ids(&table, round * ROUND..(round + 1) * ROUND);
        table.sweep(&(&live | &listed)).unwrap();
        most = most.max(table.bytes());
    }
    // The listed files, and those listed at the two sweeps before.
    let of_a_name = 40 + 4 + 10;
    let bound = before + 4 * ROUND as usize * of_a_name;
    assert!(most < bound, "{most} bytes of {bound}");
    table.sweep(&live).unwrap();
    table.sweep(&live).unwrap();
    assert_eq!((table.len(), table.ids_given()), (1000, 1000 + 40 * ROUND));
    let left = table.bytes() - before.min(table.bytes());
    assert!(left < 64 * 1024, "{left} bytes more than before");
}
