//! A rate for each minute of the week.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reelyard_core::clock::Millis;
use reelyard_core::host::BitsPerSecond;

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// Minutes since Monday 00:00 in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinuteOfWeek(u16);

impl MinuteOfWeek {
    /// The minute in `zone` at `at`.
    pub fn of(at: Millis, zone: &TimeZone) -> Self {
        // For years outside of the calendar, any minute is acceptable.
        let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
        let local = zone.to_datetime(at);
        let day = local.weekday().to_monday_zero_offset().unsigned_abs();
        let minute =
            u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
        MinuteOfWeek(u16::from(day) * DAY + minute)
    }
}

/// When a rate begins to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimetableEntry {
    /// The day, counted from Monday = 0; none for every day.
    pub day: Option<u8>,
    /// The minute within the day.
    pub minute: u16,
    /// The rate from then on; none for no limit.
    pub rate: Option<BitsPerSecond>,
}

/// Rates by the time of the week, in local time. An entry within an hour that is skipped in spring
/// applies from the end of that hour on. The entries of an hour that occurs twice in autumn apply twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timetable {
    /// The entries as written. A timetable with one constant rate has no entries.
    pub(super) entries: Vec<TimetableEntry>,
    /// By the minute of the week; never empty.
    slots: Vec<(u16, Option<BitsPerSecond>)>,
}

/// Two entries for the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwiceInTimetable(pub TimetableEntry);

impl Default for Timetable {
    /// Never any limit.
    fn default() -> Self {
        Timetable::always(None)
    }
}

impl Timetable {
    /// The same at all times.
    pub fn always(rate: Option<BitsPerSecond>) -> Self {
        Timetable { entries: Vec::new(), slots: vec![(0, rate)] }
    }

    /// A timetable of `entries`, at least one. Each applies until the next one of the week, and the last
    /// one until the first one of the next week.
    pub fn of(entries: Vec<TimetableEntry>) -> Result<Self, TwiceInTimetable> {
        let mut slots = Vec::new();
        for entry in &entries {
            let days = entry.day.map_or(0..7, |day| day..day + 1);
            for day in days {
                let at = u16::from(day) * DAY + entry.minute;
                match slots.binary_search_by_key(&at, |(at, _)| *at) {
                    Ok(_) => return Err(TwiceInTimetable(*entry)),
                    Err(place) => slots.insert(place, (at, entry.rate)),
                }
            }
        }
        if slots.is_empty() {
            slots.push((0, None));
        }
        Ok(Timetable { entries, slots })
    }

    /// The rate that is in force in `minute`; none for no limit.
    pub fn rate_at(&self, minute: MinuteOfWeek) -> Option<BitsPerSecond> {
        let begun = self.slots.partition_point(|(at, _)| *at <= minute.0);
        // Before the first entry of the week, the last one still applies.
        let slot = begun.checked_sub(1).and_then(|slot| self.slots.get(slot));
        slot.or(self.slots.last()).and_then(|(_, rate)| *rate)
    }

    /// The one rate, of a timetable that has no times.
    pub(super) fn constant(&self) -> Option<Option<BitsPerSecond>> {
        self.entries.is_empty().then(|| self.slots.first().and_then(|(_, rate)| *rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_at(timetable: &str, zone: &str, at: &str) -> String {
        let timetable: Timetable = timetable.parse().unwrap();
        let zone = TimeZone::get(zone).unwrap();
        let at: Timestamp = at.parse().unwrap();
        let minute = MinuteOfWeek::of(Millis(at.as_millisecond()), &zone);
        timetable.rate_at(minute).map_or_else(|| "off".to_owned(), |rate| rate.to_string())
    }

    /// The example of rclone's documentation.
    const DAY_PLAN: &str = "08:00,512k 12:00,10M 13:00,512k 18:00,30M 23:00,off";

    /// Its other one, with days.
    const WEEK_PLAN: &str = "Mon-00:00,512k Fri-23:59,10M Sat-10:00,1M Sun-20:00,off";

    #[test]
    fn each_entry_holds_until_the_next() {
        // A Wednesday.
        for (time, rate) in [
            ("00:00", "off"),
            ("07:59", "off"),
            ("08:00", "512KiB/s"),
            ("11:59", "512KiB/s"),
            ("12:00", "10MiB/s"),
            ("13:30", "512KiB/s"),
            ("18:00", "30MiB/s"),
            ("22:59", "30MiB/s"),
            ("23:00", "off"),
        ] {
            let at = format!("2026-11-18T{time}:30Z");
            assert_eq!(rate_at(DAY_PLAN, "UTC", &at), rate, "{time}");
        }
    }

    #[test]
    fn a_week_wraps() {
        for (at, rate) in [
            ("2026-11-16T00:00:00Z", "512KiB/s"),
            ("2026-11-20T23:58:59Z", "512KiB/s"),
            ("2026-11-20T23:59:00Z", "10MiB/s"),
            ("2026-11-21T09:59:00Z", "10MiB/s"),
            ("2026-11-22T19:59:00Z", "1MiB/s"),
            ("2026-11-22T23:59:59Z", "off"),
        ] {
            assert_eq!(rate_at(WEEK_PLAN, "UTC", at), rate, "{at}");
        }
        // Before the first entry of the week the last one of the week before holds.
        for at in ["2026-11-16T00:00:00Z", "2026-11-18T11:00:00Z", "2026-11-19T00:00:00Z"] {
            let before = at < "2026-11-18T12";
            let rate = if before { "2MiB/s" } else { "1MiB/s" };
            assert_eq!(rate_at("Wed-12:00,1M Fri-12:00,2M", "UTC", at), rate, "{at}");
        }
        assert_eq!(rate_at("Wed-12:00,1M", "UTC", "2026-11-18T00:00:00Z"), "1MiB/s");
    }

    #[test]
    fn a_day_of_its_own_stands_beside_every_day() {
        let plan = "08:00,1M 20:00,2M Sun-12:00,off";
        assert_eq!(rate_at(plan, "UTC", "2026-11-22T13:00:00Z"), "off");
        assert_eq!(rate_at(plan, "UTC", "2026-11-22T21:00:00Z"), "2MiB/s");
        assert_eq!(rate_at(plan, "UTC", "2026-11-23T13:00:00Z"), "1MiB/s");
    }

    #[test]
    fn local_time_counts_at_both_changes_of_daylight_saving() {
        let plan = "01:00,1M 02:30,2M 04:00,3M";
        // Berlin, 2026-03-29: 02:00 is 03:00. The entry in the missing hour holds from its end on.
        for (at, rate) in [
            ("2026-03-29T00:59:00Z", "1MiB/s"), // 01:59
            ("2026-03-29T01:00:00Z", "2MiB/s"), // 03:00
            ("2026-03-29T02:00:00Z", "3MiB/s"), // 04:00
        ] {
            assert_eq!(rate_at(plan, "Europe/Berlin", at), rate, "{at}");
        }
        // Berlin, 2026-10-25: 03:00 is 02:00 again.
        for (at, rate) in [
            ("2026-10-25T00:29:00Z", "1MiB/s"), // 02:29, the first time
            ("2026-10-25T00:30:00Z", "2MiB/s"), // 02:30
            ("2026-10-25T01:00:00Z", "1MiB/s"), // 02:00, the second time
            ("2026-10-25T01:30:00Z", "2MiB/s"), // 02:30
            ("2026-10-25T03:00:00Z", "3MiB/s"), // 04:00
        ] {
            assert_eq!(rate_at(plan, "Europe/Berlin", at), rate, "{at}");
        }
    }

    #[test]
    fn the_zone_decides_which_day_it_is() {
        let plan = "Mon-00:00,1M Tue-00:00,2M";
        // In Seoul it is Tuesday already.
        assert_eq!(rate_at(plan, "UTC", "2026-11-16T15:00:00Z"), "1MiB/s");
        assert_eq!(rate_at(plan, "Asia/Seoul", "2026-11-16T15:00:00Z"), "2MiB/s");
    }

    #[test]
    fn times_that_no_calendar_knows_have_a_rate_too() {
        for at in [i64::MIN, i64::MAX] {
            MinuteOfWeek::of(Millis(at), &TimeZone::UTC);
        }
    }
}
