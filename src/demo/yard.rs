//! A whole yard on one machine: one node or three, two sources with shared masters, three destinations.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures::future::join_all;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use tempfile::TempDir;

use super::cluster::change_client::{SHARED_FILE, SHARED_ROOT};
use super::cluster::fault_proxy::{self, CutLinks};
use super::cluster::nodes::{DemoNode, DemoNodes};
use super::masters::AD_PREFIX;
use super::process::Process;

/// The demo shares its disk with other files. However full it is, a copy that fits is made.
const WHOLE_DISK: &str = "100";

/// Number of nodes of a yard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NodeCount {
    /// One node manages the yard.
    #[value(name = "1")]
    One,
    /// A cluster of three nodes manages the yard. On a terminal, keys kill, pause and cut nodes.
    #[value(name = "3")]
    Three,
}

/// Settings of the yard.
#[derive(Clone, Debug)]
pub struct DemoPlan {
    /// Number of nodes.
    pub nodes: NodeCount,
    /// Address of the first node; a free port by default.
    pub listen: Option<SocketAddr>,
    /// Rate limit of one copy.
    pub copy_speed: BitsPerSecond,
    /// The address whose hits make a file hot.
    pub watched: IpAddr,
    /// Number of rows in the event log that make a file hot.
    pub hit_base: u32,
}

/// The yard and its processes. All its files are below one directory, which is removed when it is dropped.
pub struct DemoYard {
    /// Base URL of each node.
    pub urls: Vec<String>,
    /// Token of the nodes and the workers.
    pub token: String,
    /// One node, or the three of a cluster.
    pub nodes: DemoNodes,
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

    /// Starts the worker, for the first time or again.
    pub fn start(&mut self) -> Result<()> {
        self.process.start()
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
        for part in ["masters", "input", "event-log", "logs", "shared"] {
            std::fs::create_dir(dir.path().join(part))?;
        }
        std::fs::write(dir.path().join("shared").join(SHARED_FILE), "a file of the demo\n")?;
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

    /// Prepares every process of the yard.
    pub async fn build(self, plan: &DemoPlan) -> Result<DemoYard> {
        let path = self.dir.path();
        let token = format!("{:032x}", fastrand::u128(..));
        let listen = self.node_addresses(plan)?;
        let mut hosts = Vec::new();
        for (i, last) in [11, 12, 21, 22, 23].into_iter().enumerate() {
            let source = i < 2;
            let dir =
                if source { self.masters() } else { path.join(format!("destination-{last}")) };
            std::fs::create_dir_all(&dir)?;
            hosts.push(prepare_worker(path, last, source, dir, &listen, &token)?);
        }
        let destinations = hosts.split_off(2);
        let settings = self.node_settings(plan, &hosts, &destinations);
        let nodes = match plan.nodes {
            NodeCount::One => self.only_node(listen[0], settings, &token),
            NodeCount::Three => self.cluster_nodes(&listen, &settings, &token).await?,
        };
        let urls = listen.iter().map(|listen| format!("http://{listen}")).collect();
        Ok(DemoYard { urls, token, nodes, sources: hosts, destinations, dir: self.dir })
    }

    /// The addresses of the API of each node.
    fn node_addresses(&self, plan: &DemoPlan) -> Result<Vec<SocketAddr>> {
        match plan.nodes {
            NodeCount::One => {
                Ok(vec![plan.listen.map_or_else(|| free_addr(Ipv4Addr::LOCALHOST), Ok)?])
            }
            NodeCount::Three => {
                let mut addresses: Vec<SocketAddr> =
                    (1..=3).map(|number| free_addr(node_ip(number))).collect::<Result<_>>()?;
                addresses[0] = plan.listen.unwrap_or(addresses[0]);
                Ok(addresses)
            }
        }
    }

    /// The settings that all nodes have.
    fn node_settings(
        &self,
        plan: &DemoPlan,
        sources: &[DemoHost],
        destinations: &[DemoHost],
    ) -> Vec<RoleSetting> {
        vec![
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
        ]
    }

    /// The node that runs alone.
    fn only_node(
        &self,
        listen: SocketAddr,
        mut settings: Vec<RoleSetting>,
        token: &str,
    ) -> DemoNodes {
        let path = self.dir.path();
        settings.push(("listen", listen.to_string()));
        settings.push(("data_dir", toml_text(&path.join("node"))));
        let process = Process::new("node", "node", &settings, token, &path.join("logs"));
        DemoNodes::new(vec![DemoNode::new(1, None, process)], CutLinks::default())
    }

    /// The nodes of a cluster before its foundation. The others reach each of them through its proxy.
    async fn cluster_nodes(
        &self,
        listen: &[SocketAddr],
        settings: &[RoleSetting],
        token: &str,
    ) -> Result<DemoNodes> {
        let path = self.dir.path();
        let links = CutLinks::default();
        let mut nodes = Vec::new();
        for (number, listen) in (1..).zip(listen) {
            let ip = node_ip(number);
            let peers = free_addr(ip)?;
            let proxy = fault_proxy::start(links.clone(), u64::from(number), peers).await?;
            let name = format!("node-{number}");
            let own = [
                ("listen", listen.to_string()),
                ("data_dir", toml_text(&path.join(&name))),
                ("cluster.listen", peers.to_string()),
                ("cluster.address", proxy.to_string()),
                ("share.listen", free_addr(ip)?.to_string()),
                (
                    "share.roots",
                    format!("{{ {SHARED_ROOT} = {} }}", toml_text(&path.join("shared"))),
                ),
            ];
            let settings = [settings, &own].concat();
            let process = Process::new(&name, "node", &settings, token, &path.join("logs"));
            nodes.push(DemoNode::new(u64::from(number), Some(proxy), process));
        }
        Ok(DemoNodes::new(nodes, links))
    }
}

/// A setting of a role and its value.
type RoleSetting = (&'static str, String);

/// The address of a node of a cluster. No outgoing connection takes a port of it while the node is down.
fn node_ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 30 + number)
}

impl DemoYard {
    /// Starts all sources and destinations.
    pub fn start_hosts(&mut self) -> Result<()> {
        self.sources.iter_mut().chain(&mut self.destinations).try_for_each(DemoHost::start)
    }

    /// Fails if a process of the yard has ended unexpectedly.
    pub async fn check(&mut self) -> Result<()> {
        self.nodes.check().await?;
        self.sources.iter_mut().chain(&mut self.destinations).try_for_each(|h| h.process.check())
    }

    /// Directory of the logs.
    pub fn logs(&self) -> PathBuf {
        self.dir.path().join("logs")
    }

    /// Stops every process in order, nodes first, and removes all files.
    pub async fn stop(mut self) -> Result<()> {
        let node = self.nodes.stop().await;
        let hosts = self.sources.iter_mut().chain(&mut self.destinations);
        let hosts = join_all(hosts.map(|host| host.process.stop())).await;
        self.dir.close().context("cannot remove the demo's directory")?;
        hosts.into_iter().fold(node, Result::and)
    }
}

fn prepare_worker(
    path: &Path,
    last: u8,
    source: bool,
    dir: PathBuf,
    nodes: &[SocketAddr],
    token: &str,
) -> Result<DemoHost> {
    let ip = Ipv4Addr::new(127, 0, 0, last);
    let addr = free_addr(ip)?;
    let name = format!("{}-{last}", if source { "source" } else { "destination" });
    let mut settings = vec![
        ("listen", addr.to_string()),
        ("data_listen", free_addr(ip)?.to_string()),
        ("node", quoted(nodes)),
        ("state_dir", toml_text(&path.join(format!("state-{name}")))),
    ];
    if source {
        settings.push(("source_dirs", format!("[{}]", toml_text(&dir))));
    } else {
        settings.push(("base_dir", toml_text(&dir)));
        settings.push(("storage.limit_percent", WHOLE_DISK.to_owned()));
    }
    let process = Process::new(&name, "worker", &settings, token, &path.join("logs"));
    Ok(DemoHost { addr: HostAddr::from(addr), dir, process })
}

/// A port that is free now. If another program takes it first, the process fails to start and the
/// demo ends with its error.
fn free_addr(ip: Ipv4Addr) -> Result<SocketAddr> {
    let listener = TcpListener::bind((ip, 0)).with_context(|| format!("cannot listen on {ip}"))?;
    Ok(listener.local_addr()?)
}

fn addresses(hosts: &[DemoHost]) -> String {
    quoted(hosts.iter().map(|host| host.addr))
}

/// Addresses as a TOML list.
fn quoted(addresses: impl IntoIterator<Item = impl Display>) -> String {
    let quoted: Vec<String> =
        addresses.into_iter().map(|address| format!("\"{address}\"")).collect();
    format!("[{}]", quoted.join(","))
}

/// A path as a TOML string.
fn toml_text(path: &Path) -> String {
    toml::Value::String(path.display().to_string()).to_string()
}
