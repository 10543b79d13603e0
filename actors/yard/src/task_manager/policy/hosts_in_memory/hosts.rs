//! The latest observations of the hosts. In memory only, pure.

use std::collections::{BTreeMap, HashMap};
use std::mem::Discriminant;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::names::FileId;
use reelyard_core::traffic::Traffic;
use reelyard_protocol::legacy::cfw::DiskFigures;
use roaring::RoaringBitmap;

use crate::cfw_worker::{CircuitState, HostCallStatus, HostObserved, Inventory};
use crate::heartbeat::{Health, HealthChanged};
use crate::room::{CountedRoom, RoomMade};
use crate::task_manager::settings::HostSetting;
use crate::task_manager::state::task_book::TaskBook;

/// One host as last seen.
#[derive(Clone, Debug)]
pub struct HostState {
    /// Whether it serves masters, takes copies, or both.
    pub role: HostRole,
    /// Whether it answers.
    pub health: Health,
    /// When that changed last; none while it never did.
    pub health_since: Option<Millis>,
    /// The program that answers.
    pub kind: HostKind,
    /// When the current program began to answer in place of another one; none if there was only one.
    pub program_since: Option<Millis>,
    /// The program that answered last.
    last_program: Option<Discriminant<HostKind>>,
    /// State of the circuit breaker of its calls.
    pub calls: CircuitState,
    /// Its disk, and the time of the request. None while it is unknown, or may have changed unnoticed.
    pub disk: Option<(DiskFigures, Millis)>,
    /// The load of its link, and the time of the request. None while it is unknown.
    pub traffic: Option<(Traffic, Millis)>,
    /// Its inventory as last read by this process.
    pub observed: Option<Arc<Inventory>>,
    /// Copies that arrived since its disk and inventory were last read, by file.
    pub landed: HashMap<FileId, Landed>,
    /// Whether `observed` may differ from the placements in the book.
    pub differs: bool,
    /// When this node last applied a report of this host that another leader recorded, by its own clock.
    pub recorded: Option<Millis>,
}

/// A copy that arrived on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    /// The file that arrived.
    pub file: FileId,
    /// The copy's size in bytes.
    pub size: u64,
    /// When it was recorded, or applied here if another leader recorded it, by the own clock.
    pub at: Millis,
    /// When its task was created. None if it was found without a task.
    pub created: Option<Millis>,
}

/// The hosts of the yard and the latest observations of each. These are the recorded hosts, or the
/// configured ones while none is recorded.
#[derive(Clone, Debug, Default)]
pub struct HostTable {
    hosts: BTreeMap<HostAddr, HostState>,
    configured: BTreeMap<HostAddr, HostRole>,
    /// The rooms that the Remover made, and their files.
    rooms_made: BTreeMap<HostAddr, RoomMade>,
}

impl HostState {
    fn new(role: HostRole) -> Self {
        HostState {
            role,
            health: Health::Unknown,
            health_since: None,
            kind: HostKind::Unknown,
            program_since: None,
            last_program: None,
            calls: CircuitState::Closed,
            disk: None,
            traffic: None,
            observed: None,
            landed: HashMap::new(),
            differs: false,
            recorded: None,
        }
    }

    fn set_kind(&mut self, kind: HostKind, at: Millis) {
        self.kind = kind;
        if kind == HostKind::Unknown {
            return;
        }
        let program = std::mem::discriminant(&kind);
        if self.last_program.is_some_and(|before| before != program) {
            self.program_since = Some(at);
        }
        self.last_program = Some(program);
    }

    /// Whether a Reelyard worker answers there.
    pub fn is_ours(&self) -> bool {
        matches!(self.kind, HostKind::Reelyard { .. })
    }

    /// Whether it can fetch from old cfws, which have no data port: they can among themselves.
    pub fn fetches_from_old(&self) -> bool {
        !matches!(self.kind, HostKind::Reelyard { fetches_from_old: false, .. })
    }

    /// Bytes that may still be written below `limit_percent`, without those that arrived since the
    /// disk was read. None while the disk is unknown.
    pub fn room(&self, limit_percent: u32) -> Option<u64> {
        let (disk, at) = self.disk.as_ref()?;
        let landed: u64 =
            self.landed.values().filter(|copy| copy.at >= *at).map(|copy| copy.size).sum();
        Some(disk.room(limit_percent).saturating_sub(landed))
    }

    /// The same, but also without copies that began before the disk was read: it may include their bytes
    /// already. The true room is between both figures.
    pub fn most_room(&self, limit_percent: u32) -> Option<CountedRoom> {
        let (disk, at) = self.disk.as_ref()?;
        let landed = self.landed.values().filter(|copy| copy.created.is_some_and(|it| it >= *at));
        let bytes = disk.room(limit_percent).saturating_sub(landed.map(|copy| copy.size).sum());
        Some(CountedRoom { bytes, disk_read_at: *at })
    }

    /// Whether another leader recorded a report of this host after this node read its inventory.
    /// Then this inventory decides nothing.
    pub fn is_outdated(&self) -> bool {
        let read = self.observed.as_ref().map(|inventory| inventory.at);
        read.zip(self.recorded).is_some_and(|(read, recorded)| read <= recorded)
    }

    /// Whether the inventory that was read last has `file`.
    pub fn lists(&self, file: FileId) -> bool {
        self.observed.as_ref().is_some_and(|inventory| inventory.files.contains(file.0))
    }

    /// Whether the inventory was read at `at` or later.
    pub fn was_read_since(&self, at: Millis) -> bool {
        self.observed.as_ref().is_some_and(|inventory| inventory.at >= at)
    }
}

impl HostTable {
    /// The hosts as configured. Nothing is known of any host.
    pub fn new(settings: &[HostSetting]) -> Self {
        let mut table = HostTable::default();
        table.configure(settings);
        table.replace_hosts(table.configured.clone());
        table
    }

    /// Takes a new configuration. It applies once it is recorded.
    pub fn configure(&mut self, settings: &[HostSetting]) {
        self.configured = settings.iter().map(|host| (host.addr, host.role)).collect();
    }

    /// Sets the rooms that the Remover made.
    pub fn set_rooms_made(&mut self, rooms: BTreeMap<HostAddr, RoomMade>) {
        self.rooms_made = rooms;
    }

    /// The rooms that the Remover made, and their files.
    pub fn rooms_made(&self) -> &BTreeMap<HostAddr, RoomMade> {
        &self.rooms_made
    }

    /// The hosts as configured here.
    pub fn configured(&self) -> &BTreeMap<HostAddr, HostRole> {
        &self.configured
    }

    /// Takes over the recorded hosts. The observations of hosts in both sets are kept.
    pub fn adopt_recorded(&mut self, book: &TaskBook) {
        let hosts = book.hosts();
        if hosts.is_empty() {
            self.replace_hosts(self.configured.clone());
        } else {
            self.replace_hosts(hosts.iter().map(|(addr, record)| (*addr, record.role)));
        }
    }

    /// Has exactly these hosts.
    fn replace_hosts(&mut self, roles: impl IntoIterator<Item = (HostAddr, HostRole)>) {
        let mut known = std::mem::take(&mut self.hosts);
        let host = |(addr, role)| {
            let state = known.remove(&addr).unwrap_or_else(|| HostState::new(role));
            (addr, HostState { role, ..state })
        };
        self.hosts = roles.into_iter().map(host).collect();
    }

    /// The host at `addr`, if it is one of the yard.
    pub fn get(&self, addr: HostAddr) -> Option<&HostState> {
        self.hosts.get(&addr)
    }

    /// Every host, by address.
    pub fn iter(&self) -> impl Iterator<Item = (HostAddr, &HostState)> {
        self.hosts.iter().map(|(addr, host)| (*addr, host))
    }

    /// Takes a change of health. The disk figures of a host that went down are dropped: it may return
    /// with another disk. Answers whether the host belongs to the yard.
    pub fn health_changed(&mut self, change: &HealthChanged) -> bool {
        let Some(host) = self.hosts.get_mut(&change.host) else {
            return false;
        };
        host.health = change.to;
        host.health_since = Some(change.at);
        if change.to == Health::Down {
            host.disk = None;
            host.traffic = None;
        }
        true
    }

    /// Takes the observation of a host. Answers the files that are new there, and the files that it no
    /// longer holds, as seen by this process.
    pub fn observe(&mut self, seen: &HostObserved) -> (RoaringBitmap, RoaringBitmap) {
        let mut changed = Default::default();
        let Some(host) = self.hosts.get_mut(&seen.host) else {
            return changed;
        };
        host.set_kind(seen.kind, seen.at);
        // A host's worker reports in the order of its observations, even after a step of the wall
        // clock.
        host.disk = seen.disk;
        host.traffic.clone_from(&seen.traffic);
        if let Some(inventory) = &seen.inventory {
            changed = match &host.observed {
                Some(known) => (&inventory.files - &known.files, &known.files - &inventory.files),
                None => (inventory.files.clone(), RoaringBitmap::new()),
            };
            host.observed = Some(Arc::clone(inventory));
            host.differs = true;
        }
        host.drop_landed();
        changed
    }

    /// Takes the circuit breaker state of a host. Answers whether this affects planning.
    pub fn set_calls(&mut self, call_status: &HostCallStatus) -> bool {
        let Some(host) = self.hosts.get_mut(&call_status.host) else {
            return false;
        };
        std::mem::replace(&mut host.calls, call_status.calls) != call_status.calls
    }

    /// Records an arrived copy.
    pub fn landed(&mut self, addr: HostAddr, copy: Landed) {
        if let Some(host) = self.hosts.get_mut(&addr) {
            host.landed.insert(copy.file, copy);
        }
    }

    /// This node applied at `at` a report of a host that another leader recorded.
    pub fn recorded(&mut self, addr: HostAddr, at: Millis) {
        if let Some(host) = self.hosts.get_mut(&addr) {
            host.recorded = host.recorded.max(Some(at));
        }
    }

    /// Records whether a host's inventory may differ from its placements.
    pub fn set_differs(&mut self, addr: HostAddr, differs: bool) {
        if let Some(host) = self.hosts.get_mut(&addr) {
            host.differs = differs && host.observed.is_some();
        }
    }

    /// Looks again at every difference, after the book was replaced.
    pub fn all_differ(&mut self) {
        for host in self.hosts.values_mut() {
            host.differs = host.observed.is_some();
        }
    }
}

impl HostState {
    /// Forgets the copies that are in both the disk figures and the inventory.
    fn drop_landed(&mut self) {
        let disk = self.disk.map_or(Millis(i64::MIN), |(_, at)| at);
        let listed = self.observed.as_ref().map_or(Millis(i64::MIN), |inventory| inventory.at);
        self.landed.retain(|_, copy| copy.at >= disk || copy.at >= listed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(used: u64) -> DiskFigures {
        DiskFigures { used, avail: 100 - used, ..DiskFigures::default() }
    }

    fn seen(at: i64, used: u64) -> HostObserved {
        HostObserved {
            host: "10.0.0.1:80".parse().unwrap(),
            kind: HostKind::Cfw,
            inventory: Some(Arc::new(Inventory { at: Millis(at), ..Inventory::default() })),
            disk: Some((disk(used), Millis(at))),
            traffic: None,
            at: Millis(at),
        }
    }

    #[test]
    fn a_copy_takes_room_until_the_disk_was_read_after_it() {
        let addr = "10.0.0.1:80".parse().unwrap();
        let mut table = HostTable::new(&[HostSetting { addr, role: HostRole::Destination }]);
        let room = |table: &HostTable| table.get(addr).unwrap().room(90);
        assert_eq!(room(&table), None);
        table.observe(&seen(1, 0));
        table.landed(
            addr,
            Landed { file: FileId(0), size: 30, at: Millis(3), created: Some(Millis(1)) },
        );
        assert_eq!(room(&table), Some(60));
        assert_eq!(table.get(addr).unwrap().most_room(90).map(|room| room.bytes), Some(60));
        // Reported again for another reason, but not asked since.
        table.observe(&HostObserved { disk: Some((disk(0), Millis(1))), ..seen(3, 0) });
        assert_eq!(room(&table), Some(60));
        // Read while the copy ran: it is counted twice, and at least once.
        table.observe(&seen(2, 30));
        assert_eq!(room(&table), Some(30));
        assert_eq!(table.get(addr).unwrap().most_room(90).map(|room| room.bytes), Some(60));
        table.observe(&seen(4, 30));
        assert_eq!(room(&table), Some(60));
        assert!(table.get(addr).unwrap().landed.is_empty());
    }

    #[test]
    fn a_disk_that_is_no_longer_reported_is_unknown() {
        let addr = "10.0.0.1:80".parse().unwrap();
        let mut table = HostTable::new(&[HostSetting { addr, role: HostRole::Destination }]);
        table.observe(&seen(1, 0));
        table.observe(&HostObserved { disk: None, ..seen(2, 0) });
        assert_eq!(table.get(addr).unwrap().room(90), None);
    }

    #[test]
    fn an_observation_after_a_clock_step_back_counts() {
        let addr = "10.0.0.1:80".parse().unwrap();
        let mut table = HostTable::new(&[HostSetting { addr, role: HostRole::Destination }]);
        table.observe(&seen(1_000_000, 0));
        table.observe(&seen(1, 50));
        let host = table.get(addr).unwrap();
        assert_eq!((host.room(90), host.observed.as_ref().unwrap().at), (Some(40), Millis(1)));
    }

    #[test]
    fn a_host_that_went_down_must_be_looked_at_again() {
        let addr = "10.0.0.1:80".parse().unwrap();
        let mut table = HostTable::new(&[HostSetting { addr, role: HostRole::Destination }]);
        table.observe(&seen(1, 0));
        let (from, to) = (Health::Up, Health::Down);
        assert!(table.health_changed(&HealthChanged { host: addr, from, to, at: Millis(2) }));
        assert_eq!(table.get(addr).unwrap().room(90), None);
        assert!(table.get(addr).unwrap().observed.is_some());
    }
}
