//! `/console/guide`: the manual within the frame.

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::guide::{self, GuideChapter, GuidePageModel};
use reelyard_console::text::Language;

use crate::guide::{CHAPTERS, Chapter, GuideLanguage, chapter, to_html};
use crate::http::console::answer;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;
use crate::http::problem::ProblemResponse;

/// `GET /console/guide`: the first chapter.
pub async fn contents(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    page(&request, &state, &CHAPTERS[0])
}

/// `GET /console/guide/{topic}`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
    topic: web::Path<String>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let found = chapter(&topic);
    let found = found.map_err(|unknown| ProblemResponse::not_found(unknown.to_string()))?;
    page(&request, &state, found)
}

fn page(
    request: &HttpRequest,
    state: &web::Data<NodeHttpState>,
    current: &Chapter,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(request, state, &AccessScope::YardRead)?;
    let wanted = guide_language(visitor.viewer.language);
    let used = current.language(wanted);
    let chapters = CHAPTERS.iter().map(|chapter| GuideChapter {
        word: chapter.topic.to_owned(),
        title: chapter.title(wanted).to_owned(),
    });
    let html = to_html(current.text(wanted), wanted);
    let model = GuidePageModel {
        chapters: chapters.collect(),
        current: current.topic.to_owned(),
        language: match used {
            GuideLanguage::English => Language::English,
            GuideLanguage::Korean => Language::Korean,
        },
        // The links between chapters stay within the frame.
        html: html.replace("href=\"/guide/", "href=\"/console/guide/"),
    };
    let content = guide::render(&model, &visitor.viewer);
    let parts = PageParts::new(NavPage::Guide, current.title(wanted), content);
    Ok(answer::page(request, state, &visitor, &parts))
}

/// The language of the manual for this language of the pages.
pub fn guide_language(language: Language) -> GuideLanguage {
    match language {
        Language::English => GuideLanguage::English,
        Language::Korean => GuideLanguage::Korean,
    }
}
