//! The configuration of one seed: nodes, hosts, programs, files and settings.

pub mod operator;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reelyard_boxes::box_lease::PoolSpec;
use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::FileName;
use reelyard_protocol::boxes::PoolName;
use reelyard_yard::remover::{RemovalMode, RemoverSettings};
use reelyard_yard::task_manager::{HostSetting, PlacementPolicy, TaskSettings};

use crate::simulation::environment::machine::ClockError;

/// The prefix of names that the planner ignores.
pub const IGNORED: &[u8] = b"AD";

/// The directory of all masters.
pub const MASTERS: &str = "/san";

/// The initial state of a host.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// The address in the configuration of the nodes.
    pub addr: HostAddr,
    /// Whether the host is a source or a destination.
    pub role: HostRole,
    /// Whether a Reelyard worker runs there, or an old cfw.
    pub ours: bool,
    /// Whether it is a Reelyard worker that can fetch from old cfws too.
    pub fetches_from_old: bool,
    /// The size of its disk, in bytes.
    pub capacity: u64,
    /// Files on the disk at the start.
    pub holds: Vec<FileName>,
    /// The number of parallel copies of a Reelyard worker.
    pub at_once: usize,
}

/// A master, equal for all sources.
#[derive(Clone, Debug)]
pub struct SimulatedMaster {
    /// The content: one number for each version of each file.
    pub content: u64,
    /// The size in bytes.
    pub size: u64,
    /// Whether a read to the end succeeds.
    pub readable: bool,
}

/// The inputs of the Catalog, and the masters.
#[derive(Clone, Debug, Default)]
pub struct SceneInputs {
    /// Graded files, best first.
    pub ranking: Vec<FileName>,
    /// Hot files and their hits.
    pub hot: BTreeMap<FileName, u32>,
    /// The files in the source directories.
    pub masters: BTreeMap<FileName, SimulatedMaster>,
    /// Every complete content that a name ever had.
    pub versions: BTreeSet<(FileName, u64)>,
    /// The number of changes of the ranking, of the hot files and of the listing.
    pub changes: [u64; 3],
    contents: u64,
}

/// The configuration of one seed.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The number of nodes.
    pub nodes: usize,
    /// The errors of the nodes' clocks.
    pub clocks: Vec<ClockError>,
    /// The hosts, sources and destinations.
    pub hosts: Vec<HostPlan>,
    /// The inputs at the start.
    pub yard: SceneInputs,
    /// The settings of every TaskManager.
    pub settings: TaskSettings,
    /// The settings of every Remover.
    pub removals: RemoverSettings,
    /// The pool of boxes, as the operator first wants it.
    pub pool: PoolSpec,
    /// The number of visitors with share links.
    pub visitors: usize,
    /// The number of jobs that lease boxes.
    pub jobs: usize,
    /// The number of lost messages per thousand until all faults are removed.
    pub lost_of_1000: u32,
    /// The duration of the faults, in virtual milliseconds.
    pub trouble: u64,
}

impl SceneInputs {
    /// Writes a new version of a master.
    pub fn write(&mut self, name: &FileName, size: u64, readable: bool) {
        self.contents += 1;
        let content = self.contents;
        self.versions.insert((name.clone(), content));
        self.masters.insert(name.clone(), SimulatedMaster { content, size, readable });
    }
}

impl Scene {
    /// Draws the configuration of a seed.
    pub fn draw(rng: &mut fastrand::Rng) -> Self {
        let files = rng.usize(5..22);
        let names: Vec<FileName> = (0..files).map(|number| name(rng, number)).collect();
        let mut yard = SceneInputs::default();
        for file in &names {
            let size = rng.u64(1..=40) * 1_000_000;
            yard.write(file, size, rng.u32(0..100) >= 5);
        }
        yard.ranking = names.clone();
        rng.shuffle(&mut yard.ranking);
        yard.ranking.truncate(files - files / 5);
        let nodes = [1, 1, 1, 3, 3, 3, 5][rng.usize(0..7)];
        let clocks = draw_clocks(rng, nodes);
        let hosts = draw_hosts(rng, &names, &yard);
        let pool = draw_pool(rng, &hosts);
        let settings = draw_settings(rng);
        Scene {
            nodes,
            clocks,
            hosts,
            yard,
            removals: draw_removals(rng, &settings),
            settings,
            pool,
            visitors: rng.usize(0..4),
            jobs: rng.usize(0..6),
            lost_of_1000: [0, 2, 10, 30][rng.usize(0..4)],
            trouble: rng.u64(20_000..65_000),
        }
    }

    /// The pool with this number of boxes.
    pub fn pool_of(&self, size: u32) -> PoolSpec {
        PoolSpec { size, ..self.pool.clone() }
    }

    /// The hosts in the configuration of every node.
    pub fn host_settings(&self) -> Vec<HostSetting> {
        self.hosts.iter().map(|host| HostSetting { addr: host.addr, role: host.role }).collect()
    }
}

/// The name of the pool of boxes.
#[allow(clippy::expect_used, reason = "the text is a name by its form")]
pub fn pool_name() -> PoolName {
    PoolName::new("jobs").expect("a name")
}

/// A pool whose boxes are only numbers, or boxes of the last host that runs a Reelyard worker.
fn draw_pool(rng: &mut fastrand::Rng, hosts: &[HostPlan]) -> PoolSpec {
    let ours = hosts.iter().rfind(|host| host.ours).map(|host| host.addr);
    let host = ours.filter(|_| rng.bool());
    let grace = Duration::from_millis([0, 0, 500, 3000][rng.usize(0..4)]);
    let max_hold = [None, Some(Duration::from_secs(15))][rng.usize(0..2)];
    PoolSpec { host, grace, max_hold, ..PoolSpec::of(1, rng.u32(2..6)) }
}

/// The clocks of the nodes: equal in half of the seeds, else with skew and drift.
fn draw_clocks(rng: &mut fastrand::Rng, nodes: usize) -> Vec<ClockError> {
    let (skew, drift) = [(0, 0), (0, 0), (200, 100), (3000, 500)][rng.usize(0..4)];
    let mut draw = || ClockError { skew: rng.i64(-skew..=skew), drift: rng.i64(-drift..=drift) };
    (0..nodes).map(|_| draw()).collect()
}

/// A file name. Some are advertisements, some are not valid in the old protocol.
#[allow(clippy::expect_used, reason = "no drawn name is empty, too long or has a slash")]
fn name(rng: &mut fastrand::Rng, number: usize) -> FileName {
    let text = match rng.u32(0..100) {
        0..8 => format!("AD{number:02}.mpg").into_bytes(),
        8..12 => format!("f{number:02}\n.mpg").into_bytes(),
        12..15 => [format!("f{number:02}").as_bytes(), &[0xff, 0xfe]].concat(),
        15..20 => format!("f{number:02} #%41?.mpg").into_bytes(),
        _ => format!("f{number:02}.mpg").into_bytes(),
    };
    FileName::new(text).expect("a name")
}

fn draw_hosts(rng: &mut fastrand::Rng, names: &[FileName], yard: &SceneInputs) -> Vec<HostPlan> {
    let all: u64 = yard.masters.values().map(|master| master.size).sum();
    let ours_of_100 = [0, 50, 70, 100][rng.usize(0..4)];
    let sources = rng.usize(1..4);
    let destinations = rng.usize(2..6);
    let mut hosts = Vec::new();
    for number in 0..sources + destinations {
        let role = match number {
            0 if rng.u32(0..100) < 15 => HostRole::Both,
            number if number < sources => HostRole::Source,
            _ => HostRole::Destination,
        };
        let holds = if role.is_destination() && rng.u32(0..100) < 50 {
            (0..rng.usize(1..6)).map(|_| names[rng.usize(0..names.len())].clone()).collect()
        } else {
            Vec::new()
        };
        let ours = rng.u32(0..100) < ours_of_100;
        hosts.push(HostPlan {
            addr: address(number),
            role,
            ours,
            fetches_from_old: ours && rng.u32(0..100) < 40,
            capacity: all * rng.u64(30..120) / 100 / destinations as u64 + 60_000_000,
            holds,
            at_once: rng.usize(1..4),
        });
    }
    hosts
}

/// The address of host `number`; some share an IP.
#[allow(clippy::expect_used, reason = "the text is an address by its form")]
fn address(number: usize) -> HostAddr {
    format!("10.0.0.{}:{}", 1 + number / 2, 8888 + 2 * (number % 2)).parse().expect("an address")
}

/// The settings of removals for these of tasks. In a third of the seeds nothing is removed.
fn draw_removals(rng: &mut fastrand::Rng, tasks: &TaskSettings) -> RemoverSettings {
    let seconds = Duration::from_secs;
    RemoverSettings {
        mode: [RemovalMode::On, RemovalMode::On, RemovalMode::Off][rng.usize(0..3)],
        interval: seconds(rng.u64(3..15)),
        ignore_prefixes: tasks.ignore_prefixes.clone(),
        storage_limit_percent: tasks.storage_limit_percent,
        low_water_percent: tasks.storage_limit_percent - 5 * rng.u32(1..3),
        spare_copied_within: seconds(rng.u64(5..60)),
        spare_hot_within: seconds(rng.u64(10..60)),
        keep_room_for: seconds(60),
        make_room_hits: rng.u32(2..6),
        make_room_percent: [0, 20, 50][rng.usize(0..3)],
        // The longest election of the nodes, and how long a call may be on its way.
        old_host_quiet: seconds(10),
        doubt: seconds(30),
        keep_history: rng.u64(3..20),
        ..RemoverSettings::default()
    }
}

fn draw_settings(rng: &mut fastrand::Rng) -> TaskSettings {
    let seconds = Duration::from_secs;
    TaskSettings {
        copies_per_source: rng.usize(1..4),
        placement: if rng.bool() { PlacementPolicy::Room } else { PlacementPolicy::Ring },
        timeout: seconds(rng.u64(20..60)),
        pickup_timeout: seconds(rng.u64(15..40)),
        back_off: ExponentialBackoff { base: seconds(rng.u64(2..8)), cap: seconds(60) },
        keep_ended: seconds(rng.u64(10..60)),
        keep_ended_count: rng.usize(3..20),
        ignore_prefixes: vec![IGNORED.to_vec()],
        ungraded_hot: rng.bool(),
        storage_limit_percent: [90, 80, 100][rng.usize(0..3)],
        first_look: seconds(rng.u64(5..30)),
        look_fresh_for: seconds(rng.u64(5..60)),
        ask_again_after: seconds(3),
        ..TaskSettings::default()
    }
}
