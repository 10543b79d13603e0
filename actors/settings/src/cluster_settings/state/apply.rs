//! How events change the piece. Deterministic: the piece, the event and its time decide alone.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_replication::{FrozenPiece, Piece, UnreadableEvent};

use super::constants::{LONGEST_TEXT, MOST_KEPT_BYTES, MOST_VERSIONS};
use super::event::{SettingsEvent, SettingsOutcome, SettingsRefusal};
use super::settings_book::{IncompleteVersion, SettingsBook, SettingsVersion};
use super::settings_text::SettingsText;
use super::snapshot::{FrozenSettingsBook, thaw_row};

impl Piece for SettingsBook {
    const ID: PieceId = PieceId::Settings;
    const EVENT_VERSION: u8 = 1;

    type Event = SettingsEvent;
    type Outcome = SettingsOutcome;
    type Refusal = SettingsRefusal;

    fn apply(
        &mut self,
        at: Millis,
        event: &SettingsEvent,
    ) -> Result<SettingsOutcome, SettingsRefusal> {
        match event {
            SettingsEvent::PartAdded { version, part, text } => {
                self.add_part(*version, *part, text)
            }
            SettingsEvent::Recorded { version, parts, by, why } => {
                self.record(*version, *parts, (at, by, why))
            }
        }
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenSettingsBook::of(self))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(self, row)
    }

    fn emptied(&self) -> Self {
        SettingsBook::default()
    }
}

impl SettingsBook {
    fn add_part(
        &mut self,
        version: u64,
        part: u32,
        text: &SettingsText,
    ) -> Result<SettingsOutcome, SettingsRefusal> {
        self.follows_the_newest(version)?;
        if part == 0 {
            self.incomplete = Some(IncompleteVersion { version, parts: Vec::new() });
        }
        let incomplete = self.incomplete.as_mut().filter(|incomplete| {
            incomplete.version == version && u32::try_from(incomplete.parts.len()) == Ok(part)
        });
        let Some(incomplete) = incomplete else {
            return Err(SettingsRefusal::Incomplete { version });
        };
        let present: usize = incomplete.parts.iter().map(|part| part.len()).sum();
        let bytes = present.saturating_add(text.len());
        if bytes > LONGEST_TEXT {
            return Err(SettingsRefusal::TooLong { bytes: bytes as u64 });
        }
        incomplete.parts.push(text.clone());
        Ok(SettingsOutcome::PartAdded)
    }

    fn record(
        &mut self,
        version: u64,
        parts: u32,
        (at, by, why): (Millis, &str, &str),
    ) -> Result<SettingsOutcome, SettingsRefusal> {
        self.follows_the_newest(version)?;
        let is_whole = |incomplete: &IncompleteVersion| {
            incomplete.version == version && u32::try_from(incomplete.parts.len()) == Ok(parts)
        };
        let Some(incomplete) = self.incomplete.take_if(|incomplete| is_whole(incomplete)) else {
            return Err(SettingsRefusal::Incomplete { version });
        };
        let text: String = incomplete.parts.iter().map(|part| &**part).collect();
        let text = SettingsText::from(text);
        let (by, why) = (by.to_owned(), why.to_owned());
        self.versions.push_back(Arc::new(SettingsVersion { number: version, text, at, by, why }));
        self.forget_old();
        Ok(SettingsOutcome::Recorded)
    }

    /// Whether `version` is the next one.
    fn follows_the_newest(&self, version: u64) -> Result<(), SettingsRefusal> {
        let newest = self.newest_number();
        if newest.checked_add(1) == Some(version) {
            return Ok(());
        }
        Err(SettingsRefusal::NotTheNewest { newest, seen: version.saturating_sub(1) })
    }

    /// Forgets the oldest versions above the limits. The newest one stays.
    fn forget_old(&mut self) {
        let (mut kept, mut bytes) = (0, 0_usize);
        for version in self.versions.iter().rev() {
            bytes = bytes.saturating_add(version.text.len());
            if kept > 0 && (kept == MOST_VERSIONS || bytes > MOST_KEPT_BYTES) {
                break;
            }
            kept += 1;
        }
        self.versions.drain(..self.versions.len() - kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(version: u64, part: u32, text: &str) -> SettingsEvent {
        SettingsEvent::PartAdded { version, part, text: text.into() }
    }

    fn recorded(version: u64, parts: u32) -> SettingsEvent {
        SettingsEvent::Recorded { version, parts, by: "user eve".to_owned(), why: String::new() }
    }

    fn with_version(book: &mut SettingsBook, text: &str) {
        let version = book.newest_number() + 1;
        book.apply(Millis(1), &part(version, 0, text)).unwrap();
        book.apply(Millis(2), &recorded(version, 1)).unwrap();
    }

    #[test]
    fn a_version_is_recorded_whole_or_not_at_all() {
        let mut book = SettingsBook::default();
        book.apply(Millis(1), &part(1, 0, "a")).unwrap();
        let incomplete = Err(SettingsRefusal::Incomplete { version: 1 });
        assert_eq!(book.apply(Millis(1), &part(1, 2, "c")), incomplete);
        assert_eq!(book.apply(Millis(1), &recorded(1, 2)), incomplete);
        assert_eq!(book.newest(), None);
        // The leader changed. The next one begins again.
        book.apply(Millis(1), &part(1, 0, "x")).unwrap();
        book.apply(Millis(1), &part(1, 1, "y")).unwrap();
        book.apply(Millis(7), &recorded(1, 2)).unwrap();
        let newest = book.newest().unwrap();
        assert_eq!((newest.number, &*newest.text, newest.at), (1, "xy", Millis(7)));
        assert_eq!(book.incomplete, None);
    }

    #[test]
    fn each_version_follows_the_newest_one() {
        let mut book = SettingsBook::default();
        with_version(&mut book, "a");
        let refused = |newest, seen| Err(SettingsRefusal::NotTheNewest { newest, seen });
        assert_eq!(book.apply(Millis(1), &part(1, 0, "b")), refused(1, 0));
        assert_eq!(book.apply(Millis(1), &part(3, 0, "b")), refused(1, 2));
        assert_eq!(book.apply(Millis(1), &recorded(1, 1)), refused(1, 0));
        with_version(&mut book, "b");
        assert_eq!(book.version(1).map(|version| &*version.text), Some("a"));
    }

    #[test]
    fn the_oldest_versions_go_and_the_newest_stays() {
        let mut book = SettingsBook::default();
        for _ in 0..MOST_VERSIONS + 3 {
            with_version(&mut book, "a");
        }
        assert_eq!((book.versions.len(), book.newest_number()), (MOST_VERSIONS, 103));
        assert_eq!(book.version(3), None);
        for _ in 0..6 {
            with_version(&mut book, &"x".repeat(LONGEST_TEXT));
        }
        assert_eq!((book.versions.len(), book.newest_number()), (4, 109));
        let too_long = part(110, 0, &"x".repeat(LONGEST_TEXT + 1));
        let bytes = LONGEST_TEXT as u64 + 1;
        assert_eq!(book.apply(Millis(1), &too_long), Err(SettingsRefusal::TooLong { bytes }));
    }
}
