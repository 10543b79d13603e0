//! Every text stands in both languages, says the same values, and keeps to the glossary.

use std::collections::BTreeSet;

use super::entry::{CountText, Text};
use super::language::Language;

/// Texts that are alike in both languages: names of formats.
const ALIKE: [&str; 2] = ["CSV", "JSON Lines"];

/// All texts with the name of their table.
fn all_texts() -> Vec<(String, Text)> {
    let tables: [(&str, &[(&str, Text)]); 17] = [
        ("access", super::access::TEXTS),
        ("boxes", super::boxes::TEXTS),
        ("cluster", super::cluster::TEXTS),
        ("card", super::card::TEXTS),
        ("common", super::common::TEXTS),
        ("files", super::files::TEXTS),
        ("find", super::find::TEXTS),
        ("frame", super::frame::TEXTS),
        ("hosts", super::hosts::TEXTS),
        ("outcomes", super::outcomes::TEXTS),
        ("plan", super::plan::TEXTS),
        ("refusals", super::refusals::TEXTS),
        ("shares", super::shares::TEXTS),
        ("states", super::states::TEXTS),
        ("tasks", super::tasks::TEXTS),
        ("why", super::why::TEXTS),
        ("yard", super::yard::TEXTS),
    ];
    let counted: [(&str, &[(&str, CountText)]); 5] = [
        ("card", super::card::COUNT_TEXTS),
        ("common", super::common::COUNT_TEXTS),
        ("hosts", super::hosts::COUNT_TEXTS),
        ("shares", super::shares::COUNT_TEXTS),
        ("tasks", super::tasks::COUNT_TEXTS),
    ];
    let mut all = Vec::new();
    for (table, texts) in tables {
        for (key, text) in texts {
            all.push((format!("{table}::{key}"), *text));
        }
    }
    for (table, texts) in counted {
        for (key, text) in texts {
            all.push((format!("{table}::{key}"), text.many));
        }
    }
    all
}

/// The names in braces.
fn names(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for piece in text.split('{').skip(1) {
        found.extend(piece.split('}').next());
    }
    found
}

fn has_hangul(text: &str) -> bool {
    text.chars().any(|letter| ('가'..='힣').contains(&letter))
}

#[test]
fn every_text_stands_in_both_languages() {
    let all = all_texts();
    assert!(all.len() > 300, "only {} texts were found", all.len());
    for (key, text) in all {
        let english = text.of(Language::English);
        let korean = text.of(Language::Korean);
        assert!(!english.trim().is_empty() && !korean.trim().is_empty(), "{key} is empty");
        assert!(!has_hangul(english), "{key}: the English text has Hangul");
        // A time has its own words.
        let is_korean = has_hangul(korean) || ["{since}", "{since}."].contains(&korean);
        assert!(is_korean || ALIKE.contains(&english), "{key}: no Korean in {korean:?}");
        assert_eq!(names(english), names(korean), "{key}: the languages fill other values");
    }
}

#[test]
fn descriptions_of_settings_are_in_korean_and_keep_to_the_glossary() {
    for (key, korean) in super::korean_settings() {
        assert!(has_hangul(korean), "{key}: {korean}");
        assert!(korean.ends_with(['.', ')']), "{key} ends within a sentence: {korean}");
        for word in ["목적지", "임대", "다운 ", "하세요", "시오!"] {
            assert!(!korean.contains(word), "{key} has {word:?}");
        }
    }
}

#[test]
fn texts_keep_to_the_rules_of_words() {
    for (key, text) in all_texts() {
        let english = text.of(Language::English).to_lowercase();
        for word in ["please", "successfully", "oops", "!", "anew"] {
            assert!(!english.contains(word), "{key} has {word:?}");
        }
        let korean = text.of(Language::Korean);
        for word in ["목적지", "임대", "다운 "] {
            assert!(!korean.contains(word), "{key} has {word:?}");
        }
        for particle in ["}이 ", "}가 ", "}을 ", "}를 ", "}은 ", "}는 ", "}와 ", "}과 "] {
            assert!(!korean.contains(particle), "{key} joins a particle to a value: {korean}");
        }
    }
}
