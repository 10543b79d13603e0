//! What a host holds, kept right while a list of it is under way. Pure.

use std::sync::Arc;

use super::Inventory;
use super::listing::Listed;
use crate::clock::Millis;
use crate::names::FileId;

/// What one host holds, as far as is known.
///
/// **Invariant:** a list that was asked for before a copy arrived or was removed never undoes
/// that: such changes are kept while a list is under way and made again on its result.
#[derive(Debug, Default)]
pub struct Holdings {
    /// None until the host was listed for the first time.
    inventory: Option<Arc<Inventory>>,
    /// What changed since the list that is under way was asked for. None when none is.
    since_asked: Option<Vec<Change>>,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Arrived(FileId),
    Gone(FileId),
}

impl Holdings {
    /// What the host holds. None while nothing is known.
    pub fn inventory(&self) -> Option<&Arc<Inventory>> {
        self.inventory.as_ref()
    }

    /// A list is asked for now.
    pub fn asked(&mut self) {
        self.since_asked = Some(Vec::new());
    }

    /// The list failed: what was known stays.
    pub fn not_answered(&mut self) {
        self.since_asked = None;
    }

    /// The list that was asked for at `at` came.
    pub fn answered(&mut self, listed: Listed, at: Millis) -> Arc<Inventory> {
        let Listed { files, unreadable_names } = listed;
        let mut inventory = Inventory { files, unreadable_names, at };
        for change in self.since_asked.take().unwrap_or_default() {
            change.make(&mut inventory);
        }
        let inventory = Arc::new(inventory);
        self.inventory = Some(inventory.clone());
        inventory
    }

    /// A copy arrived. Answers whether that changed what is known.
    pub fn arrived(&mut self, file: FileId) -> bool {
        self.change(Change::Arrived(file))
    }

    /// A copy is gone. Answers whether that changed what is known.
    pub fn gone(&mut self, file: FileId) -> bool {
        self.change(Change::Gone(file))
    }

    fn change(&mut self, change: Change) -> bool {
        if let Some(changes) = &mut self.since_asked {
            changes.push(change);
        }
        // A host that was never listed stays unknown: one copy is not an inventory.
        self.inventory.as_mut().is_some_and(|inventory| {
            change.would_change(inventory) && change.make(Arc::make_mut(inventory))
        })
    }
}

impl Change {
    fn would_change(self, inventory: &Inventory) -> bool {
        match self {
            Change::Arrived(file) => !inventory.files.contains(file.0),
            Change::Gone(file) => inventory.files.contains(file.0),
        }
    }

    fn make(self, inventory: &mut Inventory) -> bool {
        match self {
            Change::Arrived(file) => inventory.files.insert(file.0),
            Change::Gone(file) => inventory.files.remove(file.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[u32]) -> Listed {
        Listed { files: files.iter().copied().collect(), unreadable_names: 0 }
    }

    fn files(holdings: &Holdings) -> Option<Vec<u32>> {
        holdings.inventory().map(|inventory| inventory.files.iter().collect())
    }

    #[test]
    fn a_host_is_unknown_until_it_was_listed() {
        let mut holdings = Holdings::default();
        assert!(!holdings.arrived(FileId(1)));
        assert_eq!(files(&holdings), None);
        holdings.asked();
        holdings.not_answered();
        assert_eq!(files(&holdings), None);
        holdings.asked();
        holdings.answered(listed(&[]), Millis(1));
        assert_eq!(files(&holdings), Some(vec![]));
    }

    #[test]
    fn an_older_list_does_not_undo_what_came_after_it_was_asked_for() {
        let mut holdings = Holdings::default();
        holdings.asked();
        holdings.answered(listed(&[1, 2]), Millis(1));

        holdings.asked();
        assert!(holdings.arrived(FileId(3)));
        assert!(holdings.gone(FileId(1)));
        assert!(holdings.gone(FileId(2)));
        assert!(holdings.arrived(FileId(2)));
        let before = holdings.inventory().unwrap().clone();
        holdings.answered(listed(&[1, 2]), Millis(2));
        assert_eq!(files(&holdings), Some(vec![2, 3]));
        assert_eq!(before.files.iter().collect::<Vec<_>>(), [2, 3]);

        // The next list was asked for after all of that: it alone counts.
        holdings.asked();
        holdings.answered(listed(&[1]), Millis(3));
        assert_eq!(files(&holdings), Some(vec![1]));
    }

    #[test]
    fn a_failed_list_changes_nothing() {
        let mut holdings = Holdings::default();
        holdings.asked();
        holdings.answered(listed(&[1]), Millis(1));
        holdings.asked();
        holdings.arrived(FileId(2));
        holdings.not_answered();
        assert_eq!(files(&holdings), Some(vec![1, 2]));
        assert!(!holdings.arrived(FileId(2)), "it is there already");
    }
}
