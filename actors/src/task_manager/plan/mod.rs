#![doc = include_str!("README.md")]

mod candidates;
mod looks;
mod name_traits;
mod pairing;
mod ring;
mod skip;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use candidates::{Candidate, Candidates, was_asked};
use looks::{Looks, Master};
pub use pairing::{Pairing, Part};
pub use skip::{Skip, Unusable, Waiting};

use super::back_off::Blamed;
use super::event::{NewTask, TaskEvent};
use super::hosts::HostTable;
use super::settings::TaskSettings;
use super::state::TaskBook;
use crate::catalog::MasterLook;
use crate::catalog::masters::Masters;
use crate::catalog::ranking::Ranking;
use crate::catalog::rising::RisingHits;
use crate::clock::Millis;
use crate::heartbeat::Health;
use crate::host::{HostAddr, OLD_COPY_SPEED};
use crate::journal::InFlight;
use crate::names::FileId;
use crate::wire::worker::TaskId;

/// How many candidates behind the planned ones are looked up ahead, so that a source which
/// becomes free finds its next file ready.
const LOOK_AHEAD: usize = 32;

/// How many masters are looked up at once.
pub const LOOKS_AT_ONCE: usize = 256;

/// How many skipped files a round names, and beyond these the best one of each reason.
const EXAMPLES: usize = 20;

/// Everything outside the planner that a round looks at.
#[derive(Clone, Copy)]
pub struct Yard<'a> {
    /// The piece as applied.
    pub book: &'a TaskBook,
    /// What was decided but is not yet applied: it occupies its hosts and its file already.
    pub in_flight: &'a InFlight<TaskEvent>,
    /// The hosts as last seen.
    pub hosts: &'a HostTable,
    /// The settings.
    pub settings: &'a TaskSettings,
    /// Since when this node leads.
    pub leading_since: Millis,
    /// The present.
    pub now: Millis,
}

/// What keeps two hosts and a file occupied.
pub(super) struct UnderWay {
    pub(super) source: HostAddr,
    pub(super) destination: HostAddr,
    pub(super) size: u64,
}

impl Yard<'_> {
    /// Tasks that are decided but not applied.
    fn created_in_flight(&self) -> impl Iterator<Item = &NewTask> {
        self.in_flight.events().filter_map(|event| match event {
            TaskEvent::Created(task) if self.book.task(task.id).is_none() => Some(task),
            _ => None,
        })
    }

    /// Every copy that is under way, applied or not.
    fn under_way(&self) -> impl Iterator<Item = UnderWay> {
        let open = self.book.open().values().map(|task| UnderWay {
            source: task.source,
            destination: task.destination,
            size: task.size,
        });
        open.chain(self.created_in_flight().map(|task| UnderWay {
            source: task.source,
            destination: task.destination,
            size: task.size,
        }))
    }

    /// The destination that was planned to last, applied or not.
    fn last_planned_to(&self) -> Option<HostAddr> {
        let in_flight = self.created_in_flight().max_by_key(|task| task.id);
        in_flight.map(|task| task.destination).or(self.book.last_planned_to())
    }

    /// A number for a new task: the time in nanoseconds, and more than any number so far.
    fn first_id(&self) -> i64 {
        let by_time = self.now.0.saturating_mul(1_000_000);
        let open = self.book.open().last_key_value().map(|(id, _)| *id);
        let ended = self.book.ended().last_key_value().map(|(id, _)| *id);
        let in_flight = self.created_in_flight().map(|task| task.id).max();
        [open, ended, in_flight]
            .into_iter()
            .flatten()
            .map(|id| id.0.saturating_add(1))
            .fold(by_time, i64::max)
    }
}

/// What one round came to.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The copies to make, best first.
    pub tasks: Vec<NewTask>,
    /// Masters to look at before more can be planned, best first.
    pub to_look_up: Vec<FileId>,
    /// How many of the files that were looked at got no copy, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// The best of them.
    pub examples: Vec<(FileId, Skip)>,
    /// What more copies wait for.
    pub waiting: Option<Waiting>,
    /// How each host took part.
    pub parts: BTreeMap<HostAddr, Part>,
}

/// The planner: the files that want a copy, kept up to date, and the rules by which they get one.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    candidates: Candidates,
    looks: Looks,
}

/// What is the same for all candidates of one round.
struct Occupied {
    files: HashSet<FileId>,
    held_files: HashSet<FileId>,
    /// By source, the destinations with which it backs off.
    held_pairs: HashMap<HostAddr, Vec<HostAddr>>,
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
        self.looks.forget_absent();
        self.candidates.set_masters(masters);
    }

    /// Takes what was seen of masters.
    pub fn learn(
        &mut self,
        looks: impl IntoIterator<Item = (FileId, MasterLook)>,
        settings: &TaskSettings,
        now: Millis,
    ) {
        self.looks.learn(looks, now, settings.look_fresh_for, settings.ask_again_after);
    }

    /// Takes note that these files came to a host.
    pub fn came(&mut self, files: impl IntoIterator<Item = FileId>) {
        self.candidates.came(files);
    }

    /// Takes note that these files left a host, or may have.
    pub fn left(
        &mut self,
        files: impl IntoIterator<Item = FileId>,
        book: &TaskBook,
        hosts: &HostTable,
    ) {
        self.candidates.left(files, book, hosts);
    }

    /// Looks at everything again before the next round: the book or the hosts were replaced.
    pub fn set_stale(&mut self) {
        self.candidates.set_stale();
    }

    /// How many files are graded, want a copy, and are too big for every destination.
    pub fn counts(&self) -> (usize, u64, u64) {
        (self.candidates.graded(), self.candidates.wanted(), self.candidates.too_big())
    }

    /// Plans one round.
    pub fn round(&mut self, yard: &Yard<'_>) -> Round {
        self.candidates.refresh(yard.book, yard.hosts, &yard.settings.ignore_prefixes);
        let mut pairing = Pairing::new(yard);
        self.candidates.unpark(pairing.largest_room());
        let mut round = Round { waiting: self.waits(yard, &pairing), ..Round::default() };
        if matches!(round.waiting, None | Some(Waiting::Source)) {
            self.walk(yard, &mut pairing, &mut round);
        }
        round.parts = pairing.parts().clone();
        round
    }

    /// Why `file` gets no copy in a round as things are; none if it would be planned when its
    /// turn comes.
    pub fn explain(&mut self, file: FileId, yard: &Yard<'_>) -> Option<Skip> {
        self.candidates.refresh(yard.book, yard.hosts, &yard.settings.ignore_prefixes);
        let pairing = Pairing::new(yard);
        self.candidates.unwanted(file, yard.settings.ungraded_hot).or_else(|| {
            match self.judge(file, yard, &Occupied::of(yard)) {
                None => Some(Skip::LookUnderWay),
                Some(Err(skip)) => Some(skip),
                Some(Ok(master)) => self.pair(file, &master, &pairing, &Occupied::of(yard)).err(),
            }
        })
    }

    /// What the whole round waits for.
    fn waits(&self, yard: &Yard<'_>, pairing: &Pairing) -> Option<Waiting> {
        if !self.candidates.has_ranking() {
            return Some(Waiting::Ranking);
        }
        if !self.candidates.has_masters() {
            return Some(Waiting::Masters);
        }
        if yard.now.since(yard.leading_since) < yard.settings.first_look {
            let unread: Vec<HostAddr> = yard
                .hosts
                .iter()
                .filter(|(addr, host)| {
                    host.role.is_destination()
                        && host.health != Health::Down
                        && !was_asked(yard.book, yard.hosts, *addr)
                })
                .map(|(addr, _)| addr)
                .collect();
            if !unread.is_empty() {
                return Some(Waiting::FirstLook(unread));
            }
        }
        if !pairing.has_destination() {
            Some(Waiting::Destination)
        } else if pairing.free() == 0 {
            Some(Waiting::Source)
        } else {
            None
        }
    }

    /// Goes through the candidates, best first, as long as a source is free; a file whose master
    /// must be looked at first keeps its turn. Then looks a little further ahead.
    fn walk(&mut self, yard: &Yard<'_>, pairing: &mut Pairing, round: &mut Round) {
        let occupied = Occupied::of(yard);
        let mut next_id = yard.first_id();
        let mut too_big = Vec::new();
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
            let skip = match self.judge(candidate.file, yard, &occupied) {
                None => {
                    round.to_look_up.push(candidate.file);
                    kept_turns += usize::from(turns_left);
                    continue;
                }
                Some(Err(skip)) => skip,
                Some(Ok(_)) if !turns_left => continue,
                Some(Ok(master)) => match self.pair(candidate.file, &master, pairing, &occupied) {
                    Ok((source, destination)) => {
                        pairing.take(source, destination, master.size);
                        let id = TaskId(next_id);
                        next_id += 1;
                        let pair = (source, destination);
                        round.tasks.push(new_task(yard, id, candidate, &master, pair));
                        continue;
                    }
                    Err(skip) => {
                        if skip == Skip::TooBig {
                            too_big.push((candidate.file, master.size));
                        }
                        skip
                    }
                },
            };
            round.skip(candidate.file, skip);
        }
        for (file, size) in too_big {
            self.candidates.park(file, size);
        }
        if round.waiting.is_none() {
            round.waiting = Some(if kept_turns > 0 {
                Waiting::Looks(round.to_look_up.len())
            } else if pairing.free() == 0 {
                Waiting::Source
            } else {
                Waiting::Nothing
            });
        }
    }

    /// Whether a candidate may be planned as far as it goes by itself; none when its master must
    /// be looked at first.
    fn judge(
        &self,
        file: FileId,
        yard: &Yard<'_>,
        occupied: &Occupied,
    ) -> Option<Result<Master, Skip>> {
        if occupied.files.contains(&file) {
            Some(Err(Skip::UnderWay))
        } else if occupied.held_files.contains(&file) {
            Some(Err(Skip::BacksOff))
        } else {
            self.looks.get(file, yard.now)
        }
    }

    fn pair(
        &self,
        file: FileId,
        master: &Master,
        pairing: &Pairing,
        occupied: &Occupied,
    ) -> Result<(HostAddr, HostAddr), Skip> {
        let carried = self.candidates.traits().old_hosts_carry(file);
        pairing.choose(master.size, carried, &occupied.held_pairs)
    }
}

impl Round {
    fn skip(&mut self, file: FileId, skip: Skip) {
        let count = self.skipped.entry(skip).or_default();
        *count += 1;
        if (*count == 1 || self.examples.len() < EXAMPLES) && skip != Skip::UnderWay {
            self.examples.push((file, skip));
        }
    }
}

impl Occupied {
    fn of(yard: &Yard<'_>) -> Self {
        let book = yard.book;
        let open = book.open().values().map(|task| book.file(&task.name));
        let in_flight = yard.created_in_flight().map(|task| book.file(&task.name));
        let mut occupied = Occupied {
            files: open.chain(in_flight).collect(),
            held_files: HashSet::new(),
            held_pairs: HashMap::new(),
        };
        let held = book.back_offs().iter().filter(|(_, back_off)| back_off.holds(yard.now));
        for (blamed, _) in held {
            match blamed {
                Blamed::File(name) => {
                    occupied.held_files.insert(book.file(name));
                }
                Blamed::Pair(source, destination) => {
                    occupied.held_pairs.entry(*source).or_default().push(*destination);
                }
                Blamed::Source(_) | Blamed::Destination(_) => {}
            }
        }
        occupied
    }
}

fn new_task(
    yard: &Yard<'_>,
    id: TaskId,
    candidate: Candidate,
    master: &Master,
    (source, destination): (HostAddr, HostAddr),
) -> NewTask {
    let ours = |host| yard.hosts.get(host).is_some_and(|host| host.is_ours());
    let speed = yard.settings.copy_speed;
    NewTask {
        id,
        name: yard.book.names().name(candidate.file),
        dir: master.dir.to_string(),
        source,
        destination,
        grade: candidate.grade,
        hits: candidate.hits,
        size: master.size,
        copy_speed: if ours(source) && ours(destination) {
            speed
        } else {
            speed.or(Some(OLD_COPY_SPEED))
        },
        source_cap: u32::try_from(yard.settings.copies_per_source.max(1)).unwrap_or(u32::MAX),
    }
}
