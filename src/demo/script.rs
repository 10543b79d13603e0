//! The files of the demo's yard, and the log that it replays.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use reelyard_core::names::FileName;
use reelyard_yard::catalog::load_balancer::event_row::{EventRow, read_event_row};

use super::cancellable::CancellationToken;
use super::masters::{self, DemoMaster};
use super::replay::{self, Recording};
use super::yard::DemoDirectories;

/// Number of hits that make a file hot.
pub const HIT_BASE: u32 = 3;

/// Length of the replay.
const REPLAY: Duration = Duration::from_secs(8);

/// The address of the centre in the event log of the demo: a hit there means that no destination
/// could serve the request.
const WATCHED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// The wanted files.
#[derive(Clone, Debug)]
pub struct DemoCatalog {
    /// A real load-balancer log to replay instead of an invented burst.
    pub event_log: Option<PathBuf>,
    /// The server whose hits make files hot in that log; by default the one with the most hits.
    pub watch_address: Option<IpAddr>,
    /// Number of files.
    pub files: usize,
    /// Mean size of a file in bytes.
    pub mean_size: u64,
}

/// The files of the yard, and the replayed log.
pub struct DemoScript {
    /// The files, best first.
    pub masters: Vec<DemoMaster>,
    /// The server whose hits make files hot.
    pub watched: IpAddr,
    /// The log.
    pub recording: Arc<Recording>,
}

impl DemoScript {
    /// Bytes of the files that must be placed.
    pub fn bytes(&self) -> u64 {
        self.masters.iter().filter(|master| !master.ignored).map(|master| master.size).sum()
    }

    /// Writes masters and input files.
    pub fn write(
        catalog: &DemoCatalog,
        ground: &DemoDirectories,
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let script = match &catalog.event_log {
            Some(log) => DemoScript::from_log(catalog, log, ground, wanted)?,
            None => DemoScript::invented(catalog, ground, wanted)?,
        };
        masters::write_grade_info(&ground.grade_info(), &script.masters)?;
        masters::write_hitcount_history(&ground.hitcount_history(), &script.masters)?;
        replay::begin_log(&ground.event_log())?;
        Ok(script)
    }

    /// An invented catalogue in which three of the worst-ranked files become hot.
    fn invented(
        catalog: &DemoCatalog,
        ground: &DemoDirectories,
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let names = masters::invented_names(catalog.files)?;
        let masters = masters::write(&ground.masters(), &names, (catalog.mean_size, 1), wanted)?;
        let worst_three: Vec<FileName> =
            masters.iter().rev().filter(|m| !m.ignored).take(3).map(|m| m.name.clone()).collect();
        let watched = IpAddr::V4(WATCHED);
        let recording = Recording::burst(&worst_three, watched, HIT_BASE + 2, REPLAY / 8);
        Ok(DemoScript { masters, watched, recording: Arc::new(recording) })
    }

    /// The most requested files of a real log. Those that the watched server served most are ranked
    /// last, so that the replay shows them overtaking others.
    fn from_log(
        catalog: &DemoCatalog,
        log: &Path,
        ground: &DemoDirectories,
        wanted: &CancellationToken,
    ) -> Result<Self> {
        let demand = LoggedDemand::read(log, catalog.watch_address, wanted)?;
        let names = demand.ranked(catalog.files);
        anyhow::ensure!(
            !names.is_empty(),
            "{}: the log contains no request for a file",
            log.display()
        );
        let masters = masters::write(&ground.masters(), &names, (catalog.mean_size, 1), wanted)?;
        let recording = Recording::read(log, REPLAY, wanted)?;
        println!("{}: {} rows, replayed in {REPLAY:?}", log.display(), recording.len());
        Ok(DemoScript { masters, watched: demand.watched, recording: Arc::new(recording) })
    }
}

/// The requests of a real log.
struct LoggedDemand {
    watched: IpAddr,
    /// Requests of each file, and how many of them the watched server served.
    files: HashMap<FileName, (u32, u32)>,
}

impl LoggedDemand {
    fn read(log: &Path, watched: Option<IpAddr>, wanted: &CancellationToken) -> Result<Self> {
        let file =
            std::fs::File::open(log).with_context(|| format!("cannot read {}", log.display()))?;
        let mut requests = Vec::new();
        let mut servers: HashMap<IpAddr, u32> = HashMap::new();
        for line in BufReader::new(file).split(b'\n') {
            wanted.check()?;
            if let Ok(EventRow::Selection(selection)) = read_event_row(&line?) {
                *servers.entry(selection.server).or_default() += 1;
                requests.push((FileName::new(selection.name)?, selection.server));
            }
        }
        let most_selected = servers.into_iter().max_by_key(|(server, count)| (*count, *server));
        let watched = watched
            .or(most_selected.map(|(server, _)| server))
            .with_context(|| format!("{}: the log selects no server", log.display()))?;
        let mut files: HashMap<FileName, (u32, u32)> = HashMap::new();
        for (name, server) in requests {
            let (all, missed) = files.entry(name).or_default();
            *all += 1;
            *missed += u32::from(server == watched);
        }
        Ok(LoggedDemand { watched, files })
    }

    /// The `count` most requested files in the order of their ranks: files that the watched server
    /// served more often come later.
    fn ranked(&self, count: usize) -> Vec<FileName> {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(name, (all, _))| (std::cmp::Reverse(*all), *name));
        files.truncate(count);
        files.sort_by_key(|(name, (all, missed))| (*missed, std::cmp::Reverse(*all), *name));
        files.into_iter().map(|(name, _)| name.clone()).collect()
    }
}
