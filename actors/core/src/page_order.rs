//! One page of a long list in an order, without a sort of the whole list. Pure.
//!
//! A page of a million items costs a few passes over eight bytes for each item.

use std::ops::Range;

/// Bytes of a text that are compared at a time.
pub const TEXT_PART: usize = size_of::<u64>();

/// An item of a list, by a number that the caller gives it.
pub type ItemNumber = u32;

/// A page of a list: positions from 0, and the direction of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// The positions of the page. A page behind the end is empty.
    pub positions: Range<usize>,
    /// Whether the largest comes first.
    pub descending: bool,
}

impl PageRange {
    /// The same items by their positions in ascending order, in a list of this length.
    fn ascending(&self, length: usize) -> Range<usize> {
        let end = self.positions.end.min(length);
        let start = self.positions.start.min(end);
        if self.descending { length - end..length - start } else { start..end }
    }
}

/// The fewest items that are kept before the items behind a page are dropped.
const KEPT: usize = 1024;

/// The items of a page in the order of their keys. Items with the same key are in the order of their numbers, also in
/// descending order. Of a long list, only about twice the items up to the end of the page are kept.
pub fn page_by_number(
    items: impl Iterator<Item = (u64, ItemNumber)>,
    page: &PageRange,
) -> Vec<ItemNumber> {
    let most = page.positions.end.saturating_mul(2).max(KEPT);
    let mut kept: Vec<(u64, ItemNumber)> = Vec::new();
    // The first item that is known to be behind the page.
    let mut behind = (u64::MAX, ItemNumber::MAX);
    for (key, item) in items {
        let item = (if page.descending { u64::MAX - key } else { key }, item);
        if item >= behind {
            continue;
        }
        kept.push(item);
        if kept.len() == most {
            let (_, first_behind, _) = kept.select_nth_unstable(most / 2);
            behind = *first_behind;
            kept.truncate(most / 2);
        }
    }
    let end = page.positions.end.min(kept.len());
    let start = page.positions.start.min(end);
    let shown = selected(&mut kept, start..end);
    shown.sort_unstable();
    shown.iter().map(|(_, item)| *item).collect()
}

/// Moves the smallest items to their side of a range, and answers the items in it. They are not sorted.
fn selected<T: Ord>(items: &mut [T], range: Range<usize>) -> &mut [T] {
    if range.is_empty() {
        return &mut [];
    }
    let rest = match range.start {
        0 => items,
        start => {
            items.select_nth_unstable(start);
            &mut items[start..]
        }
    };
    let count = range.len();
    if count < rest.len() {
        rest.select_nth_unstable(count);
    }
    &mut rest[..count]
}

/// The items of a page in the order of their texts, byte by byte. `read` appends a number for each item: its text from
/// an offset on, see [`text_part`]. Items with the same text are in the order of the list; in descending order they are
/// in the opposite one.
pub fn page_by_text(
    items: &[ItemNumber],
    page: &PageRange,
    read: &mut TextReader<'_>,
) -> Vec<ItemNumber> {
    let range = page.ascending(items.len());
    let mut shown = Vec::with_capacity(range.len());
    add_in_order(items, range, 0, read, &mut shown);
    if page.descending {
        shown.reverse();
    }
    shown
}

/// Appends the part of each item's text from this offset on.
pub type TextReader<'a> = dyn FnMut(&[ItemNumber], usize, &mut Vec<u64>) + 'a;

/// Adds the items of a range. The texts of all items are the same up to `offset`.
fn add_in_order(
    items: &[ItemNumber],
    range: Range<usize>,
    offset: usize,
    read: &mut TextReader<'_>,
    shown: &mut Vec<ItemNumber>,
) {
    if range.is_empty() || items.len() == 1 {
        shown.extend_from_slice(&items[range]);
        return;
    }
    let (offset, parts) = first_difference(items, offset, read);
    let (before, candidates) = around(&parts, range.clone());
    let mut start = before;
    for alike in candidates.chunk_by(|a, b| a.0 == b.0) {
        let end = start + alike.len();
        let first = range.start.max(start);
        let last = range.end.min(end).max(first);
        let within = first - start..last - start;
        let numbers: Vec<ItemNumber> = alike.iter().map(|(_, at)| items[*at]).collect();
        if ends(alike[0].0) {
            shown.extend_from_slice(&numbers[within]);
        } else {
            add_in_order(&numbers, within, offset + TEXT_PART, read, shown);
        }
        start = end;
    }
}

/// The first part of text, from an offset on, that is not the same for all items, or in which all texts end.
fn first_difference(
    items: &[ItemNumber],
    mut offset: usize,
    read: &mut TextReader<'_>,
) -> (usize, Vec<u64>) {
    let mut parts = Vec::with_capacity(items.len());
    loop {
        parts.clear();
        read(items, offset, &mut parts);
        let first = parts.first().copied().unwrap_or_default();
        if ends(first) || parts.iter().any(|part| *part != first) {
            return (offset, parts);
        }
        offset += TEXT_PART;
    }
}

/// The parts that are in a range of their order, and all that are alike, sorted, each with its position. Also the
/// number of the parts before them.
fn around(parts: &[u64], range: Range<usize>) -> (usize, Vec<(u64, usize)>) {
    let mut sought = parts.to_vec();
    let selection = selected(&mut sought, range);
    let least = selection.iter().copied().min().unwrap_or(0);
    let greatest = selection.iter().copied().max().unwrap_or(u64::MAX);
    let mut before = 0;
    let mut candidates = Vec::new();
    for (position, part) in parts.iter().enumerate() {
        if *part < least {
            before += 1;
        } else if *part <= greatest {
            candidates.push((*part, position));
        }
    }
    candidates.sort_unstable();
    (before, candidates)
}

/// Whether the text ends within this part.
const fn ends(part: u64) -> bool {
    part & 0xff == 0
}

/// A part of a text as a number, which has the order of the bytes. The text contains no NUL byte; the part behind its
/// end consists of them.
pub fn text_part(text: &[u8], offset: usize) -> u64 {
    let rest = text.get(offset..).unwrap_or_default();
    if let Some(part) = rest.first_chunk::<TEXT_PART>() {
        return u64::from_be_bytes(*part);
    }
    let mut part = [0; TEXT_PART];
    part[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(length: usize) -> Vec<PageRange> {
        let ranges = [0..3, 2..7, 0..length, length.saturating_sub(2)..length + 9, 50..60];
        let both = ranges.into_iter().flat_map(|positions| {
            [false, true].map(|descending| PageRange { positions: positions.clone(), descending })
        });
        both.collect()
    }

    fn cut<T: Clone>(sorted: &[T], page: &PageRange) -> Vec<T> {
        let positions = page.positions.clone();
        sorted.iter().skip(positions.start).take(positions.len()).cloned().collect()
    }

    #[test]
    fn a_page_by_number_is_the_same_part_of_the_sorted_list() {
        let mut random = fastrand::Rng::with_seed(7);
        for length in [0, 1, 2, 40, 1000, 5000] {
            let keys = 30 + length as u64 / 2;
            let items: Vec<(u64, u32)> =
                (0..length).map(|item| (random.u64(0..keys), item as u32)).collect();
            for page in pages(length) {
                let mut sorted = items.clone();
                sorted.sort_by_key(|(key, item)| {
                    (if page.descending { u64::MAX - key } else { *key }, *item)
                });
                let sorted: Vec<u32> = sorted.iter().map(|(_, item)| *item).collect();
                assert_eq!(
                    page_by_number(items.iter().copied(), &page),
                    cut(&sorted, &page),
                    "{page:?}"
                );
            }
        }
    }

    #[test]
    fn a_page_by_text_is_the_same_part_of_the_sorted_list() {
        let mut random = fastrand::Rng::with_seed(8);
        for length in [0, 1, 2, 40, 1000] {
            let mut text = || {
                let parts = ["a", "film-", "12345678", "\u{e9}t\u{e9}", "b", "z"];
                let count = random.usize(0..5);
                let chosen: String = (0..count).map(|_| parts[random.usize(..6)]).collect();
                chosen
            };
            let texts: Vec<String> = (0..length).map(|_| text()).collect();
            let items: Vec<u32> = (0..length as u32).collect();
            let mut read = |items: &[u32], offset: usize, parts: &mut Vec<u64>| {
                let part = |item: &u32| text_part(texts[*item as usize].as_bytes(), offset);
                parts.extend(items.iter().map(part));
            };
            for page in pages(length) {
                let mut sorted = items.clone();
                sorted.sort_by_key(|item| &texts[*item as usize]);
                if page.descending {
                    sorted.reverse();
                }
                let shown = page_by_text(&items, &page, &mut read);
                assert_eq!(shown, cut(&sorted, &page), "{length} items, {page:?}");
            }
        }
    }
}
