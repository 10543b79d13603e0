//! A changed setting as a line.

use reelyard_api::SettingChange;

use crate::cli::output::plain;

/// The key with its old and its new value. The values of a secret are not shown.
pub fn changed(change: &SettingChange) -> String {
    let SettingChange { key, from, to, secret } = change;
    if *secret {
        return format!("{key}: changed");
    }
    let text = |value: &Option<String>| value.as_deref().map_or("not set".to_owned(), plain);
    format!("{key}: {} -> {}", text(from), text(to))
}
