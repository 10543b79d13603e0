//! Quantities as people write them: durations, sizes, rates, shares of a whole.

use std::time::Duration;

use bytesize::ByteSize;
use reelyard_actors::host::BitsPerSecond;
use reelyard_actors::task_manager::Spread;
use toml::Value;

use super::value::{Read, SettingValue, quoted, text, wrong};

/// A percentage from 1 to 100. Zero is refused: a limit of 0 % would make every disk too full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

impl Percent {
    /// The percentage, 1 to 100.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// A share of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Fraction(f64);

impl Fraction {
    /// The share, 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// What the names of some files begin with. Never empty: an empty one would be every file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamePrefix(String);

impl NamePrefix {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its bytes, to compare with those of a name.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl SettingValue for Percent {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_integer().map(u32::try_from) {
            Some(Ok(percent @ 1..=100)) => Ok(Percent(percent)),
            _ => wrong(format!("a percentage from 1 to 100 is wanted, not {}", quoted(value))),
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
            // Only 0 and 1 pass the check below, and both are exact.
            Value::Integer(number) => Some(*number as f64),
            _ => None,
        };
        match number {
            Some(share) if (0.0..=1.0).contains(&share) => Ok(Fraction(share)),
            _ => wrong(format!("a number from 0 to 1 is wanted, not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::Float(self.0))
    }
}

impl SettingValue for NamePrefix {
    fn from_toml(value: &Value) -> Read<Self> {
        match text(value, "a prefix")? {
            "" => wrong("an empty prefix would be that of every file"),
            prefix if prefix.contains('/') => wrong("no file name contains a \"/\""),
            prefix => Ok(NamePrefix(prefix.to_owned())),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

impl SettingValue for Spread {
    fn from_toml(value: &Value) -> Read<Self> {
        match value.as_str() {
            Some("room") => Ok(Spread::Room),
            Some("ring") => Ok(Spread::Ring),
            _ => wrong(format!("\"room\" or \"ring\" is wanted, not {}", quoted(value))),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let word = match self {
            Spread::Room => "room",
            Spread::Ring => "ring",
        };
        Some(Value::String(word.to_owned()))
    }
}

/// The longest duration of a setting: far beyond use, and no instant overflows when it is added.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

impl SettingValue for Duration {
    fn from_toml(value: &Value) -> Read<Self> {
        let written = text(value, "a duration, as in \"30s\" or \"1h 30m\",")?;
        match humantime::parse_duration(written) {
            Ok(duration) if duration < Duration::from_millis(1) => {
                wrong(format!("a duration of at least 1ms is wanted, not {}", quoted(value)))
            }
            Ok(duration) if duration > LONGEST => {
                wrong(format!("a duration of at most 10 years is wanted, not {}", quoted(value)))
            }
            Ok(duration) => Ok(duration),
            Err(error) => wrong(format!(
                "a duration is wanted, as in \"30s\" or \"1h 30m\", not {}: {error}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        Some(Value::String(humantime::format_duration(*self).to_string()))
    }
}

impl SettingValue for ByteSize {
    fn from_toml(value: &Value) -> Read<Self> {
        let size = match value {
            Value::Integer(bytes) => u64::try_from(*bytes).ok().map(ByteSize::b),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match size {
            Some(size) if size.as_u64() > 0 => Ok(size),
            _ => wrong(format!(
                "a size above 0 is wanted, as in \"64MiB\" or a number of bytes, not {}",
                quoted(value)
            )),
        }
    }

    /// The largest binary unit that shows it without loss.
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

/// The units of a rate, largest first.
const RATES: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1000), ("bit/s", 1)];

impl SettingValue for BitsPerSecond {
    fn from_toml(value: &Value) -> Read<Self> {
        let rate = match value {
            Value::Integer(rate) => u64::try_from(*rate).ok(),
            Value::String(text) => parse_rate(text),
            _ => None,
        };
        match rate {
            Some(rate @ 1..) => Ok(BitsPerSecond(rate)),
            _ => wrong(format!(
                "a rate above 0 is wanted, as in \"80Mbit/s\" or a number of bits per second, not {}",
                quoted(value)
            )),
        }
    }

    fn to_toml(&self) -> Option<Value> {
        let exact = RATES.iter().find(|(_, factor)| self.0.is_multiple_of(*factor));
        exact.map(|(unit, factor)| Value::String(format!("{}{unit}", self.0 / factor)))
    }
}

/// A number with at most nine decimals and a unit; whole bits per second come out.
fn parse_rate(text: &str) -> Option<u64> {
    let (number, factor) = RATES
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?.trim_end(), *factor)))
        .unwrap_or((text, 1));
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let part: u64 = format!("{decimals:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(part * factor / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<T: SettingValue>(text: &str) -> Option<String> {
        T::from_text(text).ok().and_then(|value| value.to_toml()).map(|value| value.to_string())
    }

    #[test]
    fn a_rate_is_a_number_with_a_unit_or_bits_per_second() {
        for (text, bits) in [
            ("10Mbit/s", 10_000_000),
            ("10 Mbit/s", 10_000_000),
            ("1.5Gbit/s", 1_500_000_000),
            ("80000000", 80_000_000),
            ("7bit/s", 7),
        ] {
            assert_eq!(BitsPerSecond::from_text(text).unwrap().0, bits, "{text}");
        }
        for bad in ["0", "-1", "fast", "10 MB/s", "1.2.3Mbit/s", ".5Mbit/s", "0.1bit/s", ""] {
            assert!(BitsPerSecond::from_text(bad).is_err(), "{bad}");
        }
        assert!(BitsPerSecond::from_text("99999999999999999999Gbit/s").is_err());
    }

    #[test]
    fn quantities_are_shown_as_they_are_written() {
        assert_eq!(shown::<ByteSize>("67108864").unwrap(), "\"64MiB\"");
        assert_eq!(shown::<ByteSize>("1500").unwrap(), "\"1500B\"");
        assert_eq!(shown::<Duration>("90s").unwrap(), "\"1m 30s\"");
        assert_eq!(shown::<BitsPerSecond>("80000000").unwrap(), "\"80Mbit/s\"");
        assert_eq!(shown::<Fraction>("1").unwrap(), "1.0");
    }

    #[test]
    fn what_would_disable_a_limit_is_refused() {
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
