//! The changed names of a directory, in order. A reader that knows the state at a cursor needs only the
//! changes since then. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use reelyard_core::names::FileName;
use reelyard_protocol::worker::InventoryCursor;

/// The names that changed since the watch began, each with the number of its last change.
#[derive(Debug)]
pub struct ChangeLog {
    /// The id of the watch: numbers have no meaning outside of it.
    instance: u64,
    /// The number of the last change.
    last: u64,
    /// Changes up to this one are forgotten.
    forgotten: u64,
    names: BTreeMap<u64, Arc<FileName>>,
    numbers: HashMap<Arc<FileName>, u64>,
    most: usize,
}

impl ChangeLog {
    /// A log of the watch `instance` that remembers `most` names.
    pub fn new(instance: u64, most: usize) -> Self {
        ChangeLog {
            instance,
            last: 0,
            forgotten: 0,
            names: BTreeMap::new(),
            numbers: HashMap::new(),
            most,
        }
    }

    /// The end of the log.
    pub fn cursor(&self) -> InventoryCursor {
        InventoryCursor { instance: self.instance, change: self.last }
    }

    /// `name` appeared, vanished, or was replaced.
    pub fn changed(&mut self, name: FileName) {
        self.last += 1;
        let name = Arc::new(name);
        if let Some(before) = self.numbers.insert(Arc::clone(&name), self.last) {
            self.names.remove(&before);
        }
        self.names.insert(self.last, name);
        while self.names.len() > self.most {
            let Some((number, name)) = self.names.pop_first() else { break };
            self.numbers.remove(&name);
            self.forgotten = number;
        }
    }

    /// The names that changed after `cursor`; none if that is unknown.
    pub fn since(&self, cursor: InventoryCursor) -> Option<Vec<Arc<FileName>>> {
        let is_known = cursor.instance == self.instance
            && (self.forgotten..=self.last).contains(&cursor.change);
        is_known
            .then(|| self.names.range(cursor.change + 1..).map(|(_, name)| name.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> FileName {
        FileName::new(text).unwrap()
    }

    fn at(instance: u64, change: u64) -> InventoryCursor {
        InventoryCursor { instance, change }
    }

    #[test]
    fn a_name_is_listed_once_after_several_changes() {
        let mut log = ChangeLog::new(7, 10);
        assert_eq!(log.since(log.cursor()), Some(vec![]));
        for text in ["a", "b", "a"] {
            log.changed(name(text));
        }
        let message_of = |cursor| {
            log.since(cursor).map(|names| names.iter().map(|n| n.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(message_of(at(7, 0)), Some(vec!["b".to_owned(), "a".to_owned()]));
        assert_eq!(message_of(at(7, 2)), Some(vec!["a".to_owned()]));
        assert_eq!(message_of(log.cursor()), Some(vec![]));
        assert_eq!(message_of(at(8, 0)), None, "another watch");
        assert_eq!(message_of(at(7, 4)), None, "ahead of all changes");
    }

    proptest! {
        #[test]
        fn a_reader_of_changes_knows_as_much_as_the_log(
            changes in proptest::collection::vec(0_u8..6, 1..60),
            asked_at in 0_usize..60,
            most in 1_usize..8,
        ) {
            let mut log = ChangeLog::new(1, most);
            let asked_at = asked_at % changes.len();
            let mut cursor = log.cursor();
            for (index, change) in changes.iter().enumerate() {
                if index == asked_at {
                    cursor = log.cursor();
                }
                log.changed(name(&change.to_string()));
            }
            let mut behind: Vec<String> =
                changes[asked_at..].iter().map(|change| change.to_string()).collect();
            behind.sort();
            behind.dedup();
            match log.since(cursor) {
                Some(mut message) => {
                    message.sort();
                    let message: Vec<String> = message.iter().map(|name| name.to_string()).collect();
                    prop_assert_eq!(message, behind);
                }
                None => prop_assert!(behind.len() > most || changes.len() - asked_at > most),
            }
            prop_assert!(log.names.len() <= most && log.numbers.len() == log.names.len());
        }
    }
}
