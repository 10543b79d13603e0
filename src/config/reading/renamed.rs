//! Old names of settings. They still work, with a warning that names the new one.

use super::reader::EffectiveSetting;

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

/// A warning for each setting that was set by its old name.
pub fn warnings(settings: &[EffectiveSetting]) -> Vec<String> {
    let renamed = settings.iter().filter_map(|setting| {
        let old = setting.old_key.as_ref()?;
        let (key, origin) = (&setting.key, &setting.origin);
        Some(format!("{origin}: {old} is now called {key}; use the new name"))
    });
    renamed.collect()
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
}
