//! A copy is deleted only by a removal on record:
//!
//! - Ignored and pinned files are never removed.
//! - A keeper is not being removed, and a copy that is being removed is no keeper.
//! - A leader removes a copy for another one only by a list that its host was asked for just before.
//! - The last copy of a file on any disk goes only to make room. A file is excused if a copy of it went to make room.
//!   It is also excused if somebody deleted a copy by hand after the request for that list.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_yard::remover::{Intent, Reason, RemovalEvent, RemovalOutcome};

use crate::simulation::scene::IGNORED;

/// The name of the invariant in a violation.
pub const NAME: &str = "removals";

/// The longest time from the request for the list of a keeper to the decision, in milliseconds. It covers an
/// observation that began before, the next one, and two calls in each.
const RELIED_WITHIN: u64 = 13_000;

/// The judge's own record of removals.
#[derive(Clone, Debug, Default)]
pub struct RemovalsOnRecord {
    /// The last intent for each copy, with the time of the list on which it relies.
    intents: BTreeMap<(HostAddr, FileName), (Intent, u64)>,
    /// The time of the oldest list of a keeper on which each commit relies, in virtual milliseconds.
    relied: BTreeMap<RequestId, u64>,
    /// The removals without an end.
    open: BTreeSet<(HostAddr, FileName)>,
    pinned: BTreeSet<FileName>,
    /// Files whose copies went to make room.
    excused: BTreeSet<FileName>,
    /// When a copy of a file was last deleted by hand, in virtual milliseconds.
    lost: BTreeMap<FileName, u64>,
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

    /// Records that somebody deleted a copy of a file by hand.
    pub fn lose(&mut self, name: &FileName, now: u64) {
        self.lost.insert(name.clone(), now);
    }

    /// Records a leader's decision. `lists` are the request times of the lists that it has.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn decide(
        &mut self,
        now: u64,
        request: RequestId,
        intents: &[Intent],
        lists: &BTreeMap<HostAddr, u64>,
    ) -> Result<(), String> {
        let mut oldest = now;
        for Intent { host, name, keeper, .. } in intents {
            let Some(keeper) = keeper else { continue };
            let asked = lists.get(keeper).copied().unwrap_or_default();
            if now - asked > RELIED_WITHIN {
                return Err(format!(
                    "{name:?} on {host} goes at {now} for the copy on {keeper}, asked at {asked}"
                ));
            }
            oldest = oldest.min(asked);
        }
        self.relied.insert(request, oldest);
        Ok(())
    }

    /// Records the first effect of an event of the commit `request`.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn apply(
        &mut self,
        request: RequestId,
        event: &RemovalEvent,
        outcome: RemovalOutcome,
    ) -> Result<(), String> {
        if outcome != RemovalOutcome::Applied {
            return Ok(());
        }
        match event {
            RemovalEvent::Intended(intent) => self.intend(request, intent),
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

    fn intend(&mut self, request: RequestId, intent: &Intent) -> Result<(), String> {
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
            open == name && before.is_some_and(|(before, _)| before.keeper == Some(host))
        });
        if let Some((other, _)) = needed_by {
            return Err(format!("{name:?} on {host} goes, and {other} goes on its strength"));
        }
        self.open.insert((host, name.clone()));
        let relied = self.relied.get(&request).copied().unwrap_or_default();
        self.intents.insert((host, name.clone()), (intent.clone(), relied));
        Ok(())
    }

    /// Checks a call that deleted a copy. `others` says whether any disk still holds the file.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn delete(&mut self, host: HostAddr, name: &FileName, others: bool) -> Result<(), String> {
        self.deleted += 1;
        let Some((intent, relied)) = self.intents.get(&(host, name.clone())) else {
            return Err(format!("{name:?} on {host} was deleted without a removal on record"));
        };
        if matches!(
            intent.reason,
            Reason::OverLimit { .. } | Reason::MakesRoom { .. } | Reason::Exchanged { .. }
        ) {
            self.excused.insert(name.clone());
        }
        let was_lost = self.lost.get(name).is_some_and(|lost| relied <= lost);
        if others || was_lost || self.excused.contains(name) {
            return Ok(());
        }
        Err(format!("the last copy of {name:?}, on {host}, was deleted: {:?}", intent.reason))
    }
}
