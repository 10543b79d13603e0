#![doc = include_str!("README.md")]

mod clients;
mod environment;
mod hosts;
pub mod invariants;
mod judge;
mod node;
mod pieces;
mod raft;
mod scene;
mod world;

use std::fmt;

use environment::runtime::on_virtual_time;
pub use judge::InvariantViolation;
use world::SimulationWorld;

/// The result of one seed.
#[derive(Clone, Debug)]
pub struct SeedResult {
    /// The seed, which reproduces the run.
    pub seed: u64,
    /// The first violation; `None` for a correct run.
    pub broken: Option<InvariantViolation>,
    /// A hash of all events, to compare two runs.
    pub trace: u64,
    /// The last lines of the trace, for people.
    pub tail: Vec<String>,
    /// Counts for the summary of a test run.
    pub figures: Figures,
}

/// The counts of one run, or the sum of many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Entries in the log.
    pub entries: u64,
    /// Acknowledged commits.
    pub commits: u64,
    /// Commits that were refused because their leader was deposed.
    pub deposed: u64,
    /// Copies that got their name on a disk.
    pub copies: u64,
    /// Second copies whose task had been abandoned.
    pub late: u64,
    /// Second copies of files on hosts that had not reported them.
    pub unasked: u64,
    /// Copies that removals deleted.
    pub deleted: u64,
    /// Links that were served.
    pub served: u64,
    /// Shares that were reclaimed.
    pub reclaimed: u64,
    /// Granted requests for boxes.
    pub grants: u64,
    /// Leases that expired.
    pub expired: u64,
    /// Simulated time in seconds.
    pub seconds: u64,
}

/// Runs the simulation of one seed to its end.
pub fn run(seed: u64) -> SeedResult {
    // Code that uses the generator of the thread gets the same numbers in each run.
    fastrand::seed(seed);
    let world = on_virtual_time(async move {
        let mut world = SimulationWorld::new(seed);
        world.run().await;
        world
    });
    let seconds = world.context.now() / 1000;
    let judge = world.context.judge;
    SeedResult {
        seed,
        broken: judge.broken,
        trace: world.context.trace.hash(),
        tail: world.context.trace.tail().map(str::to_owned).collect(),
        figures: Figures {
            entries: judge.record.history.len() as u64,
            commits: judge.commits,
            deposed: judge.deposed,
            copies: judge.copies,
            late: judge.exceptions.late,
            unasked: judge.exceptions.unasked,
            deleted: judge.removals.deleted,
            served: judge.shares.served,
            reclaimed: judge.shares.reclaimed,
            grants: judge.leases.grants(),
            expired: judge.leases.expired,
            seconds,
        },
    }
}

impl Figures {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Figures) {
        self.entries += other.entries;
        self.commits += other.commits;
        self.deposed += other.deposed;
        self.copies += other.copies;
        self.late += other.late;
        self.unasked += other.unasked;
        self.deleted += other.deleted;
        self.served += other.served;
        self.reclaimed += other.reclaimed;
        self.grants += other.grants;
        self.expired += other.expired;
        self.seconds += other.seconds;
    }
}

impl fmt::Display for SeedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.tail {
            writeln!(f, "{line}")?;
        }
        let seed = self.seed;
        match &self.broken {
            Some(InvariantViolation { invariant, what }) => {
                writeln!(f, "seed {seed} breaks \"{invariant}\": {what}")?;
            }
            None => writeln!(f, "seed {seed} holds: {:?}", self.figures)?,
        }
        writeln!(f, "trace {:016x}", self.trace)?;
        writeln!(
            f,
            "again: REELYARD_SEED={seed} cargo nextest run -p reelyard-integration-tests \
             --test simulation --no-capture one_seed"
        )
    }
}
