//! What a worker is run with, and its defaults. What an operator may set is checked where it is
//! read, in the configuration.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use reelyard_core::host::HostAddr;
use reelyard_core::token::SharedToken;
use reelyard_file_server::data_port::DataPortLimits;
use reelyard_worker::box_host::{BoxHostSettings, HookSets};
use reelyard_worker::downloader::fetch::ResumePolicy;
use reelyard_worker::downloader::node_link::NodeUrl;
use reelyard_worker::downloader::partials::KeepFor;
use reelyard_worker::downloader::room::Capacity;
use reelyard_worker::downloader::source_link::SourceTimeouts;
use reelyard_worker::processes::family::LEFTOVER_GRACE;
use reelyard_worker::traffic::gauge::LinkSettings;
use regex::bytes::Regex;

use crate::config::{NodeAddr, WorkerConfig};

/// What a worker is run with.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Where it listens for nodes: its identity in the yard.
    pub listen: HostAddr,
    /// Where it serves files.
    pub data_listen: SocketAddr,
    /// Nodes of one cluster, or one old cfm. None: it takes no orders and only serves.
    pub nodes: Vec<NodeUrl>,
    /// Where copies go. None: it is no destination.
    pub base_dir: Option<PathBuf>,
    /// Directories of masters. None: it is no source.
    pub source_dirs: Vec<PathBuf>,
    /// Where it keeps what must survive a restart. One for each worker.
    pub state_dir: PathBuf,
    /// What nodes and workers of the yard share. None: everything is open, as with cfw.
    pub token: Option<SharedToken>,
    /// No copy is begun while more than this percentage of the disk is used (spec 3.2).
    pub storage_limit_percent: u32,
    /// How many copies are made at once.
    pub copies_at_once: usize,
    /// How often an old cfm is asked for tasks (`downloader_sleep_sec`, spec 3.2).
    pub poll_interval: Duration,
    /// How long a node may hold the question for tasks.
    pub long_poll: Duration,
    /// How long a source may take.
    pub source_timeouts: SourceTimeouts,
    /// What clients of the data port may take.
    pub data_port: DataPortLimits,
    /// What is taken for the disk of the copies.
    pub capacity: Capacity,
    /// What is done about a copy that breaks off.
    pub resume: ResumePolicy,
    /// How long what is left of copies is kept.
    pub keep_for: KeepFor,
    /// The link whose traffic is told.
    pub link: LinkSettings,
    /// What fetches from sources that are old cfws. None: nothing is fetched from them.
    pub external: Option<ExternalSettings>,
    /// What is run for the boxes that it hosts.
    pub boxes: BoxHostSettings,
}

/// How many hooks of boxes are run at a time, if nothing is said.
const HOOKS_AT_ONCE: usize = 16;

/// The program that fetches from old cfws (spec 2.5).
#[derive(Clone, Debug)]
pub struct ExternalSettings {
    /// Its path.
    pub program: PathBuf,
    /// What it says on stderr when it succeeded.
    pub success: Regex,
    /// How long it may take, if its file needs less than half of that at its rate.
    pub timeout: Duration,
    /// How long it may take to end after SIGTERM, before SIGKILL.
    pub grace: Duration,
}

impl ExternalSettings {
    /// The defaults for `program`, which says `success`.
    pub fn new(program: PathBuf, success: Regex) -> Self {
        let timeout = Duration::from_secs(60 * 60);
        ExternalSettings { program, success, timeout, grace: LEFTOVER_GRACE }
    }
}

impl WorkerSettings {
    /// From what is configured to what a worker is run with.
    ///
    /// # Errors
    /// When the node's address is no URL.
    pub fn of(config: &WorkerConfig) -> anyhow::Result<Self> {
        let external = &config.external_downloader;
        let with_program = |program: &PathBuf| ExternalSettings {
            program: program.clone(),
            success: external.success_pattern.regex().clone(),
            timeout: external.timeout,
            grace: external.stop_grace,
        };
        let node = |node: &NodeAddr| node.to_string().parse().context("the setting node");
        let (listen, data_listen) = (config.listen, config.data_addr());
        let defaults = WorkerSettings::new(listen, data_listen, config.state_dir.clone());
        Ok(WorkerSettings {
            nodes: config.node.iter().map(node).collect::<Result<_, _>>()?,
            base_dir: config.base_dir.clone(),
            source_dirs: config.source_dirs.clone(),
            token: config.token.clone(),
            storage_limit_percent: config.storage.limit_percent.get(),
            copies_at_once: config.copies_at_once.get() as usize,
            poll_interval: config.poll_interval,
            capacity: config.capacity,
            keep_for: KeepFor { partial: config.resume_within, unknown: config.stale_after },
            link: LinkSettings {
                interface: config.network.interface.as_ref().map(|name| name.as_str().to_owned()),
                speed: config.network.link_speed,
                sysfs: config.network.sysfs.clone(),
                ..defaults.link
            },
            external: external.program.as_ref().map(with_program),
            boxes: BoxHostSettings {
                hooks: config.r#box.hooks.sets().clone(),
                at_once: config.r#box.hooks_at_once.get() as usize,
            },
            ..defaults
        })
    }

    /// The defaults for a worker at `listen` that serves files at `data_listen` and keeps its state
    /// in `state_dir`. It still needs a `base_dir` or `source_dirs`.
    pub fn new(listen: HostAddr, data_listen: SocketAddr, state_dir: PathBuf) -> Self {
        WorkerSettings {
            listen,
            data_listen,
            nodes: Vec::new(),
            base_dir: None,
            source_dirs: Vec::new(),
            state_dir,
            token: None,
            storage_limit_percent: 90,
            copies_at_once: 4,
            poll_interval: Duration::from_secs(5),
            long_poll: Duration::from_secs(25),
            source_timeouts: SourceTimeouts::default(),
            data_port: DataPortLimits::default(),
            capacity: Capacity::default(),
            resume: ResumePolicy::default(),
            keep_for: KeepFor::default(),
            link: LinkSettings {
                interface: None,
                speed: None,
                address: others_find(listen, data_listen),
                sysfs: PathBuf::from("/sys"),
            },
            external: None,
            boxes: BoxHostSettings { hooks: HookSets::default(), at_once: HOOKS_AT_ONCE },
        }
    }
}

/// Where others find what is served at `data_listen`: they cannot connect to "any address", for
/// them it is the one that they know the worker by.
pub fn others_find(listen: HostAddr, data_listen: SocketAddr) -> IpAddr {
    if data_listen.ip().is_unspecified() { listen.ip() } else { data_listen.ip() }
}
