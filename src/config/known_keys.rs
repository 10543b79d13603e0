//! The keys of a role, and the reason why another key is refused.

use std::collections::BTreeSet;

use reelyard_core::settings::{Scope, SettingsGroup, sections};

use super::{NodeConfig, RoleConfig, WorkerConfig};

/// The keys of a role, and those that only the other role has.
#[derive(Clone, Debug)]
pub struct KnownKeys {
    /// Dotted keys of settings.
    pub known: Vec<String>,
    /// Dotted names of groups.
    pub groups: Vec<String>,
    /// Settings that are tables, each with its default as TOML. A dotted key can set one entry of
    /// such a table.
    pub tables: Vec<(String, String)>,
    /// Settings that all nodes of a cluster share.
    pub of_cluster: BTreeSet<String>,
    /// The other role, and the keys that only it has.
    pub elsewhere: (&'static str, Vec<String>),
}

impl KnownKeys {
    /// The keys of role `R`.
    pub fn of<R: RoleConfig>() -> Self {
        let elsewhere = if R::NAME == NodeConfig::NAME {
            (WorkerConfig::NAME, keys::<WorkerConfig>())
        } else {
            (NodeConfig::NAME, keys::<NodeConfig>())
        };
        let groups = sections::<R>().into_iter().map(|section| section.name);
        let groups = groups.filter(|name| !name.is_empty()).collect();
        let settings = sections::<R>().into_iter().flat_map(|section| section.settings);
        let tables = settings.filter(|setting| setting.value.starts_with('{'));
        let tables = tables.map(|setting| (setting.key, setting.value)).collect();
        let settings = sections::<R>().into_iter().flat_map(|section| section.settings);
        let shared = settings.filter(|setting| setting.applies.scope == Scope::Cluster);
        let of_cluster = shared.map(|setting| setting.key).collect();
        KnownKeys { known: keys::<R>(), groups, tables, of_cluster, elsewhere }
    }

    /// The table that `key` sets an entry of, with its default, and the rest of the key.
    pub fn table_of<'k>(&self, key: &'k str) -> Option<(&str, &str, &'k str)> {
        self.tables.iter().find_map(|(table, unset)| {
            let entry = key.strip_prefix(table.as_str())?.strip_prefix('.')?;
            (!entry.is_empty()).then_some((table.as_str(), unset.as_str(), entry))
        })
    }

    /// Why `key` is refused; none if it is known.
    pub fn refuse(&self, key: &str) -> Option<String> {
        if self.known.iter().any(|known| known == key) {
            return None;
        }
        if self.groups.iter().any(|group| group == key) {
            return Some("is a group of settings: set one of its keys".to_owned());
        }
        let (role, keys) = &self.elsewhere;
        if keys.iter().any(|known| known == key) {
            return Some(format!("is a setting of a {role}: this role does not have it"));
        }
        Some(match self.nearest(key) {
            Some(nearest) => format!("is not a setting; did you mean {nearest}?"),
            None => "is not a setting; \"reelyard config default\" prints all settings".to_owned(),
        })
    }

    /// The known key that is most similar to `key`.
    fn nearest(&self, key: &str) -> Option<&str> {
        let (group, name) = split(key);
        let likeness = |known: &str| match split(known) {
            (other, same) if other != group && same == name => 1.0,
            (same, other) if same == group => strsim::jaro_winkler(other, name),
            _ => strsim::jaro_winkler(known, key),
        };
        let best = self.known.iter().map(|known| (likeness(known), known));
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(likeness, _)| *likeness > 0.8).map(|(_, known)| known.as_str())
    }
}

fn keys<G: SettingsGroup>() -> Vec<String> {
    sections::<G>().into_iter().flat_map(|section| section.settings).map(|one| one.key).collect()
}

/// Splits a key into its group and its name.
fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('.').unwrap_or(("", key))
}
