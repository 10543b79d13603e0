//! Steps of the wall clock of one node, by libfaketime. The monotonic clocks stay right, as on a real machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;

use super::{FaultOutcome, shared_end};
use crate::chaos::chaos_cluster::{ChaosCluster, NodePlace};
use crate::rigs::catalog::catalog_input::replace;

/// libfaketime reads the file of a clock again after this time.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// The largest step, in milliseconds. Shares accept steps of up to an hour at once.
const LARGEST_STEP: i64 = 120_000;

/// A step ahead that the other nodes follow, in milliseconds.
const WITHIN_BOUND: i64 = 800;

/// A step of a wall clock in milliseconds, forward or backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClockStep(i64);

impl fmt::Display for WallClockStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.0 < 0 { "behind" } else { "ahead" };
        write!(f, "{:?} {side}", Duration::from_millis(self.0.unsigned_abs()))
    }
}

impl WallClockStep {
    /// A large step, a small one, or one within `cluster.clock_bound`.
    pub fn draw(rng: &mut Rng) -> Self {
        let most = match rng.u8(..3) {
            0 => LARGEST_STEP,
            1 => 3_000,
            _ => return WallClockStep(WITHIN_BOUND),
        };
        WallClockStep(rng.i64(-most..=most))
    }

    /// Causes the fault for `time`.
    ///
    /// # Errors
    /// The file of the clock cannot be written.
    pub fn happen(
        self,
        cluster: &ChaosCluster,
        place: NodePlace,
        time: Duration,
    ) -> Result<FaultOutcome> {
        let Some(clocks) = &cluster.clocks else {
            return Ok(FaultOutcome::Skipped("libfaketime: install the package faketime"));
        };
        clocks.step(place, self)?;
        sleep(READ_AGAIN);
        if self == WallClockStep(WITHIN_BOUND) {
            shared_end::check(cluster)?;
        }
        sleep(time);
        clocks.step(place, WallClockStep(0))?;
        Ok(FaultOutcome::Ended)
    }
}

/// The clocks of all nodes, each with a file that moves it.
pub struct SteppedClocks {
    library: PathBuf,
    dir: PathBuf,
}

impl SteppedClocks {
    /// Clocks with their files in `dir`. None without libfaketime.
    pub fn find(dir: &Path) -> Option<Self> {
        let machines = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
        let libraries = machines.map(|one| one.path().join("faketime/libfaketimeMT.so.1"));
        let library = libraries.into_iter().find(|library| library.is_file())?;
        Some(SteppedClocks { library, dir: dir.to_owned() })
    }

    /// The environment of a node, whose clock is right at first.
    ///
    /// # Errors
    /// The file of the clock cannot be written.
    pub fn environment(&self, place: NodePlace) -> Result<Vec<(String, PathBuf)>> {
        self.step(place, WallClockStep(0))?;
        let variables = [
            ("LD_PRELOAD", self.library.clone()),
            ("FAKETIME_TIMESTAMP_FILE", self.file(place)),
            ("FAKETIME_CACHE_DURATION", READ_AGAIN.as_secs().to_string().into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("NO_FAKE_STAT", "1".into()),
        ];
        Ok(variables.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Removes the shared memory that a killed process leaves.
    pub fn clear(process: u32) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            // Without libfaketime there is none.
            let _ = std::fs::remove_file(format!("/dev/shm/{name}{process}"));
        }
    }

    fn step(&self, place: NodePlace, step: WallClockStep) -> Result<()> {
        let seconds = Duration::from_millis(step.0.unsigned_abs()).as_secs_f64();
        let sign = if step.0 < 0 { '-' } else { '+' };
        Ok(replace(&self.file(place), format!("{sign}{seconds:.3}\n").as_bytes())?)
    }

    fn file(&self, place: NodePlace) -> PathBuf {
        self.dir.join(format!("clock-{}", place.0))
    }
}
