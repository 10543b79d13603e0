//! The lists of destinations that occur in hitcount.history, each once. Pure.

use std::collections::BTreeSet;
use std::net::IpAddr;

use hashbrown::HashMap;

/// How many different texts are remembered with their parsed lists.
const TEXTS_REMEMBERED: usize = 1 << 16;

/// Lists of addresses, by number; the first is the empty one. A yard has few destinations and most
/// files are on one of them, so these are few.
#[derive(Clone, Debug)]
pub struct AddressLists {
    /// Each sorted, every address once.
    lists: Vec<Box<[IpAddr]>>,
    numbers: HashMap<Box<[IpAddr]>, ListNumber>,
}

/// The index of an interned list of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListNumber(u32);

impl ListNumber {
    /// The empty list.
    pub const EMPTY: ListNumber = ListNumber(0);
}

impl Default for AddressLists {
    fn default() -> Self {
        AddressLists {
            lists: vec![Box::default()],
            numbers: HashMap::from([(Box::default(), ListNumber::EMPTY)]),
        }
    }
}

impl AddressLists {
    /// The addresses of a list, each once, ascending.
    pub fn addresses(&self, list: ListNumber) -> &[IpAddr] {
        &self.lists[list.0 as usize]
    }

    /// The number of the list of these addresses, in any order.
    pub fn number_of(&mut self, mut addresses: Vec<IpAddr>) -> ListNumber {
        addresses.sort_unstable();
        addresses.dedup();
        if let Some(&number) = self.numbers.get(&*addresses) {
            return number;
        }
        // Each row adds at most one list, and the number of rows that fit in memory is far below the
        // limit.
        let number = ListNumber(self.lists.len() as u32);
        self.lists.push(addresses.clone().into());
        self.numbers.insert(addresses.into(), number);
        number
    }

    /// The list of everything in two lists.
    pub fn joined(&mut self, one: ListNumber, other: ListNumber) -> ListNumber {
        match (one, other) {
            _ if one == other => one,
            (ListNumber::EMPTY, _) => other,
            (_, ListNumber::EMPTY) => one,
            _ => self.number_of([self.addresses(one), self.addresses(other)].concat()),
        }
    }
}

/// Reads the lists of addresses in rows. The same text is read once.
#[derive(Debug)]
pub struct AddressReader {
    /// Only these addresses count.
    destinations: BTreeSet<IpAddr>,
    lists: AddressLists,
    texts: HashMap<Box<[u8]>, (ListNumber, bool)>,
}

impl AddressReader {
    /// A reader for which only `destinations` count.
    pub fn new(destinations: BTreeSet<IpAddr>) -> Self {
        AddressReader { destinations, lists: AddressLists::default(), texts: HashMap::new() }
    }

    /// The result after the last row.
    pub fn into_lists(self) -> AddressLists {
        self.lists
    }

    /// The destinations in `text`, and whether everything in it is an address.
    pub fn read(&mut self, text: &[u8]) -> (ListNumber, bool) {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let mut all_readable = true;
        let mut listed = Vec::new();
        for word in text.split(|&byte| byte == b' ').filter(|word| !word.is_empty()) {
            match std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()) {
                Some(ip) if self.destinations.contains(&ip) => listed.push(ip),
                Some(_) => {}
                None => all_readable = false,
            }
        }
        let read = (self.lists.number_of(listed), all_readable);
        if self.texts.len() < TEXTS_REMEMBERED {
            self.texts.insert(text.into(), read);
        }
        read
    }
}
