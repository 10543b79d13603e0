//! The operator's settings for shares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, Wrong, quoted, wrong};
use reelyard_core::{setting_words, settings};
use serde::{Deserialize, Serialize};

use crate::share_expiry::state::values::path::RootName;

/// The action at the limit of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// New shares are refused.
    Refuse,
    /// Ends the share with the nearest deadline. Shares without a deadline stay.
    NearestDeadline,
    /// Ends the share that was not used for the longest time.
    LeastRecentlyUsed,
    /// Ends the share that was used least.
    LeastUsed,
}

impl fmt::Display for AtLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            AtLimit::Refuse => "refuse",
            AtLimit::NearestDeadline => "nearest-deadline",
            AtLimit::LeastRecentlyUsed => "least-recently-used",
            AtLimit::LeastUsed => "least-used",
        })
    }
}

setting_words! {
    AtLimit:
    "refuse" => Refuse,
    "nearest-deadline" => NearestDeadline,
    "least-recently-used" => LeastRecentlyUsed,
    "least-used" => LeastUsed,
}

/// How much of a core the reclaim of due shares may take: from 1 to 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Effort(u8);

/// A number that is no effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an effort is a number from 1 to 10")]
pub struct BadEffort;

impl Effort {
    /// The lowest effort.
    pub const LEAST: Effort = Effort(1);
    /// The highest effort.
    pub const MOST: Effort = Effort(10);

    /// The effort as a number from 1 to 10.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Effort {
    type Error = BadEffort;

    fn try_from(number: u8) -> Result<Self, BadEffort> {
        if (1..=10).contains(&number) { Ok(Effort(number)) } else { Err(BadEffort) }
    }
}

impl From<Effort> for u8 {
    fn from(effort: Effort) -> u8 {
        effort.0
    }
}

impl SettingValue for Effort {
    fn from_toml(value: &Value) -> Read<Self> {
        let number = value.as_integer().and_then(|number| u8::try_from(number).ok());
        let effort = number.and_then(|number| Effort::try_from(number).ok());
        effort.map_or_else(
            || wrong(format!("expected a number from 1 to 10, not {}", quoted(value))),
            Ok,
        )
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Integer(self.get().into()))
    }
}

settings! {
    /// Shares: how long links last, how many there may be, and what is remembered of them.
    pub struct ShareRulesConfig {
        /// Directories that may be shared, by name. Example: { movies = "/data/movies" }; a share
        /// then names its file as "movies/new/a.mpg". Without a root nothing is shared, and
        /// `share.listen` stays closed. If you remove a root, its shares end. A directory that is
        /// missing now, for example before it is mounted, is opened when it appears.
        roots: RootDirs = Default "{}",
        /// Lifetime of a share that sets none. A change does not move existing deadlines.
        default_ttl: Duration = Default "7d",
        /// Shortest lifetime of a share.
        min_ttl: Duration = Default "1s",
        /// Longest lifetime of a share. Without the setting there is no limit.
        max_ttl: Option<Duration> = Optional "30d",
        /// Whether a share may have no deadline.
        allow_never: bool = Default "false",
        /// A notice is sent this long before the deadline of a share. Without the setting none is
        /// sent. A share with a shorter lifetime sends none.
        notice_before: Option<Duration> = Optional "24h",
        /// A counted download may resume for this long without counting again. The node remembers
        /// the last 10,000 addresses of each link.
        resume_within: Duration = Default "24h",
        /// A wall clock that jumped forward by more than an hour must hold for this long to be
        /// confirmed. Until then links are refused by the new time, but none is reclaimed. If the
        /// clock is corrected, they work again.
        clock_confirm_after: Duration = Default "15m",
        /// Largest number of shares. Without the setting there is no limit. A share without
        /// downloads left counts until it can no longer be resumed. The same applies to
        /// max_per_owner.
        max_shares: Option<NonZeroU64> = Optional "1000000",
        /// Action at `max_shares`. "refuse" refuses new shares. "nearest-deadline",
        /// "least-recently-used" and "least-used" end the share of that kind. Uses are counted
        /// since the start of the node. With "least-used" fewer than five uses count as five, so
        /// that a new link is not the first to go.
        at_limit: AtLimit = Default "refuse",
        /// Largest number of shares of one owner. Without the setting there is no limit.
        max_per_owner: Option<NonZeroU64> = Optional "1000",
        /// Share of a processor for the reclaim of ended shares, from 1 to 10. Links are refused at
        /// their deadlines with any value.
        reclaim_effort: Effort = Default "5",
        /// An ended link says that it has ended for this long. Afterwards it is unknown.
        keep_ended: Duration = Default "7d",
        /// Largest number of ended links that the node remembers.
        keep_ended_most: NonZeroU64 = Default "100000",
        /// Events for a webhook that does not answer are kept for this long. Older events are
        /// dropped.
        webhook_retention: Duration = Default "7d",
        /// Largest number of such events. The oldest is dropped first.
        webhook_retention_count: NonZeroU64 = Default "1000000",
    }
}

/// The share roots, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootDirs(pub BTreeMap<RootName, PathBuf>);

impl SettingValue for RootDirs {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            let normalized = quoted(value);
            return wrong(format!(
                "expected a table such as {{ movies = \"/data/movies\" }}, not {normalized}"
            ));
        };
        let (mut roots, mut wrongs) = (BTreeMap::new(), Vec::new());
        for (name, dir) in table {
            let named = RootName::new(name).or_else(|bad| wrong(bad.to_string()));
            let read = named.and_then(|name| Ok((name, PathBuf::from_toml(dir)?)));
            let about = |wrong: Wrong| Wrong { what: format!("{name}: {}", wrong.what), ..wrong };
            match read {
                Ok((name, dir)) => {
                    roots.insert(name, dir);
                }
                Err(bad) => wrongs.extend(bad.into_iter().map(about)),
            }
        }
        if wrongs.is_empty() { Ok(RootDirs(roots)) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let entry = |(name, dir): (&RootName, &PathBuf)| {
            (name.as_str().to_owned(), Value::String(dir.display().to_string()))
        };
        Some(Value::Table(self.0.iter().map(entry).collect()))
    }
}

/// The lifetimes that an operator allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedLifetimes {
    /// The lifetime of a share whose request sets none; none means no deadline.
    pub default_ttl: Option<Duration>,
    /// The shortest lifetime of a share.
    pub min_ttl: Duration,
    /// The longest; none for any.
    pub max_ttl: Option<Duration>,
    /// Whether a share may have no deadline.
    pub allow_never: bool,
}

/// Everything that can be set of shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareExpirySettings {
    /// The roots of shares. Shares of any other root end.
    pub roots: BTreeSet<RootName>,
    /// How long shares may last.
    pub lifetimes: AllowedLifetimes,
    /// How long before the deadline the notice of the end is sent; none sends no notice.
    pub notice_before: Option<Duration>,
    /// How long a counted download may be resumed without counting again.
    pub resume_within: Duration,
    /// How long a wall clock that is more than an hour ahead must hold until it is confirmed.
    pub clock_hold: Duration,
    /// How many shares there may be; 0 for any number.
    pub max_shares: u64,
    /// The action at that limit.
    pub at_limit: AtLimit,
    /// How many shares one owner may have; 0 for any number.
    pub max_per_owner: u64,
    /// How much of a core reclaim may take.
    pub effort: Effort,
    /// How long the tombstone of a share is kept.
    pub keep_tombstones_for: Duration,
    /// The largest number of ended shares that are remembered.
    pub keep_tombstones: u64,
    /// How long a notification is kept for a hook that did not get it.
    pub keep_notifications_for: Duration,
    /// The largest number of notifications that are kept for hooks that did not get them.
    pub keep_notifications_most: u64,
    /// How many notifications are kept although every hook got them.
    pub keep_notifications: u64,
    /// The hooks that get notifications. A new hook gets only later notifications.
    pub hooks: BTreeSet<String>,
}

/// How many notifications are kept although every hook got them.
const KEEP_NOTIFICATIONS: u64 = 10_000;

impl ShareExpirySettings {
    /// The settings of an operator, with the names of the webhooks.
    pub fn of(rules: &ShareRulesConfig, hooks: BTreeSet<String>) -> Self {
        ShareExpirySettings {
            roots: rules.roots.0.keys().cloned().collect(),
            lifetimes: AllowedLifetimes {
                default_ttl: Some(rules.default_ttl),
                min_ttl: rules.min_ttl,
                max_ttl: rules.max_ttl,
                allow_never: rules.allow_never,
            },
            notice_before: rules.notice_before,
            resume_within: rules.resume_within,
            clock_hold: rules.clock_confirm_after,
            max_shares: rules.max_shares.map_or(0, NonZeroU64::get),
            at_limit: rules.at_limit,
            max_per_owner: rules.max_per_owner.map_or(0, NonZeroU64::get),
            effort: rules.reclaim_effort,
            keep_tombstones_for: rules.keep_ended,
            keep_tombstones: rules.keep_ended_most.get(),
            keep_notifications_for: rules.webhook_retention,
            keep_notifications_most: rules.webhook_retention_count.get(),
            keep_notifications: KEEP_NOTIFICATIONS,
            hooks,
        }
    }
}

impl Default for ShareExpirySettings {
    fn default() -> Self {
        ShareExpirySettings::of(&ShareRulesConfig::default(), BTreeSet::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized<T: SettingValue>(text: &str) -> Result<String, String> {
        let read = T::from_text(text);
        let read = read.map(|value| value.to_toml().map(|value| value.to_string()).unwrap());
        read.map_err(|wrongs| wrongs.into_iter().map(|wrong| wrong.what).collect())
    }

    #[test]
    fn roots_are_named_paths() {
        let roots = "{ movies = \"/data/movies\" }";
        assert_eq!(normalized::<RootDirs>(roots).as_deref(), Ok(roots));
        for (bad, why) in [
            ("{ Movies = \"/data\" }", "Movies: the name of a root has"),
            ("{ movies = 7 }", "movies: "),
            ("\"/data\"", "expected a table"),
        ] {
            let refused = normalized::<RootDirs>(bad).unwrap_err();
            assert!(refused.contains(why), "{bad}: {refused}");
        }
    }

    #[test]
    fn words_and_numbers() {
        assert_eq!(normalized::<AtLimit>("least-used").as_deref(), Ok("\"least-used\""));
        assert!(normalized::<AtLimit>("lru").is_err());
        assert_eq!(normalized::<Effort>("10").as_deref(), Ok("10"));
        assert!(normalized::<Effort>("0").is_err() && normalized::<Effort>("11").is_err());
    }

    #[test]
    fn an_effort_is_from_one_to_ten() {
        assert!(Effort::try_from(0).is_err() && Effort::try_from(11).is_err());
        assert_eq!(Effort::try_from(1), Ok(Effort::LEAST));
        assert_eq!(Effort::try_from(10), Ok(Effort::MOST));
    }
}
