//! Descriptions of the settings of a node in Korean. The English ones stand at the declarations.

mod given_out;
mod of_node;
mod yard;

use super::language::Language;

/// Declares the Korean descriptions of settings by their keys.
macro_rules! korean_meanings {
    ($($key:literal: $text:literal;)+) => {
        /// Key and description.
        pub(super) const MEANINGS: &[(&str, &str)] = &[$(($key, $text)),+];
    };
}

use korean_meanings;

/// All descriptions: the key of the setting, and its description in Korean.
pub fn korean_settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    [yard::MEANINGS, given_out::MEANINGS, of_node::MEANINGS].into_iter().flatten().copied()
}

/// The description of a setting in this language. A setting without a Korean one keeps its English one.
pub fn setting_meaning<'a>(language: Language, key: &str, english: &'a str) -> &'a str {
    let korean = || korean_settings().find(|(of, _)| *of == key).map(|(_, text)| text);
    match language {
        Language::English => english,
        Language::Korean => korean().unwrap_or(english),
    }
}
