//! Reloads the configuration of a running role. Some settings change at once, and settings that
//! need a restart are named. An invalid configuration is refused as a whole.

use crate::config::{
    self, ConfigFaults, Difference, EffectiveSetting, Layers, RoleConfig, differences,
};

/// A configuration with its sources.
pub struct LoadedConfig<R> {
    /// The parsed configuration.
    pub config: R,
    /// Each setting with its origin.
    pub effective: Vec<EffectiveSetting>,
    /// The sources, to read them again.
    pub layers: Layers,
}

impl<R: RoleConfig> LoadedConfig<R> {
    /// Reads the configuration of a role.
    pub fn read(layers: Layers) -> Result<Self, ConfigFaults> {
        let (config, effective) = config::load::<R>(&layers)?;
        Ok(LoadedConfig { config, effective, layers })
    }

    /// Logs a warning for each old name of a setting, and for each secret file that others can
    /// read.
    pub fn warn_of_doubts(&self) {
        config::reading::renamed::warnings(&self.effective)
            .iter()
            .for_each(|what| tracing::warn!("{what}"));
        config::exposed(&self.effective).iter().for_each(|what| tracing::warn!("{what}"));
    }
}

/// The settings of a role that change at once: keys, and groups with a trailing dot. All others
/// need a restart.
#[derive(Clone, Copy, Debug)]
pub struct HotReloadKeys(pub &'static [&'static str]);

impl HotReloadKeys {
    /// Whether this setting changes at once.
    pub fn has(self, key: &str) -> bool {
        self.0.iter().any(|entry| is_of(key, entry))
    }

    /// Updates the shown settings `running` after `new` was read. Settings that need a restart keep
    /// their values.
    pub fn keep_the_rest(
        self,
        running: &mut Vec<EffectiveSetting>,
        mut new: Vec<EffectiveSetting>,
    ) {
        for setting in new.iter_mut().filter(|setting| !self.has(&setting.key)) {
            if let Some(old) = running.iter().find(|old| old.key == setting.key) {
                *setting = old.clone();
            }
        }
        *running = new;
    }
}

/// Whether a setting is `entry`, or belongs to the group `entry` with a trailing dot.
fn is_of(key: &str, entry: &str) -> bool {
    key == entry || entry.ends_with('.') && key.starts_with(entry)
}

/// The changes of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Changes that were applied.
    pub applied: Vec<Difference>,
    /// Changes that need a restart of the process.
    pub needs_restart: Vec<Difference>,
}

impl Reloaded {
    /// The changes from `before` to `after`, as settings are shown.
    pub fn between<R: RoleConfig>(
        (before, running): (&R, &[EffectiveSetting]),
        (after, effective): (&R, &[EffectiveSetting]),
        at_once: HotReloadKeys,
    ) -> Self {
        let mut all = differences(running, effective);
        let (token, _) = before.token();
        let (new_token, key) = after.token();
        if token != new_token {
            all.retain(|difference| difference.key != key);
            all.push(Difference::of_secret(key));
        }
        for key in before.differs_unseen(after) {
            if all.iter().all(|difference| difference.key != key) {
                all.push(Difference::of_secret(key));
            }
        }
        let (applied, needs_restart) = all.into_iter().partition(|one| at_once.has(&one.key));
        Reloaded { applied, needs_restart }
    }

    /// Logs one line per changed setting.
    pub fn log(&self) {
        for difference in &self.applied {
            tracing::info!("setting changed: {difference}");
        }
        for difference in &self.needs_restart {
            tracing::warn!("needs a restart: {difference}");
        }
        if *self == Reloaded::default() {
            tracing::info!("the configuration was reloaded: no changes");
        }
    }
}

/// Why a reload was refused. The running configuration stays in use.
#[derive(Debug, thiserror::Error)]
pub enum ReloadRefused {
    /// The new configuration has faults.
    #[error(transparent)]
    Faults(#[from] ConfigFaults),
    /// A file or address in it cannot be used.
    #[error("the configuration cannot be used: {0:#}")]
    Unusable(#[from] anyhow::Error),
}

impl ReloadRefused {
    /// Logs the refusal as an error.
    pub fn log(&self) {
        tracing::error!("cannot reload, the running configuration stays in use: {self:#}");
    }
}

/// Reads the configuration of a role again, off the threads of its actors.
pub async fn read_again<R>(layers: Layers) -> Result<LoadedConfig<R>, ReloadRefused>
where
    R: RoleConfig + Send + 'static,
{
    let read = tokio::task::spawn_blocking(move || LoadedConfig::read(layers)).await;
    let configured = read.map_err(anyhow::Error::from)??;
    configured.warn_of_doubts();
    Ok(configured)
}

/// Checks that each setting of a role is in exactly one of the two lists.
#[cfg(test)]
pub(crate) fn assert_each_is_decided(
    settings: &[EffectiveSetting],
    at_once: HotReloadKeys,
    with_restart: &[&'static str],
    file: &str,
) {
    for EffectiveSetting { key, .. } in settings {
        let entries = with_restart.iter().chain(at_once.0);
        let of: Vec<_> = entries.filter(|entry| is_of(key, entry)).collect();
        assert_eq!(of.len(), 1, "{key} is of {of:?}: decide in {file}");
    }
}
