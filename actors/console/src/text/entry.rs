//! A text in all languages.

use super::language::Language;

/// A text in every language. Values stand in braces: `{host}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    english: &'static str,
    korean: &'static str,
}

impl Text {
    /// A text from its English and its Korean form.
    pub const fn new(english: &'static str, korean: &'static str) -> Text {
        Text { english, korean }
    }

    /// The form in this language, values still in braces.
    pub const fn of(self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Korean => self.korean,
        }
    }

    /// The form in this language with values in place of their names.
    ///
    /// Braces within a value stay as they are, and a name without a value stays visible.
    pub fn fill(self, language: Language, values: &[(&str, &str)]) -> String {
        let mut rest = self.of(language);
        let mut filled = String::with_capacity(rest.len() + 16);
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            let inner = &rest[open + 1..];
            let Some(close) = inner.find('}') else {
                filled.push_str(&rest[open..]);
                return filled;
            };
            let name = &inner[..close];
            match values.iter().find(|value| value.0 == name) {
                Some(value) => filled.push_str(value.1),
                None => filled.push_str(&rest[open..open + close + 2]),
            }
            rest = &inner[close + 1..];
        }
        filled.push_str(rest);
        filled
    }
}

/// A text that counts: English has a form for one, Korean has one form with its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountText {
    /// The form for exactly one thing.
    pub one: Text,
    /// The form for any other count, with `{n}`.
    pub many: Text,
}

impl CountText {
    /// The form for this count. `shown` is the count as the page writes it.
    pub const fn form(self, count: u64) -> Text {
        if count == 1 { self.one } else { self.many }
    }
}

/// Declares texts as constants, and lists them for the tests.
macro_rules! texts {
    ($($name:ident = $english:literal, $korean:literal;)+) => {
        $(
            #[doc = concat!("“", $english, "”")]
            pub const $name: crate::text::Text = crate::text::Text::new($english, $korean);
        )+
        /// The texts of this file with their keys.
        #[cfg(test)]
        pub(crate) const TEXTS: &[(&str, crate::text::Text)] = &[$((stringify!($name), $name)),+];
    };
}

/// Declares counting texts as constants, and lists them for the tests.
macro_rules! count_texts {
    ($($name:ident = $one:literal | $many:literal, $korean:literal;)+) => {
        $(
            #[doc = concat!("“", $many, "”")]
            pub const $name: crate::text::CountText = crate::text::CountText {
                one: crate::text::Text::new($one, $korean),
                many: crate::text::Text::new($many, $korean),
            };
        )+
        /// The counting texts of this file with their keys.
        #[cfg(test)]
        pub(crate) const COUNT_TEXTS: &[(&str, crate::text::CountText)] =
            &[$((stringify!($name), $name)),+];
    };
}

pub(crate) use count_texts;
pub(crate) use texts;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_place_of_their_names() {
        let text = Text::new("{host} holds {files}", "{host}: {files}");
        let values = [("host", "{files}"), ("files", "3 files")];
        assert_eq!(text.fill(Language::English, &values), "{files} holds 3 files");
        assert_eq!(text.fill(Language::Korean, &[]), "{host}: {files}");
        assert_eq!(Text::new("an { end", "끝 {").fill(Language::English, &values), "an { end");
    }
}
