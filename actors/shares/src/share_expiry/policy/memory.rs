//! The memory of decisions beside the table. It is not stored. Pure.

use super::evict::Eviction;
use crate::share_expiry::settings::ShareExpirySettings;

/// The decider: the settings, and the eviction order that they may need.
#[derive(Debug, Default)]
pub struct SharePolicy {
    /// The current settings.
    pub settings: ShareExpirySettings,
    /// The order for evicting shares.
    pub eviction: Eviction,
}

impl SharePolicy {
    /// A planner with these `settings`.
    pub fn new(settings: ShareExpirySettings) -> Self {
        SharePolicy { settings, eviction: Eviction::default() }
    }
}
