//! Settings and their differences in the words of the pages.

use std::collections::HashMap;
use std::sync::LazyLock;

use reelyard_console::pages::settings::{SettingDifference, SettingEffect};
use reelyard_console::text::{Language, setting_meaning};
use reelyard_core::settings::{DescribedSetting, Scope, sections};

use super::change_effects::ChangeFacts;
use crate::config::{Difference, NodeConfig, Values};

/// The declared settings by their keys.
pub(super) static DESCRIBED: LazyLock<HashMap<String, DescribedSetting>> = LazyLock::new(|| {
    let settings = sections::<NodeConfig>().into_iter().flat_map(|section| section.settings);
    settings.map(|setting| (setting.key.clone(), setting)).collect()
});

/// Instead of a value that is a secret.
pub(super) const HIDDEN: &str = "***";

/// The purpose of a setting in this language.
pub(super) fn meaning(key: &str, language: Language) -> String {
    let english = DESCRIBED.get(key).map(|described| described.doc.join(" ")).unwrap_or_default();
    setting_meaning(language, key, english.trim()).to_owned()
}

/// A difference for people. With the figures of this moment it has its consequence.
pub(super) fn difference(
    Difference { key, values }: Difference,
    effect: SettingEffect,
    facts: Option<&ChangeFacts>,
    language: Language,
) -> SettingDifference {
    let shown = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let consequence = |change: (Option<&str>, Option<&str>)| {
        facts.map(|facts| facts.consequence(&key, change, language)).unwrap_or_default()
    };
    let (consequence, before, after) = match values {
        Values::Plain { from, to } => {
            (consequence((from.as_deref(), to.as_deref())), shown(from), shown(to))
        }
        Values::Secret => (consequence((None, None)), HIDDEN.to_owned(), HIDDEN.to_owned()),
    };
    SettingDifference {
        meaning: meaning(&key, language),
        consequence,
        before,
        after,
        effect,
        is_for_all_nodes: DESCRIBED
            .get(&key)
            .is_some_and(|described| described.applies.scope == Scope::Cluster),
        setting: key,
    }
}
