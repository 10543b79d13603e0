//! Quantities with units: durations, sizes, rates, fractions.

use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::host::HostAddr;
use reelyard_worker::downloader::disk::room::Capacity;
use reelyard_yard::bandwidth::{BadTimetable, HostLimits, Timetable};
use reelyard_yard::remover::{KeptBy, RemovalMode};
use reelyard_yard::task_manager::{PlacementPolicy, PlanningMode};
use toml::Value;

use super::value::{Read, SettingValue, Wrong, quoted, text, wrong};

/// A percentage from 1 to 100. Zero is refused, because with a limit of 0 % every disk would be too
/// full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

impl Percent {
    /// The percentage, 1 to 100.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// A fraction from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Fraction(f64);

impl Fraction {
    /// The fraction, 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A prefix of file names. Never empty, because an empty prefix matches every file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamePrefix(String);

impl NamePrefix {
    /// Prefix as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The prefix as bytes, to compare with names.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl SettingValue for Percent {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_integer().map(u32::try_from) {
            Some(Ok(percent @ 1..=100)) => Ok(Percent(percent)),
            _ => wrong(format!("expected a percentage from 1 to 100, not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Integer(self.0.into()))
    }
}

impl SettingValue for Fraction {
    fn from_toml(value: &Value) -> Read<Self> {
        let number = match value {
            Value::Float(number) => Some(*number),
            // Only 0 and 1 pass the check below, and both convert exactly.
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        };
        match number {
            Some(share) if (0.0..=1.0).contains(&share) => Ok(Fraction(share)),
            _ => wrong(format!("expected a number from 0 to 1, not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Float(self.0))
    }
}

impl SettingValue for NamePrefix {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "a prefix")? {
            "" => wrong("an empty prefix matches every file"),
            prefix if prefix.contains('/') => wrong("no file name contains a \"/\""),
            prefix => Ok(NamePrefix(prefix.to_owned())),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

impl SettingValue for PlacementPolicy {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_str() {
            Some("room") => Ok(PlacementPolicy::Room),
            Some("ring") => Ok(PlacementPolicy::Ring),
            _ => wrong(format!("expected \"room\" or \"ring\", not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let word = match self {
            PlacementPolicy::Room => "room",
            PlacementPolicy::Ring => "ring",
        };
        Some(Value::String(word.to_owned()))
    }
}

impl SettingValue for PlanningMode {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_str() {
            Some("on") => Ok(PlanningMode::On),
            Some("off") => Ok(PlanningMode::Off),
            _ => wrong(format!("expected \"on\" or \"off\", not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let word = match self {
            PlanningMode::On => "on",
            PlanningMode::Off => "off",
        };
        Some(Value::String(word.to_owned()))
    }
}

impl SettingValue for RemovalMode {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_str() {
            Some("on") => Ok(RemovalMode::On),
            Some("dry-run") => Ok(RemovalMode::DryRun),
            Some("off") => Ok(RemovalMode::Off),
            _ => wrong(format!("expected \"on\", \"dry-run\" or \"off\", not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl SettingValue for KeptBy {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_str() {
            Some("room") => Ok(KeptBy::Room),
            Some("cfm") => Ok(KeptBy::Cfm),
            _ => wrong(format!("expected \"room\" or \"cfm\", not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let word = match self {
            KeptBy::Room => "room",
            KeptBy::Cfm => "cfm",
        };
        Some(Value::String(word.to_owned()))
    }
}

/// Longest duration of a setting. It is far above useful values, and adding it to a time cannot
/// overflow.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

impl SettingValue for Duration {
    fn from_toml(value: &Value) -> Read<Self> {
        let written = text(value, "a duration such as \"30s\" or \"1h 30m\"")?;
        match humantime::parse_duration(written) {
            Ok(duration) if duration < Duration::from_millis(1) => {
                wrong(format!("expected a duration of at least 1ms, not {}", quoted(value)))
            }
            Ok(duration) if duration > LONGEST => {
                wrong(format!("expected a duration of at most 10 years, not {}", quoted(value)))
            }
            Ok(duration) => Ok(duration),
            Err(error) => wrong(format!(
                "expected a duration such as \"30s\" or \"1h 30m\", not {}: {error}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(humantime::format_duration(*self).to_string()))
    }
}

/// The format of sizes, for faults.
const SIZES: &str = "as in \"64MiB\", \"10GB\" or \"1500B\"";

/// The format of rates, for faults.
const RATES: &str = "as in \"80Mbit/s\", \"10MiB/s\" or, as in rclone, \"10M\" (MiB/s)";

/// Whether a value is a number without a unit. It would be unclear whether it means bits, bytes or
/// thousands of them.
fn is_bare_number(value: &Value) -> bool {
    match value {
        Value::Integer(_) | Value::Float(_) => true,
        Value::String(text) => text.trim().parse::<f64>().is_ok_and(f64::is_finite),
        _ => false,
    }
}

/// Parses a size with its unit, for a command-line argument.
pub fn size_argument(text: &str) -> Result<ByteSize, String> {
    let read = ByteSize::from_toml(&Value::String(text.to_owned()));
    read.map_err(|wrongs| wrongs.into_iter().map(|wrong| wrong.what).collect())
}

impl SettingValue for ByteSize {
    fn from_toml(value: &Value) -> Read<Self> {
        if is_bare_number(value) {
            return wrong(format!("a size needs a unit, {SIZES}: {} has none", quoted(value)));
        }
        match value.as_str().and_then(|text| text.parse::<ByteSize>().ok()) {
            Some(size) if size.as_u64() > 0 => Ok(size),
            _ => wrong(format!("expected a size above 0, {SIZES}, not {}", quoted(value))),
        }
    }

    /// Uses the largest binary unit that is exact.
    fn to_toml(&self) -> Option<Value> {
        let bytes = self.as_u64();
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let exact = units.iter().find(|(_, shift)| bytes.is_multiple_of(1 << shift));
        Some(match exact {
            Some((unit, shift)) => Value::String(format!("{}{unit}", bytes >> shift)),
            None => Value::String(format!("{bytes}B")),
        })
    }
}

impl SettingValue for Capacity {
    fn from_toml(value: &Value) -> Read<Self> {
        if value.as_str() == Some("filesystem") {
            return Ok(Capacity::FileSystem);
        }
        match ByteSize::from_toml(value) {
            Ok(size) => Ok(Capacity::Quota(size.as_u64())),
            Err(wrongs) if is_bare_number(value) => Err(wrongs),
            Err(_) => wrong(format!(
                "expected \"filesystem\" or a size above 0 such as \"200GiB\", not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        match self {
            Capacity::FileSystem => Some(Value::String("filesystem".to_owned())),
            Capacity::Quota(bytes) => ByteSize::b(*bytes).to_toml(),
        }
    }
}

impl SettingValue for Timetable {
    /// A single rate, or a timetable.
    fn from_toml(value: &Value) -> Read<Self> {
        if is_bare_number(value) {
            return wrong(format!("a rate needs a unit, {RATES}: {} has none", quoted(value)));
        }
        let wanted = "a rate or a timetable such as \"80Mbit/s\" or \"08:00,10M 23:00,off\"";
        text(value, wanted)?.parse().or_else(|error: BadTimetable| wrong(error.to_string()))
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

/// The key for all hosts without an entry.
const EVERY_HOST: &str = "default";

impl SettingValue for HostLimits {
    fn from_toml(value: &Value) -> Read<Self> {
        let Value::Table(table) = value else {
            return wrong(format!(
                "expected a table such as {{ {EVERY_HOST} = \"1Gbit/s\", \"10.0.0.11:8888\" = \"08:00,10M 23:00,off\" }}, not {}",
                quoted(value)
            ));
        };
        let (mut limits, mut wrongs) = (HostLimits::default(), Vec::new());
        for (host, limit) in table {
            let read = Timetable::from_toml(limit).and_then(|limit| {
                if host == EVERY_HOST {
                    limits.default = limit;
                } else {
                    let host = HostAddr::from_toml(&Value::String(host.clone()))?;
                    limits.by_host.insert(host, limit);
                }
                Ok(())
            });
            let about =
                |wrong: Wrong| Wrong { what: format!("\"{host}\": {}", wrong.what), ..wrong };
            wrongs.extend(read.err().into_iter().flatten().map(about));
        }
        if wrongs.is_empty() { Ok(limits) } else { Err(wrongs) }
    }

    fn to_toml(&self) -> Option<Value> {
        let default = Some(&self.default).filter(|limit| **limit != Timetable::default());
        let default = default.map(|limit| (EVERY_HOST.to_owned(), limit));
        let hosts = self.by_host.iter().map(|(host, limit)| (host.to_string(), limit));
        let all = default.into_iter().chain(hosts);
        Some(Value::Table(all.filter_map(|(host, limit)| Some((host, limit.to_toml()?))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<T: SettingValue>(text: &str) -> Option<String> {
        T::from_text(text).ok().and_then(|value| value.to_toml()).map(|value| value.to_string())
    }

    #[test]
    fn a_rate_is_a_number_with_a_unit_or_a_timetable() {
        for (text, same) in [
            ("10Mbit/s", "10Mbit/s"),
            ("10 Mbit/s", "10Mbit/s"),
            ("10M", "10MiB/s"),
            ("off", "off"),
            ("08:00,512k Sat-12:00,off", "08:00,512KiB/s Sat-12:00,off"),
        ] {
            assert_eq!(shown::<Timetable>(text).unwrap(), format!("\"{same}\""), "{text}");
        }
        for bad in ["0", "80000000", "-1", "fast", "10 MB/s", "08:00,512", "1.5", "0bit/s", ""] {
            assert!(Timetable::from_text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_of_hosts_are_a_table_and_each_fault_names_its_host() {
        let text =
            r#"{ default = "1Gbit/s", "10.0.0.1:8888" = "8kbit/s", "10.0.0.2:8888" = "off" }"#;
        let limits = HostLimits::from_text(text).unwrap();
        assert_eq!(limits.by_host.len(), 2);
        assert_eq!(HostLimits::from_text(&shown::<HostLimits>(text).unwrap()), Ok(limits));
        let bad = r#"{ default = "fast", "das1" = "1M", "10.0.0.1:8888" = "08:00,5" }"#;
        let error: Vec<String> =
            HostLimits::from_text(bad).unwrap_err().into_iter().map(|wrong| wrong.what).collect();
        for (host, why) in
            [("default", "not a rate"), ("das1", "ip:port"), ("10.0.0.1:8888", "unit")]
        {
            let of_host = error.iter().find(|what| what.starts_with(&format!("\"{host}\": ")));
            assert!(of_host.is_some_and(|what| what.contains(why)), "{host}: {error:?}");
        }
        assert!(HostLimits::from_text("80Mbit/s").unwrap_err()[0].what.contains("a table"));
    }

    #[test]
    fn quantities_are_shown_as_they_are_written() {
        assert_eq!(shown::<ByteSize>("65536 KiB").unwrap(), "\"64MiB\"");
        assert_eq!(shown::<ByteSize>("1500B").unwrap(), "\"1500B\"");
        assert_eq!(shown::<Duration>("90s").unwrap(), "\"1m 30s\"");
        assert_eq!(shown::<Fraction>("1").unwrap(), "1.0");
    }

    #[test]
    fn a_capacity_is_the_file_system_or_a_size() {
        assert_eq!(Capacity::from_text("filesystem").unwrap(), Capacity::FileSystem);
        assert_eq!(Capacity::from_text("200GiB").unwrap(), Capacity::Quota(200 << 30));
        assert_eq!(shown::<Capacity>("2048B").unwrap(), "\"2KiB\"");
        for bad in ["", "0", "2048", "filesystems", "-1"] {
            assert!(Capacity::from_text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_that_disable_a_limit_are_refused() {
        for bad in ["0", "101", "-3", "ninety"] {
            assert!(Percent::from_text(bad).is_err(), "{bad}");
        }
        for bad in ["0s", "5", "", "-1s", "1us", "11y", "99999999999999999999y"] {
            assert!(Duration::from_text(bad).is_err(), "{bad}");
        }
        for bad in ["-0.1", "1.1", "nan", "inf"] {
            assert!(Fraction::from_text(bad).is_err(), "{bad}");
        }
        assert!(ByteSize::from_text("0").is_err());
        assert!(NamePrefix::from_text("").is_err());
    }
}
