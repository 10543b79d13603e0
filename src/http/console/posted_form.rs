//! The fields of a form that a page posts.

use std::ops::RangeInclusive;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use reelyard_console::address::QueryPairs;
use reelyard_console::text::{Language, Text};

use crate::http::problem::ProblemResponse;

/// The fields of a form in their order. A name may occur several times.
#[derive(Clone, Debug, Default)]
pub struct PostedForm(Vec<(String, String)>);

impl PostedForm {
    /// A form with these fields.
    #[cfg(test)]
    pub fn of(fields: Vec<(String, String)>) -> Self {
        PostedForm(fields)
    }

    /// The first value of a field that is not empty.
    pub fn first(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(field, value)| field == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// The first value of a field that is not empty, or nothing.
    pub fn text(&self, name: &str) -> String {
        self.first(name).unwrap_or_default().to_owned()
    }

    /// The number in a field. None if nothing was typed. `label` names the field in the refusal, as the form does.
    ///
    /// # Errors
    /// The text is no whole number of the range.
    pub fn number(
        &self,
        (name, label): (&str, Text),
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, ProblemResponse> {
        let Some(text) = self.first(name).map(str::trim) else { return Ok(None) };
        match text.parse::<u32>() {
            Ok(number) if range.contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => Err(ProblemResponse::bad_request(format!(
                "{}: \"{text}\" is no whole number from {} to {}. Correct it, and send the form again",
                label.of(Language::English),
                range.start(),
                range.end(),
            ))),
        }
    }

    /// All values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// The page to return to: a path of the console, or the sign-in.
    pub fn back(&self) -> &str {
        let is_ours = |back: &&str| is_console_path(back) || is_sign_in(back);
        let back = self.first("back").filter(is_ours);
        back.unwrap_or(reelyard_console::address::ROOT)
    }
}

/// The values of the fields of a dialog in the address of its page, by their names.
pub fn typed_in(request: &HttpRequest) -> impl Fn(&str) -> String + use<> {
    let pairs = QueryPairs::parse(request.query_string());
    move |name: &str| pairs.first(name).unwrap_or_default().to_owned()
}

/// Whether a text is a path of the console and not the address of another site.
pub fn is_console_path(text: &str) -> bool {
    let root = reelyard_console::address::ROOT;
    let rest = text.strip_prefix(root);
    let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    is_below && !text.contains(['\\', '\r', '\n'])
}

/// Whether a text is the sign-in, with or without its query.
fn is_sign_in(text: &str) -> bool {
    let rest = text.strip_prefix("/login");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
        && !text.contains(['\\', '\r', '\n'])
}

impl FromRequest for PostedForm {
    type Error = ProblemResponse;
    type Future = LocalBoxFuture<'static, Result<Self, ProblemResponse>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let fields = web::Form::<Vec<(String, String)>>::from_request(request, payload);
        fields
            .map(|fields| match fields {
                Ok(fields) => Ok(PostedForm(fields.into_inner())),
                Err(error) => Err(ProblemResponse::bad_request(format!("the form: {error}"))),
            })
            .boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use reelyard_console::text::{node_words, outcomes, shares};

    use super::*;

    #[test]
    fn the_sign_in_is_a_way_back() {
        let back = |text: &str| PostedForm(vec![("back".into(), text.into())]).back().to_owned();
        assert_eq!(back("/login?next=%2Fconsole"), "/login?next=%2Fconsole");
        for bad in ["/login/x", "/logins", "/login?a\\b", "//login"] {
            assert_eq!(back(bad), "/console", "{bad}");
        }
    }

    #[test]
    fn a_wrong_number_is_refused_with_field_value_and_range() {
        let number = |text: &str| {
            let form = PostedForm(vec![("max_downloads".into(), text.into())]);
            form.number(("max_downloads", shares::NEW_MOST), 1..=u32::MAX)
        };
        assert_eq!(number("").unwrap(), None);
        assert_eq!(number(" 3 ").unwrap(), Some(3));
        for bad in ["0", "x", "-1", "1.5", "12345678901234567890"] {
            let detail = number(bad).unwrap_err().problem().detail.clone();
            let wanted = format!(
                "Downloads at most: \"{bad}\" is no whole number from 1 to 4294967295. Correct it, and send the form \
                 again"
            );
            assert_eq!(detail, wanted);
            let korean = format!(
                "최대 다운로드: \"{bad}\"은(는) 1에서 4294967295까지의 정수가 아닙니다. 고친 뒤 다시 보내십시오"
            );
            assert_eq!(node_words(Language::Korean, &detail), korean);
        }
        let form = PostedForm(vec![("size".into(), "abc".into())]);
        let detail = form.number(("size", outcomes::FIELD_SIZE), 0..=9).unwrap_err();
        let korean = node_words(Language::Korean, &detail.problem().detail);
        assert!(korean.starts_with("박스 수: \"abc\"은(는) 0에서 9까지의"), "{korean}");
    }

    #[test]
    fn only_a_path_of_the_console_is_a_way_back() {
        for good in ["/console", "/console/hosts?q=a", "/console?x"] {
            assert!(is_console_path(good), "{good}");
        }
        for bad in [
            "",
            "/",
            "//evil.example",
            "https://evil.example/console",
            "/consoles",
            "/console\r\nX: y",
            "/console\\x",
        ] {
            assert!(!is_console_path(bad), "{bad}");
        }
    }
}
