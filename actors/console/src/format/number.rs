//! Counts and shares.

use crate::text::{CountText, Language};

/// Digits in groups of three: `18452` is "18,452".
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count as a cell of a table has it.
pub fn count(value: u64) -> String {
    thousands(value)
}

/// A count with its noun: "1 file", "18,452 files", "18,452개".
pub fn counted(language: Language, noun: CountText, value: u64) -> String {
    noun.form(value).fill(language, &[("n", &thousands(value))])
}

/// A share in percent with one digit: "91.3%".
pub fn percent(value: f64) -> String {
    format!("{}%", percent_number(value))
}

/// The same for a column, where all digits stand below each other: "62.0%". A value that is no number is 0.
pub fn aligned_percent(value: f64) -> String {
    format!("{:.1}%", if value.is_finite() { value } else { 0.0 })
}

/// The number of a share in percent, without its sign. A value that is no number is 0.
pub fn percent_number(value: f64) -> String {
    let shown = if value.is_finite() { value } else { 0.0 };
    let rounded = (shown * 10.0).round() / 10.0;
    if rounded == rounded.trunc() { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::common::FILES;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(value), text);
        }
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn a_noun_follows_its_count() {
        assert_eq!(counted(Language::English, FILES, 1), "1 file");
        assert_eq!(counted(Language::English, FILES, 18_452), "18,452 files");
        assert_eq!(counted(Language::Korean, FILES, 18_452), "파일 18,452개");
    }

    #[test]
    fn a_share_has_at_most_one_digit() {
        assert_eq!(percent(91.29), "91.3%");
        assert_eq!(percent(90.0), "90%");
        assert_eq!(percent(f64::NAN), "0%");
        assert_eq!(percent(99.96), "100%");
        assert_eq!([62.0, 91.29, f64::NAN].map(aligned_percent), ["62.0%", "91.3%", "0.0%"]);
    }
}
