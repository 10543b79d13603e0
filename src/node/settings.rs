//! Derives the settings of each actor from the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reelyard_boxes::box_lease::{BoxLeaseSettings, BoxLinkSettings};
use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::open_files;
use reelyard_core::token::SharedToken;
use reelyard_journal::JournalOptions;
use reelyard_links::ShareServerSettings;
use reelyard_shares::share_expiry::{ShareExpirySettings, ShareNotificationKind, TermsPolicy};
use reelyard_shares::share_files::ShareFilesSettings;
use reelyard_shares::webhook::{WebhookName, WebhookSettings};
use reelyard_simulate::Rules;
use reelyard_yard::bandwidth::Bandwidth;
use reelyard_yard::catalog::ranking::CopiesWanted;
use reelyard_yard::catalog::{CatalogSettings, EventLogSettings};
use reelyard_yard::cfw_worker::{CfwWorkerSettings, CircuitBreakerSettings};
use reelyard_yard::heartbeat::HeartbeatSettings;
use reelyard_yard::heartbeat::health::{Rhythm, Thresholds};
use reelyard_yard::remover::RemoverSettings;
use reelyard_yard::task_manager::{HostSetting, LinkRules, TaskSettings};

use crate::config::{NodeConfig, Percent};

/// Settings of the Catalog.
pub fn catalog(config: &NodeConfig) -> CatalogSettings {
    let destination_ips: BTreeSet<_> =
        config.hosts.destinations.iter().map(|host| host.ip()).collect();
    let log = &config.event_log;
    let event_log = log.dir.as_ref().map(|dir| EventLogSettings {
        watch_address: log.watch_address.clone(),
        window: log.window,
        hit_base: log.hit_base.get(),
        time_zone: log.time_zone.zone().clone(),
        ..EventLogSettings::new(dir)
    });
    CatalogSettings {
        grade_info_file: config.catalog.grade_info_file.clone(),
        hitcount_history_file: config.catalog.hitcount_history_file.clone(),
        // The configuration refuses directories that are not UTF-8.
        source_dirs: config
            .source_dirs
            .iter()
            .map(|dir| Arc::from(dir.to_string_lossy()))
            .collect(),
        watch: config.catalog.watch,
        poll_interval: config.catalog.poll_interval,
        settle: config.catalog.settle,
        settle_limit: config.catalog.settle_limit,
        destination_ips,
        event_log,
        ..CatalogSettings::default()
    }
}

/// Settings of calls to hosts.
pub fn calls(config: &NodeConfig) -> CfwWorkerSettings {
    CfwWorkerSettings {
        connect_timeout: config.calls.connect_timeout,
        call_timeout: config.calls.timeout,
        list_timeout: config.calls.list_timeout,
        inventory_interval: config.calls.inventory_interval,
        changes_interval: config.calls.changes_interval,
        full_inventory_interval: config.calls.full_inventory_interval,
        disk_interval: config.calls.disk_interval,
        traffic_interval: config.calls.traffic_interval,
        agents: config.hosts.node_exporters.clone(),
        max_files: config.hosts.max_files.get(),
        breaker: CircuitBreakerSettings {
            open_after: config.calls.breaker_after.get(),
            cool_down: ExponentialBackoff {
                base: config.calls.breaker_base,
                cap: config.calls.breaker_cap,
            },
        },
        token: config.token.clone(),
        ..CfwWorkerSettings::default()
    }
}

/// Settings of calls to workers about boxes.
pub fn box_link(config: &NodeConfig) -> BoxLinkSettings {
    BoxLinkSettings {
        token: config.token.clone(),
        connect_timeout: config.calls.connect_timeout,
        ..BoxLinkSettings::default()
    }
}

/// Largest number of concurrent probes, and the percentage of all file descriptors for them.
const MOST_PROBES: usize = 1024;
const PROBES_PERCENT: u64 = 10;

/// Settings of the probes.
pub fn heartbeat(config: &NodeConfig) -> HeartbeatSettings {
    let heartbeat = &config.heartbeat;
    HeartbeatSettings {
        rhythm: Rhythm { interval: heartbeat.interval, jitter: heartbeat.jitter.get() },
        timeout: heartbeat.timeout,
        thresholds: Thresholds {
            suspect_after: heartbeat.suspect_after.get(),
            down_after: heartbeat.down_after.get(),
            up_after: heartbeat.up_after.get(),
        },
        probes_at_once: open_files::at_most(MOST_PROBES, PROBES_PERCENT),
    }
}

/// Rate limits of copies and hosts.
fn bandwidth(config: &NodeConfig) -> Bandwidth {
    Bandwidth {
        copy: config.task.copy_speed.clone().unwrap_or_default(),
        sources: config.bandwidth.sources.clone(),
        destinations: config.bandwidth.destinations.clone(),
        zone: config.bandwidth.time_zone.zone().clone(),
    }
}

/// Rules for planning by network load.
fn links(config: &NodeConfig) -> LinkRules {
    let placement = &config.placement;
    let percent = |mark: Option<Percent>| mark.map(Percent::get);
    LinkRules {
        weights: placement.weights,
        source_mark_percent: percent(placement.source_traffic_mark_percent),
        destination_mark_percent: percent(placement.destination_traffic_mark_percent),
        fresh_for: calls(config).traffic_fresh_for(),
    }
}

/// Settings of planning and tasks.
pub fn tasks(config: &NodeConfig) -> TaskSettings {
    let task = &config.task;
    TaskSettings {
        mode: task.mode,
        copies_per_source: task.copies_per_source.get() as usize,
        placement: task.placement,
        links: links(config),
        timeout: task.timeout,
        pickup_timeout: task.pickup_timeout,
        bandwidth: bandwidth(config),
        back_off: ExponentialBackoff { base: task.back_off_base, cap: task.back_off_cap },
        keep_ended: task.keep_ended,
        keep_history: config.history.keep.get(),
        ignore_prefixes: config.ignore.prefixes.iter().map(|p| p.as_bytes().to_vec()).collect(),
        ungraded_hot: config.catalog.ungraded_hot,
        storage_limit_percent: config.storage.limit_percent.get(),
        fill_percent: low_water_percent(config),
        copies: copies(config),
        presumed_lost_after: config.hosts.presumed_lost_after,
        ..TaskSettings::default()
    }
}

/// Default distance of the low-water mark below the limit, in percentage points.
const HYSTERESIS_PERCENT: u32 = 5;

/// The low-water mark of a disk over its limit, in percent. The configuration refuses a value above
/// the limit.
fn low_water_percent(config: &NodeConfig) -> u32 {
    let limit = config.storage.limit_percent.get();
    let set = config.storage.low_water_percent.as_ref().map(|percent| percent.get());
    set.unwrap_or(limit.saturating_sub(HYSTERESIS_PERCENT))
}

/// Wanted number of copies of a file.
fn copies(config: &NodeConfig) -> CopiesWanted {
    CopiesWanted { by_grade_info: config.copies.by_grade_info, most: config.copies.most.get() }
}

/// Default multiple of the hit base from which room is made. A file that is not hot has less than
/// half of these hits.
const TIMES_HOT: u32 = 2;

/// Number of rising hits from which room is made for a file.
fn make_room_hits(config: &NodeConfig) -> u32 {
    let set = config.remover.make_room_hits.as_ref().map(|hits| hits.get());
    set.unwrap_or(config.event_log.hit_base.get().saturating_mul(TIMES_HOT))
}

/// Settings of the removal of copies.
pub fn remover(config: &NodeConfig) -> RemoverSettings {
    RemoverSettings {
        mode: config.remover.mode,
        interval: config.remover.interval,
        keep: config.remover.keep,
        keep_history: config.history.keep.get(),
        ignore_prefixes: config.ignore.prefixes.iter().map(|p| p.as_bytes().to_vec()).collect(),
        storage_limit_percent: config.storage.limit_percent.get(),
        low_water_percent: low_water_percent(config),
        copies: copies(config),
        spare_copied_within: config.storage.spare_copied_within,
        make_room_hits: make_room_hits(config),
        make_room_percent: if config.remover.make_room {
            config.remover.make_room_percent.get()
        } else {
            0
        },
        spare_hot_within: config.remover.spare_hot_within,
        old_host_quiet: config.journal.election_max + OLD_CALLS_LAST,
        ..RemoverSettings::default()
    }
}

/// Settings of the detection of missing shared files.
pub fn share_files(config: &NodeConfig) -> ShareFilesSettings {
    let (removed_after, sweep_every) = (config.share.removed_after, config.share.sweep_interval);
    ShareFilesSettings { removed_after, sweep_every }
}

/// Settings of shares.
pub fn shares(config: &NodeConfig) -> ShareExpirySettings {
    let share = &config.share;
    ShareExpirySettings {
        roots: share.roots.0.keys().cloned().collect(),
        terms: TermsPolicy {
            default_ttl: Some(share.default_ttl),
            min_ttl: share.min_ttl,
            max_ttl: share.max_ttl,
            allow_never: share.allow_never,
        },
        notice_before: share.notice_before,
        resume_within: share.resume_within,
        clock_hold: share.clock_confirm_after,
        max_shares: share.max_shares.map_or(0, NonZeroU64::get),
        at_limit: share.at_limit,
        max_per_owner: share.max_per_owner.map_or(0, NonZeroU64::get),
        effort: share.reclaim_effort,
        keep_tombstones_for: share.keep_ended,
        keep_tombstones: share.keep_ended_most.get(),
        keep_happenings_for: share.webhook_retention,
        keep_happenings_most: share.webhook_retention_count.get(),
        hooks: share.webhooks.0.keys().map(ToString::to_string).collect(),
        ..ShareExpirySettings::default()
    }
}

/// How much is remembered of leases and boxes.
pub fn boxes(config: &NodeConfig) -> BoxLeaseSettings {
    let of = &config.r#box;
    BoxLeaseSettings {
        keep_ended_for: of.keep_ended,
        keep_ended: of.keep_ended_most.get(),
        keep_box_log_for: of.log_retention,
        keep_box_log: of.log_retention_count.get(),
    }
}

/// Settings of the webhooks, by name.
pub fn hooks(config: &NodeConfig) -> BTreeMap<WebhookName, WebhookSettings> {
    let hooks = config.share.webhooks.0.iter().filter_map(|(name, hook)| {
        let settings = WebhookSettings {
            url: hook.url.clone(),
            // The configuration refuses a webhook with an unreadable secret.
            secret: hook.secret.clone()?,
            kinds: hook.kinds.clone().unwrap_or_else(|| ShareNotificationKind::all().collect()),
            timeout: hook.timeout.unwrap_or(WebhookSettings::TIMEOUT),
            cool_down: WebhookSettings::COOL_DOWN,
            age_limit: config.share.webhook_retention,
        };
        Some((name.clone(), settings))
    });
    hooks.collect()
}

/// Settings of the server of links.
pub fn share_server(config: &NodeConfig) -> ShareServerSettings {
    let share = &config.share;
    let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    ShareServerSettings {
        listen: share.listen,
        public_url: share.public_url.as_ref().map(|url| url.as_str().to_owned()),
        trusted_proxies: share.trusted_proxies.clone(),
        // Like the server of the API, it leaves some file descriptors for the process itself.
        connections: open_files::at_most(count(share.connections), 35),
        connections_per_address: count(share.connections_per_address),
        archives: count(share.archives),
        archives_per_address: count(share.archives_per_address),
        request_timeout: share.request_timeout,
        send_timeout: share.send_timeout,
        cut_at_deadline: share.cut_at_deadline,
        guesses: share.unknown_link_burst,
        guess_every: share.unknown_link_interval,
        password_tries: share.password_burst,
        password_every: share.password_interval,
        cookie_key: config.token.as_ref().map(cookie_key),
        ..ShareServerSettings::default()
    }
}

/// Key that signs cookies of links. It is the same on every node with the same token, and does not
/// help to guess the token.
fn cookie_key(token: &SharedToken) -> [u8; 32] {
    blake3::derive_key("reelyard 2026 cookies of share links", token.reveal().as_bytes())
}

/// How long a call of a deposed leader may still be on its way to an old cfw.
const OLD_CALLS_LAST: Duration = Duration::from_secs(5);

/// The hosts of the configuration with their roles.
pub fn hosts(config: &NodeConfig) -> Vec<HostSetting> {
    config.yard().into_iter().map(|(addr, role)| HostSetting { addr, role }).collect()
}

/// Directory of the journal.
pub fn journal_dir(data_dir: &Path) -> PathBuf {
    data_dir.join("journal")
}

/// Settings of the journal.
pub fn journal(config: &NodeConfig) -> JournalOptions {
    let journal = &config.journal;
    JournalOptions {
        commit_timeout: journal.commit_timeout,
        heartbeat: journal.heartbeat,
        election: (journal.election_min, journal.election_max),
        snapshot_log_bytes: journal.snapshot_log_bytes.as_u64(),
        reserve: journal.reserve.as_u64(),
        ..JournalOptions::alone(journal_dir(&config.data_dir), config.node_id.get())
    }
}

/// The rules by which `reelyard simulate` plans and removes: those of a node with this configuration.
pub fn simulation_rules(config: &NodeConfig) -> Rules {
    Rules {
        tasks: tasks(config),
        remover: remover(config),
        window: config.event_log.window,
        hit_base: config.event_log.hit_base.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_actors_and_configuration_agree() {
        let config = NodeConfig::default();
        // The time zone is that of the machine.
        let zone = config.bandwidth.time_zone.zone().clone();
        let mut task_defaults = TaskSettings::default();
        task_defaults.bandwidth.zone = zone;
        assert_eq!(task_defaults, tasks(&config));
        assert_eq!(RemoverSettings::default(), remover(&config));
        assert_eq!(CfwWorkerSettings::default(), calls(&config));
        assert_eq!(BoxLinkSettings::default(), box_link(&config));
        assert_eq!(ShareExpirySettings::default(), shares(&config));
        assert_eq!(BoxLeaseSettings::default(), boxes(&config));
        let probes_at_once = heartbeat(&config).probes_at_once;
        let heartbeats = HeartbeatSettings { probes_at_once, ..HeartbeatSettings::default() };
        assert_eq!(heartbeats, heartbeat(&config));
    }
}
