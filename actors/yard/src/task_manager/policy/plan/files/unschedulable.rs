//! Files that are set aside because no destination can take them at the moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

use super::smallest::Smallest;
use crate::task_manager::messages::Skip;

/// Why a file is set aside. The reason also determines when it is examined again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnschedulableReason {
    /// They are larger than the room on any destination.
    TooBig,
    /// They are larger than the room on every usable destination now, while unusable destinations
    /// have more room.
    NoRoom,
    /// No free source can serve a destination that has room for them.
    NoPair,
    /// The same for names that old hosts cannot carry.
    NoPairOfOurs,
    /// Only old hosts have room, and cannot carry their names.
    NameNotCarried,
}

/// How much fits where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rooms {
    /// The largest room of a destination, usable or not, without its open tasks.
    pub largest: u64,
    /// On the roomiest usable destination.
    pub now: u64,
    /// The same on the roomiest destination that a free source can serve; none without such a pair.
    pub reach: Option<u64>,
    /// The same among Reelyard destinations.
    pub reach_of_ours: Option<u64>,
}

impl UnschedulableReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [UnschedulableReason; 5] = [
        UnschedulableReason::TooBig,
        UnschedulableReason::NoRoom,
        UnschedulableReason::NoPair,
        UnschedulableReason::NoPairOfOurs,
        UnschedulableReason::NameNotCarried,
    ];

    /// The reason for which a file without a pair is set aside; none if there are other reasons.
    pub fn of(why: Skip, carried: bool) -> Option<UnschedulableReason> {
        match why {
            Skip::TooBig => Some(UnschedulableReason::TooBig),
            Skip::NoRoom => Some(UnschedulableReason::NoRoom),
            Skip::NoPair if carried => Some(UnschedulableReason::NoPair),
            Skip::NoPair => Some(UnschedulableReason::NoPairOfOurs),
            Skip::NameNotCarried => Some(UnschedulableReason::NameNotCarried),
            _ => None,
        }
    }

    /// Why its files get no copy.
    pub fn why(self) -> Skip {
        match self {
            UnschedulableReason::TooBig => Skip::TooBig,
            UnschedulableReason::NoRoom => Skip::NoRoom,
            UnschedulableReason::NoPair | UnschedulableReason::NoPairOfOurs => Skip::NoPair,
            UnschedulableReason::NameNotCarried => Skip::NameNotCarried,
        }
    }

    /// The largest size of a file that is tried again; none for no file.
    fn comes_back(self, rooms: &Rooms) -> Option<u64> {
        match self {
            UnschedulableReason::TooBig => Some(rooms.largest),
            UnschedulableReason::NoRoom => Some(rooms.now),
            UnschedulableReason::NoPair => rooms.reach,
            UnschedulableReason::NoPairOfOurs | UnschedulableReason::NameNotCarried => {
                rooms.reach_of_ours
            }
        }
    }
}

/// The reasons for which a file waits for room on any destination.
const WITHOUT_ROOM: [UnschedulableReason; 2] =
    [UnschedulableReason::TooBig, UnschedulableReason::NoRoom];

/// How many files of an order without an index of sizes are searched.
const SEARCHED: usize = 1 << 16;

/// How many places of the ranking are searched for one fitting file.
const STRETCH: usize = 64;

/// Files that wait for room. The best of them return first, once there is enough room.
#[derive(Clone, Debug, Default)]
pub struct UnschedulableFiles {
    by_file: HashMap<u32, UnschedulableFile>,
    /// For each stretch of the ranking, a lower bound of the sizes there.
    least: [Smallest; UnschedulableReason::ALL.len()],
    /// How many files are ranked.
    ranked: usize,
    /// Files by the time at which the result of their master's check expires.
    by_look: BTreeSet<(Millis, u32)>,
    files: RoaringBitmap,
    by_reason: [Arc<RoaringBitmap>; UnschedulableReason::ALL.len()],
}

#[derive(Clone, Copy, Debug)]
struct UnschedulableFile {
    reason: UnschedulableReason,
    size: u64,
    good_until: Millis,
}

impl UnschedulableFiles {
    /// Takes a new ranking of this many files. Files without a place in it are dropped.
    pub fn rerank(&mut self, ranked: usize, place: impl Fn(FileId) -> Option<u32>) {
        self.ranked = ranked;
        self.least = Default::default();
        let files: Vec<FileId> = self.files.iter().map(FileId).collect();
        for file in files {
            match (place(file), self.by_file.get(&file.0).copied()) {
                (Some(place), Some(entry)) => self.index_size(place, entry),
                _ => {
                    self.remove(file);
                }
            }
        }
    }

    fn index_size(
        &mut self,
        place: u32,
        UnschedulableFile { reason, size, .. }: UnschedulableFile,
    ) {
        let least = &mut self.least[reason as usize];
        if least.is_empty() {
            *least = Smallest::of(self.ranked.div_ceil(STRETCH));
        }
        least.add(place as usize / STRETCH, size);
    }

    /// Sets aside the file at this position of the ranking. Its size comes from a check that is valid
    /// until `good_until`.
    pub fn add(
        &mut self,
        file: FileId,
        place: u32,
        size: u64,
        good_until: Millis,
        reason: UnschedulableReason,
    ) {
        self.remove(file);
        let entry = UnschedulableFile { reason, size, good_until };
        self.index_size(place, entry);
        self.by_file.insert(file.0, entry);
        self.by_look.insert((good_until, file.0));
        self.files.insert(file.0);
        Arc::make_mut(&mut self.by_reason[reason as usize]).insert(file.0);
    }

    /// Takes a file back. Answers whether it was set aside.
    pub fn remove(&mut self, file: FileId) -> bool {
        let Some(UnschedulableFile { reason, good_until, .. }) = self.by_file.remove(&file.0)
        else {
            return false;
        };
        self.by_look.remove(&(good_until, file.0));
        Arc::make_mut(&mut self.by_reason[reason as usize]).remove(file.0);
        self.files.remove(file.0)
    }

    /// The best file for which there is room, and its place. `order` is the ranking, best first.
    pub fn best_fitting(&mut self, rooms: &Rooms, order: &[FileId]) -> Option<(u32, FileId)> {
        let best_of = |reason: &UnschedulableReason| {
            self.best_of_reason(*reason, reason.comes_back(rooms)?, order)
        };
        UnschedulableReason::ALL.iter().filter_map(best_of).min()
    }

    fn best_of_reason(
        &mut self,
        reason: UnschedulableReason,
        room: u64,
        order: &[FileId],
    ) -> Option<(u32, FileId)> {
        loop {
            let stretch = self.least[reason as usize].first_within(room)?;
            let places = stretch * STRETCH..order.len().min((stretch + 1) * STRETCH);
            let mut least: Option<u64> = None;
            for place in places {
                let entry =
                    self.by_file.get(&order[place].0).filter(|entry| entry.reason == reason);
                let Some(entry) = entry else { continue };
                if entry.size <= room {
                    return Some((place as u32, order[place]));
                }
                least = Some(least.map_or(entry.size, |least| least.min(entry.size)));
            }
            // The small enough files of this stretch have been taken back meanwhile.
            self.least[reason as usize].set(stretch, least);
        }
    }

    /// At most `most` files that wait for room on any destination, the best first, with their sizes. `order`
    /// is the ranking, best first.
    pub fn best_without_room(&self, order: &[FileId], most: usize) -> Vec<(FileId, u64)> {
        let mut best = Vec::new();
        let next_stretch = |from: usize| {
            let least = WITHOUT_ROOM.map(|reason| &self.least[reason as usize]);
            least.into_iter().filter_map(|least| least.first_from(from)).min()
        };
        let mut stretch = next_stretch(0);
        while let Some(found) = stretch {
            let places = found * STRETCH..order.len().min((found + 1) * STRETCH);
            for file in order.get(places).unwrap_or_default() {
                best.extend(self.without_room(*file).map(|size| (*file, size)));
                if best.len() == most {
                    return best;
                }
            }
            stretch = next_stretch(found + 1);
        }
        best
    }

    /// The same among the first files of another order.
    pub fn first_without_room(&self, order: &[FileId], most: usize) -> Vec<(FileId, u64)> {
        let first = order.iter().take(SEARCHED);
        let waiting = first.filter_map(|file| Some((*file, self.without_room(*file)?)));
        waiting.take(most).collect()
    }

    /// The size of a file that waits for room on any destination.
    fn without_room(&self, file: FileId) -> Option<u64> {
        let waiting = self.by_file.get(&file.0)?;
        WITHOUT_ROOM.contains(&waiting.reason).then_some(waiting.size)
    }

    /// Whether there is room for a file that is here.
    pub fn fits(&self, file: FileId, rooms: &Rooms) -> bool {
        let entry = self.by_file.get(&file.0);
        entry.is_some_and(|it| it.reason.comes_back(rooms).is_some_and(|room| it.size <= room))
    }

    /// The master of `file` was checked and has `size` bytes; none if it is missing. Takes the file
    /// back if this differs from before, and answers whether it did.
    pub fn looked(&mut self, file: FileId, size: Option<u64>, good_until: Millis) -> bool {
        match self.by_file.get(&file.0) {
            Some(&UnschedulableFile { reason, size: before, .. }) if size == Some(before) => {
                let entry = UnschedulableFile { reason, size: before, good_until };
                if let Some(old) = self.by_file.insert(file.0, entry) {
                    self.by_look.remove(&(old.good_until, file.0));
                }
                self.by_look.insert((good_until, file.0));
                false
            }
            Some(_) => self.remove(file),
            None => false,
        }
    }

    /// At most `most` files whose masters must be checked again, the oldest checks first.
    pub fn to_look_at(&self, now: Millis, most: usize) -> Vec<FileId> {
        let old = self.by_look.iter().take_while(|(good_until, _)| *good_until <= now);
        old.take(most).map(|&(_, file)| FileId(file)).collect()
    }

    /// Why a file is set aside.
    pub fn why(&self, file: FileId) -> Option<Skip> {
        self.by_file.get(&file.0).map(|entry| entry.reason.why())
    }

    /// How many files are set aside for this reason.
    pub fn count(&self, why: Skip) -> u64 {
        let reasons = UnschedulableReason::ALL.iter().filter(|reason| reason.why() == why);
        reasons.map(|reason| self.by_reason[*reason as usize].len()).sum()
    }

    /// The files that are set aside, by reason.
    pub fn by_reason(&self) -> Vec<(Skip, Arc<RoaringBitmap>)> {
        let reasons = UnschedulableReason::ALL
            .iter()
            .map(|reason| (reason.why(), Arc::clone(&self.by_reason[*reason as usize])));
        reasons.filter(|(_, files)| !files.is_empty()).collect()
    }

    /// All files that are set aside, for any reason.
    pub fn files(&self) -> &RoaringBitmap {
        &self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Millis = Millis(1000);

    /// A hundred ranked files, the highest number best.
    fn ranked() -> (UnschedulableFiles, Vec<FileId>) {
        let mut unschedulable = UnschedulableFiles::default();
        unschedulable.rerank(100, |file| Some(99 - file.0));
        (unschedulable, (0..100).rev().map(FileId).collect())
    }

    fn set_aside(
        unschedulable: &mut UnschedulableFiles,
        file: u32,
        size: u64,
        reason: UnschedulableReason,
    ) {
        unschedulable.add(FileId(file), 99 - file, size, LATER, reason);
    }

    #[test]
    fn the_best_that_fit_come_back_first() {
        let (mut unschedulable, order) = ranked();
        for (file, size) in [(1, 30), (2, 99), (93, 20), (2, 10), (94, 40)] {
            set_aside(&mut unschedulable, file, size, UnschedulableReason::TooBig);
        }
        let mut fitting = |largest| {
            let rooms = Rooms { largest, ..Rooms::default() };
            let next = || {
                let (place, file) = unschedulable.best_fitting(&rooms, &order)?;
                assert_eq!(place, 99 - file.0);
                assert!(unschedulable.fits(file, &rooms) && unschedulable.remove(file));
                Some(file.0)
            };
            std::iter::from_fn(next).collect::<Vec<_>>()
        };
        assert_eq!(fitting(9), [0; 0]);
        assert_eq!(fitting(20), [93, 2]);
        assert_eq!(fitting(100), [94, 1]);
        assert!(unschedulable.files().is_empty() && unschedulable.by_look.is_empty());
    }

    #[test]
    fn a_new_ranking_moves_files_and_drops_unranked_ones() {
        let (mut unschedulable, _) = ranked();
        (1..=3)
            .for_each(|file| set_aside(&mut unschedulable, file, 10, UnschedulableReason::NoRoom));
        let order = [3, 1].map(FileId);
        unschedulable.rerank(2, |file| order.iter().position(|at| *at == file).map(|at| at as u32));
        let rooms = Rooms { now: 10, ..Rooms::default() };
        assert_eq!(unschedulable.best_fitting(&rooms, &order), Some((0, FileId(3))));
        assert_eq!(unschedulable.files().iter().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(unschedulable.count(Skip::NoRoom), 2);
    }

    #[test]
    fn each_reason_comes_back_by_its_own_room() {
        for reason in UnschedulableReason::ALL {
            let (mut unschedulable, order) = ranked();
            set_aside(&mut unschedulable, 1, 10, reason);
            assert_eq!(
                (unschedulable.why(FileId(1)), unschedulable.count(reason.why())),
                (Some(reason.why()), 1)
            );
            let enough = |is_mine: bool| if is_mine { 10 } else { 9 };
            let is_of_ours = matches!(
                reason,
                UnschedulableReason::NoPairOfOurs | UnschedulableReason::NameNotCarried
            );
            let rooms = Rooms {
                largest: enough(reason == UnschedulableReason::TooBig),
                now: enough(reason == UnschedulableReason::NoRoom),
                reach: (reason == UnschedulableReason::NoPair).then_some(10),
                reach_of_ours: is_of_ours.then_some(10),
            };
            assert_eq!(unschedulable.best_fitting(&Rooms::default(), &order), None);
            assert_eq!(
                unschedulable.best_fitting(&rooms, &order),
                Some((98, FileId(1))),
                "{reason:?}"
            );
        }
    }

    #[test]
    fn a_master_that_was_replaced_comes_back() {
        let mut unschedulable = UnschedulableFiles::default();
        for file in 1..=3 {
            let good_until = Millis(i64::from(file));
            unschedulable.add(FileId(file), file, 500, good_until, UnschedulableReason::TooBig);
        }
        assert_eq!(unschedulable.to_look_at(Millis(0), 9), []);
        assert_eq!(unschedulable.to_look_at(Millis(2), 9), [FileId(1), FileId(2)]);
        assert_eq!(unschedulable.to_look_at(Millis(9), 2), [FileId(1), FileId(2)]);
        assert!(!unschedulable.looked(FileId(1), Some(500), LATER));
        assert!(unschedulable.looked(FileId(2), Some(5), LATER));
        assert!(unschedulable.looked(FileId(3), None, LATER));
        assert!(!unschedulable.looked(FileId(4), Some(5), LATER));
        assert_eq!(unschedulable.files().iter().collect::<Vec<_>>(), [1]);
        assert_eq!(unschedulable.to_look_at(Millis(9), 9), [], "it was looked at");
    }
}
