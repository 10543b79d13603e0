//! Makes text from other programs safe to show, and values of enumerations readable.

use serde::Serialize;
use serde_json::Value;

/// Whether a character could control a terminal or reorder text, and so hide the end of a name.
/// These are control characters (C0 and C1) and direction marks.
pub fn misleads(c: char) -> bool {
    let directs = matches!(c, '\u{061c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || directs
}

/// Escapes every such character in a text.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if misleads(c) { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

/// The word of an enumeration's value in JSON, such as `reelyard`: the log and the API then use the same
/// words. A value with fields is its word without the fields.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(members)) => {
            members.into_iter().next().map(|(word, _)| word).unwrap_or_default()
        }
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostKind;

    #[test]
    fn a_value_of_an_enumeration_has_one_word() {
        let data_addr = "127.0.0.1:1".parse().unwrap();
        let ours = HostKind::Reelyard { data_addr, fetches_from_old: false, data_tls: false };
        assert_eq!([word(&HostKind::Cfw), word(&ours)], ["cfw", "reelyard"]);
    }

    #[test]
    fn control_characters_of_a_name_are_escaped() {
        assert_eq!(escaped("a\x1b[31mb\nc\u{85}"), "a\\u{1b}[31mb\\nc\\u{85}");
        assert_eq!(escaped("gpm.\u{202e}exe"), "gpm.\\u{202e}exe");
        assert_eq!(escaped("\u{200f}a\u{2066}b\u{61c}"), "\\u{200f}a\\u{2066}b\\u{61c}");
        assert_eq!(escaped("영화 100%.mpg"), "영화 100%.mpg");
    }
}
