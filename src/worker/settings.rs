//! What a worker is run with, its defaults and their check.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use reelyard_actors::downloader::data_port::DataPortLimits;
use reelyard_actors::downloader::node_link::NodeUrl;
use reelyard_actors::downloader::source_link::SourceTimeouts;
use reelyard_actors::host::HostAddr;
use reelyard_actors::token::SharedToken;

/// What a worker is run with.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Where it listens for nodes: its identity in the yard.
    pub listen: HostAddr,
    /// Where it serves files; the port after `listen` if not said.
    pub data_listen: Option<SocketAddr>,
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
}

/// One thing that is wrong with the settings, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {what}")]
pub struct SettingFault {
    /// The setting.
    pub key: &'static str,
    /// What is wrong.
    pub what: String,
}

impl WorkerSettings {
    /// The defaults for a worker at `listen` that keeps its state in `state_dir`. It still needs
    /// a `base_dir` or `source_dirs`.
    pub fn new(listen: HostAddr, state_dir: PathBuf) -> Self {
        WorkerSettings {
            listen,
            data_listen: None,
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
        }
    }

    /// Everything that is wrong with the settings. Looks at the disk.
    pub fn faults(&self) -> Vec<SettingFault> {
        let mut faults = Vec::new();
        let mut fault = |key, what: String| faults.push(SettingFault { key, what });
        if self.base_dir.is_none() && self.source_dirs.is_empty() {
            fault("base_dir", "neither this nor source_dirs is set: nothing to serve".into());
        }
        if let Some(dir) = self.base_dir.as_ref().filter(|dir| !dir.is_dir()) {
            fault("base_dir", format!("{} is no directory", dir.display()));
        }
        for dir in self.source_dirs.iter().filter(|dir| !dir.is_absolute()) {
            fault("source_dirs", format!("{} must be an absolute path", dir.display()));
        }
        if self.storage_limit_percent > 100 {
            fault("storage_limit_percent", "must be at most 100".into());
        }
        if self.copies_at_once == 0 {
            fault("copies_at_once", "must be at least 1".into());
        }
        if self.data_addr() == Some(self.listen.socket()) {
            fault("data_listen", "must be another address than listen".into());
        }
        if self.data_addr().is_none() {
            fault("data_listen", "must be set: there is no port after that of listen".into());
        }
        for (key, time) in [
            ("poll_interval", self.poll_interval),
            ("long_poll", self.long_poll),
            ("source_timeouts.connect", self.source_timeouts.connect),
            ("source_timeouts.silence", self.source_timeouts.silence),
        ] {
            if time.is_zero() {
                fault(key, "must be longer than zero".into());
            }
        }
        faults
    }

    /// Where the data port is to listen.
    pub fn data_addr(&self) -> Option<SocketAddr> {
        let after = || {
            let listen = self.listen.socket();
            Some(SocketAddr::new(listen.ip(), listen.port().checked_add(1)?))
        };
        self.data_listen.or_else(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_listed() {
        let mut settings =
            WorkerSettings::new("127.0.0.1:65535".parse().unwrap(), "/nowhere".into());
        settings.copies_at_once = 0;
        settings.storage_limit_percent = 101;
        let keys: Vec<&str> = settings.faults().iter().map(|fault| fault.key).collect();
        assert_eq!(keys, ["base_dir", "storage_limit_percent", "copies_at_once", "data_listen"]);
    }

    #[test]
    fn the_data_port_is_the_port_after() {
        let mut settings =
            WorkerSettings::new("127.0.0.1:8888".parse().unwrap(), "/nowhere".into());
        settings.source_dirs = vec!["/data".into()];
        assert_eq!(settings.faults(), []);
        assert_eq!(settings.data_addr(), Some("127.0.0.1:8889".parse().unwrap()));
    }
}
