//! Old names of settings. They still work, with a warning that names the new one.

use reelyard_core::settings::EffectiveSetting;

/// Old and new key of every renamed setting.
const RENAMED: [(&str, &str); 15] = [
    ("hosts.agents", "hosts.node_exporters"),
    ("share.hooks", "share.webhooks"),
    ("share.keep_untold", "share.webhook_retention"),
    ("share.keep_untold_most", "share.webhook_retention_count"),
    ("share.clock_hold", "share.clock_confirm_after"),
    ("share.drain", "share.drain_timeout"),
    ("share.effort", "share.reclaim_effort"),
    ("share.sweep_every", "share.sweep_interval"),
    ("share.guesses", "share.unknown_link_burst"),
    ("share.guess_every", "share.unknown_link_interval"),
    ("share.password_tries", "share.password_burst"),
    ("share.password_every", "share.password_interval"),
    ("box.keep_care", "box.log_retention"),
    ("box.keep_care_most", "box.log_retention_count"),
    ("http.workers", "http.threads"),
];

/// The new key of `key`, if `key` is an old one. An entry of a table keeps its own name.
pub fn new_key(key: &str) -> Option<String> {
    RENAMED.iter().find_map(|(old, new)| {
        let entry = key.strip_prefix(old)?;
        (entry.is_empty() || entry.starts_with('.')).then(|| format!("{new}{entry}"))
    })
}

/// Old and new path of every module that log filters could name.
const MOVED_MODULES: [(&str, &str); 26] = [
    ("reelyard_actors::bandwidth", "reelyard_yard::bandwidth"),
    ("reelyard_actors::box_host", "reelyard_worker::box_host"),
    ("reelyard_actors::box_lease", "reelyard_boxes::box_lease"),
    ("reelyard_actors::catalog", "reelyard_yard::catalog"),
    ("reelyard_actors::cfw_worker", "reelyard_yard::cfw_worker"),
    ("reelyard_actors::downloader::data_port", "reelyard_file_server::data_port"),
    ("reelyard_actors::downloader", "reelyard_worker::downloader"),
    ("reelyard_actors::heartbeat", "reelyard_yard::heartbeat"),
    ("reelyard_actors::journal", "reelyard_journal"),
    ("reelyard_actors::processes", "reelyard_worker::processes"),
    ("reelyard_actors::remover", "reelyard_yard::remover"),
    ("reelyard_actors::share_expiry", "reelyard_shares::share_expiry"),
    ("reelyard_actors::share_files", "reelyard_shares::share_files"),
    ("reelyard_actors::signed_call", "reelyard_protocol::signed_call"),
    ("reelyard_actors::supervision", "reelyard_core::supervision"),
    ("reelyard_actors::task_manager", "reelyard_yard::task_manager"),
    ("reelyard_actors::webhook", "reelyard_shares::webhook"),
    ("reelyard_actors::wire", "reelyard_protocol"),
    ("reelyard_actors", "reelyard"),
    ("reelyard::http::compat", "reelyard::http::legacy"),
    ("reelyard::http::share", "reelyard_links"),
    ("reelyard::node::running_node", "reelyard::running_node"),
    ("reelyard_journal::store::maintenance", "reelyard_journal::maintenance"),
    ("reelyard_worker::downloader::disk::state_store", "reelyard_worker::kept_state::state_store"),
    (
        "reelyard_worker::downloader::managers::epoch_guard",
        "reelyard_worker::kept_state::epoch_guard",
    ),
    ("reelyard::simulate", "reelyard_simulate"),
];

/// Warnings about settings with an old name, and about log filters that name a module by its old path. Such a
/// filter selects nothing.
pub fn warnings(settings: &[EffectiveSetting]) -> Vec<String> {
    let mut warnings = Vec::new();
    for setting in settings {
        let (key, origin) = (&setting.key, &setting.origin);
        if let Some(old) = &setting.old_key {
            warnings.push(format!("{origin}: {old} is now called {key}; use the new name"));
        }
        if key == LOG_FILTER {
            let filter = setting.value.as_deref().unwrap_or_default();
            let moved = moved_modules(filter).map(|(old, new)| {
                format!(
                    "{origin}: {key} names the module {old}, which is now {new}; use the new name"
                )
            });
            warnings.extend(moved);
        }
    }
    warnings
}

/// The key of the log filter.
const LOG_FILTER: &str = "log.level";

/// Old and new path of each module that a log filter names by an old path.
fn moved_modules(filter: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let directives = filter.trim_matches('"').split(',');
    directives.filter_map(|directive| {
        let target = directive.split(['=', '[']).next().unwrap_or_default().trim();
        MOVED_MODULES.into_iter().find(|(old, _)| {
            target.strip_prefix(old).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Layers, NodeConfig, load};

    fn load_set(set: &[&str]) -> Result<Vec<EffectiveSetting>, String> {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        let loaded = load::<NodeConfig>(&Layers { set, ..Layers::default() });
        loaded.map(|(_, settings)| settings).map_err(|faults| faults.to_string())
    }

    #[test]
    fn every_new_name_is_a_setting_and_no_old_one_is() {
        let settings = load_set(&[]).unwrap();
        for (old, new) in RENAMED {
            assert!(settings.iter().any(|setting| setting.key == new), "{new}");
            assert!(!settings.iter().any(|setting| setting.key == old), "{old}");
        }
    }

    #[test]
    fn an_old_name_is_read_with_a_warning() {
        let settings = load_set(&["share.drain=5s"]).unwrap();
        let drain = settings.iter().find(|one| one.key == "share.drain_timeout").unwrap();
        assert_eq!(drain.value.as_deref(), Some("\"5s\""));
        let warnings = warnings(&settings);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("share.drain is now called share.drain_timeout"));
        assert!(super::warnings(&load_set(&["share.drain_timeout=5s"]).unwrap()).is_empty());
    }

    #[test]
    fn an_entry_of_a_renamed_table_is_read() {
        let key = "hosts.agents.127.0.0.1:8888";
        assert_eq!(new_key(key).as_deref(), Some("hosts.node_exporters.127.0.0.1:8888"));
        assert_eq!(new_key("share.effort_more"), None);
    }

    #[test]
    fn both_names_at_once_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[share]\ndrain = \"5s\"\ndrain_timeout = \"6s\"\n").unwrap();
        let layers = Layers { file: Some(file.path().to_owned()), ..Layers::default() };
        let refused = load::<NodeConfig>(&layers).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("share.drain is its old name"), "{refused}");
    }

    #[test]
    fn a_log_filter_with_an_old_path_gets_a_warning() {
        let filter = "log.level=info,reelyard_actors::catalog=debug,reelyard_yard=warn";
        let warnings = warnings(&load_set(&[filter]).unwrap());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("reelyard_actors::catalog, which is now reelyard_yard::catalog")
        );
        assert!(super::warnings(&load_set(&["log.level=reelyard=debug"]).unwrap()).is_empty());
    }
}
