//! Reloads the configuration of a running role. Some settings change at once, and settings that
//! need a restart are named. An invalid configuration is refused as a whole.

use reelyard_core::settings::{Gathered, TakesEffect};

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
    /// The settings as the sources set them.
    pub given: Gathered,
}

impl<R: RoleConfig> LoadedConfig<R> {
    /// Reads the configuration of a role.
    pub fn read(layers: Layers) -> Result<Self, ConfigFaults> {
        let given = config::gather::<R>(&layers)?;
        let (config, effective) = config::resolve::<R>(given.clone())?;
        Ok(LoadedConfig { config, effective, layers, given })
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

/// Updates the shown settings `running` after `new` was read. Settings that need a restart keep their
/// values.
pub fn keep_the_rest(running: &mut Vec<EffectiveSetting>, mut new: Vec<EffectiveSetting>) {
    for setting in new.iter_mut().filter(|setting| needs_restart(setting)) {
        if let Some(old) = running.iter().find(|old| old.key == setting.key) {
            *setting = old.clone();
        }
    }
    *running = new;
}

fn needs_restart(setting: &EffectiveSetting) -> bool {
    setting.applies.effect == TakesEffect::Restart
}

/// The changes of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Changes that were applied.
    pub applied: Vec<Difference>,
    /// Changes that need a restart of the process.
    pub needs_restart: Vec<Difference>,
    /// Settings of the cluster that the configuration sets to other values than those on record. They have no
    /// effect.
    pub not_as_recorded: Vec<Difference>,
}

impl Reloaded {
    /// The changes from `before` to `after`, as settings are shown.
    pub fn between<R: RoleConfig>(
        (before, running): (&R, &[EffectiveSetting]),
        (after, effective): (&R, &[EffectiveSetting]),
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
        let mut reloaded = Reloaded::default();
        for difference in all {
            let setting = effective.iter().find(|setting| setting.key == difference.key);
            match setting.map(|setting| setting.applies.effect) {
                Some(TakesEffect::Restart) => reloaded.needs_restart.push(difference),
                Some(TakesEffect::AtOnce) | None => reloaded.applied.push(difference),
            }
        }
        reloaded
    }

    /// The changes for the audit, without the values of secrets.
    pub fn summary(&self) -> serde_json::Value {
        let texts = |all: &[Difference]| all.iter().map(Difference::to_string).collect::<Vec<_>>();
        serde_json::json!({
            "applied": texts(&self.applied),
            "needs_restart": texts(&self.needs_restart),
            "not_as_recorded": texts(&self.not_as_recorded),
        })
    }

    /// Logs one line per changed setting.
    pub fn log(&self) {
        for difference in &self.applied {
            tracing::info!("setting changed: {difference}");
        }
        for difference in &self.needs_restart {
            tracing::warn!("needs a restart: {difference}");
        }
        for difference in &self.not_as_recorded {
            tracing::warn!(
                "has no effect, because the settings of the cluster are on record: {difference}"
            );
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

/// The keys that need a restart, as the guide lists them: a table all of whose settings do is one entry.
#[cfg(test)]
pub(crate) fn keys_with_restart<R: RoleConfig>() -> Vec<String> {
    let mut keys = Vec::new();
    for section in reelyard_core::settings::sections::<R>() {
        let restart = |setting: &&reelyard_core::settings::DescribedSetting| {
            setting.applies.effect == TakesEffect::Restart
        };
        let of_section: Vec<_> = section.settings.iter().filter(restart).collect();
        if !section.name.is_empty()
            && of_section.len() == section.settings.len()
            && !of_section.is_empty()
        {
            keys.push(format!("`{}.*`", section.name));
        } else {
            keys.extend(of_section.iter().map(|setting| format!("`{}`", setting.key)));
        }
    }
    keys
}
