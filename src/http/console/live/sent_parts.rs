//! The parts of a page as text, and those that a viewer has.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use reelyard_console::frame::{live_part, live_row};

use crate::http::console::live_part::LivePart;

/// Hexadecimal digits of a part in the id of a message: of its own id, and of its content.
const PLACE_DIGITS: usize = 8;
const HASH_DIGITS: usize = 16;

/// Most parts and rows in the id of a message. A page with more is sent whole after a cut.
const MOST_IN_ID: usize = 128;

/// The start of a row that is sent by itself. Its id follows.
const ROW_START: &str = "<tr id=\"";
const ROW_END: &str = "</tr>";

/// The last attribute of an age or a rest of time: the script of a page goes on with its words.
const RUNNING_TIMES: [&str; 2] = [" data-age=\"", " data-until=\""];
const TIME_END: &str = "</time>";

/// A piece of a page that is sent by itself if it changed: a part, or one row of a table.
struct RenderedPiece {
    /// Digest of its id.
    place: u32,
    /// Digest of its content without running times. For a part with rows: without the contents of the rows.
    hash: u64,
    text: Bytes,
}

/// A part that is ready to be sent.
pub struct RenderedPart {
    whole: RenderedPiece,
    /// The rows with ids of its table.
    rows: Vec<RenderedPiece>,
}

/// The parts and rows that a viewer has. They are the id of a message. A browser that connects again sends it as
/// `Last-Event-ID`, and gets only those that changed meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentParts(BTreeMap<u32, u64>);

impl RenderedPart {
    /// Renders a part.
    pub fn of((id, part): LivePart) -> Self {
        let text = live_part(&id, &part).into_string();
        let mut frame = String::new();
        let mut rows = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, row, after)) = next_row(rest) {
            frame.push_str(before);
            // The order of the rows belongs to the frame.
            frame.push_str(row.id);
            rows.push(RenderedPiece {
                place: digest(row.id) as u32,
                hash: digest(&without_running_times(row.text)),
                text: live_row(row.id, row.text).into_string().into(),
            });
            rest = after;
        }
        frame.push_str(rest);
        let hash = digest(&without_running_times(&frame));
        let whole = RenderedPiece { place: digest(&id) as u32, hash, text: text.into() };
        RenderedPart { whole, rows }
    }
}

struct RowText<'a> {
    id: &'a str,
    text: &'a str,
}

/// The text before the next row with an id, the row, and the text after it.
fn next_row(text: &str) -> Option<(&str, RowText<'_>, &str)> {
    let start = text.find(ROW_START)?;
    let (before, rest) = text.split_at(start);
    let (id, _) = rest[ROW_START.len()..].split_once('"')?;
    let (row, after) = rest.split_at(rest.find(ROW_END)? + ROW_END.len());
    Some((before, RowText { id, text: row }, after))
}

/// The text without what the script of the page counts on.
fn without_running_times(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = RUNNING_TIMES.iter().filter_map(|time| rest.find(time)).min() {
        let words = rest[start..].find('>').map_or(rest.len(), |end| start + end);
        let end = rest[words..].find(TIME_END).map_or(rest.len(), |end| words + end);
        kept.push_str(&rest[..words]);
        rest = &rest[end..];
    }
    kept.push_str(rest);
    kept
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl SentParts {
    /// The parts in an id. None of them if it cannot be read.
    pub fn of_id(id: &str) -> Self {
        let read = |part: &[u8]| {
            let (place, hash) = std::str::from_utf8(part).ok()?.split_at_checked(PLACE_DIGITS)?;
            Some((u32::from_str_radix(place, 16).ok()?, u64::from_str_radix(hash, 16).ok()?))
        };
        let parts = id.as_bytes().chunks(PLACE_DIGITS + HASH_DIGITS).map(read);
        SentParts(parts.collect::<Option<_>>().unwrap_or_default())
    }

    /// The id; a header of a browser must be able to hold it.
    fn id(&self) -> String {
        if self.0.len() > MOST_IN_ID {
            return "-".to_owned();
        }
        self.0.iter().map(|(place, hash)| format!("{place:08x}{hash:016x}")).collect()
    }

    /// Adds a piece. Whether the viewer did not have it like this.
    fn add(&mut self, piece: &RenderedPiece) -> bool {
        self.0.insert(piece.place, piece.hash) != Some(piece.hash)
    }

    /// The message with the parts and rows that differ from those that the viewer has. None if all are alike. A part
    /// whose table has other rows, or another order, is sent whole.
    pub fn message(&mut self, parts: &[RenderedPart]) -> Option<Bytes> {
        let mut data = Vec::new();
        for part in parts {
            let is_other = self.add(&part.whole);
            if is_other {
                data.extend_from_slice(&part.whole.text);
            }
            for row in &part.rows {
                if self.add(row) && !is_other {
                    data.extend_from_slice(&row.text);
                }
            }
        }
        if data.is_empty() {
            return None;
        }
        self.forget_others(parts);
        let mut text = format!("id: {}\n", self.id()).into_bytes();
        // A line feed would end the data.
        for line in data.split(|byte| *byte == b'\n') {
            text.extend_from_slice(b"data: ");
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text.push(b'\n');
        Some(text.into())
    }

    /// Rows that have left the page come back as new ones.
    fn forget_others(&mut self, parts: &[RenderedPart]) {
        let pieces = parts.iter().flat_map(|part| std::iter::once(&part.whole).chain(&part.rows));
        let present: BTreeSet<u32> = pieces.map(|piece| piece.place).collect();
        self.0.retain(|place, _| present.contains(place));
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    fn part(id: &str, text: &str) -> RenderedPart {
        RenderedPart::of((id.to_owned(), html! { (text) }))
    }

    fn table(rows: &[(&str, &str)], foot: &str) -> RenderedPart {
        let content = html! {
            div #rows {
                table { tbody { @for (id, text) in rows { tr #(id) { td { (text) } } } } }
                (foot)
            }
        };
        RenderedPart::of(("rows".to_owned(), content))
    }

    fn sent(parts: &mut SentParts, part: RenderedPart) -> Option<String> {
        let message = parts.message(&[part])?;
        Some(String::from_utf8(message.to_vec()).unwrap())
    }

    #[test]
    fn a_browser_that_connects_again_names_the_parts_that_it_has() {
        let mut sent = SentParts::default();
        assert!(sent.message(&[part("rows", "a"), part("side", "b")]).is_some());
        let mut resumed = SentParts::of_id(&sent.id());
        assert_eq!(resumed, sent);
        let again = [part("rows", "a"), part("side", "c")];
        let text = String::from_utf8(resumed.message(&again).unwrap().to_vec()).unwrap();
        assert!(text.contains("#side") && !text.contains("#rows"), "{text}");
        let back = [part("rows", "a"), part("side", "b")];
        assert!(resumed.message(&back).is_some(), "a part that changes back is sent");
        for bad in ["", "-", "7", "zz", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(SentParts::of_id(bad), SentParts::default(), "{bad}");
        }
        let many: Vec<_> = (0..=MOST_IN_ID).map(|number| part(&number.to_string(), "")).collect();
        sent.message(&many).unwrap();
        assert_eq!(sent.id(), "-", "too long for a header");
    }

    #[test]
    fn only_the_rows_that_changed_are_sent() {
        let mut viewer = SentParts::default();
        let first = sent(&mut viewer, table(&[("a", "1"), ("b", "1")], "2 files")).unwrap();
        assert!(first.contains("2 files") && first.contains("<td>1</td>"), "{first}");
        assert_eq!(sent(&mut viewer, table(&[("a", "1"), ("b", "1")], "2 files")), None);
        let row = sent(&mut viewer, table(&[("a", "1"), ("b", "2")], "2 files")).unwrap();
        let only =
            "<hx-partial id=\"b\" hx-swap=\"outerMorph\"><tr id=\"b\"><td>2</td></tr></hx-partial>";
        assert!(row.ends_with(&format!("data: {only}\n\n")), "{row}");
        // Another order, another number of rows, and another foot are sent whole.
        for (rows, foot) in [
            (&[("b", "2"), ("a", "1")][..], "2 files"),
            (&[("b", "2")][..], "2 files"),
            (&[("b", "2")][..], "1 file"),
        ] {
            let whole = sent(&mut viewer, table(rows, foot)).unwrap();
            assert!(whole.contains("#rows") && whole.contains(foot), "{whole}");
        }
        // A row that left is no longer known.
        assert_eq!(viewer.0.len(), 2);
    }

    #[test]
    fn an_age_that_goes_on_by_itself_is_no_change() {
        let mut viewer = SentParts::default();
        let aged = |words: &str, state: &str| {
            let times = html! {
                (state) time title="x" data-age="5" { (words) } " and " time data-until="9" { (words) } "."
            };
            RenderedPart::of(("side".to_owned(), times))
        };
        assert!(sent(&mut viewer, aged("1 s", "up")).is_some());
        assert_eq!(sent(&mut viewer, aged("2 s", "up")), None);
        assert!(sent(&mut viewer, aged("3 s", "down")).is_some());
    }
}
