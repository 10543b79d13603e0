//! Every setting of the two roles: its meaning, its default, its check.
//!
//! The file is the first layer. The environment (`REELYARD_TASK__TIMEOUT` for `task.timeout`)
//! overrides it, and `--set task.timeout=30m` overrides both. Unknown keys are refused in all
//! three. All faults are reported together, each with file, line and key.
//!
//! A setting is declared once, in the crate of its actor, with the macro `reelyard_core::settings!`. The
//! macro generates the field, its documentation, its default, the commented file of `reelyard config
//! default`, the known keys and the rules of a reload. Here are the settings of a role that no actor has.

mod difference;
mod example;
pub(crate) mod groups;
mod known_keys;
pub mod legacy;
mod node;
mod node_order;
pub mod reading;
mod role;
pub(crate) mod values;
mod worker;

pub use difference::{Difference, Values, differences};
pub use example::example;
pub use groups::share::ShareConfig;
pub use node::{HttpConfig, NodeConfig};
pub use reading::exposed::exposed;
pub use reading::layers::Layers;
pub use reelyard_core::settings::{ConfigFault, ConfigFaults, EffectiveSetting, SettingOrigin};
pub use role::RoleConfig;
pub use values::address::{NodeAddr, NodeAddrs};
pub use worker::WorkerConfig;

use bytesize::ByteSize;
use reelyard_core::settings::{Gathered, SettingValue, SettingsReader};

pub use crate::logging::{LogFilter, LogFormat, LogSettings};

/// Parses a size with its unit, for a command-line argument.
pub fn size_argument(text: &str) -> Result<ByteSize, String> {
    let read = ByteSize::from_toml(&toml::Value::String(text.to_owned()));
    read.map_err(|wrongs| wrongs.into_iter().map(|wrong| wrong.what).collect())
}

/// Loads the settings of a node.
pub fn load_node(layers: &Layers) -> Result<NodeConfig, ConfigFaults> {
    load(layers).map(|(config, _)| config)
}

/// Loads the settings of a role, each with its origin.
pub fn load<R: RoleConfig>(layers: &Layers) -> Result<(R, Vec<EffectiveSetting>), ConfigFaults> {
    resolve(gather::<R>(layers)?)
}

/// Combines the layers of a role, without reading their values.
pub fn gather<R: RoleConfig>(layers: &Layers) -> Result<Gathered, ConfigFaults> {
    layers.gather(&known_keys::KnownKeys::of::<R>())
}

/// Reads the settings of a role from combined layers, each with its origin.
pub fn resolve<R: RoleConfig>(
    gathered: Gathered,
) -> Result<(R, Vec<EffectiveSetting>), ConfigFaults> {
    let mut reader = SettingsReader::new(gathered);
    let mut config = R::read(&mut reader, "");
    config.resolve(&mut reader);
    Ok((config, reader.finish()?))
}
