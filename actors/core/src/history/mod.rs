//! A bounded list of events, newest last. Pure.
//!
//! Each piece keeps the history of its objects, in the same event that changes the piece: so no line can
//! be lost. Line numbers never change, so that a reader can continue where it stopped, even if old lines
//! were removed meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;

/// The lines of one shard: the part that is copied when a line is added while a reader holds the list.
const SHARD: usize = 128;

/// A list that drops its oldest lines. Cloning it shares its shards.
#[derive(Clone, Debug)]
pub struct BoundedLog<T> {
    /// Full ones but for the last.
    shards: VecDeque<Arc<Vec<T>>>,
    /// The number of the first line of the first shard.
    base: u64,
    /// Lines with a lower number are removed, though their shard may still exist.
    first: u64,
}

impl<T> Default for BoundedLog<T> {
    fn default() -> Self {
        BoundedLog { shards: VecDeque::new(), base: 0, first: 0 }
    }
}

impl<T: PartialEq> PartialEq for BoundedLog<T> {
    fn eq(&self, other: &Self) -> bool {
        self.newest_first().eq(other.newest_first())
    }
}

impl<T> BoundedLog<T> {
    /// A list whose first line will have this number.
    pub fn starting_at(first: u64) -> Self {
        BoundedLog { base: first, first, ..BoundedLog::default() }
    }

    /// How many lines there are.
    pub fn len(&self) -> u64 {
        self.next() - self.first
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the oldest line.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next line will have.
    pub fn next(&self) -> u64 {
        let full = self.shards.len().saturating_sub(1) * SHARD;
        let last = self.shards.back().map_or(0, |shard| shard.len());
        self.base + (full + last) as u64
    }

    /// The lines with their numbers, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = (u64, &T)> {
        self.newest_before(u64::MAX)
    }

    /// The lines with a lower number than `before`, newest first.
    pub fn newest_before(&self, before: u64) -> impl Iterator<Item = (u64, &T)> {
        let before = before.min(self.next()).max(self.first);
        (self.first..before).rev().filter_map(|number| Some((number, self.line(number)?)))
    }

    /// The lines with their numbers, oldest first.
    pub fn oldest_first(&self) -> impl Iterator<Item = (u64, &T)> {
        self.oldest_from(self.first)
    }

    /// The lines from this number on, oldest first.
    pub fn oldest_from(&self, from: u64) -> impl Iterator<Item = (u64, &T)> {
        let from = from.max(self.first);
        (from..self.next()).filter_map(|number| Some((number, self.line(number)?)))
    }

    fn line(&self, number: u64) -> Option<&T> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.shards.get(index / SHARD)?.get(index % SHARD)
    }

    /// Removes the lines with a lower number than `before`.
    pub fn forget_before(&mut self, before: u64) {
        self.first = before.clamp(self.first, self.next());
        while self.shards.len() > 1 && self.base + SHARD as u64 <= self.first {
            self.shards.pop_front();
            self.base += SHARD as u64;
        }
    }
}

impl<T: Clone> BoundedLog<T> {
    /// Adds the newest line.
    pub fn push(&mut self, line: T) {
        match self.shards.back_mut().filter(|shard| shard.len() < SHARD) {
            Some(shard) => Arc::make_mut(shard).push(line),
            None => {
                let mut shard = Vec::with_capacity(SHARD);
                shard.push(line);
                self.shards.push_back(Arc::new(shard));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_when_older_ones_go() {
        let mut list = BoundedLog::default();
        assert!(list.is_empty() && list.newest_first().next().is_none());
        for line in 0..1000_u64 {
            assert_eq!(list.next(), line);
            list.push(line);
            if line % 7 == 0 {
                list.forget_before(line.saturating_sub(300));
            }
            assert!(list.newest_first().all(|(number, line)| number == *line));
        }
        list.forget_before(700);
        assert_eq!((list.first(), list.len()), (700, 300));
        assert!(list.shards.len() <= 4);
        let before = |number| list.newest_before(number).map(|(_, line)| *line).collect::<Vec<_>>();
        assert_eq!(before(703), [702, 701, 700]);
        assert!(before(5).is_empty());
        assert!(list.oldest_first().map(|(_, line)| *line).eq(700..1000));
        assert!(list.oldest_from(998).map(|(_, line)| *line).eq(998..1000));
        assert!(list.oldest_from(1000).next().is_none());
        list.forget_before(5000);
        assert_eq!((list.len(), list.next()), (0, 1000));
        list.push(1000);
        assert_eq!(list.newest_first().next(), Some((1000, &1000)));
    }

    #[test]
    fn a_reader_keeps_its_version_of_the_log() {
        let mut list = BoundedLog::starting_at(10);
        list.push('a');
        let read = list.clone();
        list.push('b');
        list.forget_before(11);
        assert_eq!(read.newest_first().collect::<Vec<_>>(), [(10, &'a')]);
        assert_eq!(list.newest_first().collect::<Vec<_>>(), [(11, &'b')]);
    }
}
