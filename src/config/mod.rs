//! Every setting of the two roles: its meaning, its default, its check.
//!
//! The file is the first layer. The environment (`REELYARD_TASK__TIMEOUT` for `task.timeout`)
//! overrides it, and `--set task.timeout=30m` overrides both. Unknown keys are refused in all
//! three. All faults are reported together, each with file, line and key.
//!
//! A setting is declared once, with the macro `settings!`. The macro generates the field, its
//! documentation, the commented file of `reelyard config default`, and the known keys.

pub(crate) mod declare;
mod difference;
mod example;
pub(crate) mod groups;
pub mod import;
mod node;
mod node_order;
pub mod reading;
pub(crate) mod values;
mod worker;

use crate::config::reading::layers;
pub use declare::{DescribedSetting, Presence};
pub use difference::{Difference, Values, differences};
pub use example::example;
pub use groups::box_hooks::BoxHooks;
pub use groups::hooks::{HookConfig, Hooks};
pub use groups::links::InterfaceName;
pub use groups::share::{PublicUrl, RootDirs, ShareConfig};
pub use groups::tls::{CertificateFile, ShareTlsConfig};
pub use node::{
    BandwidthConfig, CallConfig, CatalogConfig, EventLogConfig, HeartbeatConfig, HostConfig,
    HttpConfig, IgnoreConfig, JournalConfig, NodeConfig, PlacementConfig, StorageConfig,
    TaskConfig,
};
pub use reading::exposed::exposed;
pub use reading::fault::{ConfigFault, ConfigFaults, SettingOrigin};
pub use reading::layers::Layers;
pub use reading::reader::EffectiveSetting;
pub use values::address::NodeAddr;
pub use values::pattern::Pattern;
pub use values::units::{Fraction, NamePrefix, Percent, size_argument};
pub use values::zone::Zone;
pub use worker::{
    BoxHostConfig, DiskConfig, ExternalDownloaderConfig, NetworkConfig, WorkerConfig,
};

use reelyard_core::token::SharedToken;

use declare::SettingsGroup;
use reading::reader::SettingsReader;

pub use crate::logging::{LogFilter, LogFormat, LogSettings};

/// The configuration of a role, as `reelyard config` uses it.
pub trait RoleConfig: SettingsGroup {
    /// Name of the role on the command line.
    const NAME: &'static str;

    /// The shared token, and the key of the setting that it comes from.
    fn token(&self) -> (Option<&SharedToken>, &'static str);

    /// Settings that differ in `after` although they look equal, because a secret in them differs.
    fn differs_unseen(&self, _after: &Self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Warnings about configured files and directories that do not exist now. This is not a fault.
    fn not_there(&self) -> Vec<String> {
        Vec::new()
    }

    /// Completes settings that depend on others, and records faults of combinations.
    fn settle(&mut self, reader: &mut SettingsReader);
}

/// Loads the settings of a node.
pub fn load_node(layers: &Layers) -> Result<NodeConfig, ConfigFaults> {
    load(layers).map(|(config, _)| config)
}

/// Loads the settings of a worker.
pub fn load_worker(layers: &Layers) -> Result<WorkerConfig, ConfigFaults> {
    load(layers).map(|(config, _)| config)
}

/// Loads the settings of a role, each with its origin.
pub fn load<R: RoleConfig>(layers: &Layers) -> Result<(R, Vec<EffectiveSetting>), ConfigFaults> {
    let mut reader = SettingsReader::new(layers.gather(&declare::KnownKeys::of::<R>())?);
    let mut config = R::read(&mut reader, "");
    config.settle(&mut reader);
    Ok((config, reader.finish()?))
}

/// The default settings of a role; required settings have their examples.
fn defaults<R: SettingsGroup>() -> R {
    R::read(&mut SettingsReader::new(layers::Gathered::default()), "")
}
