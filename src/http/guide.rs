//! `/guide`: the manual as pages without scripts. It needs no token, because it contains no data of
//! the yard.

use std::sync::LazyLock;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, AcceptLanguage, Header};
use actix_web::web::{Path, Query};
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::guide::{self, CHAPTERS, Chapter, GuideLanguage};

const STYLE: &str = include_str!("guide.css");

/// How long a browser keeps a picture without asking again.
const PICTURES_KEPT: &str = "public, max-age=86400";

/// Allows only the style sheet and the pictures of the page.
static SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; img-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

/// Options of a guide page in its URL.
#[derive(Deserialize)]
pub struct GuideQuery {
    lang: Option<String>,
}

/// `GET /guide`: the table of contents.
pub async fn contents(request: HttpRequest, query: Query<GuideQuery>) -> HttpResponse {
    let language = language(&request, &query);
    let title = match language {
        GuideLanguage::English => "Reelyard: the guide",
        GuideLanguage::Korean => "Reelyard 안내서",
    };
    let body = html! {
        main { h1 { (title) } (list(None, language)) }
    };
    answer(StatusCode::OK, page((title, language), None, body))
}

/// `GET /guide/{topic}`: one chapter.
pub async fn chapter(
    request: HttpRequest,
    topic: Path<String>,
    query: Query<GuideQuery>,
) -> HttpResponse {
    let wanted = language(&request, &query);
    let chapter = match guide::chapter(&topic) {
        Ok(chapter) => chapter,
        Err(unknown) => {
            let body = html! {
                main { h1 { "404" } p { (unknown) } (list(None, wanted)) }
            };
            return answer(StatusCode::NOT_FOUND, page(("404", wanted), None, body));
        }
    };
    let body = html! {
        div.columns {
            main lang=(chapter.language(wanted).tag()) {
                @if chapter.language(wanted) != wanted {
                    p.note lang="ko" { "이 장은 영어로만 제공됩니다." }
                }
                (PreEscaped(guide::to_html(chapter.text(wanted), wanted)))
            }
            nav #chapters { (list(Some(chapter), wanted)) }
        }
    };
    answer(StatusCode::OK, page((chapter.title(wanted), wanted), Some(chapter), body))
}

/// `GET /guide/pictures/{name}`: a picture of a chapter.
pub async fn picture(name: Path<String>) -> HttpResponse {
    let Some(found) = guide::picture(&name) else {
        return HttpResponse::NotFound().finish();
    };
    HttpResponse::Ok()
        .content_type("image/png")
        .insert_header((header::CACHE_CONTROL, PICTURES_KEPT))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(found.bytes)
}

/// The language of a page: from the URL, else the preference of the browser among the available
/// languages.
fn language(request: &HttpRequest, query: &GuideQuery) -> GuideLanguage {
    if let Some(named) = query.lang.as_deref().and_then(GuideLanguage::of_tag) {
        return named;
    }
    let Ok(accepted) = AcceptLanguage::parse(request) else { return GuideLanguage::default() };
    let ranked = accepted.ranked();
    let known = ranked.iter().find_map(|tag| GuideLanguage::of_tag(&tag.to_string()));
    known.unwrap_or_default()
}

fn list(current: Option<&Chapter>, language: GuideLanguage) -> Markup {
    html! {
        ul {
            @for chapter in &CHAPTERS {
                @let is_current = current.is_some_and(|page| page.topic == chapter.topic);
                li {
                    a href={ "/guide/" (chapter.topic) "?lang=" (language.tag()) }
                        aria-current=[is_current.then_some("page")] { (chapter.title(language)) }
                }
            }
        }
    }
}

fn page(
    (title, language): (&str, GuideLanguage),
    current: Option<&Chapter>,
    body: Markup,
) -> Markup {
    let (other, name) = match language {
        GuideLanguage::English => (GuideLanguage::Korean, "한국어"),
        GuideLanguage::Korean => (GuideLanguage::English, "English"),
    };
    let path = current.map(|chapter| format!("/{}", chapter.topic)).unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang=(language.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    a href={ "/guide?lang=" (language.tag()) } { "Reelyard " (env!("CARGO_PKG_VERSION")) }
                    a href={ "/guide" (path) "?lang=" (other.tag()) } lang=(other.tag()) { (name) }
                }
                (body)
            }
        }
    }
}

fn answer(status: StatusCode, page: Markup) -> HttpResponse {
    HttpResponse::build(status)
        .content_type("text/html; charset=utf-8")
        .insert_header((header::CONTENT_SECURITY_POLICY, SECURITY_POLICY.as_str()))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((header::VARY, "accept-language"))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .body(page.into_string())
}
