//! The language and the colours that a browser has chosen.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT_LANGUAGE;
use reelyard_console::BrowserChoices;

/// The language and the colours that the browser of a request asks for.
pub fn choices_of(request: &HttpRequest) -> BrowserChoices {
    let cookie = |name: &str| request.cookie(name).map(|cookie| cookie.value().to_owned());
    let accepted = request.headers().get(ACCEPT_LANGUAGE);
    BrowserChoices::read(cookie, accepted.map(|header| header.as_bytes()))
}
