//! A copy is deleted only by a removal on record:
//!
//! - Ignored and pinned files are never removed.
//! - A keeper is not being removed, and a copy that is being removed is no keeper.
//! - The last copy of a file on any disk goes only to make room. A file is excused if a copy of it was deleted by hand,
//!   or went to make room.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_yard::remover::{Intent, Reason, RemovalEvent, RemovalOutcome};

use crate::simulation::scene::IGNORED;

/// The name of the invariant in a violation.
pub const NAME: &str = "removals";

/// The judge's own record of removals.
#[derive(Clone, Debug, Default)]
pub struct RemovalsOnRecord {
    /// The last intent for each copy.
    intents: BTreeMap<(HostAddr, FileName), Intent>,
    /// The removals without an end.
    open: BTreeSet<(HostAddr, FileName)>,
    pinned: BTreeSet<FileName>,
    /// Files whose copies went for another reason than another copy.
    excused: BTreeSet<FileName>,
    /// The number of copies that removals deleted.
    pub deleted: u64,
}

impl RemovalsOnRecord {
    /// The removals without an end.
    pub fn open(&self) -> impl Iterator<Item = &(HostAddr, FileName)> {
        self.open.iter()
    }

    /// Whether no copy of a file may be removed.
    pub fn is_pinned(&self, name: &FileName) -> bool {
        self.pinned.contains(name)
    }

    /// Excuses a file: somebody deleted a copy of it by hand.
    pub fn excuse(&mut self, name: &FileName) {
        self.excused.insert(name.clone());
    }

    /// Records the first effect of an event.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn apply(&mut self, event: &RemovalEvent, outcome: RemovalOutcome) -> Result<(), String> {
        if outcome != RemovalOutcome::Applied {
            return Ok(());
        }
        match event {
            RemovalEvent::Intended(intent) => self.intend(intent),
            RemovalEvent::Ended { host, name, .. } => {
                self.open.remove(&(*host, name.clone()));
                Ok(())
            }
            RemovalEvent::Pinned { name, .. } => {
                self.pinned.insert(name.clone());
                Ok(())
            }
            RemovalEvent::Unpinned { name } => {
                self.pinned.remove(name);
                Ok(())
            }
            RemovalEvent::Forgot { .. } => Ok(()),
        }
    }

    fn intend(&mut self, intent: &Intent) -> Result<(), String> {
        let (host, name) = (intent.host, &intent.name);
        if name.as_bytes().starts_with(IGNORED) || self.pinned.contains(name) {
            return Err(format!("{name:?} on {host} is removed, which is ignored or pinned"));
        }
        let is_going = |keeper| self.open.contains(&(keeper, name.clone()));
        if intent.keeper.is_some_and(is_going) {
            return Err(format!("{name:?} on {host} goes for {:?}, which goes", intent.keeper));
        }
        let needed_by = self.open.iter().find(|(other, open)| {
            let before = self.intents.get(&(*other, open.clone()));
            open == name && before.is_some_and(|before| before.keeper == Some(host))
        });
        if let Some((other, _)) = needed_by {
            return Err(format!("{name:?} on {host} goes, and {other} goes on its strength"));
        }
        self.open.insert((host, name.clone()));
        self.intents.insert((host, name.clone()), intent.clone());
        Ok(())
    }

    /// Checks a call that deleted a copy. `others` says whether any disk still holds the file.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn delete(&mut self, host: HostAddr, name: &FileName, others: bool) -> Result<(), String> {
        self.deleted += 1;
        let Some(intent) = self.intents.get(&(host, name.clone())) else {
            return Err(format!("{name:?} on {host} was deleted without a removal on record"));
        };
        if matches!(intent.reason, Reason::OverLimit { .. } | Reason::MakesRoom { .. }) {
            self.excused.insert(name.clone());
        }
        if others || self.excused.contains(name) {
            return Ok(());
        }
        Err(format!("the last copy of {name:?}, on {host}, was deleted: {:?}", intent.reason))
    }
}
