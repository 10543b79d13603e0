//! Quantities with units: durations, sizes, fractions.

use std::time::Duration;

use bytesize::ByteSize;
use toml::Value;

use super::value::{Read, SettingValue, quoted, text, wrong};

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

/// Whether a value is a number without a unit. It would be unclear whether it means bits, bytes or
/// thousands of them.
pub fn is_bare_number(value: &Value) -> bool {
    match value {
        Value::Integer(_) | Value::Float(_) => true,
        Value::String(text) => text.trim().parse::<f64>().is_ok_and(f64::is_finite),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized<T: SettingValue>(text: &str) -> Option<String> {
        T::from_text(text).ok().and_then(|value| value.to_toml()).map(|value| value.to_string())
    }

    #[test]
    fn quantities_are_shown_as_they_are_written() {
        assert_eq!(normalized::<ByteSize>("65536 KiB").unwrap(), "\"64MiB\"");
        assert_eq!(normalized::<ByteSize>("1500B").unwrap(), "\"1500B\"");
        assert_eq!(normalized::<Duration>("90s").unwrap(), "\"1m 30s\"");
        assert_eq!(normalized::<Fraction>("1").unwrap(), "1.0");
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
