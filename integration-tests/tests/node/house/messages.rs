//! Texts in the code are plain: errors, log messages, and texts of the API and of pages.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use reelyard_integration_tests::probes::prose;

use super::comments::clauses_as_subjects;
use super::{production_code, rust_files};

/// The least number of words of a text with a sentence.
const SENTENCE: usize = 4;

/// The text of a literal. `None` for other literals than texts.
fn text_of(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        return Some(raw.trim_matches('#').trim_matches('"').to_owned());
    }
    let written = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            // The text goes on at the first letter of the next line.
            Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
            Some(other) => text.push(other),
            None => {}
        }
    }
    Some(text)
}

/// Adds the texts of code. Doc comments are no texts.
fn collect(code: TokenStream, texts: &mut Vec<String>) {
    let mut tokens = code.into_iter().peekable();
    if let Some(TokenTree::Ident(first)) = tokens.peek()
        && first == "doc"
    {
        return;
    }
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => texts.extend(text_of(&literal.to_string())),
            TokenTree::Group(group) => collect(group.stream(), texts),
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// The text with one word instead of each value in braces.
fn with_values(text: &str) -> String {
    let mut parts = text.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (value, rest) = part.split_once('}').unwrap_or(("", part));
        shown.push_str(if value.is_empty() && rest == part { "{" } else { "VALUE" });
        shown.push_str(rest);
    }
    shown
}

/// The faults of a text.
fn faults(text: &str) -> Vec<String> {
    let paragraphs = prose::of_help(&with_values(text));
    let mut faults = prose::faults(&paragraphs);
    faults.extend(clauses_as_subjects(&paragraphs));
    faults
}

#[test]
fn texts_in_the_code_are_plain() -> Result<()> {
    let mut found = Vec::new();
    let mut seen = 0;
    for (file, text) in rust_files()? {
        if file.starts_with("integration-tests/")
            || file.ends_with("_tests.rs")
            || file.ends_with("/tests.rs")
        {
            continue;
        }
        let code: TokenStream =
            production_code(&text).parse().ok().with_context(|| format!("{file} is no Rust"))?;
        let mut texts = Vec::new();
        collect(code, &mut texts);
        for text in texts.iter().filter(|text| text.split_whitespace().count() >= SENTENCE) {
            seen += 1;
            found.extend(faults(text).iter().map(|fault| format!("{file}: {fault}")));
        }
    }
    anyhow::ensure!(seen > 1500, "only {seen} texts were found");
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
    Ok(())
}

#[test]
fn a_text_is_read_as_its_reader_sees_it() -> Result<()> {
    let code = "/// A comment.\n#[error(\"one {two} \\\n        three\")]\nfn f() { warn!(id = 'x', \"a \\\"b\\\"\"); \
                g(r#\"raw\"#, 5) }";
    let mut texts = Vec::new();
    collect(code.parse().ok().context("code")?, &mut texts);
    assert_eq!(texts, ["one {two} three", "a \"b\"", "raw"]);
    for bad in ["the node was told to stop", "What changed is listed.", &vec!["word"; 26].join(" ")]
    {
        assert_eq!(faults(bad).len(), 1, "{bad}");
    }
    assert_eq!(faults("cannot open {path}: {why}. Make room and try again"), Vec::<String>::new());
    assert_eq!(with_values("a share of {what}, {:?}"), "a share of VALUE, VALUE");
    Ok(())
}
