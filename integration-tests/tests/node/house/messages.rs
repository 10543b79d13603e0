//! Texts in the code are plain: errors, log messages, and texts of the API and of pages.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use reelyard::guide::{GuideLanguage, chapter};
use reelyard_integration_tests::probes::prose;

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
    faults.extend(prose::clauses_as_subjects(&paragraphs));
    faults
}

/// The texts of the programs with at least [`SENTENCE`] words, each with its file.
fn texts() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
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
        texts.retain(|text| text.split_whitespace().count() >= SENTENCE);
        found.extend(texts.into_iter().map(|text| (file.clone(), text)));
    }
    anyhow::ensure!(found.len() > 1500, "only {} texts were found", found.len());
    Ok(found)
}

/// Whether a program can print the quoted words as a part of `text`.
fn prints(text: &str, quote: &str) -> bool {
    let trimmed = |word: &str| word.trim_matches(|c: char| ".,:;".contains(c)).to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let quoted: Vec<String> =
        quote.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
    words.windows(quoted.len()).any(|window| {
        window
            .iter()
            .zip(&quoted)
            .all(|(word, quoted)| word.contains('{') || trimmed(word) == *quoted)
    })
}

#[test]
fn texts_in_the_code_are_plain() -> Result<()> {
    let mut found = Vec::new();
    for (file, text) in texts()? {
        found.extend(faults(&text).iter().map(|fault| format!("{file}: {fault}")));
    }
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
    Ok(())
}

#[test]
fn symptoms_in_the_guide_are_messages_of_the_programs() -> Result<()> {
    let texts = texts()?;
    let mut seen = 0;
    for language in [GuideLanguage::English, GuideLanguage::Korean] {
        for row in chapter("troubleshooting")?.text(language).lines() {
            let Some((symptom, _)) = row.strip_prefix("| ").and_then(|row| row.split_once(" | "))
            else {
                continue;
            };
            for quote in symptom.split('"').skip(1).step_by(2) {
                seen += 1;
                assert!(
                    texts.iter().any(|(_, text)| prints(text, quote)),
                    "no program prints \"{quote}\""
                );
            }
        }
    }
    anyhow::ensure!(seen > 15, "only {seen} quotes were found");
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
    assert!(prints("another {how} this yard: {host}", "another manages this yard"));
    assert!(!prints("another {how} this yard: {host}", "another manages that yard"));
    assert_eq!(with_values("a share of {what}, {:?}"), "a share of VALUE, VALUE");
    Ok(())
}
