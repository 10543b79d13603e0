//! Texts of other programs, safe for a terminal, and their widths.

use reelyard_console::format::visible_text;
use reelyard_core::names::NameText;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The mark of a text that was cut.
const CUT: &str = "…";

/// The text with pictures in place of characters that could control a terminal.
pub fn plain(text: &str) -> String {
    visible_text(text)
}

/// The name of a file. The mark says that it is not UTF-8 and is shown percent-encoded.
pub fn name(name: &NameText) -> String {
    let mark = if name.percent_encoded { " (bytes)" } else { "" };
    format!("{}{mark}", plain(&name.name))
}

/// Columns that a text needs in a terminal.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The begin and the end of a text, with a mark between them, in at most this many columns.
pub fn cut_middle(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let rest = most.saturating_sub(width(CUT));
    // Similar names differ at their ends more often than at their begins.
    let tail = last_columns(text, rest.div_ceil(2));
    let head = first_columns(text, rest - width(&tail).min(rest));
    format!("{head}{CUT}{tail}")
}

/// The begin of a text, with a mark behind it, in at most this many columns.
pub fn cut_end(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    format!("{}{CUT}", first_columns(text, most.saturating_sub(width(CUT))))
}

/// The begin of a printed line, with a mark behind it, in at most this many columns. Its colours take no column, and are
/// reset behind the cut.
pub fn cut_shown(line: &str, most: usize) -> String {
    let mut parts = Vec::new();
    for (index, part) in line.split('\u{1b}').enumerate() {
        // Behind an escape character comes its sequence, up to the letter m.
        let end = if index == 0 { 0 } else { part.find('m').map_or(part.len(), |end| end + 1) };
        parts.push(part.split_at(end));
    }
    if parts.iter().map(|(_, text)| width(text)).sum::<usize>() <= most {
        return line.to_owned();
    }
    let mut left = most.saturating_sub(width(CUT));
    let mut cut = String::new();
    for (index, (sequence, text)) in parts.iter().enumerate() {
        if index > 0 {
            cut.push('\u{1b}');
            cut.push_str(sequence);
        }
        let shown = first_columns(text, left);
        left -= width(&shown).min(left);
        let is_cut = shown.len() < text.len();
        cut.push_str(&shown);
        if is_cut {
            break;
        }
    }
    let reset = if parts.len() > 1 { "\u{1b}[0m" } else { "" };
    format!("{cut}{CUT}{reset}")
}

fn first_columns(text: &str, most: usize) -> String {
    let (mut taken, mut used) = (String::new(), 0);
    for cluster in text.graphemes(true) {
        used += width(cluster);
        if used > most {
            break;
        }
        taken.push_str(cluster);
    }
    taken
}

fn last_columns(text: &str, most: usize) -> String {
    let (mut taken, mut used) = (Vec::new(), 0);
    for cluster in text.graphemes(true).rev() {
        used += width(cluster);
        if used > most {
            break;
        }
        taken.push(cluster);
    }
    taken.into_iter().rev().collect()
}

/// The text in lines of at most this many columns, broken at blanks. A longer word is cut into pieces.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        let line = lines.last().map_or(0, |line| width(line));
        if line > 0 && line + 1 + width(&word) > most {
            lines.push(String::new());
        }
        while width(&word) > most {
            let head = first_columns(&word, most);
            // A single letter may be wider than the line.
            let head = if head.is_empty() { word.clone() } else { head };
            word = word.split_off(head.len());
            add_word(&mut lines, &head);
            lines.push(String::new());
        }
        add_word(&mut lines, &word);
    }
    lines
}

fn add_word(lines: &mut [String], word: &str) {
    if let Some(line) = lines.last_mut() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
}

/// The text, filled with blanks to this many columns.
pub fn padded(text: &str, columns: usize, is_right: bool) -> String {
    let blanks = " ".repeat(columns.saturating_sub(width(text)));
    if is_right { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\nc\t\u{9b}0m"), "a␛[31mb␊c␉\u{fffd}0m");
        assert_eq!(plain("gpm.\u{202e}exe"), "gpm.\u{fffd}exe");
        assert_eq!(plain("영화 100%.mpg"), "영화 100%.mpg");
    }

    #[test]
    fn a_cut_name_keeps_both_ends_and_its_width() {
        assert_eq!(cut_middle("M655A7SGL1500001_K202611220655.mpg", 20), "M655A7SGL…220655.mpg");
        assert_eq!(cut_middle("short.mpg", 20), "short.mpg");
        let korean = "다큐멘터리-바다의-끝에서-감독판-확장본.mpg";
        for most in 1..=width(korean) {
            let cut = cut_middle(korean, most);
            assert!(width(&cut) <= most, "{most}: {cut}");
        }
        let family = "👩‍👩‍👧‍👦".repeat(64);
        assert!(width(&cut_middle(&family, 21)) <= 21);
        let arabic = "فيلم".repeat(31);
        assert!(width(&cut_end(&arabic, 16)) <= 16);
    }

    #[test]
    fn a_printed_line_is_cut_but_not_in_its_colours() {
        let colored = "\u{1b}[31mdown\u{1b}[0m  10.0.0.1:80";
        assert_eq!(cut_shown(colored, 17), colored);
        assert_eq!(cut_shown(colored, 8), "\u{1b}[31mdown\u{1b}[0m  1…\u{1b}[0m");
        assert_eq!(cut_shown(colored, 3), "\u{1b}[31mdo…\u{1b}[0m");
        assert_eq!(cut_shown("plain text", 6), "plain…");
        assert_eq!(cut_shown("한국어", 4), "한…");
    }

    #[test]
    fn long_texts_are_wrapped_at_blanks() {
        assert_eq!(wrapped("no space left on device", 12), ["no space", "left on", "device"]);
        assert_eq!(wrapped("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("한국어", 2), ["한", "국", "어"]);
        assert_eq!(wrapped("한국", 1).concat(), "한국");
        assert_eq!(wrapped("", 10), [""]);
    }
}
