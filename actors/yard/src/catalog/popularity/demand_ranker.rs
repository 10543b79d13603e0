//! Orders the files of the ranking by demand, when there is news.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, NameTable};
use roaring::RoaringBitmap;

use super::demand_memory::DemandMemory;
use super::popularity_order::PopularityOrder;
use super::served_requests::ServedRequests;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::master_sizes::MasterSizes;

/// The shortest time between two orders of the same files. Demand changes slowly, and hot files do not wait
/// for it.
const ORDER_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// How far a request may be ahead of our clock, and still counts. One of the clocks may have been set.
pub const LARGEST_DEMAND_LEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// The ranking as last read, for the job that orders it, with the sizes of masters.
#[derive(Clone, Debug, Default)]
pub struct RankingSlot {
    ranking: Arc<Mutex<Option<Arc<Ranking>>>>,
    sizes: MasterSizes,
}

impl RankingSlot {
    /// A slot without a ranking. It knows these sizes of masters.
    pub fn with_sizes(sizes: MasterSizes) -> Self {
        RankingSlot { sizes, ..RankingSlot::default() }
    }

    /// Replaces the ranking.
    pub fn set(&self, ranking: Arc<Ranking>) {
        *self.ranking.lock().unwrap_or_else(PoisonError::into_inner) = Some(ranking);
    }

    /// The ranking; none before the first.
    pub fn get(&self) -> Option<Arc<Ranking>> {
        self.ranking.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The demand, and what was ordered by it.
#[derive(Debug)]
pub struct DemandRanker {
    memory: DemandMemory,
    served: ServedRequests,
    grades: RankingSlot,
    last: Option<LastOrder>,
    /// Whether a request or a checkpoint was dropped because it was too far ahead of the clock.
    was_behind: bool,
}

#[derive(Debug)]
struct LastOrder {
    ranking: Arc<Ranking>,
    counted: u64,
    at: Millis,
}

impl DemandRanker {
    /// Orders the files of the ranking in the slot by this memory.
    pub fn new(memory: DemandMemory, grades: RankingSlot) -> Self {
        let served = ServedRequests::default();
        DemandRanker { memory, served, grades, last: None, was_behind: false }
    }

    /// Counts a request of the log. `is_served` says whether a destination served it, if that is known.
    /// A file that the process does not know has no demand.
    pub fn request(
        &mut self,
        file: Option<FileId>,
        at: Millis,
        is_served: Option<bool>,
        now: Millis,
    ) {
        if at > now.after(LARGEST_DEMAND_LEAD) {
            self.was_behind = true;
            return;
        }
        // A request ahead of the clock counts as one of now. Otherwise it would make the log look longer than it is.
        let at = at.min(now);
        if let Some(file) = file {
            self.memory.request(file, at);
        }
        if let Some(is_served) = is_served {
            self.served.count(at, is_served);
        }
    }

    /// Drops everything if the newest request is far ahead of `now`. Such a time is an error of a clock that was
    /// corrected since. All requests after the correction would weigh nothing beside it.
    pub fn forget_future(&mut self, now: Millis) -> bool {
        let latest = now.after(LARGEST_DEMAND_LEAD);
        let is_future = self.memory.newest().is_some_and(|newest| newest > latest);
        if is_future {
            self.forget();
            self.was_behind = true;
        }
        is_future
    }

    /// Whether something was dropped because it was too far ahead of the clock.
    pub fn was_behind(&self) -> bool {
        self.was_behind
    }

    /// Drops everything.
    pub fn forget(&mut self) {
        self.memory.forget();
        self.served = ServedRequests::default();
        self.last = None;
        self.was_behind = false;
    }

    /// Continues with what an earlier process counted.
    pub fn restore(&mut self, memory: DemandMemory, served: ServedRequests) {
        self.memory = memory;
        self.served = served;
        self.last = None;
    }

    /// Whether the ranking is known.
    pub fn is_ranked(&self) -> bool {
        self.grades.get().is_some()
    }

    /// Requests are judged by the ranking from now on, also before the first order.
    pub fn judge_by_grades(&mut self) {
        if let Some(ranking) = self.grades.get() {
            self.memory.set_grades(&ranking);
        }
    }

    /// The counted requests.
    pub fn memory(&self) -> &DemandMemory {
        &self.memory
    }

    /// The counted requests, to save them.
    pub fn memory_mut(&mut self) -> &mut DemandMemory {
        &mut self.memory
    }

    /// The requests by whether a destination served them.
    pub fn served(&self) -> &ServedRequests {
        &self.served
    }

    /// The files by demand, if the ranking changed, or if the last order is old and there are new requests.
    /// A file without a grade is dropped with its name.
    pub fn order(&mut self, now: Millis, names: &NameTable) -> Option<Arc<PopularityOrder>> {
        let ranking = self.grades.get()?;
        let counted = self.memory.counted();
        let is_due = match &self.last {
            None => self.memory.newest().is_some(),
            Some(last) if !Arc::ptr_eq(&last.ranking, &ranking) => true,
            // The clock may have been set back.
            Some(last) => {
                let is_old = now < last.at || now.since(last.at) >= ORDER_INTERVAL;
                is_old && counted > last.counted
            }
        };
        if !is_due {
            return None;
        }
        let known: RoaringBitmap = self.memory.files().map(|file| file.0).collect();
        let ungraded = known - ranking.set();
        self.memory.drop_files(&names.selected(&ungraded, <[u8]>::is_empty));
        let sizes = self.grades.sizes.all();
        let order = self.memory.order(&ranking, |file| sizes.get(&file).copied())?;
        self.last = Some(LastOrder { ranking, counted, at: now });
        Some(Arc::new(order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::popularity::half_lives::HalfLives;
    use crate::catalog::ranking::SizedFile;
    use crate::settings::popularity::HalfLife;

    fn ranking() -> Arc<Ranking> {
        let files = (0..3).map(|file| SizedFile { file: FileId(file), size: 10, copies: 1 });
        Arc::new(Ranking::from_sized_files(files))
    }

    #[test]
    fn a_time_that_turned_out_wrong_is_forgotten() {
        let slot = RankingSlot::default();
        slot.set(ranking());
        let memory = DemandMemory::new(HalfLives::of(HalfLife::Auto));
        let mut ranker = DemandRanker::new(memory, slot);
        let now = Millis::from_unix_seconds(1_780_000_000);
        let years = Duration::from_secs(3650 * 86_400);
        (0..5).for_each(|_| ranker.memory_mut().request(FileId(0), now.after(years)));
        assert!(ranker.forget_future(now));
        (0..5).for_each(|_| ranker.memory_mut().request(FileId(1), now));
        assert!(!ranker.forget_future(now));
        assert_eq!(ranker.order(now, &NameTable::new()).unwrap().files()[0], FileId(1));
        assert_eq!(ranker.memory().counted(), 10);
    }

    #[test]
    fn files_are_ordered_when_there_is_news_and_at_most_every_hour() {
        let slot = RankingSlot::default();
        let memory = DemandMemory::new(HalfLives::of(HalfLife::Auto));
        let mut ranker = DemandRanker::new(memory, slot.clone());
        let names = NameTable::new();
        let start = Millis::from_unix_seconds(1_780_000_000);
        assert!(ranker.order(start, &names).is_none(), "no ranking");
        slot.set(ranking());
        assert!(ranker.order(start, &names).is_none(), "no request");
        ranker.memory_mut().request(FileId(2), start);
        assert_eq!(ranker.order(start, &names).unwrap().files()[0], FileId(2));
        ranker.memory_mut().request(FileId(1), start);
        assert!(ranker.order(start.after(ORDER_INTERVAL / 2), &names).is_none());
        assert!(ranker.order(start.after(ORDER_INTERVAL), &names).is_some());
        assert!(ranker.order(start.after(ORDER_INTERVAL * 3), &names).is_none(), "no new request");
        slot.set(ranking());
        assert!(ranker.order(start.after(ORDER_INTERVAL * 3), &names).is_some(), "another ranking");
    }

    #[test]
    fn a_file_without_a_grade_is_dropped_with_its_name() {
        let slot = RankingSlot::default();
        slot.set(ranking());
        let memory = DemandMemory::new(HalfLives::of(HalfLife::Auto));
        let mut ranker = DemandRanker::new(memory, slot);
        let names = NameTable::new();
        names.intern_all([&b"0"[..], b"1", b"2", b"3"]);
        let start = Millis::from_unix_seconds(1_780_000_000);
        (0..4).for_each(|file| ranker.memory_mut().request(FileId(file), start));
        ranker.order(start, &names).unwrap();
        assert_eq!(ranker.memory().files().count(), 4);
        let live = RoaringBitmap::from_iter([0, 1]);
        (0..2).for_each(|_| assert!(names.sweep(&live).is_some()));
        ranker.memory_mut().request(FileId(0), start);
        ranker.order(start.after(ORDER_INTERVAL), &names).unwrap();
        assert_eq!(ranker.memory().files().count(), 3, "a graded file stays");
    }
}
