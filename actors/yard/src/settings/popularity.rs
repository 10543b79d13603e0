//! The table `[popularity]`: the memory of demand, and the exchange of copies in a full yard.

use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Percent, Read, SettingValue, quoted, wrong};
use reelyard_core::{setting_words, settings};
use serde::{Deserialize, Serialize};

settings! {
    /// The order of the files by remembered demand, and the exchange of copies in a full yard. The
    /// demand comes from the event log. Without a log the order of grade.info applies.
    pub struct PopularityConfig {
        /// "on": files are copied in the order of their demand, and wanted files replace less
        /// wanted copies. "shadow": the node shows the demand and the exchanges that it would make, and
        /// does nothing. "off": the order of grade.info alone, and no exchange.
        mode: PopularityMode = Default "on",
        /// Time after which a request counts half. Calm demand needs 14 days, a week of premieres
        /// 2 days. "auto" compares 1, 4 and 14 days. It uses the one that predicted the requests
        /// of the last days best.
        half_life: HalfLife = Default "auto",
        /// A file replaces copies only if its demand for each byte is at least this many times
        /// theirs. A larger value causes fewer copies.
        keep: KeepFactor = Default "1.5",
        /// Largest amount of data that exchanges remove in 24 hours: a size, or a percentage of all
        /// destination disks such as "3%". Hot files are exempt.
        daily_budget: DailyBudget = Default "3%",
        /// Shortest time that a copy stays before an exchange can remove it. Exchanges also begin
        /// only when the remembered requests span this time.
        min_stay: Duration = Default "24h",
    }
}

/// The use of remembered demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PopularityMode {
    /// Files are copied by demand, and exchanges take place.
    On,
    /// Demand is measured and shown only, with the exchanges that it would cause.
    Shadow,
    /// Demand is not measured.
    Off,
}

setting_words!(PopularityMode: "on" => On, "shadow" => Shadow, "off" => Off);

/// The half-life of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfLife {
    /// The one of several that predicts best.
    Auto,
    /// Always this one.
    Fixed(Duration),
}

/// The word for [`HalfLife::Auto`].
const AUTO: &str = "auto";

/// The shortest half-life. With a shorter one the time of the day and the ranks of grade.info would decide.
const SHORTEST_HALF_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Beyond a year no log is long enough to learn from.
const LONGEST_HALF_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl SettingValue for HalfLife {
    fn from_toml(value: &Value) -> Read<Self> {
        if value.as_str() == Some(AUTO) {
            return Ok(HalfLife::Auto);
        }
        match Duration::from_toml(value) {
            Ok(time) if (SHORTEST_HALF_LIFE..=LONGEST_HALF_LIFE).contains(&time) => {
                Ok(HalfLife::Fixed(time))
            }
            _ => wrong(format!(
                "expected \"{AUTO}\" or a time from 1d to 365d such as \"7d\", not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        match self {
            HalfLife::Auto => Some(Value::String(AUTO.to_owned())),
            HalfLife::Fixed(time) => time.to_toml(),
        }
    }
}

/// How many times the demand of a new copy exceeds the demand of the removed copies: 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepFactor(f64);

/// A valid factor is never NaN.
impl Eq for KeepFactor {}

impl KeepFactor {
    /// The factor.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl SettingValue for KeepFactor {
    fn from_toml(value: &Value) -> Read<Self> {
        let number = match value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => i32::try_from(*number).ok().map(f64::from),
            _ => None,
        };
        match number {
            Some(factor) if (1.0..=100.0).contains(&factor) => Ok(KeepFactor(factor)),
            _ => wrong(format!("expected a number from 1 to 100, not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Float(self.0))
    }
}

/// The limit of exchanges in 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DailyBudget {
    /// This many bytes.
    Bytes(u64),
    /// This percentage of the disks of all destinations.
    OfDisks(Percent),
}

impl DailyBudget {
    /// The budget in bytes, for destinations with `disks` bytes in all.
    pub fn bytes(self, disks: u64) -> u64 {
        match self {
            DailyBudget::Bytes(bytes) => bytes,
            DailyBudget::OfDisks(percent) => {
                let part = u128::from(disks) * u128::from(percent.get()) / 100;
                u64::try_from(part).unwrap_or(u64::MAX)
            }
        }
    }
}

impl SettingValue for DailyBudget {
    fn from_toml(value: &Value) -> Read<Self> {
        let percent = value.as_str().and_then(|text| text.trim().strip_suffix('%'));
        if let Some(percent) = percent.and_then(|text| text.trim().parse::<i64>().ok()) {
            return Percent::from_toml(&Value::Integer(percent)).map(DailyBudget::OfDisks);
        }
        match ByteSize::from_toml(value) {
            Ok(size) => Ok(DailyBudget::Bytes(size.as_u64())),
            Err(_) => wrong(format!(
                "expected a size such as \"2TiB\" or a percentage of the disks such as \"3%\", not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        match self {
            DailyBudget::Bytes(bytes) => ByteSize::b(*bytes).to_toml(),
            DailyBudget::OfDisks(percent) => Some(Value::String(format!("{}%", percent.get()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_life_is_auto_or_a_time() {
        assert_eq!(HalfLife::from_text("auto"), Ok(HalfLife::Auto));
        let week = Duration::from_secs(7 * 24 * 60 * 60);
        assert_eq!(HalfLife::from_text("7d"), Ok(HalfLife::Fixed(week)));
        for bad in ["23h", "366d", "7", "never"] {
            assert!(HalfLife::from_text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_is_a_size_or_a_percentage() {
        assert_eq!(DailyBudget::from_text("1KiB"), Ok(DailyBudget::Bytes(1024)));
        let three = DailyBudget::from_text("3%").unwrap();
        assert_eq!(three.bytes(1000), 30);
        assert_eq!(three.to_toml(), Some(Value::String("3%".to_owned())));
        assert_eq!(three.bytes(u64::MAX), u64::MAX / 100 * 3);
        for bad in ["0%", "101%", "5", "%", "x%"] {
            assert!(DailyBudget::from_text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_factor_is_at_least_one() {
        assert_eq!(KeepFactor::from_text("2").map(KeepFactor::get), Ok(2.0));
        for bad in ["0.9", "nan", "101", "-1", "x"] {
            assert!(KeepFactor::from_text(bad).is_err(), "{bad}");
        }
    }
}
