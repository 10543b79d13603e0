//! Decides whether a text becomes the next version. Pure.

use crate::cluster_settings::messages::RecordSettings;
use crate::cluster_settings::state::constants::{
    LONGEST_REASON_OF_CHANGE, LONGEST_TEXT, PART_BYTES,
};
use crate::cluster_settings::state::event::{SettingsEvent, SettingsRefusal};
use crate::cluster_settings::state::settings_book::SettingsBook;

/// The events that record a text. None are needed if the newest version has this text.
///
/// # Errors
/// Another version was recorded meanwhile, or the text or the reason is too long.
pub fn record(
    book: &SettingsBook,
    asked: &RecordSettings,
) -> Result<Vec<SettingsEvent>, SettingsRefusal> {
    let (text, why) = (&asked.text, &asked.why);
    if book.newest().is_some_and(|newest| newest.text == *text) {
        return Ok(Vec::new());
    }
    let newest = book.newest_number();
    if asked.follows != newest {
        return Err(SettingsRefusal::NotTheNewest { newest, seen: asked.follows });
    }
    if text.len() > LONGEST_TEXT {
        return Err(SettingsRefusal::TooLong { bytes: text.len() as u64 });
    }
    if why.len() > LONGEST_REASON_OF_CHANGE {
        return Err(SettingsRefusal::ReasonTooLong { bytes: why.len() as u64 });
    }
    let version = newest + 1;
    let mut events = Vec::new();
    let mut part = 0;
    let mut rest: &str = text;
    while part == 0 || !rest.is_empty() {
        let (begin, others) = split_part(rest);
        events.push(SettingsEvent::PartAdded { version, part, text: begin.into() });
        rest = others;
        part += 1;
    }
    let (by, why) = (asked.by.clone(), why.clone());
    events.push(SettingsEvent::Recorded { version, parts: part, by, why });
    Ok(events)
}

/// Splits off one part, between two characters.
fn split_part(text: &str) -> (&str, &str) {
    let mut end = PART_BYTES.min(text.len());
    // A character has at most four bytes.
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::event::RequestId;
    use reelyard_replication::Piece;

    use super::*;

    fn asked(text: &str, follows: u64) -> RecordSettings {
        let (by, why, request) = ("user eve".to_owned(), "test".to_owned(), RequestId(1));
        RecordSettings { text: text.into(), follows, by, why, request }
    }

    #[test]
    fn a_text_of_any_length_is_recorded_once() {
        let mut book = SettingsBook::default();
        for (number, text) in ["", &"가".repeat(40_000), "a = 1\n"].into_iter().enumerate() {
            let asked = asked(text, number as u64);
            for event in record(&book, &asked).unwrap() {
                book.apply(Millis(0), &event).unwrap();
            }
            assert_eq!(*book.newest().unwrap().text, *text);
            assert_eq!(record(&book, &asked), Ok(Vec::new()), "a repeated request");
        }
        assert_eq!(book.newest_number(), 3);
    }

    #[test]
    fn a_change_of_older_settings_and_long_texts_are_refused() {
        let mut book = SettingsBook::default();
        for event in record(&book, &asked("a = 1\n", 0)).unwrap() {
            book.apply(Millis(0), &event).unwrap();
        }
        let refused = SettingsRefusal::NotTheNewest { newest: 1, seen: 0 };
        assert_eq!(record(&book, &asked("a = 2\n", 0)), Err(refused));
        let long = "x".repeat(LONGEST_TEXT + 1);
        let bytes = long.len() as u64;
        assert_eq!(record(&book, &asked(&long, 1)), Err(SettingsRefusal::TooLong { bytes }));
        let why = "x".repeat(LONGEST_REASON_OF_CHANGE + 1);
        let asked = RecordSettings { why, ..asked("", 1) };
        let refused = record(&book, &asked);
        assert!(matches!(refused, Err(SettingsRefusal::ReasonTooLong { .. })), "{refused:?}");
    }
}
