//! The configuration of a running node, which a reload changes.

use std::sync::Arc;

use arc_swap::ArcSwap;
use reelyard_shares::webhook::webhook_client;
use reelyard_yard::cfw_worker::http_client;

use super::settings;
use crate::config::NodeConfig;

/// The running configuration. Clones share it.
#[derive(Clone)]
pub struct LiveConfig(Arc<ArcSwap<ActiveConfig>>);

/// A configuration with the values that are derived from it once.
pub struct ActiveConfig {
    /// The configuration itself.
    pub config: NodeConfig,
    /// The version of the settings on record that it has. None if it has none.
    pub version: Option<u64>,
    /// HTTP client for calls to hosts.
    pub calls: reqwest::Client,
    /// HTTP client for calls to webhooks.
    pub webhooks: reqwest::Client,
    /// Prefixes of ignored file names.
    pub ignore_prefixes: Vec<Vec<u8>>,
}

impl LiveConfig {
    /// Starts with `config`, of this version of the settings on record.
    ///
    /// # Errors
    ///
    /// The HTTP client for calls to hosts cannot be created.
    pub fn new(config: NodeConfig, version: Option<u64>) -> Result<Self, reqwest::Error> {
        Ok(LiveConfig(Arc::new(ArcSwap::from_pointee(ActiveConfig::of(config, version)?))))
    }

    /// Replaces the configuration, and returns the new one.
    ///
    /// # Errors
    ///
    /// The HTTP client for calls to hosts cannot be created. Then nothing changes.
    pub(crate) fn set(
        &self,
        config: NodeConfig,
        version: Option<u64>,
    ) -> Result<Arc<ActiveConfig>, reqwest::Error> {
        let in_force = Arc::new(ActiveConfig::of(config, version)?);
        self.0.store(Arc::clone(&in_force));
        Ok(in_force)
    }

    /// The running configuration.
    pub fn now(&self) -> Arc<ActiveConfig> {
        self.0.load_full()
    }
}

impl ActiveConfig {
    fn of(config: NodeConfig, version: Option<u64>) -> Result<Self, reqwest::Error> {
        let calls = http_client(&settings::calls(&config))?;
        let webhooks = webhook_client(
            config.share.webhooks.webhooks.0.values().any(|hook| hook.url.is_https()),
        )?;
        let ignore_prefixes = settings::tasks(&config).ignore_prefixes;
        Ok(ActiveConfig { config, version, calls, webhooks, ignore_prefixes })
    }
}
