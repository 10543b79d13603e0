//! Timetables as rclone writes them: `08:00,512k 12:00,10M Sat-10:00,off`, or one rate for always.

use std::fmt;
use std::str::FromStr;

use reelyard_core::host::BitsPerSecond;
use reelyard_core::rate_text::BadRate;

use super::timetable::{Timetable, TimetableEntry, TwiceInTimetable};

/// A text that is no timetable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTimetable {
    /// The rate alone is not one.
    #[error(transparent)]
    Rate(BadRate),
    /// The rate of an entry is not one.
    #[error("entry \"{entry}\": {error}")]
    EntryRate {
        /// The text of the entry in the setting.
        entry: String,
        /// Why its rate cannot be read.
        error: BadRate,
    },
    /// An entry has a rate without a unit: rclone then counts KiB/s, everything here bit/s.
    #[error("entry \"{0}\" has no unit: write {1}k for KiB/s (the meaning in rclone) or {1}bit/s")]
    NoUnit(String, String),
    /// It does not say when.
    #[error(
        "entry \"{0}\": expected hh:mm,RATE or Day-hh:mm,RATE such as 08:00,10M or Sat-10:00,off"
    )]
    Entry(String),
    /// Two entries for the same moment.
    #[error("two entries start at {0}: remove one of them")]
    Twice(String),
}

/// The days, as they are written.
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The text that removes the limit.
const OFF: &str = "off";

impl FromStr for Timetable {
    type Err = BadTimetable;

    fn from_str(text: &str) -> Result<Self, BadTimetable> {
        let text = text.trim();
        if !text.contains(',') && !text.contains(':') {
            return rate(text).map(Timetable::always).map_err(BadTimetable::Rate);
        }
        let entries = text.split_whitespace().map(entry).collect::<Result<Vec<_>, _>>()?;
        Timetable::of(entries)
            .map_err(|TwiceInTimetable(entry)| BadTimetable::Twice(moment(&entry)))
    }
}

fn entry(text: &str) -> Result<TimetableEntry, BadTimetable> {
    let unreadable = || BadTimetable::Entry(text.to_owned());
    let (when, written) = text.split_once(',').ok_or_else(unreadable)?;
    let (day, time) = match when.split_once('-') {
        Some((name, time)) => (Some(day(name).ok_or_else(unreadable)?), time),
        None => (None, when),
    };
    let minute = minute(time).ok_or_else(unreadable)?;
    if !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(BadTimetable::NoUnit(text.to_owned(), written.to_owned()));
    }
    let rate =
        rate(written).map_err(|error| BadTimetable::EntryRate { entry: text.to_owned(), error })?;
    Ok(TimetableEntry { day, minute, rate })
}

fn rate(text: &str) -> Result<Option<BitsPerSecond>, BadRate> {
    if text.eq_ignore_ascii_case(OFF) { Ok(None) } else { text.parse().map(Some) }
}

/// A day by its full name or its first three letters, counted from Monday = 0.
fn day(text: &str) -> Option<u8> {
    let is_it = |name: &str| {
        name.eq_ignore_ascii_case(text)
            || name.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(text))
    };
    let day = DAYS.iter().position(|name| is_it(name))?;
    u8::try_from(day).ok()
}

/// The minute of the day that `hh:mm` is.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let two_digits = |text: &str, below: u16| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|number| is_number && *number < below)
    };
    Some(two_digits(hours, 24)? * 60 + two_digits(minutes, 60)?)
}

impl fmt::Display for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.constant() {
            return f.write_str(&rate_text(rate));
        }
        for (number, entry) in self.entries.iter().enumerate() {
            let blank = if number == 0 { "" } else { " " };
            write!(f, "{blank}{},{}", moment(entry), rate_text(entry.rate))?;
        }
        Ok(())
    }
}

fn rate_text(rate: Option<BitsPerSecond>) -> String {
    rate.map_or_else(|| OFF.to_owned(), |rate| rate.to_string())
}

fn moment(entry: &TimetableEntry) -> String {
    let day = entry.day.and_then(|day| DAYS.get(usize::from(day))?.get(..3));
    let dash = if day.is_some() { "-" } else { "" };
    format!("{}{dash}{:02}:{:02}", day.unwrap_or_default(), entry.minute / 60, entry.minute % 60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalized(text: &str) -> String {
        text.parse::<Timetable>().unwrap().to_string()
    }

    #[test]
    fn timetables_of_rclone_are_read() {
        assert_eq!(
            normalized("08:00,512k 12:00,10M 13:00,512k 18:00,30M 23:00,off"),
            "08:00,512KiB/s 12:00,10MiB/s 13:00,512KiB/s 18:00,30MiB/s 23:00,off"
        );
        assert_eq!(
            normalized("mon-00:00,512k  Friday-23:59,80Mbit/s Sat-10:00,1M sun-20:00,OFF"),
            "Mon-00:00,512KiB/s Fri-23:59,80Mbit/s Sat-10:00,1MiB/s Sun-20:00,off"
        );
        assert_eq!(normalized("10M"), "10MiB/s");
        assert_eq!(normalized(" off "), "off");
    }

    #[test]
    fn an_invalid_timetable_names_the_entry_and_the_reason() {
        for (text, why) in [
            ("08:00,512 12:00,10M", "entry \"08:00,512\" has no unit: write 512k"),
            ("08:00,10MB", "entry \"08:00,10MB\": \"10MB\" is ambiguous"),
            ("08:00,0k", "write a rate above 0, or \"off\""),
            ("08:00,10M:1M", "is ambiguous"),
            ("08:00,10 Mbit/s", "has no unit"),
            ("8:00,10M", "hh:mm"),
            ("24:00,10M", "hh:mm"),
            ("12:60,10M", "hh:mm"),
            ("+1:30,10M", "hh:mm"),
            ("12:00", "hh:mm"),
            ("12:00,", "not a rate"),
            (",", "hh:mm"),
            ("Son-12:00,10M", "hh:mm"),
            ("Mo-12:00,10M", "hh:mm"),
            ("-12:00,10M", "hh:mm"),
            ("12:00,1M 12:00,2M", "two entries start at 12:00"),
            ("12:00,1M Tue-12:00,2M", "two entries start at Tue-12:00"),
            ("", "not a rate"),
            ("fast", "not a rate"),
        ] {
            let error = text.parse::<Timetable>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn shown_values_are_read_back(
            entries in proptest::collection::btree_map(
                (0_u8..7, 0_u16..1440),
                proptest::option::of(1_u64..1_000_000_000_000),
                1..20,
            ),
        ) {
            let entries = entries.into_iter().map(|((day, minute), rate)| {
                TimetableEntry { day: Some(day), minute, rate: rate.map(BitsPerSecond) }
            });
            let timetable = Timetable::of(entries.collect()).unwrap();
            prop_assert_eq!(timetable.to_string().parse(), Ok(timetable));
        }

        #[test]
        fn no_text_is_too_much_for_the_reader(text in "[0-9:,A-Za-z .-]{0,40}|\\PC*") {
            let _ = text.parse::<Timetable>();
        }
    }
}
