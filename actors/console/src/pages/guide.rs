//! The manual within the frame: contents at the left, a chapter at the right.

use maud::{Markup, PreEscaped, html};

use crate::address::{ROOT, encoded};
use crate::parts::mark::Tone;
use crate::parts::notice::notice;
use crate::parts::panel::page_head;
use crate::text::{Language, access, frame};
use crate::viewer::Viewer;

/// A chapter of the contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuideChapter {
    /// Word of the address.
    pub word: String,
    /// Its heading, in the language of the viewer.
    pub title: String,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct GuidePageModel {
    /// Chapters in their order.
    pub chapters: Vec<GuideChapter>,
    /// Word of the chapter that is shown.
    pub current: String,
    /// Language of the chapter. Not every chapter is in every language.
    pub language: Language,
    /// The chapter as HTML of the node's own renderer. It comes from the manual, never from a user.
    pub html: String,
}

/// The content of the page.
pub fn render(model: &GuidePageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        (page_head(frame::GUIDE.of(language), "", html! {}))
        @if language != model.language {
            div.mb { (notice(Tone::Plain, access::GUIDE_ENGLISH_ONLY.of(language), html! {}, html! {})) }
        }
        div.guide {
            nav.panel aria-label=(access::GUIDE_CONTENTS.of(language)) {
                ul.list {
                    @for chapter in &model.chapters {
                        li {
                            a href={ (ROOT) "/guide/" (encoded(&chapter.word)) }
                                aria-current=[(chapter.word == model.current).then_some("page")] { (chapter.title) }
                        }
                    }
                }
            }
            article.panel.prose lang=(model.language.code()) { (PreEscaped(&model.html)) }
        }
    }
}
