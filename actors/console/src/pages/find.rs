//! "Find or do": hosts, pages, files, tasks, links, pools and actions with a text in their names.

use maud::{Markup, html};

use crate::address::page_query;
use crate::format::{count, visible_text};
use crate::parts::icon::{Glyph, icon};
use crate::parts::notice::empty;
use crate::parts::panel::page_head;
use crate::text::{Text, common, find, frame};
use crate::viewer::Viewer;

page_query! {
    /// Query parameters of the page Find.
    FindPageQuery at "/find" {
        /// The text.
        q: String,
        /// The path of the page over which the palette is open.
        here: String,
    }
}

/// The kind of a hit. The order is the order of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindKind {
    /// By a part of its address.
    Host,
    /// A page of the console, or a chapter of the manual.
    Page,
    /// By a part of its name.
    File,
    /// By its number, or by a part of its file's name.
    Task,
    /// A share link.
    Share,
    /// A pool of boxes.
    Pool,
    /// An action; its address opens a dialog.
    Action,
}

impl FindKind {
    /// Every kind in the order of the page.
    pub const ALL: [FindKind; 7] = [
        FindKind::Host,
        FindKind::Page,
        FindKind::File,
        FindKind::Task,
        FindKind::Share,
        FindKind::Pool,
        FindKind::Action,
    ];

    const fn looks(self) -> (Text, Glyph) {
        match self {
            FindKind::Host => (frame::HOSTS, Glyph::NavHosts),
            FindKind::Page => (find::PAGES, Glyph::NavYard),
            FindKind::File => (frame::FILES, Glyph::NavFiles),
            FindKind::Task => (frame::TASKS, Glyph::NavTasks),
            FindKind::Share => (frame::SHARES, Glyph::NavShares),
            FindKind::Pool => (find::POOLS, Glyph::NavBoxes),
            FindKind::Action => (find::ACTIONS, Glyph::Terminal),
        }
    }
}

/// A line of the results.
#[derive(Clone, Debug)]
pub struct FindHit {
    /// It decides group and icon of the line.
    pub kind: FindKind,
    /// Name or title, with control characters.
    pub words: String,
    /// Grey remark, such as a state.
    pub remark: String,
    /// The page to which the line leads.
    pub address: String,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct FindPageModel {
    /// Hits, best first within each kind; at most some of each kind.
    pub hits: Vec<FindHit>,
}

/// The content of the page.
pub fn render(query: &FindPageQuery, model: &FindPageModel, viewer: &Viewer) -> Markup {
    html! {
        (page_head(frame::FIND_SHORT.of(viewer.language), "", html! {}))
        form.filters role="search" method="get" action=(FindPageQuery::path())
            hx-get=(FindPageQuery::path()) hx-trigger="input delay:150ms, submit" hx-target="#found" hx-select="#found"
            hx-swap="outerMorph" hx-push-url="true" hx-nonce=(viewer.nonce) {
            (field(viewer, &query.q))
        }
        (found(query, model, viewer))
    }
}

/// The same over any other page. `here` is the path of that page, whose actions are found too.
pub fn palette(viewer: &Viewer, here: &str) -> Markup {
    let language = viewer.language;
    let empty = FindPageQuery::default();
    html! {
        dialog #palette .dialog aria-label=(frame::FIND_SHORT.of(language)) {
            form role="search" method="get" action=(FindPageQuery::path())
                hx-get=(FindPageQuery::path()) hx-trigger="input delay:150ms, submit" hx-target="#found"
                hx-select="#found" hx-swap="outerMorph" hx-nonce=(viewer.nonce) {
                input type="hidden" name="here" value=(here);
                (field(viewer, ""))
            }
            div.found {
                ul #recent .list hidden aria-label=(find::RECENT.of(language)) {}
                (found(&empty, &FindPageModel::default(), viewer))
            }
        }
    }
}

fn field(viewer: &Viewer, text: &str) -> Markup {
    let label = frame::FIND.of(viewer.language);
    html! {
        div.search.wide-search {
            (icon(Glyph::Search))
            input type="search" name="q" value=(text) aria-label=(label) placeholder=(label) aria-controls="found"
                autocomplete="off" spellcheck="false" maxlength="255" autofocus data-filter data-palette-field;
        }
    }
}

/// The hits. The script compares the text that they are for with the field.
fn found(query: &FindPageQuery, model: &FindPageModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let hits = model.hits.len() as u64;
    html! {
        div #found .tablebox data-q=(query.q.trim()) {
            p.vh role="status" {
                @if !query.q.is_empty() { (find::FOUND.fill(language, &[("n", &count(hits))])) }
            }
            @if model.hits.is_empty() {
                @let title = find::NOTHING.fill(language, &[("text", &visible_text(&query.q))]);
                @if query.q.is_empty() { (empty(find::TYPE.of(language), "", html! {})) }
                @else { (empty(&title, find::NOTHING_BODY.of(language), html! { a.btn.sm href=(FindPageQuery::path()) { (common::CLEAR_FILTER.of(language)) } })) }
            }
            @for kind in FindKind::ALL {
                @let hits: Vec<&FindHit> = model.hits.iter().filter(|hit| hit.kind == kind).collect();
                @if !hits.is_empty() { (group(viewer, kind, &hits)) }
            }
        }
    }
}

fn group(viewer: &Viewer, kind: FindKind, hits: &[&FindHit]) -> Markup {
    let (title, glyph) = kind.looks();
    html! {
        h2.find-group { (title.of(viewer.language)) }
        ul.list {
            @for hit in hits {
                li {
                    (icon(glyph))
                    div.grow { a dir="auto" href=(hit.address) { (visible_text(&hit.words)) } }
                    span.r.muted { (visible_text(&hit.remark)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = FindPageQuery { q: "2.31 & 봄".into(), here: "/console/plan".into() };
        assert_eq!(FindPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
