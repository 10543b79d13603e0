//! Orders of long lists that are kept between looks. After a change an order is repaired, not made again. Pure.

use std::ops::Range;

use crate::page_order::{ItemNumber, PageRange, TextReader};

/// The items of a list in an order. Items that are alike are in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptOrder(Vec<ItemNumber>);

impl KeptOrder {
    /// The items in the order of their texts, byte by byte.
    pub fn by_text(mut items: Vec<ItemNumber>, read: &mut TextReader<'_>) -> Self {
        let mut unsorted = vec![(0..items.len(), 0)];
        while let Some((range, from)) = unsorted.pop() {
            let Some(part) = items.get_mut(range.clone()) else { continue };
            let alike = sort_by_piece(part, from, read);
            let here = |alike: Range<usize>| {
                (range.start + alike.start..range.start + alike.end, from + PIECE)
            };
            unsorted.extend(alike.into_iter().map(here));
        }
        KeptOrder(items)
    }

    /// The items in the order of their numbers.
    pub fn by_number(items: impl Iterator<Item = (u64, ItemNumber)>) -> Self {
        let mut keyed: Vec<(u64, ItemNumber)> = items.collect();
        keyed.sort_unstable();
        KeptOrder(keyed.into_iter().map(|(_, item)| item).collect())
    }

    /// All items in this order.
    pub fn items(&self) -> &[ItemNumber] {
        &self.0
    }

    /// This order after a change: the remaining items under their new numbers, and others in between. It costs one
    /// step for each item, and a few comparisons for each added one.
    pub fn repaired(
        &self,
        new_number: impl Fn(ItemNumber) -> Option<ItemNumber>,
        added: &KeptOrder,
        is_before: impl Fn(ItemNumber, ItemNumber) -> bool,
    ) -> Self {
        let left: Vec<ItemNumber> = self.0.iter().filter_map(|item| new_number(*item)).collect();
        let mut merged = Vec::with_capacity(left.len() + added.0.len());
        let mut rest = left.as_slice();
        for item in &added.0 {
            let (before, behind) =
                rest.split_at(rest.partition_point(|one| is_before(*one, *item)));
            merged.extend_from_slice(before);
            merged.push(*item);
            rest = behind;
        }
        merged.extend_from_slice(rest);
        KeptOrder(merged)
    }

    /// A page of the items that are wanted.
    pub fn page_of(
        &self,
        page: &PageRange,
        is_wanted: impl Fn(ItemNumber) -> bool,
    ) -> Vec<ItemNumber> {
        cut(page, self.0.iter().copied().filter(|item| is_wanted(*item)))
    }

    /// A page of all items.
    pub fn page(&self, page: &PageRange) -> Vec<ItemNumber> {
        cut(page, self.0.iter().copied())
    }
}

fn cut(page: &PageRange, items: impl DoubleEndedIterator<Item = ItemNumber>) -> Vec<ItemNumber> {
    let PageRange { positions, descending } = page.clone();
    match descending {
        false => items.skip(positions.start).take(positions.len()).collect(),
        true => items.rev().skip(positions.start).take(positions.len()).collect(),
    }
}

/// Bytes of a text that are compared at once.
const PIECE: usize = 7;

/// Sorts items by a piece of their texts. Answers the items whose texts are alike so far and go on.
fn sort_by_piece(
    items: &mut [ItemNumber],
    from: usize,
    read: &mut TextReader<'_>,
) -> Vec<Range<usize>> {
    let mut keyed: Vec<(u64, ItemNumber)> = Vec::with_capacity(items.len());
    let mut rest = items.iter();
    read(items, &mut |text| keyed.extend(rest.next().map(|item| (piece(text, from), *item))));
    keyed.sort_unstable();
    items.iter_mut().zip(&keyed).for_each(|(place, (_, item))| *place = *item);
    let mut begin = 0;
    let mut unsorted = Vec::new();
    for alike in keyed.chunk_by(|(one, _), (other, _)| one == other) {
        let end = begin + alike.len();
        if alike.len() > 1 && alike[0].0 & 0xff > PIECE as u64 {
            unsorted.push(begin..end);
        }
        begin = end;
    }
    unsorted
}

/// The bytes of a text from a position on as a number. The last byte is the length of the piece, and more than that if
/// the text goes on.
fn piece(text: &[u8], from: usize) -> u64 {
    let rest = text.get(from..).unwrap_or_default();
    let mut bytes = [0; 8];
    let length = rest.len().min(PIECE);
    bytes[..length].copy_from_slice(&rest[..length]);
    bytes[PIECE] = rest.len().min(PIECE + 1) as u8;
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(random: &mut fastrand::Rng) -> String {
        let parts = ["a", "film-", "12345678", "\u{e9}t\u{e9}", "\0", "z"];
        let count = random.usize(0..7);
        (0..count).map(|_| parts[random.usize(..6)]).collect()
    }

    fn by_text(items: Vec<u32>, texts: &[String]) -> KeptOrder {
        KeptOrder::by_text(items, &mut |items, show| {
            items.iter().for_each(|item| show(texts[*item as usize].as_bytes()));
        })
    }

    #[test]
    fn an_order_by_text_compares_byte_by_byte() {
        let mut random = fastrand::Rng::with_seed(9);
        for length in [0, 1, 2, 40, 5000] {
            let texts: Vec<String> = (0..length).map(|_| text(&mut random)).collect();
            let items: Vec<u32> = (0..length as u32).collect();
            let mut sorted = items.clone();
            sorted.sort_by_key(|item| texts[*item as usize].as_bytes());
            assert_eq!(by_text(items, &texts), KeptOrder(sorted));
        }
    }

    #[test]
    fn a_repaired_order_is_that_of_the_changed_list() {
        let mut random = fastrand::Rng::with_seed(10);
        for _ in 0..50 {
            // Each item that remains has half of its earlier number. Added items have odd numbers.
            let texts: Vec<String> = (0..200).map(|_| text(&mut random)).collect();
            let earlier: Vec<String> = (0..400).map(|item| texts[item / 2].clone()).collect();
            let is_left = |item: u32| !item.is_multiple_of(3);
            let before =
                by_text((0..400).filter(|item: &u32| item.is_multiple_of(4)).collect(), &earlier);
            let added: Vec<u32> = (0..200).filter(|item| item % 2 == 1).collect();
            let key = |item: u32| (texts[item as usize].as_bytes(), item);
            let repaired = before.repaired(
                |item| is_left(item).then_some(item / 2),
                &by_text(added.clone(), &texts),
                |one, other| key(one) < key(other),
            );
            let left = (0..400)
                .filter(|item: &u32| item.is_multiple_of(4) && is_left(*item))
                .map(|item| item / 2);
            assert_eq!(repaired, by_text(left.chain(added).collect(), &texts));
        }
    }

    #[test]
    fn a_page_of_an_order_leaves_out_unwanted_items() {
        let order = KeptOrder::by_number((0..10).map(|item| (u64::from(item % 2), item)));
        let page = |descending| PageRange { positions: 1..4, descending };
        assert_eq!(order.page(&page(false)), [2, 4, 6]);
        assert_eq!(order.page(&page(true)), [7, 5, 3]);
        assert_eq!(order.page_of(&page(false), |item| item > 3), [6, 8, 5]);
        assert_eq!(order.page_of(&page(true), |item| item > 3), [7, 5, 8]);
        assert!(order.page(&PageRange { positions: 10..12, descending: true }).is_empty());
    }
}
