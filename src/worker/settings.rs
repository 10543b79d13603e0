//! Derives the settings of a worker from its configuration. Values from an operator are checked when the
//! configuration is read.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use reelyard_access::secrets::TokenHash;
use reelyard_core::host::HostAddr;
use reelyard_core::token::SharedToken;
use reelyard_file_server::certificate::Certificate;
use reelyard_file_server::data_port::DataPortLimits;
use reelyard_protocol::tls::{AuthorityFile, TrustedAuthorities};
use reelyard_worker::box_host::BoxHostSettings;
use reelyard_worker::downloader::disk::room::Capacity;
use reelyard_worker::downloader::fetching::fetch::ResumePolicy;
use reelyard_worker::downloader::fetching::partials::KeepFor;
use reelyard_worker::downloader::fetching::source_link::SourceTimeouts;
use reelyard_worker::downloader::managers::node_link::NodeUrl;
use reelyard_worker::downloader::settings::ExternalDownloaderConfig;
use reelyard_worker::traffic::gauge::LinkSettings;
use regex::bytes::Regex;

use crate::config::{NodeAddr, NodeAddrs, WorkerConfig};

/// The checked configuration of a worker.
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
    /// The authorities of nodes and sources with TLS.
    pub authorities: TrustedAuthorities,
    /// Certificate of `listen`. None: no TLS.
    pub certificate: Option<Certificate>,
    /// Certificate of the data port. None: no TLS.
    pub data_certificate: Option<Certificate>,
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
    /// The settings of an operator; none without a program.
    pub fn of(config: &ExternalDownloaderConfig) -> Option<Self> {
        Some(ExternalSettings {
            program: config.program.clone()?,
            success: config.success_pattern.regex().clone(),
            timeout: config.timeout,
            grace: config.stop_grace,
        })
    }
}

/// Longest wait of a poll at a node.
const LONG_POLL: Duration = Duration::from_secs(25);

impl WorkerSettings {
    /// Derives the settings from the configuration.
    ///
    /// # Errors
    ///
    /// The address of the node is not a valid URL.
    pub fn of(config: &WorkerConfig) -> anyhow::Result<Self> {
        let node = |node: &NodeAddr| node.to_string().parse().context("the setting node");
        let nodes =
            config.node.iter().flat_map(NodeAddrs::iter).map(node).collect::<Result<_, _>>()?;
        Ok(WorkerSettings { nodes, ..WorkerSettings::without_node(config) })
    }

    /// Defaults for a worker at `listen` that serves files at `data_listen` and keeps its state in
    /// `state_dir`. It still needs a `base_dir` or `source_dirs`.
    pub fn new(listen: HostAddr, data_listen: SocketAddr, state_dir: PathBuf) -> Self {
        let data_listen = Some(data_listen);
        WorkerSettings::without_node(&WorkerConfig {
            data_listen,
            state_dir,
            ..WorkerConfig::at(listen)
        })
    }

    fn without_node(config: &WorkerConfig) -> Self {
        let data_listen = config.data_addr();
        WorkerSettings {
            listen: config.listen,
            data_listen,
            nodes: Vec::new(),
            base_dir: config.base_dir.clone(),
            source_dirs: config.source_dirs.clone(),
            state_dir: config.state_dir.clone(),
            token: config.token.as_ref().map(signing_token),
            storage_limit_percent: config.storage.limit_percent.get(),
            copies_at_once: config.downloader.copies_at_once.get() as usize,
            poll_interval: config.downloader.poll_interval,
            long_poll: LONG_POLL,
            authorities: AuthorityFile::authorities(config.node_ca_file.as_ref()),
            certificate: config.tls.listener.certificate().cloned(),
            data_certificate: config.tls.data_certificate().cloned(),
            source_timeouts: SourceTimeouts::default(),
            data_port: DataPortLimits::default(),
            capacity: config.downloader.capacity,
            resume: ResumePolicy::default(),
            keep_for: KeepFor::of(&config.downloader),
            link: LinkSettings {
                interface: config.network.interface.as_ref().map(|name| name.as_str().to_owned()),
                speed: config.network.link_speed,
                address: others_find(config.listen, data_listen),
                sysfs: config.network.sysfs.clone(),
            },
            external: ExternalSettings::of(&config.external_downloader),
            boxes: BoxHostSettings::of(&config.r#box),
        }
    }
}

/// The address at which other hosts reach `data_listen`. An unspecified address cannot be reached,
/// so this is then the address of `listen`.
pub fn others_find(listen: HostAddr, data_listen: SocketAddr) -> IpAddr {
    if data_listen.ip().is_unspecified() { listen.ip() } else { data_listen.ip() }
}

/// The secret that signs calls: the key of a worker's own token, or the token that it shares with the node.
fn signing_token(configured: &SharedToken) -> SharedToken {
    let own = TokenHash::of_token(configured.reveal()).ok();
    own.and_then(|hash| hash.signing_key().ok()).unwrap_or_else(|| configured.clone())
}
