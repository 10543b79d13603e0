//! The files of a host, kept correct while a list of it is read. Pure.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;
use reelyard_protocol::inventory::listing::FileListing;
use reelyard_protocol::worker::InventoryCursor;

use crate::cfw_worker::Inventory;
use crate::cfw_worker::lists::list_body::ListFingerprint;

/// The answer of a host to a request for its files.
#[derive(Clone, Debug)]
pub struct InventoryAnswer {
    /// Everything, or only changes.
    pub extent: Extent,
    /// The cursor from which changes can be requested; none if the host cannot report changes.
    pub cursor: Option<InventoryCursor>,
    /// The listed files, or with changes the changed names.
    pub listed: FileListing,
    /// The fingerprint of a full list; none if it is not compared with the next one.
    pub body: Option<ListFingerprint>,
}

/// How much an answer contains.
#[derive(Clone, Debug)]
pub enum Extent {
    /// All files of the host.
    Whole,
    /// The changes since the cursor of the request.
    Changes,
    /// All files of the host, exactly as in its last list.
    Unchanged,
}

/// The known files of one host.
///
/// **Invariant:** a list that was requested before a copy arrived or was removed never undoes that
/// change. Such changes are stored while a list is read, and applied again to its result.
#[derive(Debug, Default)]
pub struct HeldFiles {
    /// None until the host was listed for the first time.
    inventory: Option<Arc<Inventory>>,
    /// The changes since the request for the running list. None if no list is running.
    since_asked: Option<Vec<HoldingChange>>,
    /// The cursor for the next request of changes; none if everything is requested next.
    cursor: Option<InventoryCursor>,
    /// The fingerprint of a list with exactly the files of the inventory.
    body: Option<ListFingerprint>,
    /// When the host last reported everything.
    whole_at: Option<Millis>,
}

#[derive(Clone, Copy, Debug)]
enum HoldingChange {
    Arrived(FileId),
    Gone(FileId),
}

impl HeldFiles {
    /// The files of the host. None if they were never read.
    pub fn inventory(&self) -> Option<&Arc<Inventory>> {
        self.inventory.as_ref()
    }

    /// When the host last sent a full list.
    pub fn whole_at(&self) -> Option<Millis> {
        self.whole_at
    }

    /// The fingerprint of the last list. None if the known files have changed since.
    pub fn fingerprint(&self) -> Option<ListFingerprint> {
        self.body
    }

    /// Whether the host reports changes.
    pub fn follows_changes(&self) -> bool {
        self.cursor.is_some()
    }

    /// The host is called at `now`. It is asked for changes if it can report them, and if its last full
    /// list is less than `whole_interval` old. Answers the cursor for the changes; none for a full
    /// list.
    pub fn asked(&mut self, now: Millis, whole_interval: Duration) -> Option<InventoryCursor> {
        self.since_asked = Some(Vec::new());
        let is_recent = self.whole_at.is_some_and(|at| at <= now && now.since(at) < whole_interval);
        self.cursor.filter(|_| is_recent && self.inventory.is_some())
    }

    /// Requests a full list next, because another program may answer there, or its last answer was
    /// inconsistent.
    pub fn doubt(&mut self) {
        self.cursor = None;
        self.body = None;
    }

    /// The list failed: the known files remain.
    pub fn not_answered(&mut self) {
        self.since_asked = None;
    }

    /// Takes the answer to the request that was sent at `at`.
    pub fn answered(&mut self, answered: InventoryAnswer, at: Millis) -> Arc<Inventory> {
        let InventoryAnswer { extent, cursor, listed, body } = answered;
        let FileListing { files, gone, unreadable_names } = listed;
        let mut inventory = match (extent, &self.inventory) {
            (Extent::Changes, Some(before)) => {
                let files = (&before.files | files) - gone;
                Inventory { files, unreadable_names: before.unreadable_names, at }
            }
            (Extent::Unchanged, Some(before)) => {
                self.whole_at = Some(at);
                Inventory { at, ..Inventory::clone(before) }
            }
            (Extent::Whole, _) => {
                self.whole_at = Some(at);
                Inventory { files, unreadable_names, at }
            }
            // Neither is requested before a full list. Otherwise it would look like a full list.
            (Extent::Changes | Extent::Unchanged, None) => {
                Inventory { files, unreadable_names, at }
            }
        };
        self.cursor = cursor;
        let changes = self.since_asked.take().unwrap_or_default();
        self.body = body.filter(|_| changes.is_empty());
        for change in changes {
            change.make(&mut inventory);
        }
        let inventory = Arc::new(inventory);
        self.inventory = Some(inventory.clone());
        inventory
    }

    /// A copy arrived. Answers whether that changed the known files.
    pub fn arrived(&mut self, file: FileId) -> bool {
        self.change(HoldingChange::Arrived(file))
    }

    /// A copy was removed. Answers whether that changed the known files.
    pub fn gone(&mut self, file: FileId) -> bool {
        self.change(HoldingChange::Gone(file))
    }

    fn change(&mut self, change: HoldingChange) -> bool {
        if let Some(changes) = &mut self.since_asked {
            changes.push(change);
        }
        // A host that was never listed remains unknown: one copy is not an inventory.
        let is_news = self.inventory.as_mut().is_some_and(|inventory| {
            change.would_change(inventory) && change.make(Arc::make_mut(inventory))
        });
        self.body = self.body.filter(|_| !is_news);
        is_news
    }
}

impl HoldingChange {
    fn would_change(self, inventory: &Inventory) -> bool {
        match self {
            HoldingChange::Arrived(file) => !inventory.files.contains(file.0),
            HoldingChange::Gone(file) => inventory.files.contains(file.0),
        }
    }

    fn make(self, inventory: &mut Inventory) -> bool {
        match self {
            HoldingChange::Arrived(file) => inventory.files.insert(file.0),
            HoldingChange::Gone(file) => inventory.files.remove(file.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfw_worker::lists::list_body::ListHasher;

    const WHOLE_INTERVAL: Duration = Duration::from_secs(1800);

    fn listed(files: &[u32]) -> InventoryAnswer {
        let listed =
            FileListing { files: files.iter().copied().collect(), ..FileListing::default() };
        InventoryAnswer { extent: Extent::Whole, cursor: None, listed, body: None }
    }

    fn cursor(change: u64) -> Option<InventoryCursor> {
        Some(InventoryCursor { instance: 1, change })
    }

    fn changes(held: &[u32], gone: &[u32], to: u64) -> InventoryAnswer {
        let listed = FileListing {
            files: held.iter().copied().collect(),
            gone: gone.iter().copied().collect(),
            unreadable_names: 0,
        };
        InventoryAnswer { extent: Extent::Changes, cursor: cursor(to), listed, body: None }
    }

    fn ask(holdings: &mut HeldFiles, at: i64) -> Option<InventoryCursor> {
        holdings.asked(Millis(at), WHOLE_INTERVAL)
    }

    fn files(holdings: &HeldFiles) -> Option<Vec<u32>> {
        holdings.inventory().map(|inventory| inventory.files.iter().collect())
    }

    #[test]
    fn a_host_is_unknown_until_it_was_listed() {
        let mut holdings = HeldFiles::default();
        assert!(!holdings.arrived(FileId(1)));
        assert_eq!(files(&holdings), None);
        ask(&mut holdings, 1);
        holdings.not_answered();
        assert_eq!(files(&holdings), None);
        ask(&mut holdings, 1);
        holdings.answered(listed(&[]), Millis(1));
        assert_eq!(files(&holdings), Some(vec![]));
    }

    #[test]
    fn an_older_list_does_not_undo_later_changes() {
        let mut holdings = HeldFiles::default();
        ask(&mut holdings, 1);
        holdings.answered(listed(&[1, 2]), Millis(1));

        ask(&mut holdings, 1);
        assert!(holdings.arrived(FileId(3)));
        assert!(holdings.gone(FileId(1)));
        assert!(holdings.gone(FileId(2)));
        assert!(holdings.arrived(FileId(2)));
        let before = holdings.inventory().unwrap().clone();
        holdings.answered(listed(&[1, 2]), Millis(2));
        assert_eq!(files(&holdings), Some(vec![2, 3]));
        assert_eq!(before.files.iter().collect::<Vec<_>>(), [2, 3]);

        // The next list was asked for after all of that: it alone counts.
        ask(&mut holdings, 1);
        holdings.answered(listed(&[1]), Millis(3));
        assert_eq!(files(&holdings), Some(vec![1]));
    }

    #[test]
    fn changes_are_asked_for_until_everything_is_due_or_in_doubt() {
        let mut holdings = HeldFiles::default();
        assert_eq!(ask(&mut holdings, 0), None);
        holdings.answered(InventoryAnswer { cursor: cursor(3), ..listed(&[1, 2]) }, Millis(0));
        assert_eq!(ask(&mut holdings, 10), cursor(3));
        assert!(holdings.arrived(FileId(9)));
        holdings.answered(changes(&[2, 3], &[1, 7], 5), Millis(10));
        assert_eq!(files(&holdings), Some(vec![2, 3, 9]));
        assert_eq!(
            (holdings.inventory().unwrap().at, holdings.whole_at()),
            (Millis(10), Some(Millis(0)))
        );

        assert_eq!(ask(&mut holdings, 20), cursor(5));
        holdings.not_answered();
        assert_eq!(ask(&mut holdings, 30), cursor(5), "what was not answered is asked again");
        holdings.not_answered();
        assert_eq!(ask(&mut holdings, 1_800_000), None, "everything is due");
        holdings.not_answered();
        holdings.doubt();
        assert_eq!(ask(&mut holdings, 40), None);
    }

    #[test]
    fn an_unchanged_list_counts_only_while_nothing_else_changed_the_files() {
        let mut hasher = ListHasher::default();
        hasher.push(b"1\n2\n");
        let body = Some(hasher.finish());
        let mut holdings = HeldFiles::default();
        ask(&mut holdings, 1);
        holdings.answered(InventoryAnswer { body, ..listed(&[1, 2]) }, Millis(1));
        assert_eq!(holdings.fingerprint(), body);
        let unchanged = InventoryAnswer { extent: Extent::Unchanged, body, ..listed(&[]) };
        ask(&mut holdings, 2);
        assert!(!holdings.arrived(FileId(2)), "no news");
        holdings.answered(unchanged.clone(), Millis(2));
        let inventory = holdings.inventory().unwrap();
        assert_eq!(
            (inventory.files.len(), inventory.at, holdings.whole_at()),
            (2, Millis(2), Some(Millis(2)))
        );
        // A copy arrives while the list is read: the next list has other files than the inventory.
        ask(&mut holdings, 3);
        assert!(holdings.arrived(FileId(3)));
        holdings.answered(unchanged, Millis(3));
        assert_eq!(files(&holdings), Some(vec![1, 2, 3]));
        assert_eq!(holdings.fingerprint(), None);
        holdings.answered(InventoryAnswer { body, ..listed(&[1, 2]) }, Millis(4));
        holdings.gone(FileId(1));
        assert_eq!(holdings.fingerprint(), None);
    }

    #[test]
    fn a_failed_list_changes_nothing() {
        let mut holdings = HeldFiles::default();
        ask(&mut holdings, 1);
        holdings.answered(listed(&[1]), Millis(1));
        ask(&mut holdings, 1);
        holdings.arrived(FileId(2));
        holdings.not_answered();
        assert_eq!(files(&holdings), Some(vec![1, 2]));
        assert!(!holdings.arrived(FileId(2)), "it is there already");
    }
}
