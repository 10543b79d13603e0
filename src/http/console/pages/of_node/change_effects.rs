//! Effects of a change of a setting at this moment, in the words of the page.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_console::format::count;
use reelyard_console::text::{Language, access};
use toml::Value;

use crate::http::node_state::NodeHttpState;
use crate::http::overview::YardViews;

/// Names that a sentence lists; further ones are only counted.
const NAMES_LISTED: usize = 5;

/// The figures of the yard that changes are measured by.
#[derive(Clone, Debug, Default)]
pub struct ChangeFacts {
    /// How full each destination is, in percent.
    pub fullness: Vec<f64>,
    /// Files that wait for a copy.
    pub waiting: u64,
    /// Copies that run.
    pub running: u64,
}

impl ChangeFacts {
    /// The figures of this moment.
    pub fn load(state: &NodeHttpState) -> Self {
        let views = YardViews::load(state);
        let destinations = views.lines.iter().filter(|line| line.role.is_destination());
        let running = views.tasks.open.len() as u64;
        ChangeFacts {
            fullness: destinations.filter_map(|line| Some(line.disk.as_ref()?.used)).collect(),
            waiting: views.tasks.plan.wanted.saturating_sub(running),
            running,
        }
    }

    /// The consequence of the change of this setting to `to`. Values are TOML. Empty if nothing more is known
    /// than the purpose of the setting.
    pub fn consequence(
        &self,
        key: &str,
        (from, to): (Option<&str>, Option<&str>),
        language: Language,
    ) -> String {
        let parsed = |text: Option<&str>| text.and_then(value);
        let (from, to) = (parsed(from), parsed(to));
        let of_value = self.of_value(key, to.as_ref(), language);
        let mut sentences: Vec<String> = of_value.into_iter().collect();
        if let Some(parts) = ChangedParts::between(from.as_ref(), to.as_ref()) {
            sentences.extend(parts.sentences(key, language));
        }
        sentences.join(" ")
    }

    fn of_value(&self, key: &str, to: Option<&Value>, language: Language) -> Option<String> {
        let word = to.and_then(Value::as_str);
        let copies = [("waiting", count(self.waiting)), ("running", count(self.running))];
        let copies = [("waiting", copies[0].1.as_str()), ("running", copies[1].1.as_str())];
        let text = match (key, word) {
            ("storage.limit_percent", _) => return self.of_limit(to?, language),
            ("task.mode", Some("off")) => access::DOES_PLAN_NOTHING,
            ("task.mode", _) => access::DOES_PLAN,
            ("task.copies_per_source", _) => access::DOES_MORE_COPIES,
            ("remover.mode", Some("off")) => access::DOES_REMOVE_NOTHING,
            ("remover.mode", Some("dry-run")) => access::DOES_REMOVE_DRY,
            ("remover.mode", _) => access::DOES_REMOVE,
            ("token" | "token_file", _) => access::DOES_TOKEN,
            ("listen", _) => access::DOES_LISTEN,
            ("share.public_url" | "share.listen", _) => access::DOES_LINK_ADDRESS,
            _ => return None,
        };
        Some(text.fill(language, &copies))
    }

    fn of_limit(&self, to: &Value, language: Language) -> Option<String> {
        let limit = to.as_integer()?;
        let over = self.fullness.iter().filter(|used| **used > limit as f64).count() as u64;
        let text = if over == 0 { access::DOES_NONE_OVER } else { access::DOES_OVER };
        let values = [("limit", limit.to_string()), ("n", count(over))];
        Some(text.fill(language, &[("limit", &values[0].1), ("n", &values[1].1)]))
    }
}

/// The parts of a list or of a table that differ.
#[derive(Debug, Default, PartialEq, Eq)]
struct ChangedParts {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

impl ChangedParts {
    /// None if no value is a list or a table.
    fn between(from: Option<&Value>, to: Option<&Value>) -> Option<Self> {
        let (before, after) = (from.and_then(parts), to.and_then(parts));
        before.as_ref().or(after.as_ref())?;
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let mut found = ChangedParts::default();
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            match (before.get(name), after.get(name)) {
                (None, _) => found.added.push(name.clone()),
                (_, None) => found.removed.push(name.clone()),
                (before, after) if before != after => found.changed.push(name.clone()),
                _ => {}
            }
        }
        Some(found)
    }

    fn sentences(&self, key: &str, language: Language) -> Vec<String> {
        let mut sentences = Vec::new();
        let lists = [
            (&self.added, access::PARTS_ADDED),
            (&self.changed, access::PARTS_CHANGED),
            (&self.removed, access::PARTS_REMOVED),
        ];
        for (names, text) in lists {
            if !names.is_empty() {
                sentences.push(text.fill(language, &[("names", &listed(names, language))]));
            }
        }
        let of_removal = match key {
            "hosts.sources" | "hosts.destinations" => access::DOES_HOSTS_LEAVE,
            "share.roots" => access::DOES_ROOTS_LEAVE,
            "box.pools" => access::DOES_POOLS_STAY,
            "source_dirs" => access::DOES_MASTERS_LEAVE,
            _ => return sentences,
        };
        if !self.removed.is_empty() {
            sentences.push(of_removal.of(language).to_owned());
        }
        sentences
    }
}

/// The value of a text of TOML.
fn value(text: &str) -> Option<Value> {
    let table: toml::Table = toml::from_str(&format!("value = {text}")).ok()?;
    table.get("value").cloned()
}

/// The entries of a table by their names, or the entries of a list.
fn parts(value: &Value) -> Option<BTreeMap<String, String>> {
    match value {
        Value::Array(entries) => {
            let named =
                |entry: &Value| entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
            Some(entries.iter().map(|entry| (named(entry), String::new())).collect())
        }
        Value::Table(entries) => {
            Some(entries.iter().map(|(name, entry)| (name.clone(), entry.to_string())).collect())
        }
        _ => None,
    }
}

fn listed(names: &[String], language: Language) -> String {
    let first: Vec<&str> = names.iter().take(NAMES_LISTED).map(String::as_str).collect();
    let rest = names.len().saturating_sub(first.len()) as u64;
    let first = first.join(", ");
    match rest {
        0 => first,
        rest => access::PARTS_MORE.fill(language, &[("names", &first), ("n", &count(rest))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn does(key: &str, from: Option<&str>, to: Option<&str>) -> String {
        let facts = ChangeFacts { fullness: vec![91.5, 88.2, 40.0], waiting: 168, running: 4 };
        facts.consequence(key, (from, to), Language::English)
    }

    #[test]
    fn a_limit_names_the_destinations_above_it() {
        let over = does("storage.limit_percent", Some("90"), Some("88"));
        assert!(over.contains("above 88%: 2."), "{over}");
        let none = does("storage.limit_percent", Some("90"), Some("95"));
        assert!(none.contains("No destination is above 95%"), "{none}");
    }

    #[test]
    fn a_list_or_table_names_what_comes_and_what_goes() {
        let hosts = does(
            "hosts.destinations",
            Some("[\"10.0.0.1:1\", \"10.0.0.2:1\"]"),
            Some("[\"10.0.0.2:1\", \"10.0.0.3:1\"]"),
        );
        assert!(hosts.starts_with("Added: 10.0.0.3:1. Removed: 10.0.0.1:1. "), "{hosts}");
        assert!(hosts.len() > 60, "the consequence for the host that leaves: {hosts}");
        let roots = does("share.roots", None, Some("{ movies = \"/data\" }"));
        assert_eq!(roots, "Added: movies.");
        let pools = does("box.pools", Some("{ a = { size = 1 } }"), Some("{ a = { size = 2 } }"));
        assert_eq!(pools, "Changed: a.");
        let many: Vec<String> = (0..9).map(|n| format!("\"10.0.0.{n}:1\"")).collect();
        let many = does("hosts.sources", Some("[]"), Some(&format!("[{}]", many.join(", "))));
        assert!(many.ends_with("10.0.0.4:1 and 4 more."), "{many}");
    }

    #[test]
    fn modes_have_the_figures_of_the_moment() {
        let off = does("task.mode", Some("\"on\""), Some("\"off\""));
        assert!(off.contains("168") && off.contains("4"), "{off}");
        assert_ne!(off, does("task.mode", Some("\"off\""), Some("\"on\"")));
        assert_eq!(does("task.timeout", Some("\"1h\""), Some("\"2h\"")), "");
        assert_eq!(does("task.timeout", None, Some("not TOML")), "");
    }
}
