//! Derives the settings of each actor from the configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reelyard_access::access::AccessSettings;
use reelyard_access::audit::AuditSettings;
use reelyard_boxes::box_lease::BoxLinkSettings;
use reelyard_core::open_files;
use reelyard_journal::JournalOptions;
use reelyard_links::ShareServerSettings;
use reelyard_replication::NodeIdentity;
use reelyard_shares::share_expiry::ShareExpirySettings;
use reelyard_shares::webhook::{WebhookName, WebhookSettings};
use reelyard_simulate::Rules;
use reelyard_yard::catalog::CatalogSettings;
use reelyard_yard::cfw_worker::CfwWorkerSettings;
use reelyard_yard::heartbeat::{HeartbeatSettings, MOST_PROBES};
use reelyard_yard::remover::RemoverSettings;
use reelyard_yard::task_manager::{HostSetting, TaskSettings};

use super::cluster::SETTINGS_CACHE;
use super::node_clocks::NodeClocks;
use crate::config::NodeConfig;

/// The file of the data directory that has the confirmed time of the shares.
pub const SHARE_CLOCK: &str = "share-clock";

/// The file of the data directory that has the demand which was counted from the event logs.
pub const DEMAND_CHECKPOINT: &str = "demand-checkpoint";

/// The directory of the audit in the data directory.
pub fn audit_dir(data_dir: &Path) -> PathBuf {
    data_dir.join(AUDIT)
}

/// The directory of the access log of links in the data directory.
pub fn access_log_dir(data_dir: &Path) -> PathBuf {
    data_dir.join(DOWNLOADS)
}

/// The name of the directory of the access log of links.
const DOWNLOADS: &str = "downloads";

/// The name of the directory of the audit.
const AUDIT: &str = "audit";

/// How the names of the node's own files in its data directory begin.
pub const OWN_FILES: [&str; 7] =
    ["journal", SHARE_CLOCK, DEMAND_CHECKPOINT, "admin.token", AUDIT, DOWNLOADS, SETTINGS_CACHE];

/// Settings of the Catalog.
pub fn catalog(config: &NodeConfig) -> CatalogSettings {
    CatalogSettings::of(&config.yard, &config.source_dirs)
}

/// Settings of calls to hosts.
pub fn calls(config: &NodeConfig) -> CfwWorkerSettings {
    CfwWorkerSettings::of(&config.yard, config.token.clone())
}

/// Settings of calls to workers about boxes.
pub fn box_link(config: &NodeConfig) -> BoxLinkSettings {
    let calls = &config.yard.calls;
    let plain = BoxLinkSettings::new(config.token.clone(), calls.connect_timeout);
    BoxLinkSettings { tls: calls.host_tls(), ..plain }
}

/// Percentage of all file descriptors for probes.
const PROBES_PERCENT: u64 = 10;

/// Settings of the probes.
pub fn heartbeat(config: &NodeConfig) -> HeartbeatSettings {
    let probes_at_once = open_files::at_most(MOST_PROBES, PROBES_PERCENT);
    HeartbeatSettings::of(&config.yard.heartbeat, probes_at_once)
}

/// Settings of planning and tasks.
pub fn tasks(config: &NodeConfig) -> TaskSettings {
    TaskSettings::of(&config.yard)
}

/// Settings of the removal of copies.
pub fn remover(config: &NodeConfig) -> RemoverSettings {
    RemoverSettings::of(&config.yard, &config.journal.election)
}

/// Settings of shares.
pub fn shares(config: &NodeConfig) -> ShareExpirySettings {
    let hooks = config.share.webhooks.webhooks.0.keys().map(ToString::to_string).collect();
    ShareExpirySettings::of(&config.share.rules, hooks)
}

/// Settings of users, tokens and sessions.
pub fn access(config: &NodeConfig) -> AccessSettings {
    AccessSettings::of(&config.session, &config.access)
}

/// Limits of the audit.
pub fn audit(config: &NodeConfig) -> AuditSettings {
    AuditSettings::of(&config.audit)
}

/// Settings of the webhooks, by name. One whose secret cannot be read on this node is left out.
pub fn hooks(config: &NodeConfig) -> BTreeMap<WebhookName, WebhookSettings> {
    let age_limit = config.share.rules.webhook_retention;
    let mut settings = BTreeMap::new();
    for (name, hook) in &config.share.webhooks.webhooks.0 {
        if let Some(of_hook) = hook.settings(age_limit) {
            settings.insert(name.clone(), of_hook);
        }
    }
    settings
}

/// Settings of the server of links.
pub fn share_server(config: &NodeConfig) -> ShareServerSettings {
    ShareServerSettings::of(&config.share.links, config.token.as_ref())
}

/// The hosts of the configuration with their roles.
pub fn hosts(config: &NodeConfig) -> Vec<HostSetting> {
    let hosts = config.yard.hosts.with_roles();
    hosts.into_iter().map(|(addr, role)| HostSetting { addr, role }).collect()
}

/// Directory of the journal.
pub fn journal_dir(data_dir: &Path) -> PathBuf {
    data_dir.join("journal")
}

/// Settings of the journal of the node with this identity, which learns the time of its cluster.
pub fn journal(config: &NodeConfig, identity: NodeIdentity, clocks: &NodeClocks) -> JournalOptions {
    JournalOptions {
        clock: clocks.own.clone(),
        clock_bound: config.cluster.clock.clock_bound,
        cluster_time: clocks.cluster_time.clone(),
        ..JournalOptions::of(&config.journal, journal_dir(&config.data_dir), identity.number)
    }
}

/// The rules by which `reelyard simulate` plans and removes: those of a node with this configuration.
pub fn simulation_rules(config: &NodeConfig) -> Rules {
    Rules {
        tasks: tasks(config),
        remover: remover(config),
        window: config.yard.event_log.window,
        hit_base: config.yard.event_log.hit_base.get(),
        popularity: config.yard.popularity.mode,
        half_life: config.yard.popularity.half_life,
    }
}
