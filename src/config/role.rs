//! The trait of a role's configuration.

use reelyard_core::settings::{SettingsGroup, SettingsReader};
use reelyard_core::token::SharedToken;

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

    /// Warnings about settings with a weakness, and how to remove it.
    fn weaknesses(&self) -> Vec<String> {
        Vec::new()
    }

    /// Completes settings that depend on others, and records faults of combinations.
    fn resolve(&mut self, reader: &mut SettingsReader);
}
