//! A yard moves from cfm and cfw to Reelyard host by host, in either order, as `config/moving-from-cfm.md`
//! describes, and is in use meanwhile. Every file that is added at any stage is placed exactly once, and
//! earlier copies do not change.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reelyard_integration_tests::fakes::stand_in_cfm::{CfmSettings, StandInCfm};
use reelyard_integration_tests::fakes::stand_in_cfw::{DownloaderBehavior, Polling, StandInCfw};
use reelyard_integration_tests::rigs::old_yard::{
    POLL, copies, is_on, no_task_open, old_destination, old_source, start_node,
};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for, wait_until_up};

const HOSTS: usize = 2;

/// One host of the yard, before or after its move.
enum MovingHost {
    Old(
        #[allow(dead_code, reason = "they live as long as the host")] (StandInCfw, Option<Polling>),
    ),
    Ours(RoleProcess),
}

/// The program that plans the yard at this stage.
enum ActiveManager {
    Nobody,
    Cfm(StandInCfm),
    Node(RoleProcess),
}

/// A yard in the middle of its move.
struct MigrationYard {
    ground: ProcessYard,
    manager: ActiveManager,
    sources: Vec<MovingHost>,
    destinations: Vec<MovingHost>,
    masters: Vec<(String, Vec<u8>)>,
}

impl MigrationYard {
    /// Starts a yard with only old programs.
    fn old() -> Result<Self> {
        let ground = ProcessYard::new(HOSTS, HOSTS)?;
        ground.grade(&[])?;
        let mut yard = MigrationYard {
            manager: ActiveManager::Nobody,
            sources: Vec::new(),
            destinations: Vec::new(),
            masters: Vec::new(),
            ground,
        };
        for number in 0..HOSTS {
            yard.sources.push(MovingHost::Old((old_source(&yard.ground, number)?, None)));
            let host = old_destination(&yard.ground, number)?;
            let polling = host.poll(yard.ground.node, POLL, DownloaderBehavior::Copies);
            yard.destinations.push(MovingHost::Old((host, Some(polling))));
        }
        yard.start_cfm()?;
        Ok(yard)
    }

    fn start_cfm(&mut self) -> Result<()> {
        let ground = &self.ground;
        let addrs = |of: fn(&ProcessYard, usize) -> std::net::SocketAddr| -> Vec<_> {
            (0..HOSTS).map(|number| of(ground, number)).collect()
        };
        self.manager = ActiveManager::Cfm(StandInCfm::start(CfmSettings {
            listen: ground.node,
            source_dirs: vec![ground.path("masters")],
            grade_info_file: ground.path("input/.grade.info"),
            hitcount_history_file: ground.path("input/.hitcount.history"),
            sources: addrs(ProcessYard::source),
            destinations: addrs(ProcessYard::destination),
            task_timeout: Duration::from_secs(3600),
            pause: Duration::from_millis(50),
        })?);
        Ok(())
    }

    /// A Reelyard node replaces cfm at the same address, so that no cfw needs a change.
    fn replace_cfm(&mut self) -> Result<()> {
        self.quiet()?;
        self.manager = ActiveManager::Nobody;
        self.manager = ActiveManager::Node(start_node(&self.ground, &[])?);
        Ok(())
    }

    fn replace_source(&mut self, number: usize) -> Result<()> {
        drop(self.sources.remove(number));
        let source = self.ground.start_source(number, &[])?;
        wait_until_up(self.ground.source(number), &source)?;
        self.sources.insert(number, MovingHost::Ours(source));
        Ok(())
    }

    /// An old cfm treats a host without an answer as empty. Therefore it is stopped while the host
    /// changes. A Reelyard node needs no stop.
    fn replace_destination(&mut self, number: usize) -> Result<()> {
        let is_cfm = matches!(self.manager, ActiveManager::Cfm(_));
        if is_cfm {
            self.quiet()?;
            self.manager = ActiveManager::Nobody;
        }
        drop(self.destinations.remove(number));
        let often = [("poll_interval", "50ms")];
        let destination = self.ground.start_destination(number, &often)?;
        wait_until_up(self.ground.destination(number), &destination)?;
        self.destinations.insert(number, MovingHost::Ours(destination));
        if is_cfm {
            self.start_cfm()?;
        }
        Ok(())
    }

    /// Adds two files to the catalogue and waits for both copies. Earlier copies must not change.
    fn is_used(&mut self, stage: &str) -> Result<()> {
        for number in 0..2 {
            let name = format!("{stage} {number}.mpg");
            let bytes = self.ground.master(name.as_bytes(), 40_000)?;
            self.masters.push((name, bytes));
        }
        let names: Vec<&[u8]> = self.masters.iter().map(|(name, _)| name.as_bytes()).collect();
        self.ground.grade(&names)?;
        let roles: Vec<&RoleProcess> = self.roles().collect();
        wait_for(&format!("every file once: {stage}"), &roles, || {
            let placed = |(name, bytes): &(String, Vec<u8>)| {
                copies(&self.ground, HOSTS, name.as_bytes(), bytes) == 1
            };
            self.masters.iter().all(placed).then_some(())
        })?;
        self.quiet()?;
        for (name, _) in &self.masters {
            let on = (0..HOSTS).filter(|host| is_on(&self.ground, *host, name.as_bytes())).count();
            ensure!(on == 1, "{name} is on {on} destinations: {stage}");
        }
        Ok(())
    }

    /// Waits until nothing is planned or in progress.
    fn quiet(&self) -> Result<()> {
        let roles: Vec<&RoleProcess> = self.roles().collect();
        wait_for("no task", &roles, || match &self.manager {
            ActiveManager::Nobody => Some(()),
            ActiveManager::Cfm(cfm) => cfm.tasks().is_empty().then_some(()),
            ActiveManager::Node(_) => no_task_open(&self.ground),
        })
    }

    fn roles(&self) -> impl Iterator<Item = &RoleProcess> {
        let hosts = self.sources.iter().chain(&self.destinations);
        let ours = hosts.filter_map(|host| match host {
            MovingHost::Ours(role) => Some(role),
            MovingHost::Old(_) => None,
        });
        let node = match &self.manager {
            ActiveManager::Node(role) => Some(role),
            _ => None,
        };
        ours.chain(node)
    }

    /// Checks that the node planned only files that were added since its start, and each once.
    fn node_copied(&self, stages: &[&str]) -> Result<()> {
        let tasks = self.ground.get("/api/v1/tasks?limit=200").context("the tasks")?;
        let tasks = tasks["items"].as_array().context("a list")?;
        for (name, _) in &self.masters {
            let times = tasks.iter().filter(|task| task["name"] == name.as_str()).count();
            let expected = usize::from(stages.iter().any(|stage| name.starts_with(stage)));
            ensure!(times == expected, "{name} was planned {times} times");
        }
        Ok(())
    }
}

#[test]
fn from_the_node_on() -> Result<()> {
    let mut yard = MigrationYard::old()?;
    yard.is_used("all old")?;
    yard.replace_cfm()?;
    yard.is_used("our node over old hosts")?;
    yard.replace_source(0)?;
    yard.is_used("one source is ours")?;
    yard.replace_source(1)?;
    yard.is_used("sources are ours")?;
    yard.replace_destination(0)?;
    yard.is_used("one destination is ours")?;
    yard.replace_destination(1)?;
    yard.is_used("all ours")?;
    yard.node_copied(&["our node", "one source", "sources", "one destination", "all ours"])
}

#[test]
fn from_the_workers_on() -> Result<()> {
    let mut yard = MigrationYard::old()?;
    yard.is_used("all old")?;
    yard.replace_source(0)?;
    yard.is_used("one source is ours")?;
    yard.replace_source(1)?;
    yard.is_used("sources are ours")?;
    yard.replace_destination(0)?;
    yard.is_used("one destination is ours")?;
    yard.replace_destination(1)?;
    yard.is_used("cfm over our workers")?;
    yard.replace_cfm()?;
    yard.is_used("all ours")?;
    yard.node_copied(&["all ours"])
}
