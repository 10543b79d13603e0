//! The languages of the console.

/// The language of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, the default.
    #[default]
    English,
    /// The pages and most chapters of the manual have it.
    Korean,
}

impl Language {
    /// Every language, in the order of the switch.
    pub const ALL: [Language; 2] = [Language::English, Language::Korean];

    /// The tag of BCP 47, as the attribute `lang` and the cookie have it.
    pub const fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Korean => "ko",
        }
    }

    /// The language's own name for itself.
    pub const fn own_name(self) -> &'static str {
        match self {
            Language::English => "English",
            Language::Korean => "한국어",
        }
    }

    /// The language with this tag.
    pub fn from_code(code: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.code() == code)
    }

    /// The first supported language of an `Accept-Language` header, best weight first.
    pub fn of_header(header: &str) -> Language {
        let mut best = (0.0, Language::English);
        for part in header.split(',') {
            let mut pieces = part.split(';');
            let tag = pieces.next().unwrap_or_default().trim();
            let weight = pieces
                .find_map(|piece| piece.trim().strip_prefix("q="))
                .map_or(1.0, |text| text.parse::<f32>().unwrap_or(0.0));
            let short = tag.get(..2).unwrap_or_default().to_ascii_lowercase();
            if let Some(language) = Language::from_code(&short)
                && weight > best.0
            {
                best = (weight, language);
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_with_the_best_weight_wins() {
        assert_eq!(Language::of_header("ko-KR,ko;q=0.9,en;q=0.8"), Language::Korean);
        assert_eq!(Language::of_header("en;q=0.5, ko;q=0.7"), Language::Korean);
        assert_eq!(Language::of_header("fr, de"), Language::English);
        assert_eq!(Language::of_header("é;q=x,,;"), Language::English);
    }
}
