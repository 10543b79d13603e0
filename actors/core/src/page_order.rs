//! One page of a long list in an order, without a sort of the whole list. Pure.
//!
//! A page of a million items costs one look at most of them.

use std::borrow::Cow;
use std::ops::Range;

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
const KEPT: usize = 2048;

/// The items of a page in the order of their keys. Items with the same key are in the order of their numbers, also in
/// descending order. Of a long list, only about twice the items up to the end of the page are kept.
pub fn page_by_number(
    items: impl Iterator<Item = (u64, ItemNumber)>,
    page: &PageRange,
) -> Vec<ItemNumber> {
    let end = page.positions.end;
    let most = end.saturating_mul(2).max(KEPT);
    // One number for both is compared faster than a pair. The key is in front of the number of the item.
    let mut kept: Vec<u128> = Vec::new();
    // The first item that is known to be behind the page.
    let mut behind = u128::MAX;
    for (key, item) in items {
        let key = if page.descending { u64::MAX - key } else { key };
        let item = u128::from(key) << ItemNumber::BITS | u128::from(item);
        if item >= behind {
            continue;
        }
        kept.push(item);
        if kept.len() == most {
            let (_, first_behind, _) = kept.select_nth_unstable(end);
            behind = *first_behind;
            kept.truncate(end);
        }
    }
    let end = end.min(kept.len());
    let start = page.positions.start.min(end);
    let shown = selected(&mut kept, start..end);
    shown.sort_unstable();
    shown.iter().map(|item| *item as ItemNumber).collect()
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

/// Shows the text of each item, in the order of the items.
pub type TextReader<'a> = dyn FnMut(&[ItemNumber], &mut dyn FnMut(&[u8])) + 'a;

/// The items of a page in the order of their texts, byte by byte. Items with the same text are in the order of the
/// list; in descending order they are in the opposite one. The texts of most items are read only once.
pub fn page_by_text(
    items: &[ItemNumber],
    page: &PageRange,
    read: &mut TextReader<'_>,
) -> Vec<ItemNumber> {
    let mut range = page.ascending(items.len());
    let mut left = Cow::Borrowed(items);
    while left.len() > 2 * SAMPLE.max(range.len()) && !range.is_empty() {
        let (before, near) = around(&left, &range, read);
        if near.len() == left.len() {
            break;
        }
        range = range.start - before..range.end - before;
        left = Cow::Owned(near);
    }
    let mut sorted = with_texts(&left, read);
    sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
    let shown = sorted.get(range).unwrap_or_default().iter().map(|(_, item)| *item);
    if page.descending { shown.rev().collect() } else { shown.collect() }
}

/// Items whose texts say where the items of a page are.
const SAMPLE: usize = 2048;

/// The items of a range of the order, and some before and behind them. Also the number of the items before all these.
fn around(
    items: &[ItemNumber],
    range: &Range<usize>,
    read: &mut TextReader<'_>,
) -> (usize, Vec<ItemNumber>) {
    let sample = sample(items, read);
    let in_sample = |position: usize| position * sample.len() / items.len();
    let (first, last) = (in_sample(range.start), in_sample(range.end));
    // Four standard deviations of the position in the sample.
    let margin = |position: usize| 8 + 4 * position.min(sample.len() - position).isqrt();
    let (mut below, mut above) = (margin(first), margin(last));
    loop {
        let lower = first.checked_sub(below).and_then(|first| sample.get(first));
        let upper = sample.get(last + above);
        let is_before = |text: &[u8], at: usize, bound: &(Vec<u8>, usize)| {
            (text, at) < (bound.0.as_slice(), bound.1)
        };
        let (mut at, mut before, mut near) = (0, 0, Vec::new());
        read(items, &mut |text| {
            if lower.is_some_and(|bound| is_before(text, at, bound)) {
                before += 1;
            } else if upper.is_none_or(|bound| is_before(text, at, bound)) {
                near.extend(items.get(at));
            }
            at += 1;
        });
        let is_within = before <= range.start && range.end <= before + near.len();
        if is_within || (lower.is_none() && upper.is_none()) {
            return (before, near);
        }
        (below, above) = (below * 4, above * 4);
    }
}

/// Some items from all parts of a list, by their positions, in the order of their texts.
fn sample(items: &[ItemNumber], read: &mut TextReader<'_>) -> Vec<(Vec<u8>, usize)> {
    let step = (items.len() / SAMPLE).max(1);
    // At irregular distances: the texts can have a period.
    let place = |number: usize| number * step + number.wrapping_mul(0x9e37_79b1) % step;
    let places: Vec<usize> = (0..SAMPLE).map(place).take_while(|at| *at < items.len()).collect();
    let chosen: Vec<ItemNumber> = places.iter().map(|at| items[*at]).collect();
    let texts = with_texts(&chosen, read).into_iter().map(|(text, _)| text);
    let mut sample: Vec<(Vec<u8>, usize)> = texts.zip(places).collect();
    sample.sort_unstable();
    sample
}

fn with_texts(items: &[ItemNumber], read: &mut TextReader<'_>) -> Vec<(Vec<u8>, ItemNumber)> {
    let mut texts = Vec::with_capacity(items.len());
    let mut rest = items.iter();
    read(items, &mut |text| {
        // With memory even for an empty text: processors compare with a dangling address slowly.
        let mut copy = Vec::with_capacity(text.len() + 1);
        copy.extend_from_slice(text);
        texts.extend(rest.next().map(|item| (copy, *item)));
    });
    texts
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
        for length in [0, 1, 2, 40, 1000, 30_000] {
            let mut text = || {
                let parts = ["a", "film-", "12345678", "\u{e9}t\u{e9}", "b", "z"];
                let count = random.usize(0..5);
                let chosen: String = (0..count).map(|_| parts[random.usize(..6)]).collect();
                chosen
            };
            let texts: Vec<String> = (0..length).map(|_| text()).collect();
            let items: Vec<u32> = (0..length as u32).collect();
            for page in pages(length) {
                let mut sorted = items.clone();
                sorted.sort_by_key(|item| &texts[*item as usize]);
                if page.descending {
                    sorted.reverse();
                }
                let mut looks = 0;
                let mut read = |items: &[u32], show: &mut dyn FnMut(&[u8])| {
                    looks += items.len();
                    items.iter().for_each(|item| show(texts[*item as usize].as_bytes()));
                };
                let shown = page_by_text(&items, &page, &mut read);
                assert_eq!(shown, cut(&sorted, &page), "{length} items, {page:?}");
                assert!(looks < 2 * length + SAMPLE, "{looks} looks at {length} items, {page:?}");
            }
        }
    }
}
