//! The days whose event logs are read: from the day of the window's start to today. Pure.

use std::ffi::OsStr;
use std::ops::Range;
use std::time::Duration;

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

/// The day of an event log with this name; none for another name.
pub fn day_of_log(name: &OsStr) -> Option<Date> {
    let digits = name.to_str()?.strip_prefix(LOG_NAME_PREFIX)?.strip_suffix("].log")?;
    let number = |part: Range<usize>| digits.get(part)?.parse().ok();
    let year = i16::try_from(number(0..4)?).ok()?;
    let [month, day] = [number(4..6)?, number(6..8)?].map(|part: u16| i8::try_from(part).ok());
    Date::new(year, month?, day?).ok().filter(|day| log_file_name(*day).as_str() == name)
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The times that rows in the log of a day can have. A day of difference on either side allows for any time
/// zone, and for clocks that are wrong by hours. A row with another time says nothing about demand.
pub fn demand_times(day: Date) -> Range<Millis> {
    let midnight = day_start(day, &TimeZone::UTC);
    midnight.before(2 * DAY)..midnight.after(3 * DAY)
}

/// The first instant of a day; the earliest of all instants for a day that no zone has.
pub fn day_start(day: Date, zone: &TimeZone) -> Millis {
    let start = day.to_zoned(zone.clone()).map(|start| start.timestamp().as_millisecond());
    Millis(start.unwrap_or(i64::MIN))
}

#[cfg(test)]
mod tests {
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
    fn a_name_of_a_log_has_its_day() {
        let day = Date::new(2026, 5, 28).unwrap();
        assert_eq!(day_of_log(log_file_name(day).as_ref()), Some(day));
        for name in ["EventLog[20261328].log", "EventLog[+2260528].log", "EventLog[2026].log", "x"]
        {
            assert_eq!(day_of_log(name.as_ref()), None, "{name}");
        }
    }

    #[test]
    fn a_long_window_has_every_day_between() {
        let now = Millis(1_527_951_600_000);
        assert_eq!(names(now.before(3 * DAY), now, "UTC").len(), 4);
        assert_eq!(names(Millis(i64::MIN), now, "UTC").len(), MOST_DAYS);
        assert!(names(now, Millis(i64::MAX), "UTC").is_empty());
    }
}
