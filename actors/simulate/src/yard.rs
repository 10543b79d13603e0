//! The real contents of the simulated hosts. The managers know only the reports.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::names::FileId;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::catalog::ranking::Ranking;
use reelyard_yard::cfw_worker::{HostObserved, Inventory};
use reelyard_yard::settings::copies::CopiesWanted;
use reelyard_yard::task_manager::HostSetting;
use roaring::RoaringBitmap;

use crate::demand::catalogue::Catalogue;

/// Port of every simulated worker.
const PORT: u16 = 8888;

/// A simulated destination.
#[derive(Clone, Debug)]
pub struct DestinationModel {
    /// Address of the worker.
    pub addr: HostAddr,
    /// Disk size in bytes.
    pub disk: u64,
    /// Used space in bytes.
    pub used: u64,
    /// Files on the disk.
    pub files: RoaringBitmap,
}

/// The hosts with their contents.
#[derive(Clone, Debug)]
pub struct YardModel {
    destinations: Vec<DestinationModel>,
    sources: Vec<HostAddr>,
    by_addr: HashMap<HostAddr, usize>,
    /// Number of copies of each file.
    copies: Vec<u16>,
}

impl YardModel {
    /// A yard with empty disks of `disk` bytes, for `files` files.
    pub fn new(destinations: u32, sources: u32, disk: u64, files: usize) -> Self {
        let addr = |base: u32, number: u32| {
            // Addresses are within 10.0.0.0/8.
            let ip = Ipv4Addr::from_bits((10 << 24) + base + number + 1);
            HostAddr::from(SocketAddr::from((ip, PORT)))
        };
        let destinations: Vec<DestinationModel> = (0..destinations)
            .map(|number| {
                let (addr, files) = (addr(0, number), RoaringBitmap::new());
                DestinationModel { addr, disk, used: 0, files }
            })
            .collect();
        let sources = (0..sources).map(|number| addr(1 << 23, number)).collect();
        let by_addr = destinations.iter().enumerate().map(|(at, host)| (host.addr, at)).collect();
        YardModel { destinations, sources, by_addr, copies: vec![0; files] }
    }

    /// Every host with its role, as in a configuration.
    pub fn settings(&self) -> Vec<HostSetting> {
        let destinations = self.destinations.iter().map(|host| (host.addr, HostRole::Destination));
        let sources = self.sources.iter().map(|addr| (*addr, HostRole::Source));
        destinations.chain(sources).map(|(addr, role)| HostSetting { addr, role }).collect()
    }

    /// The destinations, sorted by address.
    pub fn destinations(&self) -> &[DestinationModel] {
        &self.destinations
    }

    /// Addresses of the sources.
    pub fn sources(&self) -> &[HostAddr] {
        &self.sources
    }

    /// Fills the disks to `percent` with the best files. Each copy goes to the disk with the most
    /// room.
    pub fn fill(
        &mut self,
        percent: u32,
        best_first: &[FileId],
        ranking: &Ranking,
        wanted: CopiesWanted,
        catalogue: &Catalogue,
    ) {
        let room = |host: &DestinationModel| mark(host.disk, percent).saturating_sub(host.used);
        let hosts = self.destinations.iter().enumerate();
        let mut rooms: BinaryHeap<(u64, Reverse<usize>)> =
            hosts.map(|(at, host)| (room(host), Reverse(at))).collect();
        for file in best_first {
            let size = catalogue.size(*file);
            // Copies of one file are on different hosts.
            let mut taken = Vec::new();
            for _ in 0..wanted.of(*file, Some(ranking)) {
                let Some((left, at)) = rooms.peek().copied().filter(|(left, _)| *left >= size)
                else {
                    break;
                };
                rooms.pop();
                self.store_copy(at.0, *file, size);
                taken.push((left - size, at));
            }
            rooms.extend(taken);
        }
    }

    fn store_copy(&mut self, at: usize, file: FileId, size: u64) {
        let host = &mut self.destinations[at];
        if host.files.insert(file.0) {
            host.used = host.used.saturating_add(size);
            self.copies[file.0 as usize] += 1;
        }
    }

    /// Adds a copy to a host.
    pub fn came(&mut self, addr: HostAddr, file: FileId, size: u64) {
        if let Some(at) = self.by_addr.get(&addr) {
            self.store_copy(*at, file, size);
        }
    }

    /// Removes a copy. Returns whether it existed.
    pub fn went(&mut self, addr: HostAddr, file: FileId, size: u64) -> bool {
        let Some(host) = self.by_addr.get(&addr).map(|at| &mut self.destinations[*at]) else {
            return false;
        };
        let was_there = host.files.remove(file.0);
        if was_there {
            host.used = host.used.saturating_sub(size);
            self.copies[file.0 as usize] -= 1;
        }
        was_there
    }

    /// The files with a copy.
    pub fn held(&self) -> RoaringBitmap {
        self.destinations.iter().fold(RoaringBitmap::new(), |all, host| all | &host.files)
    }

    /// Bytes of all disks together up to `percent`.
    pub fn capacity(&self, percent: u32) -> u64 {
        let disks = self.destinations.iter().map(|host| mark(host.disk, percent));
        disks.fold(0, u64::saturating_add)
    }

    /// Number of copies of a file.
    pub fn copies_of(&self, file: FileId) -> u16 {
        self.copies.get(file.0 as usize).copied().unwrap_or(0)
    }

    /// The complete list of a host at `at`. None for an unknown host.
    pub fn look_at(&self, addr: HostAddr, at: Millis) -> Option<HostObserved> {
        let data_addr = addr.socket();
        let kind = HostKind::Reelyard { data_addr, fetches_from_old: false, data_tls: false };
        let Some(host) = self.by_addr.get(&addr).map(|at| &self.destinations[*at]) else {
            let is_source = self.sources.binary_search(&addr).is_ok();
            let source =
                HostObserved { host: addr, kind, inventory: None, disk: None, traffic: None, at };
            return is_source.then_some(source);
        };
        let inventory = Inventory { files: host.files.clone(), unreadable_names: 0, at };
        let (disk, inventory) = (Some((host.figures(), at)), Some(Arc::new(inventory)));
        Some(HostObserved { host: addr, kind, inventory, disk, traffic: None, at })
    }
}

impl DestinationModel {
    /// Disk figures as the worker reports them.
    pub fn figures(&self) -> DiskFigures {
        let avail = self.disk.saturating_sub(self.used);
        DiskFigures {
            total: self.disk,
            used: self.used,
            avail,
            free: avail,
            used_percent: u32::try_from(percent(self.used, self.disk)).unwrap_or(100),
        }
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))) as u64
}

/// `percent` of a disk, in bytes.
pub fn mark(disk: u64, percent: u32) -> u64 {
    DiskFigures { avail: disk, ..DiskFigures::default() }.mark(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_files_that_fit_are_there_from_the_beginning() {
        let catalogue = Catalogue { sizes: vec![10, 10, 30, 10, 10], ..Catalogue::default() };
        let mut yard = YardModel::new(2, 1, 25, 5);
        let files: Vec<FileId> = (0..5).map(FileId).collect();
        yard.fill(80, &files, &Ranking::default(), CopiesWanted::default(), &catalogue);
        assert_eq!([0, 1, 2, 3, 4].map(|file| yard.copies_of(FileId(file))), [1, 1, 0, 1, 1]);
        let used: Vec<u64> = yard.destinations().iter().map(|host| host.used).collect();
        assert_eq!(used, [20, 20]);
        let host = yard.destinations()[0].addr;
        let seen = yard.look_at(host, Millis(7)).unwrap();
        assert_eq!(seen.disk.unwrap().0.used_percent, 80);
        assert!(yard.went(host, FileId(0), 10) && !yard.went(host, FileId(0), 10));
        assert_eq!((yard.copies_of(FileId(0)), yard.destinations()[0].used), (0, 10));
        assert!(yard.look_at(yard.sources()[0], Millis(7)).unwrap().inventory.is_none());
    }
}
