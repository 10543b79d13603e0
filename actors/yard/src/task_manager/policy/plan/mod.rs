#![doc = include_str!("README.md")]

mod by_hand;
mod explain;
mod files;
mod hosts;
mod planning_context;
mod rate_limiter;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::task_manager::messages::{PlannerWaits, Skip};
pub use by_hand::ByHand;
use files::candidates::{Candidate, Candidates, was_asked};
use files::master_cache::{CachedMaster, MasterCache};
pub use files::passed_over::PassedOver;
use files::unschedulable::UnschedulableReason;
use hosts::occupied::Occupied;
pub use hosts::pairing::{Pairing, PlacementRequest};
pub use hosts::participation::HostParticipation;
pub use planning_context::PlanningContext;
use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileId;
use reelyard_protocol::worker::TaskId;

use crate::catalog::MasterLook;
use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::heartbeat::Health;
use crate::room::WantsRoom;
use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
use crate::task_manager::settings::{PlanningMode, TaskSettings};
use crate::task_manager::state::event::NewTask;
use crate::task_manager::state::hosts::host_record::HostRecord;
use crate::task_manager::state::task_book::TaskBook;
use rate_limiter::PlanningRateLimiter;

/// How many candidates behind the planned ones are checked early, so that the next file is ready when a
/// source becomes free.
const LOOK_AHEAD: usize = 32;

/// How many masters are looked up at once.
pub const LOOKS_AT_ONCE: usize = 256;

/// Limit of files per second that a round finds without a pair. Without it, a free source without a
/// destination with enough room would make each round read the whole catalogue.
const NO_PAIRS_A_SECOND: usize = 256;

/// Number of masters of set-aside files that are checked again per second.
const LOOKED_AT_AGAIN_A_SECOND: usize = 16;

/// A round takes set-aside files back only if they are among this many best candidates, or more.
const AMONG_THE_BEST: u64 = 1024;

/// How many skipped files a round names. In addition it names the best file of each reason.
const EXAMPLES: usize = 20;

/// How many hot files without room a round names, hottest first. The same number of files with the most
/// demand follows. Some are too large for each host, and must not keep the others from room.
const MOST_WANTING_ROOM: usize = 256;

/// The result of one round.
#[derive(Clone, Debug, Default)]
pub struct PlanningRound {
    /// The copies to make, best first.
    pub tasks: Vec<NewTask>,
    /// Masters to check before more can be planned, best first.
    pub to_look_up: Vec<FileId>,
    /// Number of examined files without a new copy, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// The best of them.
    pub examples: Vec<(FileId, Skip)>,
    /// The hottest files that fit nowhere, and then those with the most demand.
    pub wants_room: Vec<WantsRoom>,
    /// The reason why more copies wait.
    pub waiting: Option<PlannerWaits>,
    /// How each host took part.
    pub parts: BTreeMap<HostAddr, HostParticipation>,
}

/// The planner: the files that want a copy, kept up to date, and the rules by which they get one.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    candidates: Candidates,
    master_cache: MasterCache,
    no_pairs: PlanningRateLimiter,
    looked_at_again: PlanningRateLimiter,
    /// Number of consecutive rounds that had turns left although more set-aside files fit. Each one doubles
    /// the number of best candidates that the next round may take back.
    further: u32,
}

impl Planner {
    /// Takes a new ranking.
    pub fn set_ranking(&mut self, ranking: Arc<Ranking>) {
        self.candidates.set_ranking(ranking);
    }

    /// Takes new hot files.
    pub fn set_rising(&mut self, rising: &RisingHits) {
        self.candidates.set_rising(rising);
    }

    /// Takes a new listing of the masters.
    pub fn set_masters(&mut self, masters: Arc<Masters>) {
        self.master_cache.forget_absent();
        self.candidates.set_masters(masters);
    }

    /// Takes results of checks of masters.
    pub fn learn(
        &mut self,
        looks: impl IntoIterator<Item = (FileId, MasterLook)>,
        settings: &TaskSettings,
        now: Millis,
    ) {
        let looks: Vec<(FileId, MasterLook)> = looks.into_iter().collect();
        self.master_cache.learn(&looks, now, settings.look_fresh_for, settings.ask_again_after);
        let good_until = now.after(settings.look_fresh_for);
        for (file, seen) in looks {
            match seen {
                MasterLook::Found { size, .. } => {
                    self.candidates.looked(file, Some(size), good_until);
                }
                MasterLook::Absent => self.candidates.looked(file, None, good_until),
                MasterLook::Unknown => {}
            }
        }
    }

    /// Records that these files are new on a host.
    pub fn came(
        &mut self,
        host: HostAddr,
        files: impl IntoIterator<Item = FileId>,
        book: &TaskBook,
        hosts: &HostTable,
    ) {
        self.candidates.came(host, files, book, hosts);
    }

    /// Records that these files left a host, or may have left it.
    pub fn left(
        &mut self,
        files: impl IntoIterator<Item = FileId>,
        book: &TaskBook,
        hosts: &HostTable,
    ) {
        self.candidates.left(files, book, hosts);
    }

    /// Whether hosts that count hold the wanted number of copies of a file.
    pub fn is_placed(&self, file: FileId, book: &TaskBook, hosts: &HostTable) -> bool {
        self.candidates.is_placed(file) && self.candidates.has_enough(file, book, hosts)
    }

    /// The hosts that hold a file, whether they count or not.
    pub fn holders(&self, file: FileId, book: &TaskBook, hosts: &HostTable) -> Vec<HostAddr> {
        self.candidates.holders(file, book, hosts)
    }

    /// Computes everything again before the next round: the book or the hosts were replaced.
    pub fn set_stale(&mut self) {
        self.candidates.set_stale();
    }

    /// Computes everything again before the next round and checks every master: the settings changed,
    /// and perhaps the source directories.
    pub fn forget_looks(&mut self) {
        self.master_cache = MasterCache::default();
        self.candidates.set_stale();
    }

    /// How many files are graded, want a copy, and are too big for every destination.
    pub fn counts(&self) -> (usize, u64, u64) {
        let too_big = self.candidates.unschedulable().count(Skip::TooBig);
        (self.candidates.graded(), self.candidates.wanted(), too_big)
    }

    /// The files that no round plans, for views.
    pub fn passed_over(&self) -> PassedOver {
        PassedOver {
            ignored: Arc::clone(self.candidates.traits().ignored()),
            unschedulable: self.candidates.unschedulable().by_reason(),
            absent: Arc::clone(self.master_cache.absent()),
            unasked: Arc::clone(self.candidates.unasked()),
        }
    }

    /// Plans one round.
    pub fn round(&mut self, yard: &PlanningContext<'_>) -> PlanningRound {
        self.candidates.refresh(yard.book, yard.hosts, yard.settings);
        let occupied = Occupied::of(yard);
        let mut pairing = Pairing::new(yard, &occupied.held_pairs);
        self.keep_rooms(yard, &occupied, &mut pairing);
        let more_fit = self.candidates.reschedule(&pairing.rooms(), self.among_the_best());
        let mut round =
            PlanningRound { waiting: self.waits(yard, &pairing), ..PlanningRound::default() };
        if matches!(round.waiting, None | Some(PlannerWaits::Source)) {
            self.walk(yard, &occupied, &mut pairing, &mut round);
            self.look_again(yard.now, &mut round);
            if pairing.has_source() {
                self.want_exchanges(&occupied, &mut round);
            } else {
                // No copy would follow the removals.
                round.wants_room.clear();
            }
        }
        self.look_further(more_fit, &mut round);
        round.parts = pairing.parts().clone();
        self.count_unschedulable(&mut round);
        round
    }

    /// Keeps the room that was made for a file from others, until the file is placed, is being copied, or
    /// is no longer hot.
    fn keep_rooms(
        &mut self,
        yard: &PlanningContext<'_>,
        occupied: &Occupied,
        pairing: &mut Pairing,
    ) {
        for (addr, room) in yard.hosts.rooms_made() {
            let file = room.file;
            if room.is_exchange && yard.now < room.until {
                // It was set aside for lack of room.
                self.candidates.restore(file);
            }
            let is_exchange = room.is_exchange && self.candidates.is_by_demand();
            let is_awaited = yard.now < room.until
                && (is_exchange || self.candidates.hits(file) > 0)
                && !self.candidates.is_placed(file)
                && !occupied.files.contains(&file)
                && !occupied.held_files.contains(&file)
                && self.candidates.unwanted(file, yard.settings.ungraded_hot).is_none()
                && !self.candidates.holders(file, yard.book, yard.hosts).contains(addr);
            if is_awaited {
                pairing.keep_room(*addr, room, &occupied.held_pairs);
            }
        }
    }

    /// Names the files with the most demand that wait for room, so that the Remover can exchange copies for
    /// them. In the mode "shadow" it only shows what it would do.
    fn want_exchanges(&self, occupied: &Occupied, round: &mut PlanningRound) {
        for (file, size) in self.candidates.best_without_room(MOST_WANTING_ROOM) {
            if occupied.files.contains(&file) || occupied.held_files.contains(&file) {
                continue;
            }
            round.wants_room.push(WantsRoom {
                file,
                size,
                hits: 0,
                grade: self.candidates.grade(file),
                old_hosts_carry: self.candidates.traits().old_hosts_carry(file),
            });
        }
    }

    fn among_the_best(&self) -> u64 {
        AMONG_THE_BEST << self.further.min(32)
    }

    /// A round that went through all candidates and has turns left also examines files that were set
    /// aside and now fit. The next round takes back twice as many.
    fn look_further(&mut self, more_fit: bool, round: &mut PlanningRound) {
        if more_fit && round.waiting == Some(PlannerWaits::Nothing) {
            self.further += 1;
            round.waiting = Some(PlannerWaits::Looks(round.to_look_up.len()));
        } else if round.waiting == Some(PlannerWaits::Source) || !more_fit {
            self.further = 0;
        }
    }

    /// Counts the files that are set aside, too, although the round did not examine them.
    fn count_unschedulable(&self, round: &mut PlanningRound) {
        for skip in UnschedulableReason::ALL.map(UnschedulableReason::why) {
            let files = self.candidates.unschedulable().count(skip);
            if files > 0 {
                *round.skipped.entry(skip).or_default() = files;
            }
        }
    }

    /// Has masters of files that are set aside checked again: one may have been replaced.
    fn look_again(&mut self, now: Millis, round: &mut PlanningRound) {
        let most = self.looked_at_again.left(LOOKED_AT_AGAIN_A_SECOND, now);
        let files = self.candidates.unschedulable().to_look_at(now, most);
        self.looked_at_again.spend(files.len());
        round.to_look_up.extend(files);
    }

    /// The input that the whole round waits for.
    fn waits(&self, yard: &PlanningContext<'_>, pairing: &Pairing) -> Option<PlannerWaits> {
        if yard.settings.mode == PlanningMode::Off {
            return Some(PlannerWaits::SwitchedOff);
        }
        if !self.candidates.has_ranking() {
            return Some(PlannerWaits::Ranking);
        }
        if !self.candidates.has_masters() {
            return Some(PlannerWaits::Masters);
        }
        if yard.now.since(yard.leading_since) < yard.settings.first_look {
            let unread: Vec<HostAddr> = yard
                .hosts
                .iter()
                .filter(|(addr, host)| {
                    host.role.is_destination()
                        && host.health != Health::Down
                        && yard.book.host(*addr).is_none_or(HostRecord::is_asked)
                        && !was_asked(yard.book, yard.hosts, *addr)
                })
                .map(|(addr, _)| addr)
                .collect();
            if !unread.is_empty() {
                return Some(PlannerWaits::FirstLook(unread));
            }
        }
        if !pairing.has_destination() {
            Some(PlannerWaits::Destination)
        } else if pairing.free() == 0 {
            Some(PlannerWaits::Source)
        } else {
            None
        }
    }

    /// Goes through the candidates, best first, while a source is free. A file whose master must be
    /// checked first keeps its turn. Then examines a few files further ahead.
    fn walk(
        &mut self,
        yard: &PlanningContext<'_>,
        occupied: &Occupied,
        pairing: &mut Pairing,
        round: &mut PlanningRound,
    ) {
        let mut next_id = yard.first_id();
        let mut aside = Vec::new();
        let room_now = pairing.room_now();
        let mut no_pairs_left = self.no_pairs.left(NO_PAIRS_A_SECOND, yard.now);
        let mut kept_turns = 0;
        let mut ahead = 0;
        for candidate in self.candidates.best_first(yard.settings.ungraded_hot) {
            let turns_left = pairing.free() > kept_turns;
            if !turns_left {
                ahead += 1;
            }
            if ahead > LOOK_AHEAD || round.to_look_up.len() >= LOOKS_AT_ONCE {
                break;
            }
            let skip = match self.judge(candidate.file, yard, occupied) {
                None => {
                    round.to_look_up.push(candidate.file);
                    kept_turns += usize::from(turns_left);
                    continue;
                }
                Some(Err(skip)) => skip,
                Some(Ok(_)) if !turns_left && candidate.hits == 0 => continue,
                Some(Ok(master)) => {
                    let wish = self.wish(candidate, &master, yard, occupied);
                    round.record_lack_of_room(candidate, &wish, pairing);
                    if !turns_left {
                        continue;
                    }
                    match pairing.choose(&wish, &occupied.held_pairs) {
                        Ok(pair) => {
                            pairing.reserve(pair, &wish, &occupied.held_pairs);
                            let id = TaskId(next_id);
                            next_id += 1;
                            let speed = yard.rate_for(&round.tasks, pair);
                            round.tasks.push(new_task(yard, id, candidate, &master, pair, speed));
                            continue;
                        }
                        Err(skip) => {
                            if matches!(skip, Skip::NoPair | Skip::NameNotCarried) {
                                if no_pairs_left == 0 {
                                    round.waiting =
                                        Some(PlannerWaits::Looks(round.to_look_up.len()));
                                    break;
                                }
                                no_pairs_left -= 1;
                                self.no_pairs.spend(1);
                            }
                            // A file that lacks room only in this round is examined again in the next.
                            let stays_so = skip != Skip::NoRoom || master.size > room_now;
                            if stays_so && candidate.hits == 0 {
                                aside.push((candidate.file, master, skip));
                            }
                            skip
                        }
                    }
                }
            };
            round.skip(candidate.file, skip);
        }
        self.set_aside(aside);
        if round.waiting.is_none() {
            round.waiting = Some(if kept_turns > 0 {
                PlannerWaits::Looks(round.to_look_up.len())
            } else if pairing.free() == 0 {
                PlannerWaits::Source
            } else {
                PlannerWaits::Nothing
            });
        }
    }

    /// Sets files aside until there is room for them.
    fn set_aside(&mut self, aside: Vec<(FileId, CachedMaster, Skip)>) {
        for (file, master, why) in aside {
            let carried = self.candidates.traits().old_hosts_carry(file);
            if let Some(reason) = UnschedulableReason::of(why, carried) {
                self.candidates.set_unschedulable(file, master.size, master.good_until, reason);
            }
        }
    }

    /// Whether a candidate may be planned by its own state; none when its master must be checked first.
    fn judge(
        &self,
        file: FileId,
        yard: &PlanningContext<'_>,
        occupied: &Occupied,
    ) -> Option<Result<CachedMaster, Skip>> {
        if occupied.files.contains(&file) {
            Some(Err(Skip::UnderWay))
        } else if occupied.held_files.contains(&file) {
            Some(Err(Skip::BacksOff))
        } else {
            self.master_cache.get(file, yard.now)
        }
    }

    /// The data of a candidate that decide its destination.
    fn wish(
        &self,
        candidate: Candidate,
        master: &CachedMaster,
        yard: &PlanningContext<'_>,
        occupied: &Occupied,
    ) -> PlacementRequest {
        let file = candidate.file;
        PlacementRequest {
            file,
            size: master.size,
            is_hot: candidate.hits > 0,
            old_hosts_carry: self.candidates.traits().old_hosts_carry(file),
            holders: self.candidates.holders(file, yard.book, yard.hosts),
            failed_at: occupied.failed_at(file).to_vec(),
        }
    }
}

impl PlanningRound {
    /// Notes a file that is hot and fits on no destination, busy ones included.
    fn record_lack_of_room(
        &mut self,
        candidate: Candidate,
        wish: &PlacementRequest,
        pairing: &Pairing,
    ) {
        let Candidate { file, grade, hits } = candidate;
        let wants = hits > 0 && pairing.lacks_room_for(wish);
        if wants && self.wants_room.len() < MOST_WANTING_ROOM {
            let PlacementRequest { size, old_hosts_carry, .. } = *wish;
            self.wants_room.push(WantsRoom { file, size, hits, grade, old_hosts_carry });
        }
    }

    fn skip(&mut self, file: FileId, skip: Skip) {
        let count = self.skipped.entry(skip).or_default();
        *count += 1;
        if (*count == 1 || self.examples.len() < EXAMPLES) && skip != Skip::UnderWay {
            self.examples.push((file, skip));
        }
    }
}

fn new_task(
    yard: &PlanningContext<'_>,
    id: TaskId,
    candidate: Candidate,
    master: &CachedMaster,
    (source, destination): (HostAddr, HostAddr),
    copy_speed: Option<BitsPerSecond>,
) -> NewTask {
    NewTask {
        id,
        name: yard.book.names().name(candidate.file),
        dir: master.dir.to_string(),
        source,
        destination,
        grade: candidate.grade,
        hits: candidate.hits,
        size: master.size,
        copy_speed,
        source_cap: u32::try_from(yard.settings.copies_per_source.max(1)).unwrap_or(u32::MAX),
        asked_by: None,
    }
}
