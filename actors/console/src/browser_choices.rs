//! The choices of a browser: in cookies, and in the headers that it sends.

use crate::text::Language;
use crate::viewer::{LANGUAGE_COOKIE, THEME_COOKIE, Theme};

/// The language and the colours that a browser asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrowserChoices {
    /// The chosen language, or the one that the browser prefers.
    pub language: Language,
    /// The chosen colours.
    pub theme: Theme,
}

impl BrowserChoices {
    /// Reads the choices. `cookie` gives the value of a cookie by its name, and `accept_language` is the header.
    pub fn read(
        cookie: impl Fn(&str) -> Option<String>,
        accept_language: Option<&[u8]>,
    ) -> BrowserChoices {
        let accepted = accept_language.and_then(|header| std::str::from_utf8(header).ok());
        let language = cookie(LANGUAGE_COOKIE).and_then(|code| Language::from_code(&code));
        let theme = cookie(THEME_COOKIE).and_then(|word| Theme::from_word(&word));
        BrowserChoices {
            language: language.unwrap_or_else(|| Language::of_header(accepted.unwrap_or_default())),
            theme: theme.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_come_before_the_preference_of_the_browser() {
        let read = |language: &str, theme: &str| {
            let value = |name: &str| match name {
                LANGUAGE_COOKIE => Some(language.to_owned()),
                THEME_COOKIE => Some(theme.to_owned()),
                _ => None,
            };
            BrowserChoices::read(value, Some(b"ko"))
        };
        let chosen = BrowserChoices { language: Language::English, theme: Theme::Dark };
        assert_eq!(read("en", "dark"), chosen);
        let preferred = BrowserChoices { language: Language::Korean, theme: Theme::Auto };
        assert_eq!(read("xx", "pink"), preferred);
        assert_eq!(BrowserChoices::read(|_| None, Some(b"\xff")).language, Language::English);
    }
}
