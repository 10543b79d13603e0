//! Reloads the configuration of a running worker. Settings that can change at once do, and the
//! others are named.

use tokio::sync::Mutex;

use super::{Worker, WorkerSettings};
use crate::config::{EffectiveSetting, Layers, WorkerConfig};
use crate::logging;
use crate::reloading::{ReloadRefused, Reloaded, keep_the_rest, read_again};

/// The configuration of a worker with its sources.
pub type LoadedWorkerConfig = crate::reloading::LoadedConfig<WorkerConfig>;

/// Reloads the configuration of a worker.
pub struct WorkerReloader {
    layers: Layers,
    /// The last configuration and the running settings; locked during a reload.
    running: Mutex<(WorkerConfig, Vec<EffectiveSetting>)>,
}

impl WorkerReloader {
    /// For a worker that was started with this configuration.
    pub fn new(configured: LoadedWorkerConfig) -> Self {
        let LoadedWorkerConfig { config, effective, layers, .. } = configured;
        WorkerReloader { layers, running: Mutex::new((config, effective)) }
    }

    /// Reloads the configuration and applies it to `worker`; an invalid one is refused as a whole.
    pub async fn reload(&self, worker: &Worker) -> Result<Reloaded, ReloadRefused> {
        let mut running = self.running.lock().await;
        let LoadedWorkerConfig { config, effective, .. } = read_again(self.layers.clone()).await?;
        let settings = WorkerSettings::of(&config)?;
        let (before, settings_before) = &mut *running;
        let reloaded = Reloaded::between(
            (before, settings_before.as_slice()),
            (&config, effective.as_slice()),
        );
        worker.change_settings(&settings);
        logging::change_level(&config.log.level);
        keep_the_rest(settings_before, effective);
        *before = config;
        Ok(reloaded)
    }

    /// Reloads after a signal, and logs the result.
    pub async fn reload_and_log(&self, worker: &Worker) {
        match self.reload(worker).await {
            Ok(reloaded) => reloaded.log(),
            Err(refused) => refused.log(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::{GuideLanguage, chapter};
    use crate::reloading::keys_with_restart;

    #[test]
    fn the_guide_names_the_settings_that_need_a_restart() {
        let keys = keys_with_restart::<WorkerConfig>();
        let chapter = chapter("configuration").unwrap().text(GuideLanguage::English);
        assert!(chapter.contains(&format!("| Worker | {} |", keys.join(", "))), "{keys:?}");
    }
}
