//! The side panel that answers "why?".

use maud::{Markup, html};

use super::icon::{Glyph, icon};
use crate::format::visible_text;
use crate::text::common;
use crate::viewer::Viewer;

/// A table beside its side panel; without a panel only the table.
pub fn split(rows: Markup, panel: Option<Markup>) -> Markup {
    html! {
        div class={ "split" @if panel.is_some() { " on" } } {
            div.mainwrap { (rows) }
            @if let Some(panel) = panel { (panel) }
        }
    }
}

/// The panel: question, whole name, and sections. `close` is the address of the page without it.
pub fn side_panel(
    viewer: &Viewer,
    question: &str,
    name: &str,
    close: &str,
    body: Markup,
) -> Markup {
    html! {
        aside #why .why aria-labelledby="why-title" data-panel {
            header {
                div {
                    h2 #why-title tabindex="-1" { (question) }
                    div.fn dir="auto" { (visible_text(name)) }
                }
                a.ib href=(close) aria-label=(common::CLOSE.of(viewer.language)) data-close { (icon(Glyph::Cross)) }
            }
            (body)
        }
    }
}
