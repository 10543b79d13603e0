//! A whole yard on one machine: a node, two sources with shared masters, three destinations.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures::future::join_all;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use tempfile::TempDir;

use super::masters::AD_PREFIX;
use super::process::Process;

/// The address of the centre in the event log of the demo: a hit there means that no destination
/// could serve the request.
pub const WATCHED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// The demo shares its disk with other files. However full it is, a copy that fits is made.
const WHOLE_DISK: &str = "100";

/// Settings of the yard.
#[derive(Clone, Debug)]
pub struct DemoPlan {
    /// Address of the node; a free port by default.
    pub listen: Option<SocketAddr>,
    /// Rate limit of one copy.
    pub copy_speed: BitsPerSecond,
    /// The address whose hits make a file hot.
    pub watched: IpAddr,
    /// Number of rows in the event log that make a file hot.
    pub hit_base: u32,
}

/// The running yard. All its files are below one directory, which is removed when it is dropped.
pub struct DemoYard {
    /// Base URL of the node.
    pub url: String,
    /// Token of the node and the workers.
    pub token: String,
    node: Process,
    /// The two sources.
    pub sources: Vec<DemoHost>,
    /// The three destinations.
    pub destinations: Vec<DemoHost>,
    /// Declared last, so that it is dropped after the processes that write to it.
    dir: TempDir,
}

/// A worker of the yard.
pub struct DemoHost {
    /// Address and identity of the worker.
    pub addr: HostAddr,
    /// Directory of its copies, or of the shared masters for a source.
    pub dir: PathBuf,
    process: Process,
}

impl DemoHost {
    /// Kills the worker without warning.
    pub async fn kill(&mut self) -> Result<()> {
        self.process.kill().await
    }

    /// Starts the worker again.
    pub fn start_again(&mut self) -> Result<()> {
        self.process.start_again()
    }
}

/// The directories of a yard before its start.
pub struct DemoDirectories {
    dir: TempDir,
}

impl DemoDirectories {
    /// Creates the directories.
    pub fn new() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("reelyard-demo-").tempdir()?;
        for part in ["masters", "input", "event-log", "logs"] {
            std::fs::create_dir(dir.path().join(part))?;
        }
        Ok(DemoDirectories { dir })
    }

    /// Directory of the masters.
    pub fn masters(&self) -> PathBuf {
        self.dir.path().join("masters")
    }

    /// Path of grade.info.
    pub fn grade_info(&self) -> PathBuf {
        self.dir.path().join("input/.grade.info")
    }

    /// Path of hitcount.history.
    pub fn hitcount_history(&self) -> PathBuf {
        self.dir.path().join("input/.hitcount.history")
    }

    /// Directory of the load balancer's log.
    pub fn event_log(&self) -> PathBuf {
        self.dir.path().join("event-log")
    }

    /// Starts every process of the yard.
    pub fn build(self, plan: &DemoPlan) -> Result<DemoYard> {
        let path = self.dir.path();
        let token = format!("{:032x}", fastrand::u128(..));
        let listen = plan.listen.map_or_else(|| free_addr(Ipv4Addr::LOCALHOST), Ok)?;
        let mut hosts = Vec::new();
        for (i, last) in [11, 12, 21, 22, 23].into_iter().enumerate() {
            let source = i < 2;
            let dir =
                if source { self.masters() } else { path.join(format!("destination-{last}")) };
            std::fs::create_dir_all(&dir)?;
            hosts.push(start_worker(path, last, source, dir, listen, &token)?);
        }
        let destinations = hosts.split_off(2);
        let node = self.start_node(plan, listen, &token, &hosts, &destinations)?;
        let url = format!("http://{listen}");
        Ok(DemoYard { url, token, node, sources: hosts, destinations, dir: self.dir })
    }

    fn start_node(
        &self,
        plan: &DemoPlan,
        listen: SocketAddr,
        token: &str,
        sources: &[DemoHost],
        destinations: &[DemoHost],
    ) -> Result<Process> {
        let path = self.dir.path();
        let settings = [
            ("listen", listen.to_string()),
            ("data_dir", toml_text(&path.join("node"))),
            ("source_dirs", format!("[{}]", toml_text(&self.masters()))),
            ("hosts.sources", addresses(sources)),
            ("hosts.destinations", addresses(destinations)),
            ("ignore.prefixes", format!("[\"{AD_PREFIX}\"]")),
            ("catalog.grade_info_file", toml_text(&self.grade_info())),
            ("catalog.hitcount_history_file", toml_text(&self.hitcount_history())),
            ("catalog.poll_interval", "250ms".to_owned()),
            ("event_log.dir", toml_text(&self.event_log())),
            ("event_log.watch_address", plan.watched.to_string()),
            ("event_log.hit_base", plan.hit_base.to_string()),
            ("event_log.time_zone", "UTC".to_owned()),
            ("heartbeat.interval", "500ms".to_owned()),
            ("heartbeat.timeout", "400ms".to_owned()),
            ("task.copy_speed", plan.copy_speed.to_string()),
            ("task.back_off_base", "500ms".to_owned()),
            ("task.back_off_cap", "2s".to_owned()),
            ("storage.limit_percent", WHOLE_DISK.to_owned()),
            ("storage.low_water_percent", WHOLE_DISK.to_owned()),
        ];
        Process::start("node", "node", &settings, token, &path.join("logs"))
    }
}

impl DemoYard {
    /// Fails if a process of the yard has ended unexpectedly.
    pub fn check(&mut self) -> Result<()> {
        self.node.check()?;
        self.sources.iter_mut().chain(&mut self.destinations).try_for_each(|h| h.process.check())
    }

    /// Directory of the logs.
    pub fn logs(&self) -> PathBuf {
        self.dir.path().join("logs")
    }

    /// Stops every process in order, node first, and removes all files.
    pub async fn stop(mut self) -> Result<()> {
        let node = self.node.stop().await;
        let hosts = self.sources.iter_mut().chain(&mut self.destinations);
        let hosts = join_all(hosts.map(|host| host.process.stop())).await;
        self.dir.close().context("cannot remove the demo's directory")?;
        hosts.into_iter().fold(node, Result::and)
    }
}

fn start_worker(
    path: &Path,
    last: u8,
    source: bool,
    dir: PathBuf,
    node: SocketAddr,
    token: &str,
) -> Result<DemoHost> {
    let ip = Ipv4Addr::new(127, 0, 0, last);
    let addr = free_addr(ip)?;
    let name = format!("{}-{last}", if source { "source" } else { "destination" });
    let mut settings = vec![
        ("listen", addr.to_string()),
        ("data_listen", free_addr(ip)?.to_string()),
        ("node", node.to_string()),
        ("state_dir", toml_text(&path.join(format!("state-{name}")))),
    ];
    if source {
        settings.push(("source_dirs", format!("[{}]", toml_text(&dir))));
    } else {
        settings.push(("base_dir", toml_text(&dir)));
        settings.push(("storage.limit_percent", WHOLE_DISK.to_owned()));
    }
    let process = Process::start(&name, "worker", &settings, token, &path.join("logs"))?;
    Ok(DemoHost { addr: HostAddr::from(addr), dir, process })
}

/// A port that is free now. If another program takes it first, the process fails to start and the
/// demo ends with its error.
fn free_addr(ip: Ipv4Addr) -> Result<SocketAddr> {
    let listener = TcpListener::bind((ip, 0)).with_context(|| format!("cannot listen on {ip}"))?;
    Ok(listener.local_addr()?)
}

fn addresses(hosts: &[DemoHost]) -> String {
    let quoted: Vec<String> = hosts.iter().map(|host| format!("\"{}\"", host.addr)).collect();
    format!("[{}]", quoted.join(","))
}

/// A path as a TOML string.
fn toml_text(path: &Path) -> String {
    toml::Value::String(path.display().to_string()).to_string()
}
