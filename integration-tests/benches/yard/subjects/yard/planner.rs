//! Rounds of the planner over a million ranked files and fifty destinations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reelyard_core::clock::Millis;
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::names::{FileId, NameTable};
use reelyard_integration_tests::rigs::catalog::catalog_input::media_name;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_replication::InFlight;
use reelyard_yard::catalog::MasterLook;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::cfw_worker::{HostObserved, Inventory};
use reelyard_yard::heartbeat::{Health, HealthChanged};
use reelyard_yard::task_manager::{HostSetting, HostTable, TaskBook, TaskSettings};
use reelyard_yard::task_manager::{Planner, PlanningContext, PlanningRound};

use crate::figure::{BenchFigure, FigureTarget};

const FILES: u32 = 1_000_000;
const DESTINATIONS: u32 = 50;
const SOURCES: u32 = 10;
const FREE: u32 = 1_000;
const NOW: Millis = Millis(1_800_000_000_000);

/// Measures a steady round, a round with a thousand free candidates, and a round that checks every file
/// again.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let mut steady = PlannerBench::new(0)?;
    ensure!(steady.round().tasks.is_empty(), "a steady yard plans nothing");
    let mut free = PlannerBench::new(FREE)?;
    let round = free.round();
    ensure!(round.tasks.len() == SOURCES as usize, "{} copies were planned", round.tasks.len());
    let ms = |took: Duration| took.as_secs_f64() * 1e3;
    let figure = |what: String, took: Duration, bound| {
        BenchFigure::new(what, ms(took), "ms", FigureTarget::AtMost(bound))
    };
    Ok(vec![
        figure(
            format!("planning round, {FILES} files, {DESTINATIONS} destinations, nothing to do"),
            steady.time_of_a_round(1_000, false),
            20.0,
        ),
        figure(
            format!("… {FREE} candidates free, {SOURCES} sources free"),
            free.time_of_a_round(1_000, false),
            30.0,
        ),
        figure(
            "… the same, every file looked at again".to_owned(),
            free.time_of_a_round(20, true),
            30.0,
        ),
    ])
}

struct PlannerBench {
    book: TaskBook,
    in_flight: InFlight<reelyard_yard::task_manager::TaskEvent>,
    hosts: HostTable,
    planner: Planner,
    settings: TaskSettings,
}

fn host(net: u8, number: u32) -> Result<HostAddr> {
    Ok(format!("10.0.{net}.{}:8888", number + 1).parse()?)
}

impl PlannerBench {
    /// A planner for which every file except the first `free` is on some destination.
    fn new(free: u32) -> Result<Self> {
        let names = NameTable::new();
        let written: Vec<String> = (0..FILES as usize).map(media_name).collect();
        for id in names.intern_all(written.iter().map(String::as_bytes)) {
            id?;
        }
        let mut settings = Vec::new();
        for number in 0..DESTINATIONS {
            settings.push(HostSetting { addr: host(2, number)?, role: HostRole::Destination });
        }
        for number in 0..SOURCES {
            settings.push(HostSetting { addr: host(1, number)?, role: HostRole::Source });
        }
        let mut case = PlannerBench {
            book: TaskBook::new(names),
            in_flight: InFlight::default(),
            hosts: HostTable::new(&settings),
            planner: Planner::default(),
            settings: TaskSettings {
                look_fresh_for: Duration::from_secs(3600),
                ..TaskSettings::default()
            },
        };
        for number in 0..DESTINATIONS {
            let held = (free..FILES).filter(|file| file % DESTINATIONS == number).collect();
            case.see(
                host(2, number)?,
                Some(Inventory { files: held, unreadable_names: 0, at: NOW }),
            )?;
        }
        for number in 0..SOURCES {
            case.see(host(1, number)?, None)?;
        }
        let ranked =
            (0..FILES).map(|file| RankedFile { file: FileId(file), size: None, listed_on: vec![] });
        case.planner.set_ranking(Arc::new(Ranking::from_files(ranked)));
        let masters = Masters { files: (0..FILES).collect(), ..Masters::default() };
        case.planner.set_masters(Arc::new(masters));
        let look = |file| {
            (FileId(file), MasterLook::Found { dir: "/data".into(), size: 1 << 30, modified: NOW })
        };
        case.planner.learn((0..free).map(look), &case.settings, NOW);
        Ok(case)
    }

    fn see(&mut self, addr: HostAddr, inventory: Option<Inventory>) -> Result<()> {
        let (from, to) = (Health::Unknown, Health::Up);
        self.hosts.health_changed(&HealthChanged { host: addr, from, to, at: NOW });
        let disk = DiskFigures { avail: 1 << 40, ..DiskFigures::default() };
        self.hosts.observe(&HostObserved {
            host: addr,
            kind: HostKind::Reelyard {
                data_addr: addr.socket(),
                fetches_from_old: false,
                data_tls: false,
            },
            inventory: inventory.map(Arc::new),
            disk: Some((disk, NOW)),
            traffic: None,
            at: NOW,
        });
        Ok(())
    }

    fn round(&mut self) -> PlanningRound {
        self.planner.round(&PlanningContext {
            book: &self.book,
            in_flight: &self.in_flight,
            hosts: &self.hosts,
            settings: &self.settings,
            leading_since: NOW,
            now: NOW,
        })
    }

    /// The mean time of `rounds`. A round changes nothing by itself.
    fn time_of_a_round(&mut self, rounds: u32, from_scratch: bool) -> Duration {
        let mut took = Duration::ZERO;
        for _ in 0..rounds {
            if from_scratch {
                self.planner.set_stale();
            }
            let began = Instant::now();
            std::hint::black_box(self.round());
            took += began.elapsed();
        }
        took / rounds
    }
}
