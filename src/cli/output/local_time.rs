//! Instants in the zone of the reader.

use jiff::{Timestamp, Zoned};
use reelyard_console::{Moment, Viewer, format};
use reelyard_core::clock::Millis;

/// The instant in the zone of the reader; none if the calendar does not reach so far.
fn zoned(viewer: &Viewer, at: Millis) -> Option<Zoned> {
    let instant = Timestamp::from_millisecond(at.0).ok()?;
    Some(instant.to_zoned(viewer.zone.clone()))
}

/// The instant as a table has it: "14:02:11" today, "Mon 30 Nov 14:00" on other days.
pub fn short(viewer: &Viewer, at: Millis) -> String {
    match zoned(viewer, at) {
        Some(_) => format::clock(viewer, Moment(at.0)),
        None => at.to_string(),
    }
}

/// The instant to the millisecond with its offset: "2026-11-23 14:02:11.482 +09:00".
pub fn exact(viewer: &Viewer, at: Millis) -> String {
    match zoned(viewer, at) {
        Some(_) => format::exact(viewer, Moment(at.0)),
        None => at.to_string(),
    }
}

/// The same for programs: "2026-11-23T14:02:11.482+09:00".
pub fn machine(viewer: &Viewer, at: Millis) -> String {
    match zoned(viewer, at) {
        Some(at) => at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
        None => at.to_string(),
    }
}

/// The time since an instant in its largest unit: "18 min".
pub fn age(viewer: &Viewer, at: Millis) -> String {
    format::age(viewer.language, Moment(at.0).seconds_until(viewer.now))
}

/// The time until an instant; "due" if it has passed.
pub fn left(viewer: &Viewer, at: Millis) -> String {
    if at.0 <= viewer.now.0 {
        return "due".to_owned();
    }
    format::age(viewer.language, viewer.now.seconds_until(Moment(at.0)))
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::cli::output::style;

    /// 2026-11-23 14:02:11.482 in Seoul.
    const NOW: Millis = Millis(1_795_410_131_482);

    #[test]
    fn an_instant_is_local_with_its_offset() {
        let viewer = style::viewer(TimeZone::get("Asia/Seoul").unwrap(), NOW);
        assert_eq!(short(&viewer, NOW), "14:02:11");
        assert_eq!(exact(&viewer, NOW), "2026-11-23 14:02:11.482 +09:00");
        assert_eq!(machine(&viewer, NOW), "2026-11-23T14:02:11.482+09:00");
        let week = Millis(NOW.0 + 7 * 86_400_000);
        assert_eq!(short(&viewer, week), "Mon 30 Nov 14:02");
        assert_eq!(left(&viewer, week), "7 d");
        assert_eq!(age(&viewer, Millis(NOW.0 - 18 * 60_000)), "18 min");
        assert_eq!(left(&viewer, NOW), "due");
    }

    #[test]
    fn an_instant_beyond_the_calendar_stays_in_utc() {
        let viewer = style::viewer(TimeZone::UTC, NOW);
        assert_eq!(exact(&viewer, Millis::LAST), "9999-12-31T23:59:59.999Z");
        assert!(short(&viewer, Millis(i64::MAX)).contains("from 1970"));
    }
}
