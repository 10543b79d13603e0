//! Checks texts for plain English: short sentences, and no words that readers must guess.

/// The largest number of words in a sentence.
pub const LONGEST_SENTENCE: usize = 25;

/// Archaic or ambiguous words, in lower case.
pub const REFUSED: [&str; 14] = [
    "told",
    "tells",
    "tell",
    "whoever",
    "whomever",
    "whichever",
    "anew",
    "for ever",
    "so many",
    "of what",
    "who asks",
    "by and by",
    "thereof",
    "on the wall",
];

/// Words that begin a clause as a subject: "What is due comes first" instead of "Due shares come first".
const CLAUSE: [&str; 8] =
    ["what", "who", "whom", "whose", "which", "whatever", "whoever", "whichever"];

/// A unit of text: a paragraph, a list item, a heading or a table row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paragraph {
    /// The number of its first line; the first line of a text is 1.
    pub line: usize,
    /// Its words without markup and link addresses. The word `code` replaces each piece of code.
    pub text: String,
    /// Whether it is a table row: its cells are not sentences.
    pub is_row: bool,
}

/// The paragraphs of a text in Markdown, without its code blocks and comments.
pub fn of_markdown(text: &str) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let mut is_open = false;
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            is_open = false;
            continue;
        }
        if in_code || line.is_empty() || line.starts_with("<!--") {
            is_open = false;
            continue;
        }
        let is_row = line.starts_with('|');
        let is_heading = line.starts_with('#');
        let item = without_item_mark(line);
        let goes_on = is_open && !is_row && !is_heading && item.is_none();
        let words = plain(item.unwrap_or(line));
        match paragraphs.last_mut() {
            Some(last) if goes_on => {
                last.text.push(' ');
                last.text.push_str(&words);
            }
            _ => paragraphs.push(Paragraph { line: number + 1, text: words, is_row }),
        }
        is_open = !is_row && !is_heading;
    }
    paragraphs
}

/// The paragraphs of the comments in a TOML file, without settings in comments. Indented lines are columns of
/// a table.
pub fn of_comments(text: &str) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        let comment = line.strip_prefix('#').map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
        let Some(comment) = comment.filter(|comment| !is_setting(comment)) else {
            is_open = false;
            continue;
        };
        let is_row = comment.starts_with(' ');
        let words = plain(comment);
        match paragraphs.last_mut() {
            Some(last) if is_open && !is_row && !last.is_row => {
                last.text.push(' ');
                last.text.push_str(&words);
            }
            _ => paragraphs.push(Paragraph { line: number + 1, text: words, is_row }),
        }
        is_open = true;
    }
    paragraphs
}

/// Whether a comment is a disabled setting: `name = value`.
fn is_setting(comment: &str) -> bool {
    let name = comment.split(" = ").next().unwrap_or_default();
    name.len() < comment.len() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The paragraphs of a text below the options of a command. Indented lines are examples or columns.
pub fn of_help(text: &str) -> Vec<Paragraph> {
    let shown = text.lines().map(|line| if line.starts_with(' ') { "" } else { line });
    of_markdown(&shown.collect::<Vec<_>>().join("\n"))
}

/// The text after the mark of a list item; `None` for another line.
fn without_item_mark(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("- ") {
        return Some(rest);
    }
    let (number, rest) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(rest)
}

/// A line without code, link addresses and emphasis.
pub fn plain(line: &str) -> String {
    let mut text = String::new();
    for (at, part) in line.split('`').enumerate() {
        text.push_str(if at % 2 == 0 { part } else { "code" });
    }
    while let Some(start) = text.find("](") {
        let end = text[start..].find(')').map_or(text.len(), |end| start + end + 1);
        text.replace_range(start..end, "");
    }
    text.replace(['[', '*', '#'], "").trim().to_owned()
}

/// The sentences of a paragraph.
pub fn sentences(text: &str) -> Vec<Vec<&str>> {
    let mut sentences = vec![Vec::new()];
    for word in text.split_whitespace() {
        if let Some(sentence) = sentences.last_mut() {
            sentence.push(word);
        }
        let end = word.trim_end_matches(['"', ')', '\'']);
        if end.ends_with(['.', '?', '!']) {
            sentences.push(Vec::new());
        }
    }
    for sentence in &mut sentences {
        sentence.retain(|word| word.contains(char::is_alphanumeric));
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// The errors of a text: one line for each sentence that is too long, and for each refused word.
pub fn faults(paragraphs: &[Paragraph]) -> Vec<String> {
    let mut faults = Vec::new();
    for Paragraph { line, text, is_row } in paragraphs {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '\'');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let spaced = format!(" {} ", words.join(" "));
        let refused = REFUSED.iter().filter(|word| spaced.contains(&format!(" {word} ")));
        faults.extend(refused.map(|word| format!("{line}: \"{word}\"")));
        if *is_row {
            continue;
        }
        let long = sentences(text).into_iter().filter(|words| words.len() > LONGEST_SENTENCE);
        faults.extend(
            long.map(|words| format!("{line}: {} words: {}", words.len(), words.join(" "))),
        );
    }
    faults
}

/// One error for each sentence that begins with a clause as its subject. Questions may begin so.
pub fn clauses_as_subjects(paragraphs: &[Paragraph]) -> Vec<String> {
    let mut faults = Vec::new();
    for paragraph in paragraphs.iter().filter(|one| !one.is_row) {
        for sentence in sentences(&paragraph.text) {
            let [first, .., last] = sentence.as_slice() else { continue };
            if CLAUSE.contains(&first.to_lowercase().as_str()) && !last.ends_with('?') {
                faults.push(format!("\"{first}\" is no subject: {}", sentence.join(" ")));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_tables_and_comments_are_no_sentences() {
        let text = "# A title\n\nOne `a b c`\ngoes [on](x.md#y).\n- An item.\n  More.\n\n1. First.\n\
                    <!-- walk: x -->\n```sh\nnot this\n```\n| a | b |\n";
        let found = of_markdown(text);
        let texts: Vec<_> = found.iter().map(|one| (one.line, one.text.as_str())).collect();
        let expected = [
            (1, "A title"),
            (3, "One code goes on."),
            (5, "An item. More."),
            (8, "First."),
            (13, "| a | b |"),
        ];
        assert_eq!(texts, expected);
        assert_eq!(found.iter().filter(|one| one.is_row).count(), 1);
    }

    #[test]
    fn comments_of_a_file_are_paragraphs() {
        let text =
            "# One comment\n# goes on.\n#   a   column\n# limit = 5\nlimit = 5\n\n# Another.\n";
        let found = of_comments(text);
        let texts: Vec<_> = found.iter().map(|one| (one.line, one.text.as_str())).collect();
        assert_eq!(texts, [(1, "One comment goes on."), (3, "a   column"), (7, "Another.")]);
        assert_eq!(of_help("Examples:\n  reelyard demo\n\nOne sentence.").len(), 2);
    }

    #[test]
    fn a_sentence_ends_at_its_stop_and_not_within_a_number() {
        let words = sentences("Rust 1.89 works (really). Does it? \"Yes.\" - It does");
        let counts: Vec<_> = words.iter().map(Vec::len).collect();
        assert_eq!(counts, [4, 2, 1, 2]);
    }

    #[test]
    fn a_clause_is_no_subject() {
        let found = |text| clauses_as_subjects(&of_markdown(text)).len();
        assert_eq!(found("Due shares come first. What is due comes first. Who waits?"), 1);
        assert_eq!(found("- Which host it is.\n\nWhat needs a token?"), 1);
    }

    #[test]
    fn a_long_sentence_and_a_refused_word_are_faults() {
        let words = |count: usize| format!("{}.\n", vec!["word"; count].join(" "));
        assert_eq!(faults(&of_markdown(&words(25))), Vec::<String>::new());
        assert_eq!(faults(&of_markdown(&words(26))).len(), 1);
        let found = faults(&of_markdown("A cell.\n\n| Whoever\treads | this is for ever |\n"));
        assert_eq!(found, ["3: \"whoever\"", "3: \"for ever\""]);
        assert_eq!(faults(&of_markdown("The teller retold it forever.\n")), Vec::<String>::new());
    }
}
