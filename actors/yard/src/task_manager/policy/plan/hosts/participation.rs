//! The part of each host in a round, and why it has none.

use reelyard_core::host::{HostAddr, HostKind, HostMode};

use crate::heartbeat::Health;
use crate::room::CountedRoom;
use crate::task_manager::messages::LinkLoad;
use crate::task_manager::messages::Unusable;
use crate::task_manager::policy::hosts_in_memory::hosts::HostState;
use crate::task_manager::policy::plan::PlanningContext;
use crate::task_manager::state::backoff::Blamed;

/// The part of a host in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostParticipation {
    /// Open tasks that it serves.
    pub serving: usize,
    /// Open tasks that it fetches.
    pub fetching: usize,
    /// Bytes of the running copies to it that have not arrived.
    pub on_its_way: u64,
    /// The part of these bytes that the last read of its disk cannot include.
    pub(super) not_on_disk: u64,
    /// Bytes it has room for once they have arrived; none while its disk is unknown.
    pub room: Option<u64>,
    /// The same if the last read of its disk included every copy that had begun. The true room is between
    /// both.
    pub most_room: Option<CountedRoom>,
    /// The load of its link as a source; none if it is unknown.
    pub source_link: Option<LinkLoad>,
    /// How busy its link is, for a destination.
    pub destination_link: Option<LinkLoad>,
    /// Why it serves no copies as a source.
    pub no_source: Option<Unusable>,
    /// Why it gets no copies as a destination.
    pub no_destination: Option<Unusable>,
}

/// Why a source serves no copies.
pub(super) fn source_obstacle(
    yard: &PlanningContext<'_>,
    addr: HostAddr,
    host: &HostState,
    part: &HostParticipation,
    on_probation: bool,
) -> Option<Unusable> {
    if let Some(unusable) = by_record(yard, addr) {
        Some(unusable)
    } else if host.health != Health::Up {
        Some(Unusable::NotUp)
    } else if host.calls.is_open() {
        Some(Unusable::CallsFail)
    } else if yard.book.held_back(&Blamed::Source(addr), yard.now).is_some() {
        Some(Unusable::BacksOff)
    } else if on_probation && part.serving > 0 {
        Some(Unusable::OnTrial)
    } else if part.source_link.is_some_and(|link| link.is_too_busy()) {
        Some(Unusable::BusyLink)
    } else {
        None
    }
}

/// Why a destination gets no copies. A host that could not be asked never counts as empty.
/// `most` is the number of copies that it may fetch.
pub(super) fn destination_obstacle(
    yard: &PlanningContext<'_>,
    addr: HostAddr,
    host: &HostState,
    part: &HostParticipation,
    most: usize,
) -> Option<Unusable> {
    if let Some(unusable) = by_record(yard, addr) {
        Some(unusable)
    } else if host.health != Health::Up {
        Some(Unusable::NotUp)
    } else if host.kind == HostKind::Unknown {
        Some(Unusable::KindUnknown)
    } else if host.observed.is_none() {
        // True even if placements of it are recorded. It reports its disk, but perhaps not the directory
        // that it no longer lists.
        Some(Unusable::InventoryUnknown)
    } else if host.disk.is_none() {
        Some(Unusable::DiskUnknown)
    } else if host.calls.is_open() {
        Some(Unusable::CallsFail)
    } else if yard.book.held_back(&Blamed::Destination(addr), yard.now).is_some() {
        Some(Unusable::BacksOff)
    } else if part.fetching >= most {
        Some(Unusable::OnTrial)
    } else if part.destination_link.is_some_and(|link| link.is_too_busy()) {
        Some(Unusable::BusyLink)
    } else {
        None
    }
}

/// Whether the backoff of a destination ended so recently that files without a failure there are tried
/// first. The fault may be in the failed files. After half the shortest backoff these are tried too, before
/// the failures are forgotten.
pub(super) fn tries_others_first(yard: &PlanningContext<'_>, addr: HostAddr) -> bool {
    let Some(back_off) = yard.book.back_offs().get(&Blamed::Destination(addr)) else {
        return false;
    };
    yard.now < back_off.until.after(yard.settings.back_off.base / 2)
}

/// Why a host takes no part in any role, by its record.
fn by_record(yard: &PlanningContext<'_>, addr: HostAddr) -> Option<Unusable> {
    let record = yard.book.host(addr)?;
    match record.mode {
        HostMode::Draining => Some(Unusable::Draining),
        HostMode::Maintenance => Some(Unusable::Maintenance),
        HostMode::Active => record.lost.then_some(Unusable::Lost),
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::host::HostRole;
    use reelyard_replication::{InFlight, Piece};

    use super::*;
    use crate::heartbeat::HealthChanged;
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::policy::plan::hosts::pairing::Pairing;
    use crate::task_manager::policy::plan::hosts::usable_hosts::HeldPairs;
    use crate::task_manager::samples::host;
    use crate::task_manager::settings::{HostSetting, TaskSettings};
    use crate::task_manager::state::event::TaskEvent;
    use crate::task_manager::state::task_book::TaskBook;

    #[test]
    fn a_host_that_is_not_active_takes_no_part_and_says_why() {
        let (addr, role) = (host(1), HostRole::Both);
        let (mut book, in_flight) = (TaskBook::default(), InFlight::default());
        let (mut hosts, settings) =
            (HostTable::new(&[HostSetting { addr, role }]), TaskSettings::default());
        let up = HealthChanged { host: addr, from: Health::Unknown, to: Health::Up, at: Millis(0) };
        hosts.health_changed(&up);
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts: vec![(addr, role)] }).unwrap();
        let mut refusals = |event: Option<TaskEvent>| {
            event.map(|event| book.apply(Millis(0), &event).unwrap());
            let (hosts, settings, now) = (&hosts, &settings, Millis(0));
            let (book, in_flight, leading_since) = (&book, &in_flight, now);
            let yard = PlanningContext { book, in_flight, hosts, settings, leading_since, now };
            let part = Pairing::new(&yard, &HeldPairs::default()).parts()[&addr];
            (part.no_source, part.no_destination)
        };
        let set =
            |mode| Some(TaskEvent::HostModeSet { host: addr, mode, asked_by: "op".to_owned() });
        let both = |why| (Some(why), Some(why));
        assert_eq!(refusals(None), (None, Some(Unusable::KindUnknown)));
        assert_eq!(refusals(set(HostMode::Draining)), both(Unusable::Draining));
        assert_eq!(refusals(set(HostMode::Maintenance)), both(Unusable::Maintenance));
        assert_eq!(refusals(set(HostMode::Active)), (None, Some(Unusable::KindUnknown)));
        refusals(Some(TaskEvent::HostSilent { host: addr, since: Millis(0) }));
        assert_eq!(refusals(Some(TaskEvent::HostLost { host: addr })), both(Unusable::Lost));
    }
}
