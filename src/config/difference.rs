//! The differences between two configurations of one role.

use std::fmt;

use reelyard_core::settings::EffectiveSetting;

/// A setting with a changed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Dotted key of the setting.
    pub key: String,
    /// Old and new value, unless the setting is a secret.
    pub values: Values,
}

/// The old and new value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Values as TOML; none if not set.
    Plain {
        /// Value before the change.
        from: Option<String>,
        /// Value after the change.
        to: Option<String>,
    },
    /// A secret: only the fact that it changed.
    Secret,
}

impl Difference {
    /// The change of the secret `key`.
    pub fn of_secret(key: &str) -> Self {
        Difference { key: key.to_owned(), values: Values::Secret }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Values::Plain { from, to } = &self.values else {
            return write!(f, "{}: changed", self.key);
        };
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        write!(f, "{}: {} -> {}", self.key, text(from), text(to))
    }
}

/// The settings that differ, in the order of declaration. Secrets are left out, because their shown
/// values are always equal.
pub fn differences(before: &[EffectiveSetting], after: &[EffectiveSetting]) -> Vec<Difference> {
    let differing = after.iter().filter(|after| !after.is_secret).filter_map(|after| {
        let before = before.iter().find(|before| before.key == after.key)?;
        (before.value != after.value).then(|| Difference {
            key: after.key.clone(),
            values: Values::Plain { from: before.value.clone(), to: after.value.clone() },
        })
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Layers, NodeConfig, load};
    use super::*;

    fn effective(set: &[&str]) -> Vec<EffectiveSetting> {
        let set = set.iter().map(|text| (*text).to_owned()).collect();
        load::<NodeConfig>(&Layers { set, ..Layers::default() }).unwrap().1
    }

    #[test]
    fn differences_are_shown_as_toml_without_secrets() {
        let before = effective(&["heartbeat.interval=5s", "task.copy_speed=80Mbit/s"]);
        let after = effective(&[
            "token=0123456789abcdef",
            "heartbeat.interval=3s",
            "hosts.sources=10.0.0.1:1",
        ]);
        let message: Vec<String> =
            differences(&before, &after).iter().map(Difference::to_string).collect();
        let expected = [
            "hosts.sources: [] -> [\"10.0.0.1:1\"]",
            "heartbeat.interval: \"5s\" -> \"3s\"",
            "task.copy_speed: \"80Mbit/s\" -> not set",
        ];
        assert_eq!(message, expected);
        assert_eq!(differences(&after, &after), []);
        assert_eq!(Difference::of_secret("token").to_string(), "token: changed");
    }
}
