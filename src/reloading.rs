//! Reading the configuration of a role again while it runs: what can change at once does, what takes
//! a restart is named, and an invalid one is refused whole.

use crate::config::{
    self, ConfigFaults, Difference, EffectiveSetting, Layers, RoleConfig, differences,
};

/// A configuration, and where it was read.
pub struct LoadedConfig<R> {
    /// The configuration.
    pub config: R,
    /// Each setting and where it comes from.
    pub effective: Vec<EffectiveSetting>,
    /// Where all of it was read, to be read again.
    pub layers: Layers,
}

impl<R: RoleConfig> LoadedConfig<R> {
    /// Reads the configuration of a role.
    pub fn read(layers: Layers) -> Result<Self, ConfigFaults> {
        let (config, effective) = config::load::<R>(&layers)?;
        Ok(LoadedConfig { config, effective, layers })
    }

    /// Logs a warning for each old name of a setting, and for each secret file that others can read.
    pub fn warn_of_doubts(&self) {
        config::renamed::warnings(&self.effective).iter().for_each(|what| tracing::warn!("{what}"));
        config::exposed(&self.effective).iter().for_each(|what| tracing::warn!("{what}"));
    }
}

/// The settings of a role that change at once: keys, and groups with their dot. The others, also
/// those that nobody decided about, take a restart.
#[derive(Clone, Copy, Debug)]
pub struct HotReloadKeys(pub &'static [&'static str]);

impl HotReloadKeys {
    /// Whether this setting changes at once.
    pub fn has(self, key: &str) -> bool {
        self.0.iter().any(|entry| is_of(key, entry))
    }

    /// What is shown of `running` once `new` was read: what takes a restart is as it was.
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

/// Whether a setting is the one of that key, or in the group of that name with its dot.
fn is_of(key: &str, entry: &str) -> bool {
    key == entry || entry.ends_with('.') && key.starts_with(entry)
}

/// What another configuration changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// What is in force from now on.
    pub applied: Vec<Difference>,
    /// What stays as it was until the role is started anew.
    pub needs_restart: Vec<Difference>,
}

impl Reloaded {
    /// What `after` changes of `before`, by what each is as settings are shown.
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

    /// Logs it, a line for each setting.
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

/// Why the configuration in force stays.
#[derive(Debug, thiserror::Error)]
pub enum ReloadRefused {
    /// The new one is wrong.
    #[error(transparent)]
    Faults(#[from] ConfigFaults),
    /// Something in it cannot be used.
    #[error("the configuration cannot be used: {0:#}")]
    Unusable(#[from] anyhow::Error),
}

impl ReloadRefused {
    /// Logs it.
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
