//! Names of files: cut in the middle, isolated, without invisible characters.

use std::borrow::Cow;
use std::ops::Deref;

use maud::{Markup, html};
use unicode_segmentation::UnicodeSegmentation;

use crate::address::{ROOT, encoded};
use crate::text::{Language, node_words};

/// The name of a file. It is used like its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileText {
    /// As the API writes it, with control characters.
    pub text: String,
    /// The text is percent-encoded, because the name is not UTF-8. Another file may have this text as its name.
    pub is_encoded: bool,
}

impl FileText {
    /// The name as the parameter `why` has it: with a percent sign it is percent-encoded, and names no other file.
    pub fn in_address(&self) -> Cow<'_, str> {
        match self.is_encoded || !self.text.contains('%') {
            true => Cow::Borrowed(&self.text),
            false => Cow::Owned(self.text.replace('%', "%25")),
        }
    }

    /// The address of the page Files with the panel "Why?" of this file.
    pub fn why_address(&self) -> String {
        format!("{ROOT}/files?why={}", encoded(&self.in_address()))
    }
}

impl Deref for FileText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<&str> for FileText {
    fn from(text: &str) -> Self {
        FileText { text: text.to_owned(), is_encoded: false }
    }
}

/// Names of at most this many grapheme clusters are shown in one piece.
const LONGEST_WHOLE: usize = 24;

/// Grapheme clusters at the end of a cut name.
const TAIL: usize = 15;

/// The text with pictures in place of control characters, and U+FFFD in place of characters that
/// change the direction of writing.
pub fn visible_text(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for letter in text.chars() {
        visible.push(match letter {
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('␀'),
            '\x7f' => '␡',
            '\u{80}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => '\u{fffd}',
            other => other,
        });
    }
    visible
}

/// A sentence of the actors and workers in this language, without invisible characters.
pub fn node_text(language: Language, english: &str) -> String {
    visible_text(&node_words(language, english))
}

/// The same as a paragraph of its own. It begins with a capital letter, unless it begins with a name. It ends with a
/// full stop.
pub fn node_sentence(language: Language, english: &str) -> String {
    let mut text = node_text(language, english);
    let first = text.split([' ', ',']).next().unwrap_or_default();
    let is_word = first.bytes().all(|letter| letter.is_ascii_lowercase());
    if let Some(letter) = text.get_mut(..1).filter(|_| is_word) {
        letter.make_ascii_uppercase();
    }
    if text.ends_with(|last: char| last.is_alphanumeric() || last == ')') {
        text.push('.');
    }
    text
}

/// Head and tail of a name. The tail is empty if the name is short.
pub fn middle_cut(name: &str) -> (String, String) {
    let visible = visible_text(name);
    let clusters: Vec<&str> = visible.graphemes(true).collect();
    if clusters.len() <= LONGEST_WHOLE {
        return (visible, String::new());
    }
    let (head, tail) = clusters.split_at(clusters.len() - TAIL);
    (head.concat(), tail.concat())
}

/// A name of a file, as a link if there is an address. Its title is the whole name.
pub fn file_name(name: &str, address: Option<&str>) -> Markup {
    let (head, tail) = middle_cut(name);
    let title = visible_text(name);
    let inner = html! { span { (head) } @if !tail.is_empty() { span { (tail) } } };
    html! {
        @match address {
            Some(address) => a class="name" dir="auto" href=(address) title=(title) { (inner) }
            None => span class="name" dir="auto" title=(title) { (inner) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_tail_whole() {
        let (head, tail) = middle_cut("M655A7SGL1500001_K202611220655.mpg");
        assert_eq!((head.as_str(), tail.as_str()), ("M655A7SGL1500001_K2", "02611220655.mpg"));
        assert_eq!(middle_cut("short.mpg"), ("short.mpg".to_owned(), String::new()));
        let korean = "다큐멘터리-바다의-끝에서-감독판-확장본.mpg";
        let (head, tail) = middle_cut(korean);
        assert_eq!(format!("{head}{tail}"), korean);
        assert_eq!(tail.graphemes(true).count(), TAIL);
    }

    #[test]
    fn an_address_names_one_file_only() {
        let encoded = FileText { text: "a%FF.mpg".into(), is_encoded: true };
        let address = |text: &str| FileText::from(text).in_address().into_owned();
        assert_eq!(encoded.in_address(), "a%FF.mpg");
        assert_eq!(address("a%FF.mpg"), "a%25FF.mpg");
        assert_eq!(address("a%25FF.mpg"), "a%2525FF.mpg");
        assert_eq!(address("b \u{e9}.mpg"), "b \u{e9}.mpg");
        assert_eq!(encoded.why_address(), "/console/files?why=a%25FF.mpg");
    }

    #[test]
    fn words_of_the_node_become_a_sentence() {
        let sentence = |english| node_sentence(Language::English, english);
        assert_eq!(sentence("busy, retry in 1 s"), "Busy, retry in 1 s.");
        assert_eq!(sentence("a file (2 B)"), "A file (2 B).");
        assert_eq!(sentence("share.roots is not set."), "share.roots is not set.");
        assert_eq!(sentence("10.0.0.1:8888 is down"), "10.0.0.1:8888 is down.");
        assert_eq!(sentence(""), "");
        assert_eq!(
            node_sentence(Language::Korean, "the journal has stopped").matches('.').count(),
            1
        );
    }

    #[test]
    fn a_grapheme_cluster_is_never_cut() {
        let family = "👩‍👩‍👧‍👦".repeat(40);
        let (head, tail) = middle_cut(&family);
        assert_eq!(head.graphemes(true).count(), 25);
        assert_eq!(tail, "👩‍👩‍👧‍👦".repeat(TAIL));
    }

    #[test]
    fn control_characters_are_visible() {
        assert_eq!(visible_text("a\nb\t\x1b\x7f"), "a␊b␉␛␡");
        assert_eq!(visible_text("a\u{202e}gpm.exe"), "a\u{fffd}gpm.exe");
        let longest = "a\n".repeat(127) + "b";
        let (head, tail) = middle_cut(&longest);
        assert_eq!(head.chars().count() + tail.chars().count(), 255);
        assert!(!format!("{head}{tail}").contains('\n'));
    }

    #[test]
    fn markup_in_a_name_is_text() {
        let shown = file_name("<script>alert(1)</script>\"'.mpg", Some("/x?why=<")).into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        assert!(shown.contains("&lt;script&gt;alert("), "{shown}");
        assert!(shown.contains("href=\"/x?why=&lt;\""), "{shown}");
    }
}
