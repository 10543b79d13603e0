//! The language and the colours that a browser has chosen.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT_LANGUAGE;
use reelyard_console::text::Language;
use reelyard_console::{LANGUAGE_COOKIE, THEME_COOKIE, Theme};

/// The choices in the cookies of a request. Without a cookie the language is the one that the browser prefers.
pub fn choices(request: &HttpRequest) -> (Language, Theme) {
    let cookie = |name| request.cookie(name).map(|cookie| cookie.value().to_owned());
    let language = cookie(LANGUAGE_COOKIE).and_then(|code| Language::from_code(&code));
    let theme = cookie(THEME_COOKIE).and_then(|word| Theme::from_word(&word));
    (language.unwrap_or_else(|| preferred_language(request)), theme.unwrap_or_default())
}

/// The language that the browser prefers.
pub fn preferred_language(request: &HttpRequest) -> Language {
    let header = request.headers().get(ACCEPT_LANGUAGE);
    let header = header.and_then(|header| header.to_str().ok());
    Language::of_header(header.unwrap_or_default())
}
