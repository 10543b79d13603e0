//! Comments are plain: short sentences with a subject in front, and more than the name of the item.

use anyhow::Result;
use reelyard_integration_tests::probes::prose;

use super::rust_files;
use super::words::words;

/// The marks of comments. A line has at most one of them.
const MARKS: [&str; 3] = ["///", "//!", "//"];

/// Words without a meaning of their own.
const EMPTY: [&str; 16] = [
    "a", "all", "an", "and", "for", "in", "is", "it", "its", "of", "or", "some", "that", "the",
    "this", "to",
];

/// Words of a declaration in front of its name.
const KEYWORDS: [&str; 14] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "macro_rules",
    "mod",
    "pub",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
];

/// The least indent of the columns of a table in a comment.
const COLUMN: usize = 10;

/// Consecutive lines with the same mark.
struct Comment {
    line: usize,
    text: String,
    /// The name of the declaration below a doc comment.
    item: Option<String>,
}

/// The mark and the text of a line that is a comment.
fn comment_line(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let mark = MARKS.into_iter().find(|mark| line.starts_with(mark))?;
    let text = &line[mark.len()..];
    (text.is_empty() || text.starts_with(' '))
        .then(|| (mark, text.strip_prefix(' ').unwrap_or(text)))
}

/// The comments of a file of Rust.
fn comments(text: &str) -> Vec<Comment> {
    let lines: Vec<&str> = text.lines().collect();
    let mut comments = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some((mark, _)) = comment_line(lines[at]) else {
            at += 1;
            continue;
        };
        let first = at;
        let mut text = String::new();
        while let Some((_, line)) =
            lines.get(at).and_then(|line| comment_line(line)).filter(|one| one.0 == mark)
        {
            let indent = line.len() - line.trim_start().len();
            let is_column = indent >= COLUMN || line.trim().contains("  ");
            text.push_str(if is_column { "" } else { line });
            text.push('\n');
            at += 1;
        }
        let item = if mark == "///" { item(&lines[at..]) } else { None };
        comments.push(Comment { line: first + 1, text, item });
    }
    comments
}

/// The name of the declaration at the beginning of `lines`, behind its attributes.
fn item(lines: &[&str]) -> Option<String> {
    let mut depth = 0;
    for line in lines {
        let line = line.trim();
        if depth > 0 || line.starts_with("#[") {
            depth += line.matches('[').count();
            depth = depth.saturating_sub(line.matches(']').count());
            continue;
        }
        if comment_line(line).is_some() {
            continue;
        }
        // `pub(in a::b)` has words in front of the name.
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(')')?.1,
            None => line,
        };
        let mut names =
            line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        return names.find(|word| !KEYWORDS.contains(word)).map(str::to_owned);
    }
    None
}

/// A word without its ending: `ends` and `ended` have the same stem.
fn stem(word: &str) -> &str {
    for ending in ["ies", "es", "ed", "ing", "s", "e", "d", "y"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() > 1) {
            return stem;
        }
    }
    word
}

/// Whether a doc comment has no word that is not in the name of its item.
fn repeats_name(text: &str, item: &str) -> bool {
    let lower = text.to_lowercase();
    let mut rest = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !EMPTY.contains(word))
        .peekable();
    if rest.peek().is_none() {
        return false;
    }
    let names = words(item);
    rest.all(|word| names.iter().any(|name| stem(name) == stem(word)))
}

/// The faults of a comment.
fn faults(comment: &Comment) -> Vec<String> {
    let paragraphs = prose::of_markdown(&comment.text);
    let mut faults = prose::faults(&paragraphs);
    faults.extend(prose::clauses_as_subjects(&paragraphs));
    if let Some(item) = &comment.item
        && repeats_name(&comment.text, item)
    {
        faults.push(format!("it only repeats the name {item}: say unit, meaning or reason"));
    }
    faults
}

#[test]
fn comments_are_plain_and_say_more_than_the_name() -> Result<()> {
    let mut found = Vec::new();
    let mut seen = 0;
    for (file, text) in rust_files()? {
        for comment in comments(&text) {
            seen += 1;
            let faults = faults(&comment);
            found.extend(faults.iter().map(|fault| format!("{file}:{}: {fault}", comment.line)));
        }
    }
    anyhow::ensure!(seen > 15_000, "only {seen} comments were found");
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
    Ok(())
}

#[test]
fn a_comment_without_a_subject_and_one_without_news_are_faults() {
    let of = |text: &str| {
        let found = comments(text);
        found.iter().flat_map(faults).collect::<Vec<_>>()
    };
    for bad in [
        "/// What is due comes first.\nstruct A;",
        "/// A host.\n    /// Whatever asks waits.\n    b: u8,",
        "//! Which hosts hold a file.\n",
        "// Who waits is served.\nlet a = 1;",
        "/// The file name.\n#[serde(default)]\npub(crate) file_name: FileName,",
        "/// The ended lease.\nLeaseEnds,",
        "/// Starts the host again, after it was told.\nfn a() {}",
    ] {
        assert_eq!(of(bad).len(), 1, "{bad}: {:?}", of(bad));
    }
    for good in [
        "/// Due shares come first.\nstruct A;",
        "/// What comes first?\nstruct A;",
        "/// The name in the request.\npub file_name: FileName,",
        "/// File. Some columns:\n///   name      What the file is called\nstruct B;",
        "let url = \"http://host\";\nlet comment = \"/// x\";",
    ] {
        assert_eq!(of(good), Vec::<String>::new(), "{good}");
    }
}
