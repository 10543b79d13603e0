//! `POST /console/preferences`: keeps language, colours and row height in cookies of the browser.

use actix_web::HttpResponse;
use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header::LOCATION;
use reelyard_console::text::Language;
use reelyard_console::{LANGUAGE_COOKIE, THEME_COOKIE, Theme};

use super::posted_form::PostedForm;
use super::visitor::DENSITY_COOKIE;

/// How long a browser keeps a choice.
const KEPT: Duration = Duration::days(400);

/// Keeps a choice. It needs no session, because it changes nothing but cookies of this browser.
pub async fn keep(form: PostedForm) -> HttpResponse {
    let mut answer = HttpResponse::SeeOther();
    answer.insert_header((LOCATION, form.back()));
    if let Some(language) = form.first("language").and_then(Language::from_code) {
        answer.cookie(choice(LANGUAGE_COOKIE, language.code()));
    }
    if let Some(theme) = form.first("theme").and_then(Theme::from_word) {
        answer.cookie(choice(THEME_COOKIE, theme.word()));
    }
    match form.first("density") {
        Some("compact") => answer.cookie(choice(DENSITY_COOKIE, "compact")),
        Some(_) => answer.cookie(choice(DENSITY_COOKIE, "usual")),
        None => &mut answer,
    };
    answer.finish()
}

fn choice(name: &'static str, value: &'static str) -> Cookie<'static> {
    Cookie::build(name, value)
        .path("/")
        .max_age(KEPT)
        .http_only(true)
        .same_site(SameSite::Lax)
        .finish()
}
