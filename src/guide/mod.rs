//! The manual: Markdown chapters that are part of the program. A node serves them at `/guide`;
//! `reelyard guide` prints and searches them.

mod headings;
mod markup;
mod pictures;
mod search;

pub use headings::anchors;
pub use markup::to_html;
pub use pictures::{GuidePicture, PICTURES, picture};
pub use search::{FoundLine, search};

/// A language of chapters. Every chapter exists in English.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum GuideLanguage {
    /// All chapters exist in this language.
    #[default]
    #[value(name = "en")]
    English,
    /// Only the chapters that an operator needs first.
    #[value(name = "ko")]
    Korean,
}

impl GuideLanguage {
    /// The language of a tag such as "ko" or "en-GB" (RFC 5646); none for a language without
    /// chapters.
    pub fn of_tag(tag: &str) -> Option<Self> {
        match tag.split('-').next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "en" => Some(GuideLanguage::English),
            "ko" => Some(GuideLanguage::Korean),
            _ => None,
        }
    }

    /// Language tag (RFC 5646), for HTML.
    pub fn tag(self) -> &'static str {
        match self {
            GuideLanguage::English => "en",
            GuideLanguage::Korean => "ko",
        }
    }
}

/// A chapter of the manual.
#[derive(Clone, Copy, Debug)]
pub struct Chapter {
    /// Name in URLs and on the command line.
    pub topic: &'static str,
    english: &'static str,
    korean: Option<&'static str>,
}

macro_rules! chapter {
    ($topic:literal) => {
        Chapter { topic: $topic, english: include_str!(concat!($topic, ".md")), korean: None }
    };
    ($topic:literal, ko) => {
        Chapter { korean: Some(include_str!(concat!("ko/", $topic, ".md"))), ..chapter!($topic) }
    };
}

/// The chapters, in the order in which an operator needs them.
pub static CHAPTERS: [Chapter; 18] = [
    chapter!("install", ko),
    chapter!("first-yard"),
    chapter!("operate", ko),
    chapter!("console", ko),
    chapter!("access", ko),
    chapter!("audit"),
    chapter!("copies", ko),
    chapter!("links"),
    chapter!("boxes"),
    chapter!("cluster", ko),
    chapter!("moving-from-cfm"),
    chapter!("configuration"),
    chapter!("command-line", ko),
    chapter!("api"),
    chapter!("benchmarks"),
    chapter!("limits"),
    chapter!("troubleshooting", ko),
    chapter!("glossary"),
];

/// No chapter has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guide has no chapter \"{topic}\"; its chapters are: {}", topics().join(", "))]
pub struct UnknownTopic {
    /// Name that the caller requested.
    pub topic: String,
}

fn topics() -> Vec<&'static str> {
    CHAPTERS.iter().map(|chapter| chapter.topic).collect()
}

/// The chapter `topic`.
///
/// # Errors
///
/// The chapter does not exist.
pub fn chapter(topic: &str) -> Result<&'static Chapter, UnknownTopic> {
    let found = CHAPTERS.iter().find(|chapter| chapter.topic == topic);
    found.ok_or_else(|| UnknownTopic { topic: topic.to_owned() })
}

impl Chapter {
    /// The language that is used for `wanted`: English if the chapter has no Korean text.
    pub fn language(&self, wanted: GuideLanguage) -> GuideLanguage {
        match self.korean {
            Some(_) => wanted,
            None => GuideLanguage::English,
        }
    }

    /// The Markdown text in `wanted`, or else in English.
    pub fn text(&self, wanted: GuideLanguage) -> &'static str {
        match (wanted, self.korean) {
            (GuideLanguage::Korean, Some(korean)) => korean,
            _ => self.english,
        }
    }

    /// The title: its first heading.
    pub fn title(&self, wanted: GuideLanguage) -> &'static str {
        let first = self.text(wanted).lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }

    /// The text for a terminal, without pictures and without the marks for tests.
    pub fn printed(&self, wanted: GuideLanguage) -> String {
        let is_shown = |line: &&str| !is_mark(line) && !line.starts_with("![");
        let lines = self.text(wanted).lines().filter(is_shown);
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// Whether a line is an HTML comment: a mark for tests and tools.
fn is_mark(line: &str) -> bool {
    line.starts_with("<!--") && line.ends_with("-->")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [GuideLanguage; 2] = [GuideLanguage::English, GuideLanguage::Korean];

    #[test]
    fn every_chapter_begins_with_its_title() {
        for chapter in &CHAPTERS {
            for language in BOTH {
                let text = chapter.text(language);
                assert!(text.starts_with("# "), "{} in {language:?}", chapter.topic);
                assert!(text.ends_with('\n'), "{} in {language:?}", chapter.topic);
                assert!(!chapter.title(language).is_empty(), "{}", chapter.topic);
            }
        }
    }

    #[test]
    fn a_chapter_without_korean_text_is_shown_in_english() {
        let (both, one) = (chapter("install").unwrap(), chapter("glossary").unwrap());
        assert_eq!(both.language(GuideLanguage::Korean), GuideLanguage::Korean);
        assert_ne!(both.text(GuideLanguage::Korean), both.text(GuideLanguage::English));
        assert_eq!(one.language(GuideLanguage::Korean), GuideLanguage::English);
        assert_eq!(one.text(GuideLanguage::Korean), one.text(GuideLanguage::English));
    }

    #[test]
    fn an_unknown_topic_names_the_chapters_that_exist() {
        let unknown = chapter("Install").unwrap_err().to_string();
        assert!(unknown.contains("\"Install\""), "{unknown}");
        assert!(unknown.contains("install, first-yard, operate"), "{unknown}");
    }

    #[test]
    fn a_language_is_known_by_its_tag_and_region() {
        assert_eq!(GuideLanguage::of_tag("ko-KR"), Some(GuideLanguage::Korean));
        assert_eq!(GuideLanguage::of_tag("EN"), Some(GuideLanguage::English));
        assert_eq!(GuideLanguage::of_tag("kok"), None);
        for language in BOTH {
            assert_eq!(GuideLanguage::of_tag(language.tag()), Some(language));
        }
    }

    #[test]
    fn the_printed_text_has_no_marks() {
        let printed = chapter("first-yard").unwrap().printed(GuideLanguage::English);
        assert!(printed.contains("reelyard config check"), "{printed}");
        assert!(!printed.contains("<!--"), "{printed}");
        let printed = chapter("console").unwrap().printed(GuideLanguage::Korean);
        assert!(!printed.contains(".png"), "{printed}");
    }
}
