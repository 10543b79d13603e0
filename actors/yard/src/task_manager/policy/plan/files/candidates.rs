//! The files that want a copy, best first, kept up to date change by change.
//!
//! **Invariant:** `wanted` holds the position of every graded file that wants a copy. Such a file has a
//! master, is not ignored, and has too few copies on hosts that count. It is not listed on a host that was
//! never asked, and is not set aside for lack of room. So a round examines only files that want a copy,
//! for any number of files.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{ByFile, FileId};
use roaring::RoaringBitmap;

use super::unschedulable::{Rooms, UnschedulableFiles, UnschedulableReason};
use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::name_traits::NameTraits;
use crate::settings::copies::CopiesWanted;
use crate::task_manager::messages::Skip;
use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
use crate::task_manager::settings::TaskSettings;
use crate::task_manager::state::hosts::host_record::HostRecord;
use crate::task_manager::state::task_book::TaskBook;

/// No position: the file has no grade.
const NOWHERE: u32 = u32::MAX;

/// A file that may be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the file in the name table.
    pub file: FileId,
    /// Its rank, 1 = best; 0 without a grade.
    pub grade: u32,
    /// Its rising hits; 0 when it is not hot.
    pub hits: u32,
}

/// The files that want a copy.
#[derive(Clone, Debug)]
pub struct Candidates {
    ranking: Option<Arc<Ranking>>,
    masters: Option<Arc<Masters>>,
    /// Position of each file in the ranking, by its number.
    position: ByFile<u32>,
    /// Hot files: most hits first, then the better grade.
    hot: Vec<Candidate>,
    hot_files: RoaringBitmap,
    traits: NameTraits,
    /// Files with enough copies on hosts that count. A host that is being drained or is presumed lost does
    /// not count.
    placed: RoaringBitmap,
    /// Files that a host has, whether the host counts or not.
    held: RoaringBitmap,
    copies: CopiesWanted,
    /// IPs of destinations whose inventory was never read.
    unasked: Arc<HashSet<IpAddr>>,
    /// Files that no destination can take at the moment. They are set aside, because otherwise each
    /// round would examine all of them.
    unschedulable: UnschedulableFiles,
    wanted: RoaringBitmap,
    /// Whether `wanted` must be computed again.
    stale: bool,
}

/// Whether the whole inventory of a destination is known, from this run or an earlier one.
pub(in crate::task_manager::policy::plan) fn was_asked(
    book: &TaskBook,
    hosts: &HostTable,
    addr: HostAddr,
) -> bool {
    hosts.get(addr).is_some_and(|host| host.observed.is_some())
        || book.placement(addr).is_some_and(|placement| placement.complete)
}

impl Default for Candidates {
    fn default() -> Self {
        Candidates {
            ranking: Default::default(),
            masters: Default::default(),
            position: ByFile::new(NOWHERE),
            hot: Default::default(),
            hot_files: Default::default(),
            traits: Default::default(),
            placed: Default::default(),
            held: Default::default(),
            copies: Default::default(),
            unasked: Default::default(),
            unschedulable: Default::default(),
            wanted: Default::default(),
            stale: Default::default(),
        }
    }
}

impl Candidates {
    /// Takes a new ranking.
    pub fn set_ranking(&mut self, ranking: Arc<Ranking>) {
        self.position = ByFile::new(NOWHERE);
        for (position, file) in (0..).zip(ranking.files()) {
            self.position.set(*file, position);
        }
        let Candidates { unschedulable, position, .. } = self;
        unschedulable.rerank(ranking.files().len(), |file| place_in(position, file));
        self.ranking = Some(ranking);
        self.rank_hot();
        self.stale = true;
    }

    /// Takes new hot files.
    pub fn set_rising(&mut self, rising: &RisingHits) {
        let hot = rising.hot().iter();
        self.hot = hot.map(|&(file, hits)| Candidate { file, grade: 0, hits }).collect();
        self.hot_files = self.hot.iter().map(|hot| hot.file.0).collect();
        self.rank_hot();
    }

    /// Takes a new listing of the masters.
    pub fn set_masters(&mut self, masters: Arc<Masters>) {
        self.masters = Some(masters);
        self.stale = true;
    }

    /// Computes everything again before the next round.
    pub fn set_stale(&mut self) {
        self.stale = true;
    }

    /// Whether a ranking was ever read.
    pub fn has_ranking(&self) -> bool {
        self.ranking.is_some()
    }

    /// Whether the masters were ever listed.
    pub fn has_masters(&self) -> bool {
        self.masters.is_some()
    }

    /// How many graded files want a copy, without those that are too big.
    pub fn wanted(&self) -> u64 {
        self.wanted.len()
    }

    /// The files that are set aside as not schedulable now.
    pub fn unschedulable(&self) -> &UnschedulableFiles {
        &self.unschedulable
    }

    /// The IPs of destinations whose inventory was never read.
    pub fn unasked(&self) -> &Arc<HashSet<IpAddr>> {
        &self.unasked
    }

    /// Graded files, best first.
    fn order(&self) -> &[FileId] {
        self.ranking.as_ref().map_or(&[], |ranking| ranking.files())
    }

    /// How many files are graded.
    pub fn graded(&self) -> usize {
        self.order().len()
    }

    /// The traits of names.
    pub fn traits(&self) -> &NameTraits {
        &self.traits
    }

    /// Makes ready for a round.
    pub fn refresh(&mut self, book: &TaskBook, hosts: &HostTable, settings: &TaskSettings) {
        self.traits.learn(book.names(), &settings.ignore_prefixes);
        if self.copies != settings.copies {
            self.copies = settings.copies;
            self.stale = true;
        }
        let destinations = hosts.iter().filter(|(_, host)| host.role.is_destination());
        let unasked: HashSet<IpAddr> = destinations
            .filter(|(addr, _)| !was_asked(book, hosts, *addr))
            .map(|(addr, _)| addr.ip())
            .collect();
        if *self.unasked != unasked {
            self.unasked = Arc::new(unasked);
            self.stale = true;
        }
        if self.stale {
            self.rebuild(book, hosts);
        }
    }

    /// Records that these files are new on a host.
    pub fn came(
        &mut self,
        addr: HostAddr,
        files: impl IntoIterator<Item = FileId>,
        book: &TaskBook,
        hosts: &HostTable,
    ) {
        let counts = counts(addr, book);
        for file in files {
            self.held.insert(file.0);
            if counts && (self.wants_one(file) || self.has_enough(file, book, hosts)) {
                self.placed.insert(file.0);
            }
            self.unschedulable.remove(file);
            self.judge(file);
        }
    }

    /// Records that these files left a host, or may have left it. Others may still hold them.
    pub fn left(
        &mut self,
        files: impl IntoIterator<Item = FileId>,
        book: &TaskBook,
        hosts: &HostTable,
    ) {
        for file in files {
            if holders(file, book, hosts).next().is_none() {
                self.held.remove(file.0);
            }
            if self.placed.contains(file.0) && !self.has_enough(file, book, hosts) {
                self.placed.remove(file.0);
                self.judge(file);
            }
        }
    }

    /// Whether hosts that count hold the wanted number of copies of a file.
    pub fn is_placed(&self, file: FileId) -> bool {
        self.placed.contains(file.0)
    }

    /// The hosts that hold a file, whether they count or not.
    pub fn holders(&self, file: FileId, book: &TaskBook, hosts: &HostTable) -> Vec<HostAddr> {
        match self.held.contains(file.0) {
            true => holders(file, book, hosts).collect(),
            false => Vec::new(),
        }
    }

    fn wants_one(&self, file: FileId) -> bool {
        self.copies.of(file, self.ranking.as_deref()) == 1
    }

    /// The same, counted now.
    pub fn has_enough(&self, file: FileId, book: &TaskBook, hosts: &HostTable) -> bool {
        let wanted = self.copies.of(file, self.ranking.as_deref()) as usize;
        let counting = holders(file, book, hosts).filter(|addr| counts(*addr, book));
        counting.take(wanted).count() == wanted
    }

    /// Sets a graded file aside until there is room for its `size`. The size is valid until `good_until`.
    pub fn set_unschedulable(
        &mut self,
        file: FileId,
        size: u64,
        good_until: Millis,
        reason: UnschedulableReason,
    ) {
        if let Some(place) = self.position(file) {
            self.unschedulable.add(file, place, size, good_until, reason);
            self.judge(file);
        }
    }

    /// Takes back files for which there is room, the best first. It stops after the best `first` of all
    /// files that want a copy, because a round examines only the best. Answers whether there are more.
    pub fn reschedule(&mut self, rooms: &Rooms, first: u64) -> bool {
        let Some(ranking) = self.ranking.clone() else { return false };
        while let Some((place, file)) = self.unschedulable.best_fitting(rooms, ranking.files()) {
            let last = first.checked_sub(1).and_then(|last| u32::try_from(last).ok());
            if last.and_then(|last| self.wanted.select(last)).is_some_and(|last| last < place) {
                return true;
            }
            self.unschedulable.remove(file);
            self.judge(file);
        }
        false
    }

    /// Takes one file back if there is room for it.
    pub fn reschedule_one(&mut self, file: FileId, rooms: &Rooms) {
        if self.unschedulable.fits(file, rooms) {
            self.unschedulable.remove(file);
            self.judge(file);
        }
    }

    /// Takes one file back, whether there is room or not.
    pub fn restore(&mut self, file: FileId) {
        if self.unschedulable.remove(file) {
            self.judge(file);
        }
    }

    /// Whether the order of demand is in force.
    pub fn is_by_demand(&self) -> bool {
        self.ranking.as_ref().is_some_and(|ranking| ranking.is_by_demand())
    }

    /// At most `most` files that wait for room, those with the most demand for each byte first, with their sizes.
    /// Hot files are left out. None while demand is not measured.
    pub fn best_without_room(&self, most: usize) -> Vec<(FileId, u64)> {
        let Some(ranking) = &self.ranking else { return Vec::new() };
        let Some(demand) = ranking.demand() else { return Vec::new() };
        let with_hot = most.saturating_add(self.hot.len());
        let best = if ranking.is_by_demand() {
            self.unschedulable.best_without_room(self.order(), with_hot)
        } else {
            self.unschedulable.first_without_room(demand.files(), with_hot)
        };
        let cold = best.into_iter().filter(|(file, _)| !self.hot_files.contains(file.0));
        cold.take(most).collect()
    }

    /// Takes the result of a check of a master: its size, or that it does not exist.
    pub fn looked(&mut self, file: FileId, size: Option<u64>, good_until: Millis) {
        if self.unschedulable.looked(file, size, good_until) {
            self.judge(file);
        }
    }

    /// The candidates: hot ones first, then in the order of the ranking.
    pub fn best_first(&self, ungraded_hot: bool) -> impl Iterator<Item = Candidate> + '_ {
        let hot = self.hot.iter().copied().filter(move |hot| {
            (ungraded_hot || hot.grade > 0) && self.unwanted(hot.file, ungraded_hot).is_none()
        });
        let graded = self.wanted.iter().filter_map(|position| {
            let file = *self.order().get(position as usize)?;
            let cold = !self.hot_files.contains(file.0);
            cold.then(|| Candidate { file, grade: self.grade(file), hits: 0 })
        });
        hot.chain(graded)
    }

    /// Why a file is no candidate at all; none if it is one.
    pub fn unwanted(&self, file: FileId, ungraded_hot: bool) -> Option<Skip> {
        let hot = ungraded_hot && self.hot_files.contains(file.0);
        if self.position(file).is_none() && !hot {
            Some(Skip::Ungraded)
        } else if !self.lists_master(file) {
            Some(Skip::NoMaster)
        } else if self.traits.ignored().contains(file.0) {
            Some(Skip::Ignored)
        } else if self.placed.contains(file.0) {
            Some(Skip::Placed)
        } else if self.is_listed(file) {
            Some(Skip::Listed)
        } else if self.hot_files.contains(file.0) {
            // A hot file may use the room up to the limit, and a file that is set aside may not.
            None
        } else {
            self.unschedulable.why(file)
        }
    }

    /// The rank of a file, 1 = best; 0 without a grade.
    pub fn grade(&self, file: FileId) -> u32 {
        self.ranking.as_ref().and_then(|ranking| ranking.rank(file)).unwrap_or(0)
    }

    /// Its rising hits; 0 when it is not hot.
    pub fn hits(&self, file: FileId) -> u32 {
        self.hot.iter().find(|hot| hot.file == file).map_or(0, |hot| hot.hits)
    }

    /// Whether a source directory lists its master.
    pub fn lists_master(&self, file: FileId) -> bool {
        self.masters.as_ref().is_some_and(|masters| masters.files.contains(file.0))
    }

    /// Size of the file in bytes, from hitcount.history.
    pub fn listed_size(&self, file: FileId) -> Option<u64> {
        self.ranking.as_ref()?.size(file)
    }

    /// The IPs for which hitcount.history lists it.
    pub fn listed_on(&self, file: FileId) -> &[IpAddr] {
        self.ranking.as_ref().map_or(&[], |ranking| ranking.listed_on(file))
    }

    /// Position of a file among the graded ones.
    fn position(&self, file: FileId) -> Option<u32> {
        place_in(&self.position, file)
    }

    fn rank_hot(&mut self) {
        let mut hot = std::mem::take(&mut self.hot);
        for candidate in &mut hot {
            candidate.grade = self.grade(candidate.file);
        }
        // A stable sort: equal files keep the order of the Catalog, by name.
        hot.sort_by_key(|hot| (std::cmp::Reverse(hot.hits), hot.grade.wrapping_sub(1)));
        self.hot = hot;
    }

    /// hitcount.history lists it on a host that was never asked.
    fn is_listed(&self, file: FileId) -> bool {
        if self.unasked.is_empty() {
            return false;
        }
        self.listed_on(file).iter().any(|ip| self.unasked.contains(ip))
    }

    /// Adds one file to `wanted`, or removes it.
    fn judge(&mut self, file: FileId) {
        // A stale list is computed again before it is used.
        let Some(position) = self.position(file).filter(|_| !self.stale) else {
            return;
        };
        if self.unwanted(file, false).is_none() {
            self.wanted.insert(position);
        } else {
            self.wanted.remove(position);
        }
    }

    /// Counts the copies of all files.
    fn count_copies(&mut self, book: &TaskBook, hosts: &HostTable) {
        let (mut placed, mut held) = (RoaringBitmap::new(), RoaringBitmap::new());
        let mut copies: ByFile<u32> = ByFile::new(0);
        let nothing = RoaringBitmap::new();
        let addrs: BTreeSet<HostAddr> =
            book.placements().keys().copied().chain(hosts.iter().map(|(addr, _)| addr)).collect();
        for addr in addrs {
            let confirmed = book.placement(addr).map_or(&nothing, |placement| &placement.files);
            let seen = hosts.get(addr).and_then(|host| host.observed.as_ref());
            let files = confirmed | seen.map_or(&nothing, |inventory| &inventory.files);
            if counts(addr, book) {
                placed |= &files;
                if self.copies.are_several() {
                    for file in files.iter().map(FileId) {
                        copies.set(file, copies.get(file) + 1);
                    }
                }
            }
            held |= files;
        }
        if let Some(ranking) = self.ranking.as_ref().filter(|_| self.copies.are_several()) {
            for file in ranking.wanted_more_than_once() {
                if copies.get(file) < self.copies.of(file, Some(ranking)) {
                    placed.remove(file.0);
                }
            }
        }
        (self.placed, self.held) = (placed, held);
    }

    fn rebuild(&mut self, book: &TaskBook, hosts: &HostTable) {
        self.count_copies(book, hosts);
        let mut files = match &self.masters {
            Some(masters) => &masters.files - &self.placed,
            None => RoaringBitmap::new(),
        };
        files -= &**self.traits.ignored();
        files -= self.unschedulable.files();
        let mut positions: Vec<u32> = files
            .iter()
            .filter(|&file| !self.is_listed(FileId(file)))
            .filter_map(|file| self.position(FileId(file)))
            .collect();
        positions.sort_unstable();
        self.wanted = positions.into_iter().collect();
        self.stale = false;
    }
}

/// Position of a file in `positions`, if it has one.
fn place_in(positions: &ByFile<u32>, file: FileId) -> Option<u32> {
    Some(positions.get(file)).filter(|position| *position != NOWHERE)
}

/// The hosts that hold a file: by their last confirmed lists, also for hosts that are down now, or by this
/// process.
fn holders(file: FileId, book: &TaskBook, hosts: &HostTable) -> impl Iterator<Item = HostAddr> {
    let confirmed = book.placements().iter();
    let confirmed =
        confirmed.filter(move |(_, held)| held.files.contains(file.0)).map(|(addr, _)| *addr);
    let is_confirmed =
        move |addr: HostAddr| book.placement(addr).is_some_and(|held| held.files.contains(file.0));
    let seen = hosts.iter().filter(move |(addr, host)| host.lists(file) && !is_confirmed(*addr));
    confirmed.chain(seen.map(|(addr, _)| addr))
}

/// Whether copies on a host count towards how many a file has.
fn counts(addr: HostAddr, book: &TaskBook) -> bool {
    book.host(addr).is_none_or(HostRecord::counts)
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::host::{HostMode, HostRole};
    use reelyard_replication::Piece;

    use super::*;
    use crate::catalog::ranking::RankedFile;
    use crate::task_manager::samples::{host, name};
    use crate::task_manager::state::event::TaskEvent;

    #[test]
    fn only_the_best_of_many_fitting_files_come_back() {
        let mut candidates = Candidates::default();
        let ids: Vec<FileId> = (0..1000).map(FileId).collect();
        candidates
            .set_ranking(Arc::new(Ranking::from_files_wanting(ids.iter().map(|file| (*file, 1)))));
        let masters = Masters { files: (0..1000).collect(), ..Masters::default() };
        candidates.set_masters(Arc::new(masters));
        candidates.rebuild(&TaskBook::default(), &HostTable::default());
        let rooms = |largest| Rooms { largest, ..Rooms::default() };
        for file in &ids[1..] {
            candidates.set_unschedulable(
                *file,
                10 + u64::from(file.0 % 2),
                Millis(0),
                UnschedulableReason::TooBig,
            );
        }
        assert!(!candidates.reschedule(&rooms(9), 5));
        assert!(candidates.reschedule(&rooms(10), 5));
        let wanted = |candidates: &Candidates| -> Vec<u32> {
            candidates.best_first(false).map(|candidate| candidate.file.0).collect()
        };
        assert_eq!(wanted(&candidates), [0, 2, 4, 6, 8]);
        assert!(candidates.reschedule(&rooms(10), 5), "there are enough already");
        candidates.set_unschedulable(FileId(2), 10, Millis(0), UnschedulableReason::TooBig);
        assert!(candidates.reschedule(&rooms(11), 5));
        assert_eq!(wanted(&candidates), [0, 1, 2, 3, 4, 6, 8]);
        assert!(!candidates.reschedule(&rooms(11), 2000));
        assert_eq!(candidates.wanted(), 1000);
    }

    /// Two graded files with masters, two destinations.
    fn yard() -> (TaskBook, Candidates, [FileId; 2]) {
        let mut book = TaskBook::default();
        let hosts = vec![(host(1), HostRole::Destination), (host(2), HostRole::Destination)];
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
        let files = ["a.mpg", "b.mpg"].map(|text| book.names().intern(&name(text)));
        let mut candidates = Candidates::default();
        let ranked = files.map(|file| RankedFile { file, size: None, listed_on: Vec::new() });
        candidates.set_ranking(Arc::new(Ranking::from_files(ranked)));
        let masters = Masters { files: files.map(|file| file.0).into(), ..Masters::default() };
        candidates.set_masters(Arc::new(masters));
        (book, candidates, files)
    }

    /// The files that want a copy. The test compares the list kept up change by change with one computed
    /// from scratch.
    fn wanted(candidates: &mut Candidates, book: &TaskBook, settings: &TaskSettings) -> Vec<u32> {
        let hosts = HostTable::default();
        candidates.refresh(book, &hosts, settings);
        let kept_up: Vec<u32> = candidates.best_first(false).map(|one| one.file.0).collect();
        candidates.set_stale();
        candidates.refresh(book, &hosts, settings);
        let rebuilt: Vec<u32> = candidates.best_first(false).map(|one| one.file.0).collect();
        assert_eq!(kept_up, rebuilt);
        rebuilt
    }

    fn place(candidates: &mut Candidates, book: &mut TaskBook, on: u8, text: &str) {
        let placed = TaskEvent::Placed { host: host(on), name: name(text) };
        book.apply(Millis(1), &placed).unwrap();
        let file = book.names().intern(&name(text));
        candidates.came(host(on), [file], book, &HostTable::default());
    }

    #[test]
    fn a_copy_on_a_host_that_is_being_drained_does_not_count() {
        let (mut book, mut candidates, [a, b]) = yard();
        let settings = TaskSettings::default();
        assert_eq!(wanted(&mut candidates, &book, &settings), [a.0, b.0]);
        place(&mut candidates, &mut book, 1, "a.mpg");
        assert_eq!(wanted(&mut candidates, &book, &settings), [b.0]);
        let (mode, asked_by) = (HostMode::Draining, "op".to_owned());
        let drain = TaskEvent::HostModeSet { host: host(1), mode, asked_by };
        book.apply(Millis(2), &drain).unwrap();
        candidates.set_stale();
        assert_eq!(wanted(&mut candidates, &book, &settings), [a.0, b.0]);
        let hosts = HostTable::default();
        assert_eq!(candidates.holders(a, &book, &hosts), [host(1)], "it gets no second one there");
        place(&mut candidates, &mut book, 1, "b.mpg");
        assert_eq!(wanted(&mut candidates, &book, &settings), [a.0, b.0]);
        place(&mut candidates, &mut book, 2, "a.mpg");
        assert_eq!(wanted(&mut candidates, &book, &settings), [b.0]);
    }

    #[test]
    fn a_file_wants_as_many_copies_as_grade_info_says() {
        let (mut book, mut candidates, [a, b]) = yard();
        let ranking = Ranking::from_files_wanting([(a, 9), (b, 1)]);
        candidates.set_ranking(Arc::new(ranking));
        let copies = CopiesWanted { by_grade_info: true, most: 2 };
        let settings = TaskSettings { copies, ..TaskSettings::default() };
        place(&mut candidates, &mut book, 1, "a.mpg");
        place(&mut candidates, &mut book, 1, "b.mpg");
        assert_eq!(wanted(&mut candidates, &book, &settings), [a.0]);
        assert!(wanted(&mut candidates, &book, &TaskSettings::default()).is_empty());
        assert_eq!(wanted(&mut candidates, &book, &settings), [a.0]);
        place(&mut candidates, &mut book, 2, "a.mpg");
        assert!(wanted(&mut candidates, &book, &settings).is_empty(), "two are the most");
        let gone = TaskEvent::InventoryDiffered {
            host: host(1),
            added: Vec::new(),
            removed: vec![name("a.mpg")],
            complete: true,
        };
        book.apply(Millis(3), &gone).unwrap();
        candidates.left([a], &book, &HostTable::default());
        assert_eq!(wanted(&mut candidates, &book, &settings), [a.0]);
    }
}
