//! Rates as people write them.

use std::fmt;
use std::str::FromStr;

use crate::host::BitsPerSecond;

/// A text that is not a rate, or is ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRate {
    /// The text does not show whether bits or bytes are meant, or the factor 1000 or 1024.
    #[error(
        "\"{0}\" is ambiguous: write {1}bit/s for bits, or {1}iB/s for bytes with the factor 1024 (a bare \
         {1} in rclone)"
    )]
    Unclear(String, char),
    /// A rate of 0 would stop copies permanently.
    #[error("a rate of 0 would stop every copy: write a rate above 0, or \"off\" for no limit")]
    Zero,
    /// The value does not fit 64 bits.
    #[error("\"{0}\" is too large: a rate is at most {most}bit/s", most = u64::MAX)]
    TooMuch(String),
    /// The text has no known unit or no valid number.
    #[error("\"{0}\" is not a rate: write 80Mbit/s, 10MiB/s or, as rclone does, 10M")]
    NoRate(String),
}

/// The units of bits, and of bytes by the 1024.
const UNITS: [(&str, u64); 9] = [
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1000),
    ("bit/s", 1),
    ("TiB/s", 8 << 40),
    ("GiB/s", 8 << 30),
    ("MiB/s", 8 << 20),
    ("KiB/s", 8 << 10),
    ("B/s", 8),
];

impl FromStr for BitsPerSecond {
    type Err = BadRate;

    /// Reads a rate with a unit of bits (`bit/s` with k, M or G) or of bytes (`B/s` with Ki, Mi, Gi or Ti).
    /// The unit may be shortened as in rclone: `512k`, `10M`, `1.5Mi`. A plain number is refused, because
    /// it means KiB/s in rclone and bit/s in cfm.
    fn from_str(text: &str) -> Result<Self, BadRate> {
        let no_rate = || BadRate::NoRate(text.to_owned());
        let number_ends = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(number_ends.ok_or_else(no_rate)?);
        let unit = unit.trim_start();
        let factor = factor(unit).ok_or_else(|| match unit.chars().next() {
            Some(prefix @ ('k' | 'K' | 'm' | 'M' | 'g' | 'G' | 't' | 'T')) => {
                BadRate::Unclear(text.to_owned(), as_prefix(prefix))
            }
            _ => no_rate(),
        })?;
        match decimal(number, factor).ok_or_else(no_rate)? {
            None => Err(BadRate::TooMuch(text.to_owned())),
            Some(0) => Err(BadRate::Zero),
            Some(bits) => Ok(BitsPerSecond(bits)),
        }
    }
}

/// How many bits per second one of `unit` is.
fn factor(unit: &str) -> Option<u64> {
    if let Some((_, factor)) = UNITS.iter().find(|(known, _)| *known == unit) {
        return Some(*factor);
    }
    // As in rclone: a letter in either case, alone or followed by the rest of its unit.
    let lower = unit.to_ascii_lowercase();
    let (prefix, rest) = lower.split_at_checked(1)?;
    let shift = match prefix {
        "b" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    let is_known = if shift == 0 { rest.is_empty() } else { matches!(rest, "" | "i" | "ib") };
    is_known.then_some(8 << shift)
}

fn as_prefix(letter: char) -> char {
    if letter.eq_ignore_ascii_case(&'k') { 'k' } else { letter.to_ascii_uppercase() }
}

/// A number with at most nine decimals times `factor`, as an integer. The outer value is none if it is no
/// number, the inner one if it is too large.
fn decimal(number: &str, factor: u64) -> Option<Option<u64>> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let part: u128 = format!("{decimals:0<9}").parse().ok()?;
    let Ok(whole) = whole.parse::<u128>() else { return Some(None) };
    let part = part * u128::from(factor) / 1_000_000_000;
    let bits = whole.checked_mul(u128::from(factor)).and_then(|bits| bits.checked_add(part));
    Some(bits.and_then(|bits| u64::try_from(bits).ok()))
}

impl fmt::Display for BitsPerSecond {
    /// The shortest exact text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().filter(|(_, factor)| self.0.is_multiple_of(*factor));
        let texts = exact.map(|(unit, factor)| format!("{}{unit}", self.0 / factor));
        // There is always one: a whole number of bits. If two texts are equally short, the first one, in
        // bits, is used.
        f.write_str(&texts.min_by_key(String::len).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bits_count_by_1000_and_bytes_by_1024_as_in_rclone() {
        for (text, bits) in [
            ("80Mbit/s", 80_000_000),
            ("10 Mbit/s", 10_000_000),
            ("1.5Gbit/s", 1_500_000_000),
            ("7bit/s", 7),
            ("512k", 512 * 1024 * 8),
            ("512K", 512 * 1024 * 8),
            ("10M", 10 * 1024 * 1024 * 8),
            ("1.5Mi", 1_572_864 * 8),
            ("10MiB/s", 10 * 1024 * 1024 * 8),
            ("10MiB", 10 * 1024 * 1024 * 8),
            ("1G", 8 << 30),
            ("512b", 512 * 8),
            ("512B/s", 512 * 8),
        ] {
            assert_eq!(text.parse(), Ok(BitsPerSecond(bits)), "{text}");
        }
    }

    #[test]
    fn an_unclear_rate_is_refused_with_the_correct_form() {
        for unclear in ["10MB/s", "10Mb", "10mbit", "10Mbps", "10kB", "5GB", "10mbit/s"] {
            let error = unclear.parse::<BitsPerSecond>().unwrap_err();
            assert!(matches!(error, BadRate::Unclear(..)), "{unclear}: {error}");
            assert!(error.to_string().contains("bit/s for bits"), "{error}");
        }
        for bad in
            ["fast", "", "512", "-1M", ".5M", "1.2.3M", "1e3k", "10 bananas", "M", "1P", "5é"]
        {
            assert!(matches!(bad.parse::<BitsPerSecond>(), Err(BadRate::NoRate(_))), "{bad}");
        }
        assert_eq!("0M".parse::<BitsPerSecond>(), Err(BadRate::Zero));
        assert_eq!("0.1bit/s".parse::<BitsPerSecond>(), Err(BadRate::Zero));
        for much in ["99999999999T", "999999999999999999999999999999999999999999Gbit/s"] {
            assert!(matches!(much.parse::<BitsPerSecond>(), Err(BadRate::TooMuch(_))), "{much}");
        }
    }

    #[test]
    fn a_rate_is_shown_in_the_shortest_exact_way() {
        for (bits, text) in [
            (80_000_000, "80Mbit/s"),
            (10 * 1024 * 1024 * 8, "10MiB/s"),
            (512 * 1024 * 8, "512KiB/s"),
            (8, "1B/s"),
            (7, "7bit/s"),
        ] {
            assert_eq!(BitsPerSecond(bits).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn shown_values_are_read_back(bits in 1_u64..) {
            prop_assert_eq!(BitsPerSecond(bits).to_string().parse(), Ok(BitsPerSecond(bits)));
        }

        #[test]
        fn no_text_is_too_much_for_the_reader(text in "[0-9.]{0,30}[ kKmMgGtTiBb/s]{0,6}|\\PC*") {
            let _ = text.parse::<BitsPerSecond>();
        }
    }
}
