//! The texts of a Python file: its comments, its docstrings and its code.

use super::prose::{Paragraph, plain};

/// The quotes of a docstring.
const QUOTES: &str = "\"\"\"";

/// The least indent of examples within a docstring, in blanks.
const EXAMPLE: usize = 4;

/// A Python file in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonText {
    /// Comments and docstrings without their examples.
    pub paragraphs: Vec<Paragraph>,
    /// The lines of code without comments, each with its number.
    pub code: Vec<(usize, String)>,
}

/// Reads a Python file. Three double quotes begin and end a docstring at the start or the end of a line.
pub fn python_text(text: &str) -> PythonText {
    let mut parts = PythonText::default();
    let mut docstring: Option<Docstring> = None;
    let mut in_comment = false;
    let mut in_text = false;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let words = line.trim();
        let has_quotes = line.contains(QUOTES);
        if in_text {
            parts.code.push((number, line.to_owned()));
            in_text = !has_quotes;
        } else if let Some(open) = &mut docstring {
            let (words, ends) = without_end(words);
            open.push(number, line, words, &mut parts.paragraphs);
            if ends {
                docstring = None;
            }
        } else if let Some(first) = words.strip_prefix(QUOTES) {
            let (first, ends) = without_end(first);
            let indent = line.len() - line.trim_start().len();
            let mut open = Docstring { indent, is_open: false, in_list: false };
            open.push(number, &line[..indent], first, &mut parts.paragraphs);
            docstring = (!ends).then_some(open);
        } else if let Some(comment) = words.strip_prefix('#') {
            let comment = comment.trim_start_matches(':');
            push(&mut parts.paragraphs, number, comment.trim(), in_comment);
            in_comment = true;
            continue;
        } else {
            let (code, comment) = line.split_once("  # ").unwrap_or((line, ""));
            if !comment.is_empty() {
                push(&mut parts.paragraphs, number, comment, false);
            }
            parts.code.push((number, code.to_owned()));
            // A text of several lines, such as a script.
            in_text = has_quotes && line.matches(QUOTES).count() == 1;
        }
        in_comment = false;
    }
    parts
}

/// An open docstring.
struct Docstring {
    /// The indent of its first line, in blanks.
    indent: usize,
    /// Whether the next line continues the last paragraph.
    is_open: bool,
    /// Whether the last paragraph describes a name of a list.
    in_list: bool,
}

impl Docstring {
    fn push(&mut self, number: usize, line: &str, words: &str, paragraphs: &mut Vec<Paragraph>) {
        let indent = line.len() - line.trim_start().len();
        let is_indented = indent >= self.indent + EXAMPLE;
        if words.is_empty() || is_indented && !self.in_list {
            self.is_open = false;
            self.in_list = false;
            return;
        }
        // A list has names and, behind at least two blanks or at the column of `context`, descriptions.
        let description = words.split_once("  ").map(|(_, description)| description.trim());
        self.in_list = description.is_some() || self.in_list && is_indented;
        let goes_on = self.is_open && description.is_none();
        push(paragraphs, number, description.unwrap_or(words), goes_on);
        self.is_open = true;
    }
}

/// Adds a line to the last paragraph, or begins a paragraph.
fn push(paragraphs: &mut Vec<Paragraph>, line: usize, words: &str, goes_on: bool) {
    let words = plain(&words.replace("``", "`"));
    match paragraphs.last_mut() {
        Some(last) if goes_on => {
            last.text.push(' ');
            last.text.push_str(&words);
        }
        _ => paragraphs.push(Paragraph { line, text: words, is_row: false }),
    }
}

/// A line without the quotes that end a docstring, and whether it has them.
fn without_end(words: &str) -> (&str, bool) {
    match words.strip_suffix(QUOTES) {
        Some(rest) => (rest.trim_end(), true),
        None => (words, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_docstrings_and_code_are_separated() {
        let text = "\"\"\"Takes boxes.\n\n    an example\n\nMore\ntext.\n\"\"\"\n\nimport os\n\n#: The \
                    limit\n#: in seconds.\nLIMIT = 5  # seconds\n\ndef hold():\n    \"\"\"Holds \
                    ``it``.\"\"\"\n    # A reason.\n    return \"\"\n\ndef wait():\n    \"\"\"\n    ttl  \
                    the term\n         in seconds\n    wait  the wait\n    \"\"\"\n    pass\nscript = \
                    \"\"\"\n# code\n\"\"\" % 1\n";
        let parts = python_text(text);
        let found = parts.paragraphs.iter().map(|one| (one.line, one.text.as_str()));
        let expected = [
            (1, "Takes boxes."),
            (5, "More text."),
            (11, "The limit in seconds."),
            (13, "seconds"),
            (16, "Holds code."),
            (17, "A reason."),
            (22, "the term in seconds"),
            (24, "the wait"),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let code = parts.code.iter().map(|(number, code)| (*number, code.trim()));
        let code: Vec<_> = code.filter(|(_, code)| !code.is_empty()).collect();
        let expected = [
            (9, "import os"),
            (13, "LIMIT = 5"),
            (15, "def hold():"),
            (18, "return \"\""),
            (20, "def wait():"),
            (26, "pass"),
            (27, "script = \"\"\""),
            (28, "# code"),
            (29, "\"\"\" % 1"),
        ];
        assert_eq!(code, expected);
    }
}
