//! The source and the destination of a copy.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

use super::links::{LinkLoads, Scale};
use super::participation::{
    HostParticipation, destination_obstacle, source_obstacle, tries_others_first,
};
use super::round_robin::DestinationRoundRobin;
use super::usable_hosts::{HeldPairs, UsableDestination, UsableSource};
use crate::room::{CountedRoom, RoomMade};
use crate::task_manager::messages::{Skip, Unusable};
use crate::task_manager::policy::hosts_in_memory::hosts::HostState;
use crate::task_manager::policy::plan::PlanningContext;
use crate::task_manager::policy::plan::files::unschedulable::Rooms;
use crate::task_manager::settings::PlacementPolicy;
use crate::task_manager::state::backoff::Blamed;
use crate::task_manager::state::hosts::host_record::HostRecord;

/// The sources and destinations of one round, with their remaining capacity as copies are planned.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    pub(in crate::task_manager::policy::plan) sources: Vec<UsableSource>,
    pub(in crate::task_manager::policy::plan) destinations: Vec<UsableDestination>,
    parts: BTreeMap<HostAddr, HostParticipation>,
    /// The order of turns, if destinations take turns.
    pub(in crate::task_manager::policy::plan) round_robin: Option<DestinationRoundRobin>,
    /// The largest room of any destination without its running copies, usable now or not: for hot files,
    /// and for all others.
    largest_room: u64,
    largest_cold_room: u64,
    rooms: Rooms,
    /// The scale for room and links of the usable destinations.
    scale: Scale,
}

/// The data of a file that decide its destination.
#[derive(Clone, Debug)]
pub struct PlacementRequest {
    /// Number of the file in the name table.
    pub file: FileId,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is hot: then it may fill a disk up to its limit.
    pub is_hot: bool,
    /// Whether old hosts can carry its name.
    pub old_hosts_carry: bool,
    /// The hosts that hold it already.
    pub holders: Vec<HostAddr>,
    /// The destinations where its copy failed recently: other destinations are preferred.
    pub failed_at: Vec<HostAddr>,
}

impl Pairing {
    /// The hosts as they are at the beginning of a round.
    pub fn new(yard: &PlanningContext<'_>, held_pairs: &HeldPairs) -> Self {
        let mut parts: BTreeMap<HostAddr, HostParticipation> = BTreeMap::new();
        for copy in yard.under_way() {
            parts.entry(copy.source).or_default().serving += 1;
            let destination = parts.entry(copy.destination).or_default();
            destination.fetching += 1;
            destination.on_its_way = destination.on_its_way.saturating_add(copy.size);
            let disk = yard.hosts.get(copy.destination).and_then(|host| host.disk.as_ref());
            if disk.is_some_and(|(_, read)| copy.created.is_none_or(|created| created >= *read)) {
                destination.not_on_disk = destination.not_on_disk.saturating_add(copy.size);
            }
        }
        let mut pairing = Pairing::default();
        let links = LinkLoads::of(yard);
        for (addr, host) in yard.hosts.iter() {
            let mut part = parts.remove(&addr).unwrap_or_default();
            if host.role.is_source() {
                part.source_link = links.of_source(addr);
                pairing.add_source(yard, addr, host, &mut part);
            }
            if host.role.is_destination() {
                part.destination_link = links.of_destination(addr);
                pairing.add_destination(yard, addr, host, links.free(addr), &mut part);
            }
            pairing.parts.insert(addr, part);
        }
        let measures = pairing.destinations.iter().map(|to| (to.room, to.free_link));
        pairing.scale = Scale::of(yard.settings.links.weights, measures);
        pairing.see_use(held_pairs);
        if yard.settings.placement == PlacementPolicy::Ring {
            let destinations = yard.hosts.iter().filter(|(_, host)| host.role.is_destination());
            let ring = DestinationRoundRobin::new(
                destinations.map(|(addr, _)| addr),
                yard.last_planned_to(),
            );
            pairing.round_robin = Some(ring);
            pairing.set_turns();
        }
        pairing
    }

    /// Determines again which sources can serve a destination. Even if no destination has room, the files
    /// are examined, so that each is set aside with its needed room.
    fn see_use(&mut self, held_pairs: &HeldPairs) {
        let nowhere = self.room_now() == 0;
        let Pairing { sources, destinations, .. } = self;
        for source in sources {
            let mut takers =
                destinations.iter().filter(|to| to.takes() && (nowhere || to.room > 0));
            source.useful = takers.any(|to| source.goes_with(to, held_pairs));
        }
        self.rooms = Rooms {
            largest: self.largest_cold_room,
            now: self.room_now(),
            reach: self.reach(held_pairs, |_| true),
            reach_of_ours: self.reach(held_pairs, |to| to.ours),
        };
    }

    /// The largest room of the destinations that a free source can serve.
    fn reach(
        &self,
        held_pairs: &HeldPairs,
        which: impl Fn(&UsableDestination) -> bool,
    ) -> Option<u64> {
        let takers = self.destinations.iter().filter(|to| to.takes() && which(to));
        let served = |to: &&UsableDestination| {
            let mut free = self.sources.iter().filter(|source| source.free > 0);
            free.any(|source| source.goes_with(to, held_pairs))
        };
        takers.filter(served).map(|to| to.room_for(None, false)).max()
    }

    /// Counts the turns of every destination again.
    fn set_turns(&mut self) {
        let Some(ring) = &self.round_robin else { return };
        for destination in &mut self.destinations {
            destination.turns = ring.turns_until(destination.addr);
        }
    }

    fn add_source(
        &mut self,
        yard: &PlanningContext<'_>,
        addr: HostAddr,
        host: &HostState,
        part: &mut HostParticipation,
    ) {
        let on_probation =
            yard.book.on_probation(&Blamed::Source(addr), yard.now) || host.calls.on_probation();
        part.no_source = source_obstacle(yard, addr, host, part, on_probation);
        if part.no_source.is_none() {
            let most = if on_probation { 1 } else { yard.settings.copies_per_source.max(1) };
            let free = most.saturating_sub(part.serving);
            self.sources.push(UsableSource { addr, ours: host.is_ours(), free, useful: false });
        }
    }

    fn add_destination(
        &mut self,
        yard: &PlanningContext<'_>,
        addr: HostAddr,
        host: &HostState,
        free_link: Option<u64>,
        part: &mut HostParticipation,
    ) {
        let room = host.room(yard.settings.storage_limit_percent);
        let fill_percent = yard.settings.fill_percent.min(yard.settings.storage_limit_percent);
        let cold_room = host.room(fill_percent).unwrap_or(0);
        // Planning does not wait for a drained or lost host.
        if yard.book.host(addr).is_none_or(HostRecord::counts) {
            self.largest_room = self.largest_room.max(room.unwrap_or(0));
            self.largest_cold_room = self.largest_cold_room.max(cold_room);
        }
        part.room = room.map(|room| room.saturating_sub(part.on_its_way));
        let most_room = host.most_room(yard.settings.storage_limit_percent);
        part.most_room = most_room
            .map(|room| CountedRoom { bytes: room.bytes.saturating_sub(part.not_on_disk), ..room });
        let on_probation = yard.book.on_probation(&Blamed::Destination(addr), yard.now)
            || host.calls.on_probation();
        let most = if on_probation { 1 } else { usize::MAX };
        part.no_destination = destination_obstacle(yard, addr, host, part, most);
        if let (None, Some(room)) = (part.no_destination, part.room) {
            let (ours, fetches_from_old) = (host.is_ours(), host.fetches_from_old());
            let load = part.fetching;
            let tries_others_first = tries_others_first(yard, addr);
            self.destinations.push(UsableDestination {
                addr,
                ours,
                fetches_from_old,
                room,
                cold_room: cold_room.saturating_sub(part.on_its_way),
                load,
                most,
                tries_others_first,
                turns: 0,
                kept: None,
                free_link,
            });
        }
    }

    /// Reserves the room that was made on a host for its file.
    pub fn keep_room(&mut self, addr: HostAddr, room: &RoomMade, held_pairs: &HeldPairs) {
        if let Some(host) = self.destinations.iter_mut().find(|host| host.addr == addr) {
            host.kept = Some((room.file, room.size));
        }
        self.see_use(held_pairs);
    }

    /// Whether no destination has room for this file, including busy destinations and those in backoff. A
    /// destination whose disk is unknown counts as one without room.
    pub fn lacks_room_for(&self, wish: &PlacementRequest) -> bool {
        let fits = |(addr, part): (&HostAddr, &HostParticipation)| {
            let usable = self.destinations.iter().find(|host| host.addr == *addr);
            let kept = usable.map_or(0, |host| host.kept_from(Some(wish.file)));
            !wish.holders.contains(addr)
                && (wish.old_hosts_carry || usable.is_none_or(|host| host.ours))
                && !part.no_destination.is_some_and(Unusable::is_on_record)
                && part.room.is_some_and(|room| wish.size <= room.saturating_sub(kept))
        };
        self.has_destination() && !self.parts.iter().any(fits)
    }

    /// The part of each host.
    pub fn parts(&self) -> &BTreeMap<HostAddr, HostParticipation> {
        &self.parts
    }

    /// How many more copies all sources may serve. Sources that no destination can use are left out.
    pub fn free(&self) -> usize {
        self.sources.iter().filter(|source| source.useful).map(|source| source.free).sum()
    }

    /// Whether any source can serve copies, now or after its present ones.
    pub fn has_source(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether there is any destination.
    pub fn has_destination(&self) -> bool {
        !self.destinations.is_empty()
    }

    /// No larger cold file fits on any destination now.
    pub fn room_now(&self) -> u64 {
        self.destinations.iter().map(|to| to.room_for(None, false)).max().unwrap_or(0)
    }

    /// The room of each destination now.
    pub fn rooms(&self) -> Rooms {
        self.rooms
    }

    /// The best pair for a copy. A destination where the file did not fail recently comes before one
    /// where it did, and an idle one before a busy one. Then the one with the most room and the idlest
    /// link wins, or the one whose turn is next. The source must be free.
    ///
    /// A destination gets a second copy only when no idle one can take this file, that is when sources
    /// outnumber free destinations. No destination gets a file that it already holds.
    pub fn choose(
        &self,
        wish: &PlacementRequest,
        held_pairs: &HeldPairs,
    ) -> Result<(HostAddr, HostAddr), Skip> {
        let is_kept = self.destinations.iter().any(|to| to.keeps_room_for(wish.file));
        let to_the_limit = wish.is_hot || is_kept;
        let largest = if to_the_limit { self.largest_room } else { self.largest_cold_room };
        if wish.size > largest {
            return Err(Skip::TooBig);
        }
        let mut why = Skip::NoRoom;
        let mut waits_for_others = false;
        let mut best: Option<(&UsableDestination, HostAddr)> = None;
        let fits = |to: &&UsableDestination| {
            wish.size <= to.room_for(Some(wish.file), wish.is_hot)
                && !wish.holders.contains(&to.addr)
        };
        for destination in self.destinations.iter().filter(fits) {
            if !destination.ours && !wish.old_hosts_carry {
                why = why.max(Skip::NameNotCarried);
                continue;
            }
            if destination.tries_others_first && wish.failed_at.contains(&destination.addr) {
                waits_for_others = true;
                continue;
            }
            why = Skip::NoPair;
            if !destination.takes() {
                continue;
            }
            if best.is_some_and(|(best, _)| self.rank(best, wish) <= self.rank(destination, wish)) {
                continue;
            }
            if let Some(source) = self.source_for(destination, held_pairs) {
                best = Some((destination, source));
            }
        }
        match best {
            Some((destination, source)) => Ok((source, destination.addr)),
            // It is not set aside, because it may be planned in a moment.
            None if waits_for_others => Err(Skip::BacksOff),
            None => Err(why),
        }
    }

    /// The smaller the better.
    fn rank(&self, to: &UsableDestination, wish: &PlacementRequest) -> impl Ord + use<> {
        let score = self.scale.score(to.room, to.free_link);
        let failed = wish.failed_at.contains(&to.addr);
        (failed, to.load, to.turns, Reverse(score), Reverse(to.room), to.addr)
    }

    /// A free source for a destination. Old destinations prefer old sources, because not all Reelyard
    /// destinations can use these. Reelyard destinations prefer Reelyard sources, because only these report
    /// a hash.
    fn source_for(
        &self,
        destination: &UsableDestination,
        held_pairs: &HeldPairs,
    ) -> Option<HostAddr> {
        let goes =
            |source: &&UsableSource| source.free > 0 && source.goes_with(destination, held_pairs);
        let sources = self.sources.iter().filter(goes);
        let key = |source: &&UsableSource| {
            (source.ours != destination.ours, Reverse(source.free), source.addr)
        };
        sources.min_by_key(key).map(|source| source.addr)
    }

    /// Takes a pair for a copy.
    pub fn reserve(
        &mut self,
        (source, destination): (HostAddr, HostAddr),
        wish: &PlacementRequest,
        held_pairs: &HeldPairs,
    ) {
        let size = wish.size;
        if let Some(source) = self.sources.iter_mut().find(|host| host.addr == source) {
            source.free = source.free.saturating_sub(1);
        }
        if let Some(host) = self.destinations.iter_mut().find(|host| host.addr == destination) {
            host.kept.take_if(|(owner, _)| *owner == wish.file);
            host.room = host.room.saturating_sub(size);
            host.cold_room = host.cold_room.saturating_sub(size);
            host.load += 1;
        }
        if let Some(ring) = &mut self.round_robin {
            ring.took(destination);
            self.set_turns();
        }
        self.parts.entry(source).or_default().serving += 1;
        let part = self.parts.entry(destination).or_default();
        part.fetching += 1;
        part.on_its_way = part.on_its_way.saturating_add(size);
        part.room = part.room.map(|room| room.saturating_sub(size));
        self.see_use(held_pairs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_manager::samples::host;

    #[test]
    fn a_file_uses_room_made_for_it_up_to_the_limit() {
        let (file, other) = (FileId(1), FileId(2));
        let (source, destination) = (host(1), host(2));
        let to = UsableDestination {
            addr: destination,
            ours: true,
            fetches_from_old: false,
            room: 100,
            cold_room: 0,
            load: 0,
            most: 1,
            tries_others_first: false,
            turns: 0,
            kept: Some((file, 80)),
            free_link: None,
        };
        let rooms = |file, is_hot| to.room_for(Some(file), is_hot);
        assert_eq!((rooms(file, false), rooms(other, false), rooms(other, true)), (100, 0, 20));
        let sources = vec![UsableSource { addr: source, ours: true, free: 1, useful: true }];
        let destinations = vec![to];
        let pairing = Pairing { sources, destinations, largest_room: 100, ..Pairing::default() };
        let choose = |file| {
            let (holders, failed_at) = (Vec::new(), Vec::new());
            let (size, is_hot, old_hosts_carry) = (80, false, true);
            let wish = PlacementRequest { file, size, is_hot, old_hosts_carry, holders, failed_at };
            pairing.choose(&wish, &HeldPairs::default())
        };
        assert_eq!(choose(file), Ok((source, destination)));
        assert_eq!(choose(other), Err(Skip::TooBig));
    }
}
