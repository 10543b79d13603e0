//! Every setting of the two roles: its meaning, its default, its check.
//!
//! A setting comes from the file, is overridden by the environment (`REELYARD_TASK__TIMEOUT` for
//! `task.timeout`), and that by `--set task.timeout=30m`. Unknown keys are refused in all three.
//! Every fault is found and told at once, each with where it was made: file, line and key.
//!
//! A setting is declared once, with the macro `settings!`: from that come the field, its
//! documentation, the commented file that `reelyard config default` prints, and the known keys.

mod address;
mod box_hooks;
mod boxes;
pub(crate) mod declare;
mod difference;
mod example;
mod exposed;
mod fault;
mod file;
mod hooks;
pub mod import;
mod inputs;
mod layers;
mod links;
mod node;
mod node_order;
mod pattern;
pub(crate) mod reader;
pub mod renamed;
mod secret;
mod share;
mod source_dirs;
mod table_entry;
mod tls;
mod token_file;
mod units;
pub(crate) mod value;
mod watch;
mod worker;
mod zone;

pub use address::NodeAddr;
pub use box_hooks::BoxHooks;
pub use declare::{DescribedSetting, Presence};
pub use difference::{Difference, Values, differences};
pub use example::example;
pub use exposed::exposed;
pub use fault::{ConfigFault, ConfigFaults, SettingOrigin};
pub use hooks::{HookConfig, Hooks};
pub use layers::Layers;
pub use links::InterfaceName;
pub use node::{
    BandwidthConfig, CallConfig, CatalogConfig, EventLogConfig, HeartbeatConfig, HostConfig,
    HttpConfig, IgnoreConfig, JournalConfig, NodeConfig, PlacementConfig, StorageConfig,
    TaskConfig,
};
pub use pattern::Pattern;
pub use reader::EffectiveSetting;
pub use share::{PublicUrl, RootDirs, ShareConfig};
pub use tls::{CertificateFile, ShareTlsConfig};
pub use units::{Fraction, NamePrefix, Percent, size_argument};
pub use worker::{
    BoxHostConfig, DiskConfig, ExternalDownloaderConfig, NetworkConfig, WorkerConfig,
};
pub use zone::Zone;

use reelyard_core::token::SharedToken;

use declare::SettingsGroup;
use reader::SettingsReader;

pub use crate::logging::{LogFilter, LogFormat, LogSettings};

/// The configuration of one role, as `reelyard config` handles either.
pub trait RoleConfig: SettingsGroup {
    /// What the role is called on the command line.
    const NAME: &'static str;

    /// The shared token, and the key of the setting that it comes from.
    fn token(&self) -> (Option<&SharedToken>, &'static str);

    /// Settings that are other ones in `after` though they look the same: it is a secret in them
    /// that differs.
    fn differs_unseen(&self, _after: &Self) -> Vec<&'static str> {
        Vec::new()
    }

    /// What is named by the settings and not there now, though that is no fault, in words.
    fn not_there(&self) -> Vec<String> {
        Vec::new()
    }

    /// Looks at the settings together, settles those that depend on others, and tells faults.
    fn settle(&mut self, reader: &mut SettingsReader);
}

/// The settings of a node.
pub fn load_node(layers: &Layers) -> Result<NodeConfig, ConfigFaults> {
    load(layers).map(|(config, _)| config)
}

/// The settings of a worker.
pub fn load_worker(layers: &Layers) -> Result<WorkerConfig, ConfigFaults> {
    load(layers).map(|(config, _)| config)
}

/// The settings of a role, and where each came from.
pub fn load<R: RoleConfig>(layers: &Layers) -> Result<(R, Vec<EffectiveSetting>), ConfigFaults> {
    let mut reader = SettingsReader::new(layers.gather(&declare::KnownKeys::of::<R>())?);
    let mut config = R::read(&mut reader, "");
    config.settle(&mut reader);
    Ok((config, reader.finish()?))
}

/// The settings of a role when nothing is set; what is required stands at its example.
fn defaults<R: SettingsGroup>() -> R {
    R::read(&mut SettingsReader::new(layers::Gathered::default()), "")
}
