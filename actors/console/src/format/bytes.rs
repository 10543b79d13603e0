//! Bytes and rates.

const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL: [&str; 5] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];

/// A value in the largest unit in which it is at least 1, with one digit below 100.
fn scaled(value: u64, step: f64, units: &[&str]) -> String {
    let mut rest = value as f64;
    let mut unit = 0;
    // From 999.5 on the number would be rounded to 1000 or above.
    while rest >= 999.5 && unit + 1 < units.len() {
        rest /= step;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 || rest >= 99.95 {
        format!("{rest:.0} {name}")
    } else {
        format!("{rest:.1} {name}")
    }
}

/// A size: "8.9 GiB", "212 GiB", "1.1 TiB".
pub fn bytes(value: u64) -> String {
    scaled(value, 1024.0, &BINARY)
}

/// A rate of a copy, from bytes a second: "412 MiB/s".
pub fn byte_rate(bytes_a_second: u64) -> String {
    format!("{}/s", bytes(bytes_a_second))
}

/// A rate of a link, from bits a second: "46.2 Gbit/s".
pub fn bit_rate(bits_a_second: u64) -> String {
    scaled(bits_a_second, 1000.0, &DECIMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_below_a_hundred() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KiB"),
            (1023, "1.0 KiB"),
            (9_556_302_233, "8.9 GiB"),
            (212 << 30, "212 GiB"),
            (1_209_462_790_553, "1.1 TiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (value, text) in cases {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn rates_of_links_are_decimal() {
        assert_eq!(bit_rate(46_200_000_000), "46.2 Gbit/s");
        assert_eq!(bit_rate(999_700), "1.0 Mbit/s");
        assert_eq!(byte_rate(412 << 20), "412 MiB/s");
    }
}
