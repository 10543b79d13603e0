//! Finds a word in the manual.

use super::{Chapter, GuideLanguage, is_mark};

/// A line of the manual that contains the word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// Topic of the chapter.
    pub topic: &'static str,
    /// The heading above the line.
    pub heading: &'static str,
    /// Text of the line.
    pub line: &'static str,
}

/// The lines of these chapters that contain `word`, ignoring case.
pub fn search(chapters: &[Chapter], word: &str, language: GuideLanguage) -> Vec<FoundLine> {
    let word = word.to_lowercase();
    let mut found = Vec::new();
    for chapter in chapters {
        let mut heading = chapter.title(language);
        let mut in_code = false;
        for line in chapter.text(language).lines() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
                continue;
            }
            if !in_code && line.starts_with('#') {
                heading = line.trim_start_matches('#').trim_start();
            }
            if !is_mark(line) && line.to_lowercase().contains(&word) {
                found.push(FoundLine { topic: chapter.topic, heading, line: line.trim() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# One\n\nFirst line.\n\n## Two\n\n<!-- walk: first -->\n```sh\n\
                        # the FIRST comment\n```\n\nThe last.\n";

    fn found(word: &str) -> Vec<(&'static str, &'static str)> {
        let chapters = [Chapter { topic: "one", english: TEXT, korean: None }];
        let passages = search(&chapters, word, GuideLanguage::Korean);
        passages.iter().map(|passage| (passage.heading, passage.line)).collect()
    }

    #[test]
    fn a_line_is_found_with_the_heading_above_it() {
        assert_eq!(found("first"), [("One", "First line."), ("Two", "# the FIRST comment")]);
        assert_eq!(found("two"), [("Two", "## Two")]);
    }

    #[test]
    fn marks_and_fences_are_not_found() {
        assert_eq!(found("walk"), []);
        assert_eq!(found("```"), []);
    }
}
