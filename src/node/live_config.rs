//! The configuration that a node goes by, which a reload changes while it runs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use reelyard_shares::webhook::webhook_client;
use reelyard_yard::cfw_worker::http_client;

use super::settings;
use crate::config::NodeConfig;

/// The configuration in force. Clones show the same.
#[derive(Clone)]
pub struct LiveConfig(Arc<ArcSwap<ActiveConfig>>);

/// A configuration and what is made of it once.
pub struct ActiveConfig {
    /// The configuration.
    pub config: NodeConfig,
    /// The client for calls to hosts.
    pub calls: reqwest::Client,
    /// The client for calls to webhooks.
    pub webhooks: reqwest::Client,
    /// Names that begin so are left alone.
    pub ignore_prefixes: Vec<Vec<u8>>,
}

impl LiveConfig {
    /// Goes by `config`.
    ///
    /// # Errors
    /// When the client for calls to hosts cannot be made.
    pub fn new(config: NodeConfig) -> Result<Self, reqwest::Error> {
        Ok(LiveConfig(Arc::new(ArcSwap::from_pointee(ActiveConfig::of(config)?))))
    }

    /// Goes by `config` from now on, and answers what is in force then.
    ///
    /// # Errors
    /// When the client for calls to hosts cannot be made: then nothing changes.
    pub(super) fn set(&self, config: NodeConfig) -> Result<Arc<ActiveConfig>, reqwest::Error> {
        let in_force = Arc::new(ActiveConfig::of(config)?);
        self.0.store(Arc::clone(&in_force));
        Ok(in_force)
    }

    /// What is in force now.
    pub fn now(&self) -> Arc<ActiveConfig> {
        self.0.load_full()
    }
}

impl ActiveConfig {
    fn of(config: NodeConfig) -> Result<Self, reqwest::Error> {
        let calls = http_client(&settings::calls(&config))?;
        let webhooks =
            webhook_client(config.share.webhooks.0.values().any(|hook| hook.url.is_https()))?;
        let ignore_prefixes = settings::tasks(&config).ignore_prefixes;
        Ok(ActiveConfig { config, calls, webhooks, ignore_prefixes })
    }
}
