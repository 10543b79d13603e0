//! Identifiers use standard words: archaic words and private metaphors are refused.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use super::{files_below, rust_files};
use reelyard_integration_tests::probes::python_text::python_text;

/// Words that no part of an identifier may be.
const REFUSED: [&str; 78] = [
    "told",
    "tell",
    "tells",
    "telling",
    "untold",
    "anew",
    "whoever",
    "whomever",
    "whichever",
    "thereof",
    "stranger",
    "strangers",
    "farewell",
    "farewells",
    "desk",
    "desks",
    "seat",
    "seats",
    "standing",
    "standings",
    "care",
    "cares",
    "dial",
    "dials",
    "shelf",
    "shelves",
    "grave",
    "graves",
    "said",
    "heard",
    "unheard",
    "board",
    "boards",
    "happening",
    "happenings",
    "conduct",
    "badge",
    "parking",
    "fate",
    "fates",
    "happened",
    "seated",
    "mourn",
    "chronicle",
    "chronicles",
    "remnant",
    "remnants",
    "whereabouts",
    "lane",
    "lanes",
    "agenda",
    "lasting",
    "rare",
    "draft",
    "drafts",
    "breath",
    "park",
    "parked",
    "stir",
    "stirred",
    "brought",
    "survey",
    "surveys",
    "gathering",
    "pacer",
    "roll",
    "noted",
    "noting",
    "standpoint",
    "standpoints",
    "deed",
    "deeds",
    "occasion",
    "occasions",
    "rhythm",
    "nap",
    "lot",
    "lots",
];

/// Phrases that no identifier may contain as whole words.
const REFUSED_PHRASES: [&str; 4] = ["for_ever", "by_and_by", "take_turn", "let_go"];

/// First words of a clause without a subject. A name of two or three words may begin with them.
const NO_SUBJECT: [&str; 6] = ["what", "who", "whom", "those", "of", "where"];

/// The longest name that may begin with one of [`NO_SUBJECT`], in words.
const SHORT_NAME: usize = 3;

/// The words of an identifier in lower case: `GraveRow2` has `grave` and `row2`.
pub(super) fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in identifier.chars() {
        if letter == '_' || (letter.is_uppercase() && after_small) {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        after_small = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The fault of an identifier, if it has one.
fn fault(identifier: &str) -> Option<String> {
    let words = words(identifier);
    if let Some(word) = words.iter().find(|word| REFUSED.contains(&word.as_str())) {
        return Some(format!("{identifier} contains \"{word}\""));
    }
    let padded = format!("_{}_", words.join("_"));
    for phrase in REFUSED_PHRASES {
        if padded.contains(&format!("_{phrase}_")) {
            return Some(format!("{identifier} contains \"{phrase}\""));
        }
    }
    let first = words.first()?;
    let is_clause = NO_SUBJECT.contains(&first.as_str()) && words.len() > SHORT_NAME;
    is_clause.then(|| format!("{identifier} begins with \"{first}\": begin with the subject"))
}

/// Adds the identifiers of code. Comments and texts are no code.
fn collect(code: TokenStream, identifiers: &mut BTreeSet<String>) {
    for token in code {
        match token {
            TokenTree::Ident(name) => {
                identifiers.insert(name.to_string());
            }
            TokenTree::Group(group) => collect(group.stream(), identifiers),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[test]
fn identifiers_use_standard_words() -> Result<()> {
    let mut faults = Vec::new();
    let mut seen = 0;
    // Most identifiers are in many files.
    let mut known: HashMap<String, Option<String>> = HashMap::new();
    for (file, text) in rust_files()? {
        let code: TokenStream = text.parse().ok().with_context(|| format!("{file} is no Rust"))?;
        let mut identifiers = BTreeSet::new();
        collect(code, &mut identifiers);
        seen += identifiers.len();
        for identifier in identifiers {
            let fault = known.entry(identifier).or_insert_with_key(|identifier| fault(identifier));
            faults.extend(fault.iter().map(|fault| format!("{file}: {fault}")));
        }
    }
    anyhow::ensure!(seen > 50_000, "only {seen} identifiers were found");
    let is_python = |path: &Path| path.extension().is_some_and(|end| end == "py");
    let python = files_below(&["src/clients"], is_python)?;
    anyhow::ensure!(python.len() > 5, "only {} files were found", python.len());
    for (file, text) in python {
        for (line, code) in python_text(&text).code {
            for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
                if let Some(fault) = fault(word) {
                    faults.push(format!("{file}:{line}: {fault}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "use standard words instead:\n{}", faults.join("\n"));
    Ok(())
}

#[test]
fn a_refused_word_is_found_only_as_a_whole_word() {
    for bad in [
        "LeaseTold",
        "was_told",
        "TOLD_AGAIN",
        "GraveRow",
        "count_parked",
        "for_ever",
        "stay_for_ever",
        "take_turn",
        "what_is_pinned_stays",
        "who_leaves_is_gone",
    ] {
        assert!(fault(bad).is_some(), "{bad}");
    }
    for good in ["for_every_call", "careful", "enrolled", "intelligent", "what", "of_a_second"] {
        assert_eq!(fault(good), None, "{good}");
    }
}
