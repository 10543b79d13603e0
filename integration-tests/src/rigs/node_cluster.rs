//! Several nodes of one cluster as processes on this machine, formed by the commands of an operator.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::binary::{self, ProgramOutput};
use super::plain_request::{PlainAnswer, get, send};
use super::yard::{RoleProcess, bearer_in, free_addr, wait_for};
use crate::probes::event_reader::EventReader;

/// One node of a cluster: its file, its addresses and its process.
pub struct ClusterNode {
    /// Its configuration.
    pub file: PathBuf,
    /// Its data directory.
    pub data_dir: PathBuf,
    /// Address of its API.
    pub api: SocketAddr,
    /// Address for other nodes.
    pub peers: SocketAddr,
    /// Where the other nodes reach it, if that is another address: a proxy.
    pub public: Option<SocketAddr>,
    /// Further settings and tables of its configuration.
    pub more: String,
    /// Additional environment variables of its process.
    pub environment: Vec<(String, PathBuf)>,
    /// Its process; none before its start.
    pub process: Option<RoleProcess>,
}

/// A directory with the nodes of a test.
pub struct NodeCluster {
    dir: TempDir,
    /// The address of all nodes. Outgoing connections of other tests have ports of 127.0.0.1, and take none of it.
    pub ip: Ipv4Addr,
    /// The addresses that its parts have got. Some of them listen only later.
    taken: BTreeSet<SocketAddr>,
    /// Further settings and tables of each node that is added.
    more: String,
    /// The table with the certificate for all nodes. Empty without one.
    certificate: String,
    /// The nodes, in the order in which they were added.
    pub nodes: Vec<ClusterNode>,
}

impl NodeCluster {
    /// A directory without nodes.
    pub fn new() -> Result<Self> {
        NodeCluster::new_in(&std::env::temp_dir())
    }

    /// A directory without nodes, inside `parent`.
    fn new_in(parent: &Path) -> Result<Self> {
        let octet = || fastrand::u8(1..255);
        let ip = Ipv4Addr::new(127, octet(), octet(), octet());
        Ok(NodeCluster {
            dir: tempfile::tempdir_in(parent)?,
            ip,
            taken: BTreeSet::new(),
            more: String::new(),
            certificate: String::new(),
            nodes: Vec::new(),
        })
    }

    /// Three nodes with mutual TLS between them.
    pub fn three_with_certificates() -> Result<Self> {
        NodeCluster::three_with_certificates_in(&std::env::temp_dir(), "")
    }

    /// The same, with all files inside `parent`, and with these further settings of each node.
    pub fn three_with_certificates_in(parent: &Path, more: &str) -> Result<Self> {
        let mut cluster = NodeCluster::new_in(parent)?;
        cluster.more = more.to_owned();
        let (dir, ip) = (cluster.path().join("certs"), cluster.ip.to_string());
        let dir = dir.display();
        for made in [&["init"][..], &["node", &ip]] {
            let dir = dir.to_string();
            let ran = binary::run(&[&["cluster", "certs"], made, &["--dir", &dir]].concat());
            anyhow::ensure!(ran.code == Some(0), "{}", ran.err);
        }
        cluster.certificate = format!(
            "[cluster.tls]\nca_file = \"{dir}/ca.crt\"\ncert_file = \"{dir}/{ip}.crt\"\n\
             key_file = \"{dir}/{ip}.key\"\n"
        );
        cluster.form()
    }

    /// Three nodes that vote. The first one ran alone, and became the first of three without a restart.
    pub fn three() -> Result<Self> {
        NodeCluster::three_with("")
    }

    /// The same, with these further settings of each node.
    pub fn three_with(more: &str) -> Result<Self> {
        NodeCluster::three_in(&std::env::temp_dir(), more)
    }

    /// The same, with all files inside `parent`.
    pub fn three_in(parent: &Path, more: &str) -> Result<Self> {
        let mut cluster = NodeCluster::new_in(parent)?;
        cluster.more = more.to_owned();
        cluster.form()
    }

    /// One node that others can join, with all files inside `parent`, and with these further settings.
    pub fn founder_in(parent: &Path, more: &str) -> Result<Self> {
        let mut cluster = NodeCluster::new_in(parent)?;
        cluster.more = more.to_owned();
        cluster.found()
    }

    /// Starts a node alone, and lets others join it.
    fn found(mut self) -> Result<Self> {
        self.add(false)?;
        self.start(0)?;
        self.write(0, true)?;
        let reloaded = self.call(0, &["config", "reload"]);
        anyhow::ensure!(reloaded.code == Some(0), "{}", reloaded.err);
        Ok(self)
    }

    /// Starts three nodes, and makes them voters.
    fn form(self) -> Result<Self> {
        let mut cluster = self.found()?;
        for _ in 1..3 {
            let index = cluster.add(true)?;
            cluster.join(index)?;
        }
        cluster.wait(0, "all three vote", |view| {
            let votes = voters(view);
            // A learner gets a vote by itself only after ten seconds. It is refused while it is behind.
            for number in [2, 3].iter().filter(|number| !votes.contains(number)) {
                cluster.call(0, &["cluster", "promote", &number.to_string()]);
            }
            (votes == [1, 2, 3]).then_some(())
        })?;
        Ok(cluster)
    }

    /// Lets every node serve links, and puts the share root `films` on record. Answers the addresses of the links.
    pub fn share_films(&mut self, root: &Path) -> Result<Vec<SocketAddr>> {
        let mut links = Vec::new();
        for index in 0..self.nodes.len() {
            let listen = self.free_addr()?;
            links.push(listen);
            self.nodes[index].more = format!(
                "[share]\nlisten = \"{listen}\"\n[share.roots]\nfilms = \"{}\"\n",
                root.display()
            );
            self.write(index, true)?;
            let reloaded = self.call(index, &["config", "reload"]);
            anyhow::ensure!(reloaded.code == Some(0), "{}", reloaded.err);
        }
        // Each node listens by its own file. The root is of the cluster.
        let file = self.nodes[0].file.display().to_string();
        let applied = self.call(0, &["config", "apply", &file]);
        anyhow::ensure!(applied.code == Some(0), "{}", applied.err);
        let version = applied.out.split_once("version ").map_or("", |(_, rest)| rest);
        let version: String = version.chars().take_while(char::is_ascii_digit).collect();
        for node in &self.nodes {
            let (place, process) = (node.data_dir.join("settings-on-record"), &node.process);
            let process = process.as_ref().context("the node does not run")?;
            wait_for("the root is in force", &[process], || {
                let kept = std::fs::read_to_string(&place).ok()?;
                kept.contains(&format!(", version {version}\n")).then_some(())
            })?;
        }
        Ok(links)
    }

    /// The status and the body of an answer without a token. None while the node does not answer.
    pub fn fetch(&self, index: usize, path: &str) -> Option<(u16, String)> {
        let answer = get(self.nodes[index].api, path, "").ok()?;
        Some((answer.status, answer.body))
    }

    /// Sends one request with the token of the administrator. None while the node does not answer.
    pub fn request(
        &self,
        index: usize,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<PlainAnswer> {
        let bearer = bearer_in(&self.nodes[0].data_dir);
        send(self.nodes[index].api, (method, path), &bearer, body).ok()
    }

    /// The status of an answer to the caller with this secret. None while the node does not answer.
    pub fn status_for(&self, index: usize, secret: &str) -> Option<u16> {
        let bearer = format!("Authorization: Bearer {secret}");
        Some(get(self.nodes[index].api, "/api/v1/whoami", &bearer).ok()?.status)
    }

    /// Posts a form of the console as the administrator. None while the node does not answer.
    pub fn post_form(&self, index: usize, path: &str, fields: &[&str]) -> Option<PlainAnswer> {
        let url = format!("http://{}{path}", self.nodes[index].api);
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-i", "-m", "20", "-H", &bearer_in(&self.nodes[0].data_dir)]);
        for field in fields {
            curl.args(["--data-urlencode", field]);
        }
        PlainAnswer::read(&String::from_utf8_lossy(&curl.arg(&url).output().ok()?.stdout))
    }

    /// Follows the events at this path of a node as the administrator, after the event `last` if it is not empty.
    pub fn follow(&self, index: usize, path: &str, last: &str) -> Result<EventReader> {
        let url = format!("http://{}{path}", self.nodes[index].api);
        let last = format!("Last-Event-ID: {last}");
        let more: &[&str] = if last.ends_with(' ') { &[] } else { &["-H", &last] };
        EventReader::open_url(&url, &bearer_in(&self.nodes[0].data_dir), more)
    }

    /// Whether bytes of a client wait at the API of a node that does not read them, because it is paused.
    pub fn has_waiting_request(&self, index: usize) -> bool {
        has_waiting_bytes(self.nodes[index].api)
    }

    /// The process of a node.
    pub fn process(&self, index: usize) -> Result<&RoleProcess> {
        self.nodes[index].process.as_ref().context("the node does not run")
    }

    /// A port that is free now, and that no part of the cluster has got before.
    pub fn free_addr(&mut self) -> Result<SocketAddr> {
        loop {
            let addr = free_addr(self.ip)?;
            if self.taken.insert(addr) {
                return Ok(addr);
            }
        }
    }

    /// Writes the configuration of a further node, with `cluster.listen` or without.
    pub fn add(&mut self, is_in_cluster: bool) -> Result<usize> {
        let index = self.nodes.len();
        let (file, data_dir) = (
            self.dir.path().join(format!("{index}.toml")),
            self.dir.path().join(index.to_string()),
        );
        let (api, peers) = (self.free_addr()?, self.free_addr()?);
        let node = ClusterNode {
            file,
            data_dir,
            api,
            peers,
            public: None,
            more: self.more.clone(),
            environment: Vec::new(),
            process: None,
        };
        self.nodes.push(node);
        self.write(index, is_in_cluster)?;
        Ok(index)
    }

    /// Writes the configuration of a node again.
    pub fn write(&self, index: usize, is_in_cluster: bool) -> Result<()> {
        let ClusterNode { file, data_dir, api, peers, public, more, .. } = &self.nodes[index];
        let mut text = format!("listen = \"{api}\"\ndata_dir = \"{}\"\n", data_dir.display());
        text.push_str(more);
        if is_in_cluster {
            text.push_str(&format!("[cluster]\nlisten = \"{peers}\"\n"));
            if let Some(public) = public {
                text.push_str(&format!("address = \"{public}\"\n"));
            }
            text.push_str(&self.certificate);
        }
        Ok(std::fs::write(file, text)?)
    }

    /// Runs `reelyard cluster …` with the configuration of a node.
    pub fn prepare(&self, index: usize, arguments: &[&str]) -> ProgramOutput {
        let file = self.nodes[index].file.display().to_string();
        binary::run(&[&["cluster"], arguments, &["--config", &file]].concat())
    }

    /// Starts the process of a node, and does not wait for it.
    pub fn begin(&mut self, index: usize) -> Result<()> {
        let log = self.dir.path().join(format!("{index}.log"));
        let directory = self.working_dir(index);
        std::fs::create_dir_all(&directory)?;
        let node = &mut self.nodes[index];
        let (environment, directory) = (node.environment.clone(), Some(directory));
        let process = RoleProcess::start_in("node", &node.file, log, environment, directory)?;
        node.process = Some(process);
        Ok(())
    }

    /// Starts the process of a node, and waits until its API answers.
    pub fn start(&mut self, index: usize) -> Result<()> {
        self.begin(index)?;
        // A node that is starting refuses this path.
        wait_for("the node is up", &[self.process(index)?], || {
            self.fetch(index, "/guide").filter(|(status, _)| *status == 200).map(drop)
        })
    }

    /// Runs a command against the API of a node, with the token of the first node's administrator.
    pub fn call(&self, index: usize, arguments: &[&str]) -> ProgramOutput {
        let arguments = self.with_access(index, arguments);
        binary::run(&arguments.iter().map(String::as_str).collect::<Vec<&str>>())
    }

    /// The arguments of a command, with the URL of a node and the token of the first node's administrator.
    pub fn with_access(&self, index: usize, arguments: &[&str]) -> Vec<String> {
        let url = format!("http://{}", self.nodes[index].api);
        let token = self.nodes[0].data_dir.join("admin.token").display().to_string();
        let arguments = [arguments, &["--url", &url, "--token-file", &token]].concat();
        arguments.iter().map(|argument| (*argument).to_owned()).collect()
    }

    /// The secret of a new invitation.
    pub fn invite(&self) -> Result<String> {
        self.invite_by(0)
    }

    /// The secret of a new invitation by this node.
    pub fn invite_by(&self, index: usize) -> Result<String> {
        let invited = self.call(index, &["cluster", "invite"]);
        anyhow::ensure!(invited.code == Some(0), "{}", invited.err);
        Ok(invited.out.lines().next().unwrap_or_default().to_owned())
    }

    /// Makes a node a member by the first one, and starts it.
    pub fn join(&mut self, index: usize) -> Result<()> {
        self.admit(index)?;
        self.start(index)
    }

    /// Makes a node a member, and does not start it.
    pub fn admit(&self, index: usize) -> Result<()> {
        let (at, secret) = (self.nodes[0].peers.to_string(), self.invite()?);
        let joined = self.prepare(index, &["join", "--at", &at, "--secret", &secret]);
        anyhow::ensure!(joined.code == Some(0), "{}", joined.err);
        Ok(())
    }

    /// The cluster, as a node shows it. None while the node does not answer.
    pub fn view(&self, index: usize) -> Option<Value> {
        let answer = self.request(index, "GET", "/api/v1/cluster", "")?;
        answer.json().filter(|_| answer.is_success())
    }

    /// Waits until a node shows a cluster that `wanted` accepts.
    pub fn wait<T>(
        &self,
        index: usize,
        what: &str,
        mut wanted: impl FnMut(&Value) -> Option<T>,
    ) -> Result<T> {
        let process = self.nodes[index].process.as_ref().context("the node does not run")?;
        wait_for(what, &[process], || self.view(index).and_then(|view| wanted(&view)))
    }

    /// Makes a node lead. A refused transfer is repeated.
    pub fn make_lead(&self, index: usize) -> Result<()> {
        let number = index as u64 + 1;
        self.wait(index, "the node leads", |view| {
            if view["leader"].as_u64() == Some(number) {
                return Some(());
            }
            self.call(index, &["cluster", "transfer", &number.to_string()]);
            None
        })
    }

    /// The place of the node that leads, as the node at `index` knows it, with its epoch.
    pub fn leader(&self, index: usize) -> Result<(usize, u64)> {
        self.wait(index, "a node leads", |view| {
            let leader = usize::try_from(view["leader"].as_u64()?).ok()?;
            Some((leader - 1, view["epoch"].as_u64()?))
        })
    }

    /// The working directory of a node. So `/proc/self/cwd` is another directory for each node.
    pub fn working_dir(&self, index: usize) -> PathBuf {
        self.dir.path().join(format!("{index}.work"))
    }

    /// The directory of the test.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Whether the system holds bytes for a program that listens at this IPv4 address.
pub fn has_waiting_bytes(listens: SocketAddr) -> bool {
    let SocketAddr::V4(listens) = listens else { return false };
    let ip = u32::from_ne_bytes(listens.ip().octets());
    let local = format!("{ip:08X}:{:04X}", listens.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let waiting = fields.get(4).and_then(|queues| queues.split(':').nth(1));
        let bytes = waiting.and_then(|bytes| u64::from_str_radix(bytes, 16).ok());
        // A listener counts connections there.
        fields.get(1) == Some(&local.as_str())
            && fields.get(3) == Some(&"01")
            && bytes.is_some_and(|bytes| bytes > 0)
    })
}

/// The numbers of the members whose rank is not `learner`.
pub fn voters(view: &Value) -> Vec<u64> {
    let members = view["members"].as_array().into_iter().flatten();
    let voting = members.filter(|member| member["rank"] != "learner");
    voting.filter_map(|member| member["number"].as_u64()).collect()
}
