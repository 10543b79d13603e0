//! Headings of a chapter with the anchors for links.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Makes the anchors of one chapter by the rules of code forges: lower case, dashes for blanks, no
/// punctuation, and a number for repeated headings.
#[derive(Default)]
pub(super) struct Anchors {
    given: BTreeMap<String, u32>,
}

impl Anchors {
    /// The anchor of the next heading with this text.
    pub(super) fn next(&mut self, heading: &str) -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.flat_map(char::to_lowercase).collect();
        let anchor = anchor.replace(' ', "-");
        let times = self.given.entry(anchor.clone()).or_default();
        *times += 1;
        match *times {
            1 => anchor,
            times => format!("{anchor}-{}", times - 1),
        }
    }
}

/// The text of a heading; `events` are the events after its start.
pub(super) fn heading_text(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::End(TagEnd::Heading(_)) => break,
            Event::Text(part) | Event::Code(part) => text.push_str(part),
            _ => {}
        }
    }
    text
}

/// The anchors of all headings, in order.
pub fn anchors(text: &str) -> Vec<String> {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut anchors = Anchors::default();
    let starts = events.iter().enumerate().filter_map(|(at, event)| match event {
        Event::Start(Tag::Heading { .. }) => Some(at + 1),
        _ => None,
    });
    starts.map(|behind| anchors.next(&heading_text(&events[behind..]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_match_those_of_code_forges() {
        let text = "# A `box run`, and why?\n\n## TLS\n\nText.\n\n## TLS\n\n## 문제 해결\n";
        assert_eq!(anchors(text), ["a-box-run-and-why", "tls", "tls-1", "문제-해결"]);
    }

    #[test]
    fn a_comment_in_a_code_block_is_no_heading() {
        assert_eq!(anchors("# One\n\n```sh\n# not this\n```\n"), ["one"]);
    }
}
