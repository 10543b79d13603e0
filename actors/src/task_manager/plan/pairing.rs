//! Which source and which destination a copy gets.

use std::collections::{BTreeMap, HashMap};

use super::Yard;
use super::candidates::was_asked;
use super::ring::Ring;
use super::skip::{Skip, Unusable};
use crate::heartbeat::Health;
use crate::host::{HostAddr, HostKind};
use crate::task_manager::back_off::Blamed;
use crate::task_manager::hosts::HostState;
use crate::task_manager::settings::Spread;

/// A source that may serve.
#[derive(Clone, Debug)]
struct Source {
    addr: HostAddr,
    /// Whether it has a data port, without which only some destinations can fetch from it.
    ours: bool,
    /// How many more copies it may serve.
    free: usize,
}

/// A destination that may take copies.
#[derive(Clone, Debug)]
struct Destination {
    addr: HostAddr,
    ours: bool,
    /// Whether a source that is an old cfw will do.
    fetches_from_old: bool,
    /// Bytes left once everything on its way there has arrived.
    room: u64,
    /// Open tasks.
    load: usize,
    /// How many turns it takes until it is its turn; 0 where there are no turns.
    turns: usize,
}

/// How a host takes part in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Open tasks that it serves.
    pub serving: usize,
    /// Open tasks that it fetches.
    pub fetching: usize,
    /// Bytes on their way to it.
    pub on_its_way: u64,
    /// Bytes it has room for once they have arrived; none while its disk is unknown.
    pub room: Option<u64>,
    /// Why it gives nothing as a source.
    pub no_source: Option<Unusable>,
    /// Why it takes nothing as a destination.
    pub no_destination: Option<Unusable>,
}

/// The sources and destinations of one round, and what is left of them as copies are planned.
#[derive(Clone, Debug, Default)]
pub struct Pairing {
    sources: Vec<Source>,
    destinations: Vec<Destination>,
    parts: BTreeMap<HostAddr, Part>,
    /// Where destinations take turns.
    ring: Option<Ring>,
    /// The room of the roomiest destination with nothing on its way to it, whether it is usable at
    /// present or not.
    largest_room: u64,
}

impl Pairing {
    /// The hosts as they are at the beginning of a round.
    pub fn new(yard: &Yard<'_>) -> Self {
        let mut parts: BTreeMap<HostAddr, Part> = BTreeMap::new();
        for copy in yard.under_way() {
            parts.entry(copy.source).or_default().serving += 1;
            let destination = parts.entry(copy.destination).or_default();
            destination.fetching += 1;
            destination.on_its_way = destination.on_its_way.saturating_add(copy.size);
        }
        let mut pairing = Pairing::default();
        for (addr, host) in yard.hosts.iter() {
            let mut part = parts.remove(&addr).unwrap_or_default();
            if host.role.is_source() {
                pairing.add_source(yard, addr, host, &mut part);
            }
            if host.role.is_destination() {
                pairing.add_destination(yard, addr, host, &mut part);
            }
            pairing.parts.insert(addr, part);
        }
        if yard.settings.placement == Spread::Ring {
            let destinations = yard.hosts.iter().filter(|(_, host)| host.role.is_destination());
            let ring = Ring::new(destinations.map(|(addr, _)| addr), yard.last_planned_to());
            pairing.ring = Some(ring);
            pairing.set_turns();
        }
        pairing
    }

    /// Counts the turns of every destination anew.
    fn set_turns(&mut self) {
        let Some(ring) = &self.ring else { return };
        for destination in &mut self.destinations {
            destination.turns = ring.turns_until(destination.addr);
        }
    }

    fn add_source(&mut self, yard: &Yard<'_>, addr: HostAddr, host: &HostState, part: &mut Part) {
        let held = Blamed::Source(addr);
        part.no_source = if host.health != Health::Up {
            Some(Unusable::NotUp)
        } else if yard.book.held_back(&held, yard.now).is_some() {
            Some(Unusable::BacksOff)
        } else {
            None
        };
        if part.no_source.is_none() {
            let free = yard.settings.copies_per_source.max(1).saturating_sub(part.serving);
            self.sources.push(Source { addr, ours: host.is_ours(), free });
        }
    }

    fn add_destination(
        &mut self,
        yard: &Yard<'_>,
        addr: HostAddr,
        host: &HostState,
        part: &mut Part,
    ) {
        let room = host.room(yard.settings.storage_limit_percent);
        self.largest_room = self.largest_room.max(room.unwrap_or(0));
        part.room = room.map(|room| room.saturating_sub(part.on_its_way));
        part.no_destination = unusable(yard, addr, host);
        if let (None, Some(room)) = (part.no_destination, part.room) {
            let (ours, fetches_from_old) = (host.is_ours(), host.fetches_from_old());
            let load = part.fetching;
            self.destinations.push(Destination {
                addr,
                ours,
                fetches_from_old,
                room,
                load,
                turns: 0,
            });
        }
    }

    /// How each host takes part.
    pub fn parts(&self) -> &BTreeMap<HostAddr, Part> {
        &self.parts
    }

    /// How many more copies the sources may serve altogether.
    pub fn free(&self) -> usize {
        self.sources.iter().map(|source| source.free).sum()
    }

    /// Whether there is any destination.
    pub fn has_destination(&self) -> bool {
        !self.destinations.is_empty()
    }

    /// No file larger than this can be placed before a disk is read again.
    pub fn largest_room(&self) -> u64 {
        self.largest_room
    }

    /// The best pair for a copy of `size` bytes: an idle destination before a busy one, then the
    /// one with the most room, or the one whose turn is next; a source that is free. A destination gets a second copy only when
    /// no idle one can take this, that is when sources outnumber free destinations.
    pub fn choose(
        &self,
        size: u64,
        old_hosts_carry: bool,
        held_pairs: &HashMap<HostAddr, Vec<HostAddr>>,
    ) -> Result<(HostAddr, HostAddr), Skip> {
        if size > self.largest_room {
            return Err(Skip::TooBig);
        }
        let mut why = Skip::NoRoom;
        let mut best: Option<(&Destination, HostAddr)> = None;
        for destination in self.destinations.iter().filter(|destination| size <= destination.room) {
            if !destination.ours && !old_hosts_carry {
                why = why.max(Skip::NameNotCarried);
                continue;
            }
            why = Skip::NoPair;
            if best.is_some_and(|(best, _)| best.rank() <= destination.rank()) {
                continue;
            }
            if let Some(source) = self.source_for(destination, held_pairs) {
                best = Some((destination, source));
            }
        }
        best.map(|(destination, source)| (source, destination.addr)).ok_or(why)
    }

    /// A free source for a destination. Old hosts are served by old sources first, since not all
    /// of our destinations can use those; ours by our own, since only these tell a hash.
    fn source_for(
        &self,
        destination: &Destination,
        held_pairs: &HashMap<HostAddr, Vec<HostAddr>>,
    ) -> Option<HostAddr> {
        let goes = |source: &&Source| {
            source.free > 0
                && source.addr != destination.addr
                && (source.ours || destination.fetches_from_old)
                && !held_pairs
                    .get(&source.addr)
                    .is_some_and(|held| held.contains(&destination.addr))
        };
        let sources = self.sources.iter().filter(goes);
        let key = |source: &&Source| {
            (source.ours != destination.ours, std::cmp::Reverse(source.free), source.addr)
        };
        sources.min_by_key(key).map(|source| source.addr)
    }

    /// Takes a pair for a copy of `size` bytes.
    pub fn take(&mut self, source: HostAddr, destination: HostAddr, size: u64) {
        if let Some(source) = self.sources.iter_mut().find(|host| host.addr == source) {
            source.free = source.free.saturating_sub(1);
        }
        if let Some(host) = self.destinations.iter_mut().find(|host| host.addr == destination) {
            host.room = host.room.saturating_sub(size);
            host.load += 1;
        }
        if let Some(ring) = &mut self.ring {
            ring.took(destination);
            self.set_turns();
        }
        self.parts.entry(source).or_default().serving += 1;
        let part = self.parts.entry(destination).or_default();
        part.fetching += 1;
        part.on_its_way = part.on_its_way.saturating_add(size);
        part.room = part.room.map(|room| room.saturating_sub(size));
    }
}

impl Destination {
    /// The smaller the better.
    fn rank(&self) -> (usize, usize, std::cmp::Reverse<u64>, HostAddr) {
        (self.load, self.turns, std::cmp::Reverse(self.room), self.addr)
    }
}

/// Why a destination gets nothing. What could not be asked is never taken for empty (spec D10).
fn unusable(yard: &Yard<'_>, addr: HostAddr, host: &HostState) -> Option<Unusable> {
    if host.health != Health::Up {
        Some(Unusable::NotUp)
    } else if host.kind == HostKind::Unknown {
        Some(Unusable::KindUnknown)
    } else if !was_asked(yard.book, yard.hosts, addr) {
        Some(Unusable::InventoryUnknown)
    } else if host.disk.is_none() {
        Some(Unusable::DiskUnknown)
    } else if yard.book.held_back(&Blamed::Destination(addr), yard.now).is_some() {
        Some(Unusable::BacksOff)
    } else {
        None
    }
}
