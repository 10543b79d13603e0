//! Panels, heads of pages, and strips of figures.

use maud::{Markup, html};

use super::mark::Tone;

/// A panel: title, one grey remark, one link, and a body.
#[derive(Clone, Debug, Default)]
pub struct PanelHead<'a> {
    /// Classes of width, such as `c8`.
    pub class: &'a str,
    /// The id that live updates replace, empty for none.
    pub id: &'a str,
    /// Heading, in the language of the viewer.
    pub title: String,
    /// Grey remark, empty for none.
    pub remark: String,
    /// Words and address of the link at the right.
    pub link: Option<(String, String)>,
}

/// A panel whose body reaches its edges.
pub fn flush_panel(head: &PanelHead<'_>, body: Markup) -> Markup {
    panel_with(head, "body flush", body, html! {})
}

/// A panel with space around its body.
pub fn panel(head: &PanelHead<'_>, body: Markup) -> Markup {
    panel_with(head, "body", body, html! {})
}

/// A panel with a class for its body, and further children of the head or the end.
pub fn panel_with(head: &PanelHead<'_>, class: &str, body: Markup, end: Markup) -> Markup {
    let id = (!head.id.is_empty()).then_some(head.id);
    html! {
        section class={ "panel " (head.class) } id=[id] {
            header {
                h2 { (head.title) }
                @if !head.remark.is_empty() { span.sub { (head.remark) } }
                @if let Some((words, address)) = &head.link { a.more href=(address) { (words) } }
            }
            div class=(class) { (body) }
            (end)
        }
    }
}

/// The id of the actions in the head of a page.
pub const PAGE_ACTS: &str = "page-acts";

/// The head of a page: title, one sentence, actions.
pub fn page_head(title: &str, sentence: &str, actions: Markup) -> Markup {
    html! {
        div.head {
            div { h1 { (title) } (page_sentence(sentence)) }
            // A filter replaces them: they have its query in their addresses.
            div #(PAGE_ACTS) .acts { (actions) }
        }
    }
}

/// The sentence of a page. Its id is `page-sentence`, for live updates.
pub fn page_sentence(sentence: &str) -> Markup {
    html! { p #page-sentence { (sentence) } }
}

/// A figure of a strip.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Name of the figure.
    pub name: String,
    /// The number.
    pub value: String,
    /// Small words behind the number.
    pub unit: String,
    /// The line below.
    pub detail: String,
    /// Colour of the line below.
    pub tone: Tone,
    /// Address of the rows behind the figure.
    pub address: Option<String>,
    /// A small curve.
    pub curve: Option<Markup>,
}

/// A strip of figures side by side.
pub fn figure_strip(id: &str, class: &str, label: &str, figures: &[Figure]) -> Markup {
    html! {
        section #(id) class={ "stats " (class) } aria-label=(label) {
            @for figure in figures {
                @match &figure.address {
                    Some(address) => a.stat href=(address) { (figure_parts(figure)) }
                    None => div.stat { (figure_parts(figure)) }
                }
            }
        }
    }
}

fn figure_parts(figure: &Figure) -> Markup {
    html! {
        span.k title=(figure.name) { (figure.name) }
        span.v {
            span { (figure.value) @if !figure.unit.is_empty() { small { (figure.unit) } } }
            @if let Some(curve) = &figure.curve { (curve) }
        }
        span class={ "d " (figure.tone.class()) } { (figure.detail) }
    }
}
