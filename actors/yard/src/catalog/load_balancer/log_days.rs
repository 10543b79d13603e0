//! The days whose event logs are read: from the day of the window's start to today. Pure.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use reelyard_core::clock::Millis;

/// The largest number of days that are followed. For a longer window, only the latest days are
/// read.
const MOST_DAYS: usize = 32;

/// The days from `start` to `now` in `zone`, oldest first. None for instants that no calendar has.
pub fn log_days(start: Millis, now: Millis, zone: &TimeZone) -> Vec<Date> {
    let date =
        |at: Millis| Some(Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone.clone()).date());
    let Some(last) = date(now) else { return Vec::new() };
    let first = date(start.min(now)).unwrap_or(Date::MIN);
    let before = |day: &Date| day.yesterday().ok().filter(|day| *day >= first);
    let mut days: Vec<Date> = std::iter::successors(Some(last), before).take(MOST_DAYS).collect();
    days.reverse();
    days
}

/// How the names of event logs begin.
pub const LOG_NAME_PREFIX: &str = "EventLog[";

/// The name of a day's event log.
pub fn log_file_name(day: Date) -> String {
    format!("{LOG_NAME_PREFIX}{:04}{:02}{:02}].log", day.year(), day.month(), day.day())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn names(start: Millis, now: Millis, zone: &str) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        log_days(start, now, &zone).into_iter().map(log_file_name).collect()
    }

    #[test]
    fn the_day_is_that_of_the_time_zone() {
        let midnight_in_seoul = Millis(1_527_951_600_000);
        let just_before = Millis(midnight_in_seoul.0 - 1);
        assert_eq!(
            names(just_before, midnight_in_seoul, "Asia/Seoul"),
            ["EventLog[20180602].log", "EventLog[20180603].log"]
        );
        assert_eq!(
            names(midnight_in_seoul, midnight_in_seoul, "Asia/Seoul"),
            ["EventLog[20180603].log"]
        );
        assert_eq!(names(just_before, midnight_in_seoul, "UTC"), ["EventLog[20180602].log"]);
    }

    #[test]
    fn a_long_window_has_every_day_between() {
        let now = Millis(1_527_951_600_000);
        let days = Duration::from_secs(24 * 3600);
        assert_eq!(names(now.before(3 * days), now, "UTC").len(), 4);
        assert_eq!(names(Millis(i64::MIN), now, "UTC").len(), MOST_DAYS);
        assert!(names(now, Millis(i64::MAX), "UTC").is_empty());
    }
}
