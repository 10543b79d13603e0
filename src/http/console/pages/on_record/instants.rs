//! The fields of a page that name instants.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The instant that a field of a page names, in the form of the API. A text that names none stays as it is: the API
/// refuses it.
pub fn instant(text: &str, zone: &TimeZone) -> Option<String> {
    let text = given(text)?;
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant.to_string());
    }
    let local = text.parse::<DateTime>().and_then(|local| local.to_zoned(zone.clone()));
    Some(local.map_or(text, |local| local.timestamp().to_string()))
}

/// The text without spaces around it. None if nothing is left.
pub fn given(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
