//! Limits of connections: a caller is a guest until its hello is accepted.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reelyard_protocol::cluster::ConnectionUse;

/// Limits for callers.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Most guests at the same time, from addresses where no member is.
    pub guests: usize,
    /// Most guests from one address where no member is.
    pub guests_per_address: usize,
    /// Most guests from one address where a member is.
    pub guests_per_member_address: usize,
    /// Most connections of one member for calls: one for each kind, and those that end meanwhile.
    pub calls_per_member: usize,
    /// Most streams of one member for forwarded requests. They take no place of its calls.
    pub forwards_per_member: usize,
    /// Time limit for TLS and the hello.
    pub greeting_time: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        ListenerLimits {
            guests: 256,
            guests_per_address: 8,
            guests_per_member_address: 64,
            calls_per_member: 32,
            forwards_per_member: 512,
            greeting_time: Duration::from_secs(5),
        }
    }
}

/// The connections of one member that share a limit: its forwarded requests, or its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MemberShare {
    number: u64,
    forwards: bool,
}

/// The connections of a listener.
#[derive(Clone)]
pub(super) struct ConnectionSlots {
    limits: ListenerLimits,
    counts: Arc<Mutex<ConnectionTotals>>,
}

#[derive(Default)]
struct ConnectionTotals {
    /// Guests from addresses where no member is.
    outsiders: usize,
    guests: HashMap<IpAddr, usize>,
    members: HashMap<MemberShare, usize>,
    /// Connections of members, by address.
    addresses: HashMap<IpAddr, usize>,
}

impl ConnectionSlots {
    pub(super) fn new(limits: ListenerLimits) -> Self {
        ConnectionSlots { limits, counts: Arc::default() }
    }

    pub(super) fn limits(&self) -> ListenerLimits {
        self.limits
    }

    /// A slot for a new connection. None if there are too many. `has_member` says whether the record of a member
    /// has this address.
    pub(super) fn admit(&self, ip: IpAddr, has_member: bool) -> Option<GuestSlot> {
        let mut counts = self.counts();
        let is_outsider = !has_member && !counts.addresses.contains_key(&ip);
        let from_here = counts.guests.get(&ip).copied().unwrap_or_default();
        let most = match is_outsider {
            true => self.limits.guests_per_address,
            false => self.limits.guests_per_member_address,
        };
        if from_here >= most || (is_outsider && counts.outsiders >= self.limits.guests) {
            return None;
        }
        counts.outsiders += usize::from(is_outsider);
        *counts.guests.entry(ip).or_default() += 1;
        Some(GuestSlot { slots: self.clone(), ip, is_outsider })
    }

    /// A slot for an accepted connection of a member. None if it has too many.
    pub(super) fn promote(
        &self,
        guest: &GuestSlot,
        number: u64,
        purpose: ConnectionUse,
    ) -> Option<MemberSlot> {
        let (mut counts, ip) = (self.counts(), guest.ip);
        let share = MemberShare { number, forwards: purpose == ConnectionUse::Forward };
        let most = match share.forwards {
            true => self.limits.forwards_per_member,
            false => self.limits.calls_per_member,
        };
        let connections = counts.members.entry(share).or_default();
        if *connections >= most {
            return None;
        }
        *connections += 1;
        *counts.addresses.entry(ip).or_default() += 1;
        Some(MemberSlot { slots: self.clone(), ip, share })
    }

    fn counts(&self) -> MutexGuard<'_, ConnectionTotals> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one less, and removes a count of zero.
fn release<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// The slot of a connection before its hello is accepted.
pub(super) struct GuestSlot {
    slots: ConnectionSlots,
    ip: IpAddr,
    is_outsider: bool,
}

impl Drop for GuestSlot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts();
        counts.outsiders -= usize::from(self.is_outsider);
        release(&mut counts.guests, &self.ip);
    }
}

/// The slot of a connection of a member.
pub(in crate::transport) struct MemberSlot {
    slots: ConnectionSlots,
    ip: IpAddr,
    share: MemberShare,
}

impl Drop for MemberSlot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts();
        release(&mut counts.members, &self.share);
        release(&mut counts.addresses, &self.ip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn slots() -> ConnectionSlots {
        let limits = ListenerLimits {
            guests: 4,
            guests_per_address: 2,
            guests_per_member_address: 3,
            calls_per_member: 1,
            forwards_per_member: 1,
            greeting_time: Duration::from_secs(1),
        };
        ConnectionSlots::new(limits)
    }

    #[test]
    fn outsiders_are_limited_in_total_and_per_address() {
        let slots = slots();
        let first: Vec<_> = (0..5).filter_map(|_| slots.admit(ip(1), false)).collect();
        assert_eq!(first.len(), 2);
        let second: Vec<_> = (2..9).filter_map(|last| slots.admit(ip(last), false)).collect();
        assert_eq!(second.len(), 2);
        drop((first, second));
        assert!(slots.admit(ip(9), false).is_some());
        assert!(slots.counts().guests.is_empty());
    }

    #[test]
    fn outsiders_take_no_slot_of_a_member() {
        let slots = slots();
        let all: Vec<_> = (1..9).filter_map(|last| slots.admit(ip(last), false)).collect();
        assert_eq!(all.len(), 4);
        let guest = slots.admit(ip(100), true).unwrap();
        let member = slots.promote(&guest, 2, ConnectionUse::Vote).unwrap();
        assert!(slots.promote(&guest, 2, ConnectionUse::Log).is_none());
        drop(guest);
        // The address of a connected member counts as one of a member.
        let more: Vec<_> = (0..9).filter_map(|_| slots.admit(ip(100), false)).collect();
        assert_eq!(more.len(), 3);
        drop((more, member));
        assert!(slots.admit(ip(100), false).is_none());
        drop(all);
        let counts = slots.counts();
        assert!(counts.members.is_empty() && counts.addresses.is_empty() && counts.outsiders == 0);
    }
}
