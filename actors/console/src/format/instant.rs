//! Instants in the zone of the viewer.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use maud::{Markup, html};

use super::age::age;
use crate::text::{Language, common};
use crate::viewer::{Moment, Viewer};

const DAYS_ENGLISH: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAYS_KOREAN: [&str; 7] = ["월", "화", "수", "목", "금", "토", "일"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The instant in the viewer's zone. An instant out of range shows the epoch.
fn zoned(viewer: &Viewer, moment: Moment) -> Zoned {
    let instant = Timestamp::from_millisecond(moment.0).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.to_zoned(viewer.zone.clone())
}

fn weekday(language: Language, day: Weekday) -> &'static str {
    let index = usize::from(day.to_monday_zero_offset().unsigned_abs());
    let names = match language {
        Language::English => &DAYS_ENGLISH,
        Language::Korean => &DAYS_KOREAN,
    };
    names.get(index).copied().unwrap_or_default()
}

/// The instant to the millisecond with its offset: "2026-11-23 14:02:11.482 +09:00".
pub fn exact(viewer: &Viewer, moment: Moment) -> String {
    zoned(viewer, moment).strftime("%Y-%m-%d %H:%M:%S%.3f %:z").to_string()
}

/// The instant for the attribute `datetime`.
fn machine(viewer: &Viewer, moment: Moment) -> String {
    zoned(viewer, moment).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// The instant with day: "Mon 30 Nov 14:00", with the year if it is another one.
pub fn day_and_time(viewer: &Viewer, moment: Moment) -> String {
    let at = zoned(viewer, moment);
    let is_this_year = at.year() == zoned(viewer, viewer.now).year();
    day_words(viewer.language, &at, !is_this_year)
}

/// The instant in UTC for the attribute `datetime`, and in words with its year: "Mon 30 Nov 2026 14:00".
pub fn full_day(language: Language, moment: Moment) -> (String, String) {
    let instant = Timestamp::from_millisecond(moment.0).unwrap_or(Timestamp::UNIX_EPOCH);
    let at = instant.to_zoned(TimeZone::UTC);
    let machine = at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    (machine, day_words(language, &at, true))
}

fn day_words(language: Language, at: &Zoned, has_year: bool) -> String {
    let time = at.strftime("%H:%M").to_string();
    let day = weekday(language, at.weekday());
    match language {
        Language::English => {
            let index = usize::from(at.month().unsigned_abs()).saturating_sub(1);
            let month = MONTHS.get(index).copied().unwrap_or_default();
            let year = if has_year { format!(" {}", at.year()) } else { String::new() };
            format!("{day} {} {month}{year} {time}", at.day())
        }
        Language::Korean => {
            let year = if has_year { format!("{}년 ", at.year()) } else { String::new() };
            format!("{year}{}월 {}일({day}) {time}", at.month(), at.day())
        }
    }
}

/// The time of the day, or day and time on other days. `seconds` adds seconds to the former.
fn short(viewer: &Viewer, moment: Moment, format: &str) -> String {
    let at = zoned(viewer, moment);
    if at.date() == zoned(viewer, viewer.now).date() {
        return at.strftime(format).to_string();
    }
    day_and_time(viewer, moment)
}

/// The instant as a table has it: "14:02:11" today, otherwise with the day.
pub fn clock(viewer: &Viewer, moment: Moment) -> String {
    short(viewer, moment, "%H:%M:%S")
}

/// The instant and its age, as a sentence has them: "14:02 (18 min)".
pub fn since(viewer: &Viewer, moment: Moment) -> String {
    since_with(viewer, moment, &age(viewer.language, moment.seconds_until(viewer.now)))
}

fn since_with(viewer: &Viewer, moment: Moment, age: &str) -> String {
    let at = short(viewer, moment, "%H:%M");
    common::INSTANT_AND_AGE.fill(viewer.language, &[("at", &at), ("age", age)])
}

/// A text in which the age that [`since`] wrote for this instant goes on by itself.
pub fn with_running_age(viewer: &Viewer, text: &str, moment: Option<Moment>) -> Markup {
    let Some(moment) = moment else { return html! { (text) } };
    let written = since(viewer, moment);
    let Some((before, after)) = text.split_once(&written) else { return html! { (text) } };
    let around = since_with(viewer, moment, "\0");
    let (begin, end) = around.split_once('\0').unwrap_or((&around, ""));
    html! { (before) (begin) (age_tag(viewer, moment)) (end) (after) }
}

/// An element `time` that shows the instant; the exact one is its title.
pub fn time_tag(viewer: &Viewer, moment: Moment) -> Markup {
    html! {
        time datetime=(machine(viewer, moment)) title=(exact(viewer, moment)) {
            (clock(viewer, moment))
        }
    }
}

/// An element `time` that shows the age. The script of the page keeps it counting.
pub fn age_tag(viewer: &Viewer, moment: Moment) -> Markup {
    let seconds = moment.seconds_until(viewer.now);
    html! {
        time datetime=(machine(viewer, moment)) title=(exact(viewer, moment)) data-age=(moment.0) {
            (age(viewer.language, seconds))
        }
    }
}

/// An element `time` that shows the time until an instant. The script keeps it counting down.
pub fn until_tag(viewer: &Viewer, moment: Moment) -> Markup {
    let seconds = viewer.now.seconds_until(moment);
    html! {
        time datetime=(machine(viewer, moment)) title=(exact(viewer, moment)) data-until=(moment.0) {
            (age(viewer.language, seconds))
        }
    }
}
