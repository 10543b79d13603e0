//! Settings: each is declared once, in the crate of its actor, with the macro
//! [`settings!`](crate::settings!).
//!
//! A declaration has the meaning, the type with its unit, the default, and the time when a change takes
//! effect. It also says whether the setting is of the cluster or of one node. The field, its documentation,
//! the parser and the default come from it. So do the commented file of `reelyard config default` and the
//! rules of a reload.
//!
//! **Invariant:** nothing here reads a file, a variable or an argument. The binary does that, and passes
//! the values as [`Gathered`].

mod addresses;
mod declaration;
mod declare;
mod fault;
mod network;
mod raw;
mod reader;
mod units;
mod value;

pub use declaration::{Applicability, Declaration, Presence, Scope, TakesEffect};
pub use declare::{DescribedSetting, Section, SettingsGroup, defaults, describe, join, sections};
pub use fault::{ConfigFault, ConfigFaults, SettingOrigin};
pub use network::{HostAndPort, HostName, InterfaceName};
pub use raw::{Gathered, RawSetting, RawValue};
pub use reader::{EffectiveSetting, SettingsReader};
pub use units::{Fraction, NamePrefix, Percent, is_bare_number};
pub use value::{Read, SettingValue, Wrong, not_a_word, quoted, text, wrong};

/// The values of files, for the types of settings in other crates.
pub use toml;
