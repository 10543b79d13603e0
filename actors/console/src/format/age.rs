//! Ages and times left.

use crate::text::{Language, common};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// An age in its largest unit: "4 s", "18 min", "3 h", "1 d 11 h", and from a week "29 d".
pub fn age(language: Language, seconds: u64) -> String {
    let short =
        |text: crate::text::Text, value: u64| text.fill(language, &[("n", &value.to_string())]);
    match seconds {
        0..MINUTE => short(common::AGE_SECONDS, seconds),
        MINUTE..HOUR => short(common::AGE_MINUTES, seconds / MINUTE),
        HOUR..DAY => short(common::AGE_HOURS, seconds / HOUR),
        _ => {
            let days = short(common::AGE_DAYS, seconds / DAY);
            let hours = seconds % DAY / HOUR;
            if seconds >= 7 * DAY || hours == 0 {
                return days;
            }
            format!("{days} {}", short(common::AGE_HOURS, hours))
        }
    }
}

/// A duration in words of whole sentences: "1 day 11 hours".
pub fn duration(language: Language, seconds: u64) -> String {
    let long = |text: crate::text::CountText, value: u64| {
        text.form(value).fill(language, &[("n", &value.to_string())])
    };
    match seconds {
        0..MINUTE => long(common::SECONDS, seconds),
        MINUTE..HOUR => long(common::MINUTES, seconds / MINUTE),
        HOUR..DAY => long(common::HOURS, seconds / HOUR),
        _ => {
            let days = long(common::DAYS, seconds / DAY);
            let hours = seconds % DAY / HOUR;
            if seconds >= 7 * DAY || hours == 0 {
                return days;
            }
            format!("{days} {}", long(common::HOURS, hours))
        }
    }
}

/// A time left as on a clock: "0:11", "9:31", "1:04:10".
pub fn left(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / HOUR, seconds % HOUR / MINUTE, seconds % MINUTE);
    if hours == 0 {
        format!("{minutes}:{rest:02}")
    } else {
        format!("{hours}:{minutes:02}:{rest:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_its_largest_unit() {
        let cases = [
            (0, "0 s", "0초"),
            (59, "59 s", "59초"),
            (60, "1 min", "1분"),
            (3 * HOUR + 59 * MINUTE, "3 h", "3시간"),
            (DAY + 11 * HOUR, "1 d 11 h", "1일 11시간"),
            (2 * DAY, "2 d", "2일"),
            (29 * DAY + HOUR, "29 d", "29일"),
        ];
        for (seconds, english, korean) in cases {
            assert_eq!(age(Language::English, seconds), english);
            assert_eq!(age(Language::Korean, seconds), korean);
        }
        assert_eq!(duration(Language::English, DAY + HOUR), "1 day 1 hour");
        assert_eq!(duration(Language::Korean, DAY + 11 * HOUR), "1일 11시간");
    }

    #[test]
    fn a_time_left_reads_as_a_clock() {
        assert_eq!(left(11), "0:11");
        assert_eq!(left(9 * MINUTE + 31), "9:31");
        assert_eq!(left(HOUR + 4 * MINUTE + 10), "1:04:10");
    }
}
