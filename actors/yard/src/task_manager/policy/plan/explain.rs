//! Explains why one file is or is not planned, by everything that a round examines.

use std::collections::{BTreeMap, HashMap};

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};

use crate::heartbeat::Health;
use crate::task_manager::messages::{
    DestinationState, Explanation, HeldOn, HostUsability, HostsLeftOut, MasterState, PlanVerdict,
    SourceState,
};
use crate::task_manager::messages::{PlannerWaits, Skip};
use crate::task_manager::policy::plan::hosts::usable_hosts::{UsableDestination, UsableSource};
use crate::task_manager::policy::plan::{Candidate, Occupied, Pairing, Planner, PlanningContext};
use crate::task_manager::state::backoff::Blamed;

/// Hosts in one list of an explanation. Each of them can have a reason of 500 characters; an answer stays under 1 MiB.
const EXPLAINED_HOSTS: usize = 500;

/// Destinations in the list of one source. Each of [`EXPLAINED_HOSTS`] sources can have such a list.
const EXPLAINED_PAIRS: usize = 10;

/// Keeps the first `most` entries, and returns the number of the others.
fn shorten<T>(list: &mut Vec<T>, most: usize) -> u64 {
    let left_out = list.len().saturating_sub(most);
    list.truncate(most);
    left_out as u64
}

/// Hosts that hold the file or can take part come first. Those after the first [`EXPLAINED_HOSTS`] are only counted.
fn explained_hosts<T>(
    mut states: Vec<T>,
    usability: impl Fn(&T) -> HostUsability,
) -> (Vec<T>, Vec<HostsLeftOut>) {
    if states.len() <= EXPLAINED_HOSTS {
        return (states, Vec::new());
    }
    states.sort_by_key(|state| {
        !matches!(usability(state), HostUsability::Yes | HostUsability::Holds)
    });
    let mut left_out = BTreeMap::<HostUsability, u64>::new();
    for state in states.drain(EXPLAINED_HOSTS..) {
        *left_out.entry(usability(&state)).or_default() += 1;
    }
    let left_out = left_out.into_iter().map(|(usability, hosts)| HostsLeftOut { usability, hosts });
    (states, left_out.collect())
}

impl Planner {
    /// Whether the master of `file` must be checked before the file can be explained.
    pub fn wants_look(&self, file: FileId, now: Millis) -> bool {
        self.candidates.lists_master(file) && self.master_cache.get(file, now).is_none()
    }

    /// Explains a file. A name without a file number is explained too.
    pub fn explain(&mut self, name: &FileName, yard: &PlanningContext<'_>) -> Explanation {
        self.candidates.refresh(yard.book, yard.hosts, yard.settings);
        let occupied = Occupied::of(yard);
        let mut pairing = Pairing::new(yard, &occupied.held_pairs);
        self.keep_rooms(yard, &occupied, &mut pairing);
        let file = yard.book.names().find(name.as_bytes());
        if let Some(file) = file {
            self.candidates.reschedule_one(file, &pairing.rooms());
        }
        let subject = ExplainedFile {
            planner: self,
            yard,
            pairing: &pairing,
            occupied,
            file,
            size: file.and_then(|file| self.size(file, yard.now)),
            carried: file.is_none_or(|file| self.candidates.traits().old_hosts_carry(file)),
        };
        subject.explain(name)
    }

    /// The size of a file, if it is known without a check of its master.
    fn size(&self, file: FileId, now: Millis) -> Option<u64> {
        match self.master_cache.get(file, now) {
            Some(Ok(master)) => Some(master.size),
            _ => self.candidates.listed_size(file),
        }
    }
}

/// One file in one yard.
struct ExplainedFile<'a> {
    planner: &'a Planner,
    yard: &'a PlanningContext<'a>,
    pairing: &'a Pairing,
    occupied: Occupied,
    /// None for an unknown name.
    file: Option<FileId>,
    size: Option<u64>,
    carried: bool,
}

impl ExplainedFile<'_> {
    fn explain(&self, name: &FileName) -> Explanation {
        let (candidates, yard) = (&self.planner.candidates, self.yard);
        let ungraded_hot = yard.settings.ungraded_hot;
        let ahead = self.file.and_then(|file| {
            candidates.best_first(ungraded_hot).position(|candidate| candidate.file == file)
        });
        let (sources, sources_left_out) =
            explained_hosts(self.sources(), |source| source.usability);
        let (destinations, destinations_left_out) =
            explained_hosts(self.destinations(), |destination| destination.usability);
        let (held_on, held_on_left_out) = self.held_on();
        let mut listed_on = self.file.map_or(&[][..], |file| candidates.listed_on(file)).to_vec();
        let listed_on_left_out = shorten(&mut listed_on, EXPLAINED_HOSTS);
        Explanation {
            verdict: self.verdict(),
            rank: self.file.map(|file| candidates.grade(file)).filter(|grade| *grade > 0),
            hits: self.file.map_or(0, |file| candidates.hits(file)),
            ahead: ahead.map(|ahead| ahead as u64),
            master: self.master(),
            held_on,
            held_on_left_out,
            listed_on,
            listed_on_left_out,
            task: self.file.and_then(|file| yard.copied_by(file)),
            back_off: yard.book.back_offs().get(&Blamed::File(name.clone())).cloned(),
            sources,
            sources_left_out,
            destinations,
            destinations_left_out,
        }
    }

    fn verdict(&self) -> PlanVerdict {
        match self.planner.waits(self.yard, self.pairing) {
            Some(PlannerWaits::Ranking) => return PlanVerdict::RankingUnread,
            Some(PlannerWaits::Masters) => return PlanVerdict::MastersUnlisted,
            Some(PlannerWaits::FirstLook(_)) => return PlanVerdict::FirstLook,
            Some(PlannerWaits::SwitchedOff) if !self.is_placed_or_on_its_way() => {
                return PlanVerdict::SwitchedOff;
            }
            _ => {}
        }
        let Some(file) = self.file else { return PlanVerdict::Skipped(Skip::Ungraded) };
        let (planner, ungraded_hot) = (self.planner, self.yard.settings.ungraded_hot);
        match planner.candidates.unwanted(file, ungraded_hot) {
            // Whether a destination can take it is decided below.
            None | Some(Skip::TooBig | Skip::NoRoom | Skip::NoPair | Skip::NameNotCarried) => {}
            Some(skip) => return PlanVerdict::Skipped(skip),
        }
        let master = match planner.judge(file, self.yard, &self.occupied) {
            None => return PlanVerdict::Skipped(Skip::LookUnderWay),
            Some(Err(skip)) => return PlanVerdict::Skipped(skip),
            Some(Ok(master)) => master,
        };
        if !self.pairing.has_destination() {
            return PlanVerdict::NoDestination;
        }
        let (grade, hits) = (planner.candidates.grade(file), planner.candidates.hits(file));
        let candidate = Candidate { file, grade, hits };
        let wish = planner.wish(candidate, &master, self.yard, &self.occupied);
        match self.pairing.choose(&wish, &self.occupied.held_pairs) {
            Ok(_) => PlanVerdict::Goes,
            Err(Skip::NoPair) if self.only_waits() => PlanVerdict::WaitsForTurn,
            Err(skip) => PlanVerdict::Skipped(skip),
        }
    }

    /// Whether it needs no planning, because it has its copy or a running one.
    fn is_placed_or_on_its_way(&self) -> bool {
        let ungraded_hot = self.yard.settings.ungraded_hot;
        self.file.is_some_and(|file| {
            self.yard.copied_by(file).is_some()
                || self.planner.candidates.unwanted(file, ungraded_hot) == Some(Skip::Placed)
        })
    }

    /// Whether it would be planned if no source were busy.
    fn only_waits(&self) -> bool {
        self.takers().any(|to| self.pairing.sources.iter().any(|from| self.matches(from, to)))
    }

    /// Destinations that would take it now if a source served it.
    fn takers(&self) -> impl Iterator<Item = &UsableDestination> {
        self.pairing.destinations.iter().filter(|to| self.refused_by(to).is_none())
    }

    fn refused_by(&self, to: &UsableDestination) -> Option<HostUsability> {
        let failed_there =
            self.file.is_some_and(|file| self.occupied.failed_at(file).contains(&to.addr));
        if to.load >= to.most || (to.tries_others_first && failed_there) {
            Some(HostUsability::OnTrial)
        } else if !to.ours && !self.carried {
            Some(HostUsability::NameNotCarried)
        } else {
            match self.size {
                Some(size) if size > self.room(to).saturating_add(self.on_its_way(to.addr)) => {
                    Some(HostUsability::TooBig)
                }
                Some(size) if size > self.room(to) => Some(HostUsability::NoRoom),
                _ => None,
            }
        }
    }

    /// How much room it has there.
    fn room(&self, to: &UsableDestination) -> u64 {
        let hits = self.file.map_or(0, |file| self.planner.candidates.hits(file));
        to.room_for(self.file, hits > 0)
    }

    fn on_its_way(&self, host: HostAddr) -> u64 {
        self.pairing.parts().get(&host).map_or(0, |part| part.on_its_way)
    }

    fn matches(&self, from: &UsableSource, to: &UsableDestination) -> bool {
        from.goes_with(to, &self.occupied.held_pairs)
    }

    fn master(&self) -> MasterState {
        let Some(file) = self.file.filter(|file| self.planner.candidates.lists_master(*file))
        else {
            return MasterState::NotListed;
        };
        match self.planner.master_cache.get(file, self.yard.now) {
            None => MasterState::Listed,
            Some(Ok(master)) => {
                MasterState::Found { dir: master.dir.to_string(), size: master.size }
            }
            Some(Err(Skip::MasterUnknown)) => MasterState::Unknown,
            Some(Err(_)) => MasterState::Absent,
        }
    }

    fn holds(&self, host: HostAddr) -> Option<HeldOn> {
        let (file, yard) = (self.file?, self.yard);
        let placement = yard.book.placement(host).filter(|held| held.files.contains(file.0));
        let confirmed = placement.map(|held| held.confirmed);
        let is_seen = yard.hosts.get(host).is_some_and(|known| known.lists(file));
        (confirmed.is_some() || is_seen).then_some(HeldOn { host, confirmed })
    }

    /// The first holders, and the number of the others. Of too many, those that are down come last: if all listed ones
    /// are down, all holders are.
    fn held_on(&self) -> (Vec<HeldOn>, u64) {
        let hosts = &self.yard.hosts;
        let mut held: Vec<HeldOn> = hosts.iter().filter_map(|(host, _)| self.holds(host)).collect();
        if held.len() > EXPLAINED_HOSTS {
            held.sort_by_key(|held| {
                hosts.get(held.host).is_some_and(|host| host.health == Health::Down)
            });
        }
        let left_out = shorten(&mut held, EXPLAINED_HOSTS);
        (held, left_out)
    }

    fn sources(&self) -> Vec<SourceState> {
        let usable: HashMap<HostAddr, &UsableSource> =
            self.pairing.sources.iter().map(|source| (source.addr, source)).collect();
        let hosts = self.yard.hosts.iter().filter(|(_, host)| host.role.is_source());
        hosts.map(|(host, _)| self.source(host, usable.get(&host).copied())).collect()
    }

    fn source(&self, host: HostAddr, usable: Option<&UsableSource>) -> SourceState {
        let part = self.pairing.parts().get(&host).copied().unwrap_or_default();
        let usability = match (part.no_source, usable) {
            (Some(unusable), _) => unusable.into(),
            (None, Some(source)) if source.free == 0 => HostUsability::Busy,
            (None, Some(source)) => self.usable_source(source),
            (None, None) => HostUsability::NotUp,
        };
        let back_off = self.yard.book.back_offs().get(&Blamed::Source(host)).cloned();
        let mut not_with = self.occupied.held_pairs.get(&host).cloned().unwrap_or_default();
        let not_with_left_out = shorten(&mut not_with, EXPLAINED_PAIRS);
        SourceState {
            host,
            usability,
            serving: part.serving,
            free: usable.map_or(0, |source| source.free),
            link: part.source_link,
            back_off,
            not_with,
            not_with_left_out,
        }
    }

    fn usable_source(&self, source: &UsableSource) -> HostUsability {
        if self.takers().any(|to| self.matches(source, to)) {
            HostUsability::Yes
        } else if !source.ours
            && self.takers().next().is_some()
            && self.takers().all(|to| !to.fetches_from_old)
        {
            HostUsability::NoDataPort
        } else {
            HostUsability::NoDestination
        }
    }

    fn destinations(&self) -> Vec<DestinationState> {
        let usable: HashMap<HostAddr, &UsableDestination> =
            self.pairing.destinations.iter().map(|to| (to.addr, to)).collect();
        let hosts = self.yard.hosts.iter().filter(|(_, host)| host.role.is_destination());
        hosts.map(|(host, _)| self.destination(host, usable.get(&host).copied())).collect()
    }

    fn destination(&self, host: HostAddr, usable: Option<&UsableDestination>) -> DestinationState {
        let part = self.pairing.parts().get(&host).copied().unwrap_or_default();
        let usability = if self.holds(host).is_some() {
            HostUsability::Holds
        } else {
            match (part.no_destination, usable) {
                (Some(unusable), _) => unusable.into(),
                (None, Some(to)) => self.usable_destination(to),
                (None, None) => HostUsability::DiskUnknown,
            }
        };
        DestinationState {
            host,
            usability,
            room: part.room,
            on_its_way: part.on_its_way,
            fetching: part.fetching,
            turns: self.pairing.round_robin.as_ref().map(|ring| ring.turns_until(host)),
            link: part.destination_link,
            back_off: self.yard.book.back_offs().get(&Blamed::Destination(host)).cloned(),
        }
    }

    fn usable_destination(&self, to: &UsableDestination) -> HostUsability {
        if let Some(refusal) = self.refused_by(to) {
            return refusal;
        }
        let mut sources = self.pairing.sources.iter();
        let served = sources.any(|from| from.free > 0 && self.matches(from, to));
        if served { HostUsability::Yes } else { HostUsability::NoSource }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_can_take_part_are_listed_first() {
        let says = |number: usize| match number % 4 {
            0 => HostUsability::NotUp,
            1 => HostUsability::NoRoom,
            2 => HostUsability::Holds,
            _ => HostUsability::Yes,
        };
        let few: Vec<usize> = (0..EXPLAINED_HOSTS).collect();
        assert_eq!(explained_hosts(few.clone(), |number| says(*number)), (few, Vec::new()));
        let (listed, left_out) =
            explained_hosts((0..800).collect::<Vec<usize>>(), |number| says(*number));
        let count = |wanted| listed.iter().filter(|number| says(**number) == wanted).count();
        assert_eq!((count(HostUsability::Yes), count(HostUsability::Holds)), (200, 200));
        assert_eq!((count(HostUsability::NotUp), count(HostUsability::NoRoom)), (50, 50));
        let of = |usability| HostsLeftOut { usability, hosts: 150 };
        assert_eq!(left_out, [of(HostUsability::NotUp), of(HostUsability::NoRoom)]);
    }
}
