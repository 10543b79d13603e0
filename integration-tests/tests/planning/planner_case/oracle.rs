//! A second, simple version of the planning rules, computed from the drawn yard alone.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use reelyard_core::host::HostAddr;
use reelyard_yard::cfw_worker::CircuitState;

use super::{CaseHost, PlannerCase};

/// The remaining yard while copies are planned one after the other.
pub struct Oracle<'a> {
    case: &'a PlannerCase,
    served: Vec<usize>,
    pub load: Vec<usize>,
    pub room: Vec<Option<u64>>,
    pub planned: BTreeSet<usize>,
    /// The last destination of the ring.
    pub last_turn: Option<HostAddr>,
}

/// Whether a host gets only one copy at a time.
fn is_tried(host: &CaseHost) -> bool {
    host.on_probation || host.calls == CircuitState::Probation
}

impl<'a> Oracle<'a> {
    pub fn new(case: &'a PlannerCase) -> Self {
        let mut oracle = Oracle {
            case,
            served: vec![0; case.sources.len()],
            load: vec![0; case.destinations.len()],
            room: case.destinations.iter().map(|host| host.room).collect(),
            planned: BTreeSet::new(),
            last_turn: None,
        };
        for file in &case.files {
            if let Some((source, destination, _)) = file.under_way {
                oracle.occupy(source, destination, file.size);
            }
        }
        oracle
    }

    pub fn occupy(&mut self, source: usize, destination: usize, size: u64) {
        self.served[source] += 1;
        self.load[destination] += 1;
        let room = &mut self.room[destination];
        *room = room.map(|room| room.saturating_sub(size));
    }

    /// The rank of a destination for the next copy; the lowest is the best. A busy one is last. Among equal
    /// ones the most space decides, or the order of the ring.
    pub fn rank(&self, destination: usize) -> (usize, usize, Reverse<u64>) {
        let load = self.load[destination];
        if self.case.ring {
            let mut ring: Vec<_> = (0..self.case.destinations.len())
                .map(|number| (self.case.destination(number).to_string(), number))
                .collect();
            ring.sort();
            ring.reverse();
            let last = self.last_turn.map(|last| last.to_string());
            // First the destinations after the last one, then the others up to it.
            let (before, behind): (Vec<_>, Vec<_>) = ring
                .into_iter()
                .partition(|(text, _)| last.as_ref().is_some_and(|last| text >= last));
            let turn = behind.iter().chain(&before).position(|(_, number)| *number == destination);
            (load, turn.unwrap_or(usize::MAX), Reverse(0))
        } else {
            (load, 0, Reverse(self.room[destination].unwrap_or(0)))
        }
    }

    fn wants_copy(&self, number: usize) -> bool {
        let file = &self.case.files[number];
        let listed =
            file.graded && file.listed_on.is_some_and(|host| !self.case.destinations[host].asked);
        (file.graded || (file.hits > 0 && self.case.ungraded_hot))
            && file.master
            && file.master_found
            && !file.ignored
            && !file.backs_off
            && file.placed_on.is_none()
            && !listed
            && file.under_way.is_none()
            && !self.planned.contains(&number)
    }

    fn may_pair(&self, number: usize, source: usize, destination: usize) -> bool {
        let (file, case) = (&self.case.files[number], self.case);
        let (from, to) = (&case.sources[source], &case.destinations[destination]);
        let (from_ours, to_ours) = (from.ours && from.kind_known, to.ours && to.kind_known);
        case.source(source) != case.destination(destination)
            && !case.held_pairs.contains(&(source, destination))
            && from.up
            && !from.backs_off
            && from.calls != CircuitState::Open
            && self.served[source] < if is_tried(from) { 1 } else { case.cap }
            && to.up
            && to.kind_known
            && to.asked
            && !to.backs_off
            && to.calls != CircuitState::Open
            && !self.is_too_busy(from)
            && !self.is_too_busy(to)
            && (!is_tried(to) || self.load[destination] < 1)
            && self.room[destination].is_some_and(|room| file.size <= room)
            && (from_ours || !to_ours || to.fetches_from_old)
            && (to_ours || !file.uncarried)
    }

    /// Whether a host sends more than its limit. A host with unknown traffic does not.
    fn is_too_busy(&self, host: &CaseHost) -> bool {
        matches!((host.link, self.case.mark), (Some(used), Some(mark)) if used > mark)
    }

    pub fn pairs(&self, number: usize) -> Vec<(usize, usize)> {
        let sources = 0..self.case.sources.len();
        sources
            .flat_map(|source| (0..self.case.destinations.len()).map(move |to| (source, to)))
            .filter(|&(source, destination)| self.may_pair(number, source, destination))
            .collect()
    }

    pub fn eligible(&self) -> Vec<usize> {
        let mut files: Vec<usize> = (0..self.case.files.len())
            .filter(|&file| self.wants_copy(file) && !self.pairs(file).is_empty())
            .collect();
        files.sort_by_key(|&file| self.case.priority(file));
        files
    }
}
