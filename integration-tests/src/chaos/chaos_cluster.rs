//! The three nodes of a round, each behind proxies, with a yard of two hosts, and how faults reach them.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use reelyard::demo::cluster::fault_proxy::{self, CutLinks};
use tokio::runtime::Handle;

use super::faults::clock_step::SteppedClocks;
use super::faults::full_disk::FillableDisk;
use super::histories::leases::{BOXES, POOL};
use super::slow_links::{SlowLinks, SlowProxy};
use crate::probes::waiting::{PATIENCE, pause_after};
use crate::rigs::node_cluster::{NodeCluster, voters};
use crate::rigs::yard::{ProcessYard, RoleProcess, wait_for};

/// One of the three nodes that stay. It keeps its place when it gets another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePlace(pub usize);

impl NodePlace {
    /// All places.
    pub const ALL: [NodePlace; 3] = [NodePlace(0), NodePlace(1), NodePlace(2)];

    /// The node with the token of the administrator, which the clients use.
    pub const FIRST: NodePlace = NodePlace(0);

    /// The two others.
    pub fn others(self) -> [NodePlace; 2] {
        [NodePlace((self.0 + 1) % 3), NodePlace((self.0 + 2) % 3)]
    }
}

impl fmt::Display for NodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = ["a", "b", "c"].get(self.0).copied().unwrap_or("?");
        write!(f, "node {letter}")
    }
}

/// Three voters, each behind proxies, and two hosts.
pub struct ChaosCluster {
    // The disk is unmounted first: its processes may still have files open there.
    /// The disk of one node, if a disk can be mounted here.
    pub disk: Option<FillableDisk>,
    /// The clocks of the nodes, if they can be moved here.
    pub clocks: Option<SteppedClocks>,
    /// The processes.
    pub nodes: NodeCluster,
    /// The directions that are cut, by the numbers of the members.
    pub cut_links: CutLinks,
    /// The delay of all links.
    pub slow_links: SlowLinks,
    /// The masters, the ranking, and the copies.
    pub yard: ProcessYard,
    /// The addresses of the links of each node.
    pub links: Vec<SocketAddr>,
    /// How often the members were changed during a fault.
    pub member_changes: u64,
    proxies: Vec<SlowProxy>,
    numbers: [u64; 3],
    workers: Vec<RoleProcess>,
    runtime: Handle,
}

impl ChaosCluster {
    /// Three voters with a pool, a shared file, a webhook at `hook`, and two hosts.
    ///
    /// # Errors
    /// A command or a process failed.
    pub fn form(runtime: &Handle, hook: SocketAddr) -> Result<Self> {
        let mut cluster = ChaosCluster {
            disk: None,
            clocks: None,
            nodes: NodeCluster::new()?,
            cut_links: CutLinks::default(),
            slow_links: SlowLinks::default(),
            yard: ProcessYard::new(1, 1)?,
            links: Vec::new(),
            member_changes: 0,
            proxies: Vec::new(),
            numbers: [1, 2, 3],
            workers: Vec::new(),
            runtime: runtime.clone(),
        };
        cluster.yard.master(SHARED_FILE.as_bytes(), 1000)?;
        cluster.yard.grade(&[SHARED_FILE.as_bytes()])?;
        cluster.clocks = SteppedClocks::find(cluster.nodes.path());
        for place in NodePlace::ALL {
            cluster.add(place, hook)?;
        }
        let begun = cluster.nodes.prepare(0, &["init"]);
        ensure!(begun.code == Some(0), "{}", begun.err);
        cluster.lead_connections_to(NodePlace::FIRST)?;
        cluster.nodes.start(0)?;
        for place in NodePlace::FIRST.others() {
            cluster.join(place, NodePlace::FIRST)?;
        }
        cluster.wait_for_voters(NodePlace::FIRST)?;
        let nodes: Vec<String> =
            cluster.nodes.nodes.iter().map(|node| format!("\"{}\"", node.api)).collect();
        let nodes = format!("[{}]", nodes.join(","));
        cluster.workers.push(cluster.yard.start_source(0, &[("node", &nodes)])?);
        cluster.workers.push(cluster.yard.start_destination(0, &[("node", &nodes)])?);
        Ok(cluster)
    }

    /// Writes the file of a node, and prepares its proxy, its clock and its disk.
    fn add(&mut self, place: NodePlace, hook: SocketAddr) -> Result<()> {
        let index = self.nodes.add(true)?;
        let listen = self.nodes.free_addr()?;
        self.links.push(listen);
        let proxy = self.runtime.block_on(SlowProxy::start(self.slow_links.clone()))?;
        self.nodes.nodes[index].public = Some(proxy.listens);
        self.proxies.push(proxy);
        self.nodes.nodes[index].more = settings(&self.yard, listen, hook);
        if let Some(clocks) = &self.clocks {
            self.nodes.nodes[index].environment = clocks.environment(place)?;
        }
        if place == FillableDisk::PLACE {
            self.disk = FillableDisk::mount(&self.nodes.nodes[index].data_dir)?;
        }
        self.nodes.write(index, true)
    }

    /// The number of a node.
    pub fn number(&self, place: NodePlace) -> u64 {
        self.numbers[place.0]
    }

    /// The numbers of all nodes that stay.
    pub fn numbers(&self) -> [u64; 3] {
        self.numbers
    }

    /// The place with this number.
    pub fn place_of(&self, number: u64) -> Option<NodePlace> {
        NodePlace::ALL.into_iter().find(|place| self.number(*place) == number)
    }

    /// The place that leads, as the first node with an answer knows it.
    pub fn leader(&self) -> Option<NodePlace> {
        let views = NodePlace::ALL.into_iter().find_map(|place| self.nodes.view(place.0));
        self.place_of(views?["leader"].as_u64()?)
    }

    /// Makes a node lead. A refused transfer is repeated: the node may be behind at first.
    ///
    /// # Errors
    /// The node does not lead in time.
    pub fn make_lead(&self, place: NodePlace) -> Result<()> {
        let (began, number) = (Instant::now(), self.number(place).to_string());
        while self.leader() != Some(place) {
            let moved = self.nodes.call(place.0, &["cluster", "transfer", &number]);
            ensure!(began.elapsed() < PATIENCE, "{place} does not lead: {}", moved.err);
        }
        Ok(())
    }

    /// Waits until another node than `place` leads, has read its inputs and is ready.
    ///
    /// # Errors
    /// None does in time.
    pub fn wait_for_ready_leader(&self, place: NodePlace) -> Result<()> {
        let began = Instant::now();
        loop {
            if let Some(leader) = self.leader().filter(|leader| *leader != place)
                && self.nodes.fetch(leader.0, "/readyz").is_some_and(|(status, _)| status == 200)
            {
                return Ok(());
            }
            ensure!(began.elapsed() < PATIENCE, "no other node than {place} leads and is ready");
            std::thread::sleep(pause_after(began));
        }
    }

    /// Makes the node at `place` a member by the leader that `by` knows, and starts it.
    pub fn join(&mut self, place: NodePlace, by: NodePlace) -> Result<()> {
        self.numbers[place.0] = self.join_as(place.0, by)?;
        self.lead_connections_to(place)?;
        self.nodes.start(place.0)
    }

    /// Makes a node a member by the leader that `by` knows, and answers its number.
    ///
    /// # Errors
    /// The leader does not admit it.
    pub fn join_as(&self, index: usize, by: NodePlace) -> Result<u64> {
        let leader = self.nodes.wait(by.0, "a node leads", |view| {
            view["leader"].as_u64().and_then(|number| self.place_of(number))
        })?;
        let at = self.nodes.nodes[leader.0].peers.to_string();
        let secret = self.nodes.invite_by(by.0)?;
        let joined = self.nodes.prepare(index, &["join", "--at", &at, "--secret", &secret]);
        ensure!(joined.code == Some(0), "{}", joined.err);
        let number = joined.out.split("this is node ").nth(1).and_then(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        number.with_context(|| format!("no number: {}", joined.out))
    }

    /// The members were changed during a fault.
    pub fn changed_members(&mut self, what: &str) {
        self.member_changes += 1;
        println!("  meanwhile {what}");
    }

    /// Lets the proxy of a node pass connections to its present number.
    fn lead_connections_to(&self, place: NodePlace) -> Result<()> {
        let peers = self.nodes.nodes[place.0].peers;
        let started = fault_proxy::start(self.cut_links.clone(), self.number(place), peers);
        self.proxies[place.0].pass_to(self.runtime.block_on(started)?);
        Ok(())
    }

    /// Lets nobody call a node, or lets it be called again. Its own calls arrive.
    pub fn close(&self, place: NodePlace, is_closed: bool) {
        self.proxies[place.0].close(is_closed);
    }

    /// Kills a node, and removes the memory that its clock leaves.
    pub fn kill(&mut self, place: NodePlace) -> Result<()> {
        let process = self.nodes.nodes[place.0].process.as_mut();
        let process = process.context("the node does not run")?;
        let number = process.process();
        process.kill();
        number.into_iter().for_each(SteppedClocks::clear);
        Ok(())
    }

    /// Starts a node that was killed.
    pub fn start(&mut self, place: NodePlace) -> Result<()> {
        self.nodes.start(place.0)
    }

    /// Stops a node with SIGSTOP, or lets it go on.
    pub fn pause(&self, place: NodePlace, is_paused: bool) -> Result<()> {
        let process = self.nodes.process(place.0)?;
        if is_paused { process.pause() } else { process.wake() }
    }

    /// The data directory of a node.
    pub fn data_dir(&self, place: NodePlace) -> &Path {
        &self.nodes.nodes[place.0].data_dir
    }

    /// The first process that ended by itself, with the end of its log.
    pub fn ended(&self) -> Option<String> {
        let nodes = NodePlace::ALL.into_iter().filter_map(|place| {
            Some((place.to_string(), self.nodes.nodes[place.0].process.as_ref()?))
        });
        let workers = self.workers.iter().map(|worker| ("a worker".to_owned(), worker));
        let (name, process) = nodes.chain(workers).find(|(_, process)| process.has_ended())?;
        let log = process.log_text();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        Some(format!("{name} ended by itself:\n{}", lines.join("\n")))
    }

    /// Waits until these nodes, and no others, are members that vote.
    pub fn wait_for_voters(&self, by: NodePlace) -> Result<()> {
        let mut wanted = self.numbers;
        wanted.sort_unstable();
        let process = self.nodes.process(by.0)?;
        wait_for("exactly the nodes that stay vote", &[process], || {
            let mut present = voters(&self.nodes.view(by.0)?);
            present.sort_unstable();
            for number in wanted.iter().filter(|number| !present.contains(number)) {
                self.nodes.call(by.0, &["cluster", "promote", &number.to_string()]);
            }
            (present == wanted).then_some(())
        })
    }

    /// Copies the logs of all processes to `dir`.
    ///
    /// # Errors
    /// The directory cannot be made, or a log cannot be copied.
    pub fn copy_logs(&self, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir)?;
        for from in [self.nodes.path(), self.yard.dir.path()] {
            for entry in std::fs::read_dir(from)? {
                let path = entry?.path();
                if let (Some("log"), Some(name)) =
                    (path.extension().and_then(|end| end.to_str()), path.file_name())
                {
                    std::fs::copy(&path, dir.join(name))?;
                }
            }
        }
        Ok(())
    }

    /// The file with the token of the administrator.
    pub fn token_file(&self) -> PathBuf {
        self.data_dir(NodePlace::FIRST).join("admin.token")
    }
}

impl Drop for ChaosCluster {
    fn drop(&mut self) {
        for place in NodePlace::ALL {
            // A node that does not run leaves nothing.
            let _ = self.kill(place);
        }
    }
}

/// The file that all shares give out.
const SHARED_FILE: &str = "shared.mpg";

/// The path of that file for a new share.
pub const SHARED_PATH: &str = "masters/shared.mpg";

/// The settings of a node besides its addresses and its cluster.
fn settings(yard: &ProcessYard, links: SocketAddr, hook: SocketAddr) -> String {
    format!(
        "{yard}[share]\nlisten = \"{links}\"\nroots = {{ masters = \"{masters}\" }}\n\
         notice_before = \"1s\"\nunknown_link_burst = 100000\n\
         [share.webhooks.chaos]\nurl = \"http://{hook}/\"\nsecret = \"chaos-0123456789abcdef\"\n\
         timeout = \"2s\"\n[box.pools.{POOL}]\nsize = {BOXES}\n",
        yard = yard.node_file(),
        masters = yard.path("masters").display(),
    )
}
