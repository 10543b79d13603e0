//! The object of a call according to its path. Pure.

use percent_encoding::percent_decode_str;
use reelyard_core::display_text;

/// How texts of tokens begin. A token in a path is a mistake of the caller, and is not recorded.
const TOKENS: [&str; 2] = ["ryt_", "ryw_"];

/// The object of a call: "share ABC" for `/api/v1/shares/ABC`. None if the pattern has no parameter.
pub(super) fn subject(pattern: &str, path: &str) -> Option<String> {
    let mut subject = String::new();
    let mut kind = "";
    for (part, given) in pattern.split('/').zip(path.split('/')) {
        if !part.starts_with('{') {
            kind = singular(part);
            continue;
        }
        let value = percent_decode_str(given).decode_utf8_lossy();
        let value = display_text::escaped(&value);
        let value = match TOKENS.iter().any(|token| value.starts_with(token)) {
            true => "(a token)",
            false => value.as_str(),
        };
        let space = if subject.is_empty() { "" } else { " " };
        subject.push_str(&format!("{space}{kind} {value}"));
    }
    Some(subject).filter(|subject| !subject.is_empty())
}

/// "box" for "boxes", "share" for "shares".
fn singular(word: &str) -> &str {
    word.strip_suffix("xes")
        .map_or_else(|| word.strip_suffix('s').unwrap_or(word), |_| &word[..word.len() - 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_object() {
        let of = |pattern, path| subject(pattern, path);
        let share = of("/api/v1/shares/{id}", "/api/v1/shares/ABC");
        assert_eq!(share.as_deref(), Some("share ABC"));
        let slot = of("/pools/{pool}/boxes/{number}/quarantine", "/pools/p/boxes/3/quarantine");
        assert_eq!(slot.as_deref(), Some("pool p box 3"));
        let file = of("/files/{name}/pin", "/files/a%2Fb%20c%1B/pin");
        assert_eq!(file.as_deref(), Some("file a/b c\\u{1b}"));
        assert_eq!(of("/shares", "/shares"), None);
    }

    #[test]
    fn a_token_in_a_path_is_not_recorded() {
        let subject = subject("/tokens/{name}", "/tokens/ryt_secret").unwrap();
        assert_eq!(subject, "token (a token)");
    }
}
