//! The destinations, as they last reported. In memory only, pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind, HostMode};
use reelyard_core::names::FileId;
use reelyard_protocol::legacy::cfw::DiskFigures;
use roaring::RoaringBitmap;

use super::repeated_files::RepeatedFiles;
use crate::catalog::popularity::popularity_order::PopularityOrder;
use crate::catalog::popularity::request_rate::RequestRate;
use crate::cfw_worker::{CircuitState, HostCallStatus, HostObserved, Inventory};
use crate::heartbeat::{Health, HealthChanged};

/// How the copies of a host count, according to the TaskManager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyHolderStatus {
    /// The host is not in the yard, by the last report of the TaskManager. Its own reports are kept,
    /// because they may arrive before those of the TaskManager.
    #[default]
    Outside,
    /// Its copies count as copies of the yard.
    Serves,
    /// It is being drained. Its copies do not count, and are removed as soon as there are others.
    Leaves,
    /// It gets no calls.
    Apart,
}

impl CopyHolderStatus {
    /// How the copies of a host in this mode count. A host that was presumed lost counts again once it has
    /// answered.
    pub fn of(mode: HostMode, is_lost: bool) -> Self {
        match mode {
            HostMode::Maintenance => CopyHolderStatus::Apart,
            HostMode::Draining => CopyHolderStatus::Leaves,
            HostMode::Active if is_lost => CopyHolderStatus::Apart,
            HostMode::Active => CopyHolderStatus::Serves,
        }
    }
}

/// One destination.
#[derive(Clone, Debug, Default)]
pub struct CopyHolder {
    /// How its copies count.
    pub status: CopyHolderStatus,
    /// Whether it answers.
    pub health: Health,
    /// The program that answers.
    pub kind: HostKind,
    /// State of the circuit breaker of its calls.
    pub calls: CircuitState,
    /// Its disk, and the time of the request.
    pub disk: Option<(DiskFigures, Millis)>,
    /// The files it holds, as last reported.
    pub inventory: Option<Arc<Inventory>>,
    /// When a copy was last removed from it.
    pub lightened: Option<Millis>,
}

impl CopyHolder {
    /// Whether it can be called now and its files are known.
    pub fn is_askable(&self) -> bool {
        self.health == Health::Up
            && !self.calls.is_open()
            && self.kind != HostKind::Unknown
            && matches!(self.status, CopyHolderStatus::Serves | CopyHolderStatus::Leaves)
            && self.inventory.is_some()
    }

    /// Its last list, if it can be called now.
    fn askable_inventory(&self) -> Option<&Arc<Inventory>> {
        self.inventory.as_ref().filter(|_| self.is_askable())
    }

    /// The files that it listed last.
    pub fn files(&self) -> Option<&RoaringBitmap> {
        self.inventory.as_ref().map(|inventory| &inventory.files)
    }

    /// Whether its last list has `file`.
    pub fn lists(&self, file: FileId) -> bool {
        self.files().is_some_and(|files| files.contains(file.0))
    }

    /// Whether its files were read at `at` or later.
    pub fn was_listed_since(&self, at: Millis) -> bool {
        self.inventory.as_ref().is_some_and(|inventory| inventory.at >= at)
    }

    /// Its disk, if it was read after the last removal.
    pub fn present_disk(&self) -> Option<&DiskFigures> {
        let (disk, at) = self.disk.as_ref()?;
        self.is_present(*at).then_some(disk)
    }

    /// Whether a read of its disk at this time includes its last removal.
    pub fn is_present(&self, disk_read_at: Millis) -> bool {
        self.lightened.is_none_or(|went| disk_read_at > went)
    }

    /// Bytes free below `limit_percent`; 0 while its disk is not known.
    pub fn room(&self, limit_percent: u32) -> u64 {
        self.disk.as_ref().map_or(0, |(disk, _)| disk.room(limit_percent))
    }

    /// Whether a Reelyard worker answers there. It can distinguish our calls from those of an earlier
    /// leader.
    pub fn is_ours(&self) -> bool {
        matches!(self.kind, HostKind::Reelyard { .. })
    }
}

/// Every destination of the yard.
#[derive(Clone, Debug, Default)]
pub struct CopyHolders {
    hosts: BTreeMap<HostAddr, CopyHolder>,
    /// The hosts that are being drained. There are few, if any.
    leaving: Vec<HostAddr>,
    /// Files on several hosts, by the lists of reachable hosts.
    repeats: RepeatedFiles,
}

impl CopyHolders {
    /// How many of the hosts that can be asked list a file, without hosts that are being drained. These copies share
    /// its demand.
    pub fn serving_copies(&self, file: FileId) -> usize {
        let lists = |addr: &&HostAddr| {
            self.hosts.get(addr).is_some_and(|host| host.is_askable() && host.lists(file))
        };
        self.repeats.copies(file).saturating_sub(self.leaving.iter().filter(lists).count())
    }

    /// The requests a day that keep one copy of a file: its copies share its demand.
    pub fn kept_demand(&self, file: FileId, demand: &PopularityOrder) -> RequestRate {
        let kept_rate = demand.demand(file).kept_rate;
        // Nearly every file has one copy.
        match self.repeats.copies(file) {
            0 | 1 => kept_rate,
            _ => kept_rate.divided_by(self.serving_copies(file)),
        }
    }

    /// Replaces the set of destinations. The state of destinations in both sets is kept.
    pub fn set_hosts(&mut self, yard: impl IntoIterator<Item = (HostAddr, CopyHolderStatus)>) {
        let mut before = std::mem::take(&mut self.hosts);
        let known = |(addr, status)| {
            let host = before.remove(&addr).unwrap_or_default();
            (addr, CopyHolder { status, ..host })
        };
        self.hosts = yard.into_iter().map(known).collect();
        before.retain(|_, host| host.status == CopyHolderStatus::Outside);
        self.hosts.append(&mut before);
        let leaves = |(addr, host): (&HostAddr, &CopyHolder)| {
            (host.status == CopyHolderStatus::Leaves).then_some(*addr)
        };
        self.leaving = self.hosts.iter().filter_map(leaves).collect();
        let CopyHolders { hosts, repeats, .. } = self;
        let gone: Vec<HostAddr> =
            repeats.hosts().filter(|addr| !hosts.contains_key(addr)).collect();
        gone.into_iter().for_each(|addr| repeats.set(addr, None));
        hosts.iter().for_each(|(addr, host)| repeats.set(*addr, host.askable_inventory()));
    }

    /// Something changed of one host.
    fn recount(&mut self, addr: HostAddr) {
        let inventory = self.hosts.get(&addr).and_then(CopyHolder::askable_inventory);
        self.repeats.set(addr, inventory);
    }

    /// The files that more than one host lists, among the hosts that can be asked.
    pub fn repeated(&self) -> &RoaringBitmap {
        self.repeats.files()
    }

    /// How many of the hosts that can be asked list a file.
    pub fn listed(&self, file: FileId) -> usize {
        self.repeats.copies(file)
    }

    /// The destination at `addr`. None if it is not in the yard.
    pub fn get(&self, addr: HostAddr) -> Option<&CopyHolder> {
        self.hosts.get(&addr).filter(|host| host.status != CopyHolderStatus::Outside)
    }

    /// All of them, by address.
    pub fn iter(&self) -> impl Iterator<Item = (HostAddr, &CopyHolder)> {
        self.hosts.iter().map(|(addr, host)| (*addr, host))
    }

    /// The hosts that can be asked.
    pub fn askable(&self) -> impl Iterator<Item = (HostAddr, &CopyHolder)> {
        self.iter().filter(|(_, host)| host.is_askable())
    }

    /// Takes a change of health. The state of a host that went down is dropped: it may return with another
    /// disk.
    pub fn health_changed(&mut self, changed: &HealthChanged) {
        let host = self.hosts.entry(changed.host).or_default();
        host.health = changed.to;
        if changed.to == Health::Down {
            host.disk = None;
            host.inventory = None;
        }
        self.recount(changed.host);
    }

    /// Stores the report of a host.
    pub fn observe(&mut self, seen: &HostObserved) {
        let host = self.hosts.entry(seen.host).or_default();
        host.kind = seen.kind;
        if let (Some((_, before)), Some((_, now))) = (&host.disk, &seen.disk)
            && now < before
        {
            // The clock was set back. The last removal is not later than this read.
            host.lightened = host.lightened.min(Some(*now));
        }
        host.disk = seen.disk;
        if seen.inventory.is_some() {
            host.inventory.clone_from(&seen.inventory);
        }
        self.recount(seen.host);
    }

    /// Takes the circuit breaker state of a host.
    pub fn set_calls(&mut self, call_status: &HostCallStatus) {
        self.hosts.entry(call_status.host).or_default().calls = call_status.calls;
        self.recount(call_status.host);
    }

    /// A copy was removed from a host.
    pub fn lightened(&mut self, addr: HostAddr, at: Millis) {
        if let Some(host) = self.hosts.get_mut(&addr) {
            host.lightened = host.lightened.max(Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remover::samples::host;

    fn seen(files: &[u32], at: i64) -> HostObserved {
        let at = Millis(at);
        let files = files.iter().copied().collect();
        let disk = DiskFigures { used: 40, avail: 60, ..DiskFigures::default() };
        HostObserved {
            host: host(1),
            kind: HostKind::Cfw,
            inventory: Some(Arc::new(Inventory { files, unreadable_names: 0, at })),
            disk: Some((disk, at)),
            traffic: None,
            at,
        }
    }

    fn health(to: Health) -> HealthChanged {
        HealthChanged { host: host(1), from: Health::Unknown, to, at: Millis(1) }
    }

    #[test]
    fn a_host_can_be_asked_once_it_is_up_and_was_listed() {
        let mut holders = CopyHolders::default();
        holders.health_changed(&health(Health::Up));
        holders.set_hosts([(host(1), CopyHolderStatus::Serves)]);
        let askable = |holders: &CopyHolders| holders.askable().count();
        assert_eq!(askable(&holders), 0);
        holders.observe(&seen(&[3], 2));
        assert_eq!(askable(&holders), 1);
        holders.set_hosts([(host(1), CopyHolderStatus::Apart)]);
        assert_eq!(askable(&holders), 0, "nothing is asked of it");
        holders
            .set_hosts([(host(1), CopyHolderStatus::Leaves), (host(2), CopyHolderStatus::Serves)]);
        assert_eq!(askable(&holders), 1, "what is known of a host stays");
        holders.health_changed(&health(Health::Down));
        holders.health_changed(&health(Health::Up));
        assert_eq!(askable(&holders), 0, "it is listed again first");
        holders.set_hosts([(host(2), CopyHolderStatus::Serves)]);
        assert!(holders.get(host(1)).is_none());
    }

    #[test]
    fn only_hosts_that_can_be_asked_repeat_files() {
        let mut holders = CopyHolders::default();
        let yard = [(host(1), CopyHolderStatus::Serves), (host(2), CopyHolderStatus::Serves)];
        holders.set_hosts(yard);
        for at in [host(1), host(2)] {
            holders.health_changed(&HealthChanged { host: at, ..health(Health::Up) });
            holders.observe(&HostObserved { host: at, ..seen(&[3, 4], 2) });
        }
        let repeated = |holders: &CopyHolders| holders.repeated().iter().collect::<Vec<_>>();
        assert_eq!(repeated(&holders), [3, 4]);
        holders.observe(&seen(&[4, 5], 3));
        assert_eq!(repeated(&holders), [4]);
        holders
            .set_hosts([(host(1), CopyHolderStatus::Serves), (host(2), CopyHolderStatus::Apart)]);
        assert!(repeated(&holders).is_empty());
        holders.set_hosts(yard);
        assert_eq!(repeated(&holders), [4]);
        let (calls, at) = (CircuitState::Open, Millis(9));
        let call_status =
            HostCallStatus { host: host(1), calls, epoch: None, managers: Vec::new(), at };
        holders.set_calls(&call_status);
        assert!(repeated(&holders).is_empty());
        holders.set_hosts([(host(1), CopyHolderStatus::Serves)]);
        assert!(holders.repeats.hosts().next().is_none());
    }

    #[test]
    fn a_disk_counts_once_it_was_read_after_the_last_removal() {
        let mut holders = CopyHolders::default();
        holders.set_hosts([(host(1), CopyHolderStatus::Serves)]);
        holders.observe(&seen(&[3], 2));
        let is_present =
            |holders: &CopyHolders| holders.get(host(1)).unwrap().present_disk().is_some();
        assert!(is_present(&holders));
        holders.lightened(host(1), Millis(5));
        holders.observe(&seen(&[], 5));
        assert!(!is_present(&holders));
        holders.observe(&seen(&[], 6));
        assert!(is_present(&holders));
    }

    #[test]
    fn a_disk_counts_soon_after_the_clock_was_set_back() {
        let mut holders = CopyHolders::default();
        holders.set_hosts([(host(1), CopyHolderStatus::Serves)]);
        holders.observe(&seen(&[3], 1_000));
        holders.lightened(host(1), Millis(1_001));
        holders.observe(&seen(&[], 10));
        let is_present =
            |holders: &CopyHolders| holders.get(host(1)).unwrap().present_disk().is_some();
        assert!(!is_present(&holders), "nobody knows which of both was first");
        holders.observe(&seen(&[], 11));
        assert!(is_present(&holders));
    }
}
