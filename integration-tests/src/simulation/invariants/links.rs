//! A link works only before its deadline, and its end is final:
//!
//! - No node serves a link at or after its deadline by the wall clock of its machine, or after its end was applied.
//! - A link that a process refused as due stays refused, unless its deadline changes.
//! - A node that has applied the creation of a share knows it.
//! - A share is reclaimed only after its deadline by a clock that some machine really had.
//! - A share allows no more downloads than its limit.
//! - A download of a share with a limit counts.

use std::collections::BTreeMap;

use reelyard_core::clock::Millis;
use reelyard_shares::share_expiry::{Deadline, ShareEvent, ShareId, ShareOutcome};

/// The name of the invariant in a violation.
pub const NAME: &str = "links";

/// The largest difference of clocks by their drift, in milliseconds.
const DRIFT: i64 = 250;

/// One share by the committed events.
#[derive(Clone, Debug)]
struct RecordedShare {
    created: u64,
    /// Each deadline, with the index of its entry.
    deadlines: Vec<(u64, Deadline)>,
    /// The end of the time to resume the last download.
    exhausted: Option<Deadline>,
    most: Option<u32>,
    taken: u32,
    ended: Option<u64>,
}

impl RecordedShare {
    fn deadline(&self) -> Deadline {
        self.deadlines.last().map_or(Deadline::NEVER, |(_, deadline)| *deadline)
    }

    /// The deadline by the first `index` entries.
    fn deadline_at(&self, index: u64) -> Deadline {
        let known = self.deadlines.iter().rev().find(|(at, _)| *at <= index);
        known.map_or(Deadline::NEVER, |(_, deadline)| *deadline)
    }

    fn due(&self) -> Deadline {
        self.exhausted.map_or(self.deadline(), |until| until.min(self.deadline()))
    }

    fn has_ended_at(&self, index: u64) -> bool {
        self.ended.is_some_and(|ended| ended <= index)
    }
}

/// Whether a deadline has come. It is not compared by the code under test.
fn has_come(deadline: Deadline, now: Millis) -> bool {
    deadline.instant().is_some_and(|instant| now >= instant)
}

/// How a node answered a request for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAnswer {
    /// It serves the share.
    Served,
    /// The share is due.
    Due,
    /// The share has ended.
    Ended,
    /// There is no such share.
    Unknown,
}

/// A node that answers: which one, in which life, how much it has applied, and its wall clock.
#[derive(Clone, Copy, Debug)]
pub struct AnsweringNode {
    /// The index of the node.
    pub node: usize,
    /// The life of its process.
    pub life: u32,
    /// The index up to which it has applied the log.
    pub applied: u64,
    /// The wall clock of its machine.
    pub wall: Millis,
}

/// The judge's own record of shares.
#[derive(Clone, Debug, Default)]
pub struct SharesOnRecord {
    shares: BTreeMap<ShareId, RecordedShare>,
    /// The deadlines by which a process refused a link as due.
    refused: BTreeMap<(usize, u32, ShareId), Deadline>,
    /// How far any clock ever was ahead of the correct time, in milliseconds.
    pub most_ahead: i64,
    /// The number of links that were served.
    pub served: u64,
    /// The number of shares that were reclaimed.
    pub reclaimed: u64,
}

impl SharesOnRecord {
    /// The shares that should have been reclaimed before `now`.
    pub fn overdue(&self, now: Millis) -> impl Iterator<Item = ShareId> {
        let is_overdue =
            move |share: &RecordedShare| share.ended.is_none() && has_come(share.due(), now);
        self.shares.iter().filter(move |(_, share)| is_overdue(share)).map(|(id, _)| *id)
    }

    /// Records the first effect of an event that was decided at `at`. `truly` is the correct time.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn apply(
        &mut self,
        index: u64,
        (at, truly): (Millis, Millis),
        event: &ShareEvent,
        outcome: &ShareOutcome,
    ) -> Result<(), String> {
        match (event, outcome) {
            (ShareEvent::Created(new), ShareOutcome::Created { id }) => {
                let share = RecordedShare {
                    created: index,
                    deadlines: vec![(index, new.deadline)],
                    exhausted: None,
                    most: new.terms.max_downloads.map(std::num::NonZeroU32::get),
                    taken: 0,
                    ended: None,
                };
                self.shares.insert(*id, share);
                Ok(())
            }
            (ShareEvent::Changed { id, changes, .. }, ShareOutcome::Changed { .. }) => {
                if let (Some(share), Some(new)) = (self.shares.get_mut(id), changes.deadline) {
                    share.deadlines.push((index, new.deadline));
                }
                Ok(())
            }
            (ShareEvent::Taken { id, resume_until, .. }, ShareOutcome::Taken { exhausted, .. })
            | (
                ShareEvent::TakenInPart { id, resume_until, .. },
                ShareOutcome::Taken { exhausted, .. },
            ) => self.take(*id, exhausted.map(|_| Deadline::at(*resume_until))),
            (ShareEvent::Reclaimed { ids }, ShareOutcome::Ended { ended, .. }) => {
                let possible = truly.0 + self.most_ahead + DRIFT;
                if at.0 > possible {
                    return Err(format!("shares are reclaimed at {at:?}, which no clock showed"));
                }
                self.reclaimed += ended;
                self.end(index, ids, *ended, |share| has_come(share.due(), at))
            }
            (ShareEvent::Ended { ids, .. }, ShareOutcome::Ended { ended, .. }) => {
                // A share that is due ends as such, and is not counted.
                for id in ids {
                    if let Some(share) = self.shares.get_mut(id)
                        && share.ended.is_none()
                        && has_come(share.due(), at)
                    {
                        share.ended = Some(index);
                    }
                }
                self.end(index, ids, *ended, |_| true)
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, id: ShareId, exhausted: Option<Deadline>) -> Result<(), String> {
        let Some(share) = self.shares.get_mut(&id) else { return Ok(()) };
        share.taken += 1;
        share.exhausted = exhausted.or(share.exhausted);
        match share.most.filter(|most| share.taken > *most) {
            Some(most) => Err(format!("{id:?} allows {most} downloads, and {} count", share.taken)),
            None => Ok(()),
        }
    }

    /// Ends the shares to which `ends` applies. The piece must have ended the same number.
    fn end(
        &mut self,
        index: u64,
        ids: &[ShareId],
        count: u64,
        ends: impl Fn(&RecordedShare) -> bool,
    ) -> Result<(), String> {
        let mut ended = 0;
        for id in ids {
            let Some(share) = self.shares.get_mut(id) else { continue };
            if share.ended.is_none() && ends(share) {
                share.ended = Some(index);
                ended += 1;
            }
        }
        if ended == count {
            return Ok(());
        }
        Err(format!("entry {index} ends {count} of the shares {ids:?}, and {ended} were due"))
    }

    /// Checks that a link has no limit, after a node served it without counting. Nobody removes a limit.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn check_uncounted(&self, id: ShareId) -> Result<(), String> {
        match self.shares.get(&id).and_then(|share| share.most) {
            Some(most) => Err(format!("{id:?} allows {most} downloads, and one does not count")),
            None => Ok(()),
        }
    }

    /// Checks the answer of a node to a request for a link. Its owner may have applied one entry more.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn check(
        &mut self,
        by: AnsweringNode,
        id: ShareId,
        answer: LinkAnswer,
    ) -> Result<(), String> {
        let AnsweringNode { node, life, applied, wall } = by;
        let Some(share) = self.shares.get(&id) else { return Ok(()) };
        let next = applied + 1;
        let deadlines = [share.deadline_at(applied), share.deadline_at(next)];
        let wrong = match answer {
            LinkAnswer::Served => {
                self.served += 1;
                let is_due = deadlines.iter().all(|deadline| has_come(*deadline, wall));
                let refused = self.refused.get(&(node, life, id));
                let was_refused = refused.is_some_and(|before| deadlines == [*before; 2]);
                share.has_ended_at(applied) || is_due || was_refused
            }
            LinkAnswer::Due => {
                self.refused.insert((node, life, id), deadlines[0]);
                false
            }
            LinkAnswer::Ended => !share.has_ended_at(next),
            LinkAnswer::Unknown => share.created <= applied && !share.has_ended_at(next),
        };
        if !wrong {
            return Ok(());
        }
        Err(format!(
            "node{node} answers {answer:?} for {id:?} at {wall:?} and {applied}: {share:?}"
        ))
    }
}
