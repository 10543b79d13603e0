//! Settings of a worker with their defaults. Values from an operator are checked when the
//! configuration is read.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use reelyard_core::host::HostAddr;
use reelyard_core::token::SharedToken;
use reelyard_file_server::data_port::DataPortLimits;
use reelyard_worker::box_host::{BoxHostSettings, HookSets};
use reelyard_worker::downloader::disk::room::Capacity;
use reelyard_worker::downloader::fetching::fetch::ResumePolicy;
use reelyard_worker::downloader::fetching::partials::KeepFor;
use reelyard_worker::downloader::fetching::source_link::SourceTimeouts;
use reelyard_worker::downloader::managers::node_link::NodeUrl;
use reelyard_worker::processes::family::LEFTOVER_GRACE;
use reelyard_worker::traffic::gauge::LinkSettings;
use regex::bytes::Regex;

use crate::config::{NodeAddr, WorkerConfig};

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Address of the API for nodes, and identity in the yard.
    pub listen: HostAddr,
    /// Address where it serves files.
    pub data_listen: SocketAddr,
    /// Nodes of one cluster, or one old cfm. Empty: it only serves.
    pub nodes: Vec<NodeUrl>,
    /// Directory of the copies. None: it is not a destination.
    pub base_dir: Option<PathBuf>,
    /// Directories of masters. Empty: it is not a source.
    pub source_dirs: Vec<PathBuf>,
    /// Directory of its durable state; each worker needs its own.
    pub state_dir: PathBuf,
    /// Token that nodes and workers of the yard share. None: all calls are open, as with cfw.
    pub token: Option<SharedToken>,
    /// No copy starts while more than this percentage of the disk is used.
    pub storage_limit_percent: u32,
    /// Largest number of concurrent copies.
    pub copies_at_once: usize,
    /// Interval of polls at an old cfm (`downloader_sleep_sec`).
    pub poll_interval: Duration,
    /// Longest wait of a poll at a node.
    pub long_poll: Duration,
    /// Time limits for sources.
    pub source_timeouts: SourceTimeouts,
    /// Limits for clients of the data port.
    pub data_port: DataPortLimits,
    /// The disk size that counts as the disk of the copies.
    pub capacity: Capacity,
    /// Rules for a copy that was interrupted.
    pub resume: ResumePolicy,
    /// How long remains of copies are kept.
    pub keep_for: KeepFor,
    /// The network link whose load is reported.
    pub link: LinkSettings,
    /// Program that fetches from old cfws. None: nothing is fetched from them.
    pub external: Option<ExternalSettings>,
    /// Hooks of the hosted boxes.
    pub boxes: BoxHostSettings,
}

/// Default number of concurrent hooks of boxes.
const HOOKS_AT_ONCE: usize = 16;

/// The program that fetches from old cfws.
#[derive(Clone, Debug)]
pub struct ExternalSettings {
    /// Absolute path of the executable.
    pub program: PathBuf,
    /// Pattern that its stderr matches after success.
    pub success: Regex,
    /// Time limit. A file gets at least twice the time that it needs at its rate.
    pub timeout: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
}

impl ExternalSettings {
    /// Defaults for `program`, whose stderr matches `success`.
    pub fn new(program: PathBuf, success: Regex) -> Self {
        let timeout = Duration::from_secs(60 * 60);
        ExternalSettings { program, success, timeout, grace: LEFTOVER_GRACE }
    }
}

impl WorkerSettings {
    /// Derives the settings from the configuration.
    ///
    /// # Errors
    ///
    /// The address of the node is not a valid URL.
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

    /// Defaults for a worker at `listen` that serves files at `data_listen` and keeps its state in
    /// `state_dir`. It still needs a `base_dir` or `source_dirs`.
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

/// The address at which other hosts reach `data_listen`. An unspecified address cannot be reached,
/// so this is then the address of `listen`.
pub fn others_find(listen: HostAddr, data_listen: SocketAddr) -> IpAddr {
    if data_listen.ip().is_unspecified() { listen.ip() } else { data_listen.ip() }
}
