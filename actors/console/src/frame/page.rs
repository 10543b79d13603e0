//! The whole document around the content of a page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::navigation::{NavCounts, NavPage, SIDE, TAB_PAGES, side_bar, tab_pages, tabs};
use super::top_bar::{LiveMark, top_bar};
use crate::address::ROOT;
use crate::assets::{HTMX, HTMX_EVENTS, HTMX_POLICY, SCRIPT, STYLE};
use crate::format::{exact, node_sentence, visible_text};
use crate::parts::act::act_form;
use crate::parts::icon::{Glyph, icon};
use crate::parts::mark::Tone;
use crate::parts::notice::{ActionOutcome, notice, outcome};
use crate::text::{Text, frame, outcomes, refusals, yard};
use crate::viewer::{Density, Viewer};

/// Facts about the node and the page that the frame shows.
#[derive(Clone, Debug, Default)]
pub struct FrameModel {
    /// Name of the yard.
    pub yard: String,
    /// Number of this node.
    pub node: u64,
    /// The node that leads, if one does.
    pub leader: Option<u64>,
    /// Epoch of the leader.
    pub epoch: u64,
    /// Version of the program.
    pub version: String,
    /// Hosts that are down.
    pub hosts_down: u64,
    /// Copies that failed in the last hour.
    pub tasks_failed: u64,
    /// Boxes of all pools that are out of use.
    pub boxes_quarantined: u64,
    /// Why the node is not ready, in its own words; empty if it is.
    pub not_ready: Vec<String>,
    /// Whether the page shows the present.
    pub live: LiveMark,
    /// Address of the stream of updates; without one the page is fixed.
    pub stream: Option<String>,
    /// Address of the page itself; actions come back to it.
    pub here: String,
    /// Outcome of the action before.
    pub outcome: Option<ActionOutcome>,
    /// The palette over the page. The page Find has its own field.
    pub palette: Option<Markup>,
}

/// A rendered page, before its frame.
#[derive(Clone, Debug)]
pub struct PageParts {
    /// The entry of the navigation.
    pub nav: NavPage,
    /// Title of the document, without yard and product.
    pub title: String,
    /// Content of `main`.
    pub content: Markup,
    /// The page itself says first what is wrong with the node.
    pub has_verdict: bool,
    /// The page has no entry of its own in the navigation.
    pub is_beside: bool,
    /// The things whose dialog the address asks for, and which are gone, as one sentence.
    pub gone: Option<String>,
}

impl PageParts {
    /// A page that leaves its verdict to the frame.
    pub fn new(nav: NavPage, title: &str, content: Markup) -> PageParts {
        PageParts {
            nav,
            title: title.to_owned(),
            content,
            has_verdict: false,
            is_beside: false,
            gone: None,
        }
    }

    /// The same page, which itself says first what is wrong with the node.
    pub fn with_verdict(self) -> PageParts {
        PageParts { has_verdict: true, ..self }
    }

    /// The same page, which is none of the navigation.
    pub fn beside(self) -> PageParts {
        PageParts { is_beside: true, ..self }
    }

    /// The same page below a notice that the things of its dialog are gone, if they are.
    pub fn with_gone(self, gone: Option<String>) -> PageParts {
        PageParts { gone, ..self }
    }

    /// The entry of the navigation that is marked.
    fn current(&self) -> Option<NavPage> {
        (!self.is_beside).then_some(self.nav)
    }
}

/// Settings of htmx. A stream that was cut connects again within 5 seconds of the return of the node. A refusal replaces
/// no part of a page.
const HTMX_SETTINGS: &str = r#"{
    "extensions": "sse,hx-csp", "history": "reload", "includeIndicatorCSS": false, "noSwap": [204, 304, "4xx", "5xx"],
    "sse": {"reconnectMaxDelay": 5000, "connectTimeout": 10000}
}"#;

/// The Content-Security-Policy of an answer with this nonce.
pub fn security_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types htmx console"
    )
}

/// The document.
pub fn page(parts: &PageParts, model: &FrameModel, viewer: &Viewer) -> Markup {
    let language = viewer.language;
    let compact = (viewer.density == Density::Compact).then_some("compact");
    html! {
        (DOCTYPE)
        html lang=(language.code()) data-theme=(viewer.theme.word()) data-density=[compact] data-now=(viewer.now.0) data-user=(viewer.user) {
            (head(parts, model, viewer))
            body {
                a.skip href="#main" { (frame::SKIP.of(language)) }
                div.shell {
                    (top_bar(viewer, &model.yard, model.live))
                    (side_bar(viewer, parts.current(), nav_counts(model), &foot(model, viewer)))
                    main #main tabindex="-1" {
                        (printed_line(parts, model, viewer))
                        (stale_bar(viewer))
                        @if let Some(done) = &model.outcome { (outcome(viewer, done)) }
                        @if let Some(gone) = &parts.gone { (gone_notice(viewer, gone)) }
                        @if !parts.has_verdict { (not_ready(viewer, &model.not_ready)) }
                        (parts.content)
                    }
                }
                (tabs(viewer, parts.current(), nav_counts(model)))
                (act_form(viewer, &model.here))
                @if let Some(stream) = &model.stream { (stream_element(viewer, stream)) }
                div #announce .vh role="status" aria-live="polite" data-copied=(frame::COPIED.of(language)) {}
                (unsent(viewer, "session-over", refusals::SIGNED_OUT, refusals::STILL_TYPED, html! {
                    a.btn.sm.go href=(ROOT) target="_blank" { (refusals::SIGN_IN.of(language)) }
                }))
                (unsent(viewer, "session-ended", refusals::SIGNED_OUT, refusals::SESSION_ENDED_NEXT, html! {
                    a.btn.sm.go href=(ROOT) target="_blank" { (refusals::SIGN_IN.of(language)) }
                }))
                (unsent(viewer, "no-answer", refusals::NO_ANSWER, refusals::NO_ANSWER_NEXT, html! {}))
                (unsent(viewer, "other-account", refusals::OTHER_ACCOUNT, refusals::OTHER_ACCOUNT_NEXT, html! {}))
                (keys_dialog(viewer, parts.nav))
                @if let Some(palette) = &model.palette { (palette) }
            }
        }
    }
}

/// The parts of the frame that follow changes: the counts beside the pages, the leader, and why the node is not ready.
pub fn live_frame(viewer: &Viewer, current: NavPage, model: &FrameModel) -> Vec<(String, Markup)> {
    let counts = nav_counts(model);
    vec![
        (SIDE.to_owned(), side_bar(viewer, Some(current), counts, &foot(model, viewer))),
        (TAB_PAGES.to_owned(), tab_pages(viewer, Some(current), counts)),
        (NOT_READY.to_owned(), not_ready(viewer, &model.not_ready)),
    ]
}

fn nav_counts(model: &FrameModel) -> NavCounts {
    NavCounts {
        hosts_down: model.hosts_down,
        tasks_failed: model.tasks_failed,
        boxes_quarantined: model.boxes_quarantined,
    }
}

/// The things of the dialog in the address are gone.
fn gone_notice(viewer: &Viewer, gone: &str) -> Markup {
    let next = html! { p { (outcomes::GONE_NEXT.of(viewer.language)) } };
    html! { div.mb { (notice(Tone::Warn, gone, next, html! {})) } }
}

/// The id of the notice that the node is not ready.
const NOT_READY: &str = "not-ready";

/// The node starts, is full, or does not lead: every page says so, because its rows may be incomplete.
fn not_ready(viewer: &Viewer, reasons: &[String]) -> Markup {
    let title = yard::NOT_READY_TITLE.of(viewer.language);
    let shown = html! { @for reason in reasons { p { (node_sentence(viewer.language, reason)) } } };
    html! {
        div #(NOT_READY) .mb hidden[reasons.is_empty()] {
            @if !reasons.is_empty() { (notice(Tone::Warn, title, shown, html! {})) }
        }
    }
}

/// The first line on paper: yard, page, the address with the filter, and the instant.
fn printed_line(parts: &PageParts, model: &FrameModel, viewer: &Viewer) -> Markup {
    let (address, at) = (visible_text(&model.here), exact(viewer, viewer.now));
    html! { p.printed.small { bdi { (model.yard) } " · " (parts.title) " · " bdi { (address) } " · " (at) } }
}

/// The bar over a page whose stream is cut. The script fills and shows it.
fn stale_bar(viewer: &Viewer) -> Markup {
    let language = viewer.language;
    html! {
        div #stale-bar .stalebar hidden {
            (icon(Glyph::Warn))
            span role="status" data-words=(frame::STALE_BAR.of(language)) {}
            span.push data-next=(frame::TRIES_AGAIN.of(language)) data-now=(frame::TRIES_NOW.of(language)) {}
            button.btn.sm type="button" data-connect { (frame::CONNECT_NOW.of(language)) }
        }
    }
}

/// Why a form was not sent, or why the page no longer follows. The script shows it beside the button.
fn unsent(viewer: &Viewer, id: &str, title: Text, next: Text, action: Markup) -> Markup {
    let language = viewer.language;
    let next = html! { p { (next.of(language)) } };
    html! { div #(id) .mb hidden { (notice(Tone::Bad, title.of(language), next, action)) } }
}

fn head(parts: &PageParts, model: &FrameModel, viewer: &Viewer) -> Markup {
    let scripts = [HTMX, HTMX_EVENTS, HTMX_POLICY, SCRIPT];
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
            meta name="robots" content="noindex";
            meta name="referrer" content="same-origin";
            meta name="htmx-config" content=(HTMX_SETTINGS);
            title { (parts.title) " · " (model.yard) " · Reelyard" }
            link rel="stylesheet" href=(STYLE.address());
            link rel="icon" href="data:,";
            @for script in scripts { script src=(script.address()) nonce=(viewer.nonce) defer {} }
        }
    }
}

/// The element that holds the stream of updates. Each message is one or more `hx-partial`.
fn stream_element(viewer: &Viewer, stream: &str) -> Markup {
    html! {
        div #stream hidden "hx-sse:connect"=(stream) hx-swap="none" hx-nonce=(viewer.nonce) {}
    }
}

fn foot(model: &FrameModel, viewer: &Viewer) -> Vec<String> {
    let language = viewer.language;
    let epoch = model.epoch.to_string();
    let first = match model.leader {
        Some(leader) => {
            frame::LEADS.fill(language, &[("node", &leader.to_string()), ("epoch", &epoch)])
        }
        None => frame::NO_LEADER.of(language).to_owned(),
    };
    let version = frame::VERSION.fill(language, &[("version", &model.version)]);
    vec![first, version]
}

/// The sheet of keys, opened by `?`. It leads to the chapter about the page.
fn keys_dialog(viewer: &Viewer, page: NavPage) -> Markup {
    let language = viewer.language;
    // Keys between two dots are pressed one after the other, or together.
    let rows = [
        ("Ctrl K", frame::KEY_FIND),
        ("/", frame::KEY_FILTER),
        ("g y · g h · g f · g t", frame::KEY_GO),
        ("g p · g m · g s · g b", frame::KEY_GO_FURTHER),
        ("g i · g a · g ,", frame::KEY_GO_RECORD),
        ("j · k", frame::KEY_ROWS),
        ("Enter", frame::KEY_OPEN),
        ("w", frame::KEY_WHY),
        ("x · Shift x", frame::KEY_PICK),
        (".", frame::KEY_ACTIONS),
        ("y", frame::KEY_COPY),
        ("Esc", frame::KEY_CLOSE),
        ("?", frame::KEYS),
    ];
    html! {
        dialog #keys .dialog aria-labelledby="keys-title" {
            h2 #keys-title { (frame::KEYS.of(language)) }
            div.txt {
                dl.kv { @for (keys, words) in rows { dt { (boxed_keys(keys)) } dd { (words.of(language)) } } }
            }
            form method="dialog" {
                footer {
                    a.btn href=(page.chapter()) { (icon(Glyph::Help)) (frame::GUIDE_OF_PAGE.of(language)) }
                    button.btn { (frame::KEY_CLOSE.of(language)) }
                }
            }
        }
    }
}

/// Each key in a box of its own.
fn boxed_keys(keys: &str) -> Markup {
    html! {
        @for (index, key) in keys.split(' ').enumerate() {
            @if index > 0 { " " }
            @if key == "·" { "·" } @else { kbd { (key) } }
        }
    }
}

/// An update for a stream: replaces the element that has this id by a morph.
pub fn live_part(id: &str, fragment: &Markup) -> Markup {
    html! { hx-partial hx-target={ "#" (id) } hx-swap="outerMorph" { (fragment) } }
}

/// One row of a table of a live page, and its id, both as they stand in the page.
pub fn live_row(id: &str, row: &str) -> Markup {
    html! { hx-partial id=(PreEscaped(id)) hx-swap="outerMorph" { (PreEscaped(row)) } }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::text::Language;
    use crate::viewer::Moment;

    #[test]
    fn each_key_has_a_box_of_its_own() {
        let keys = boxed_keys("Ctrl K · x").into_string();
        assert_eq!(keys, "<kbd>Ctrl</kbd> <kbd>K</kbd> · <kbd>x</kbd>");
    }

    #[test]
    fn the_mark_of_a_live_page_has_a_shape_for_each_state() {
        let viewer = Viewer::without_session(Language::English, TimeZone::UTC, Moment(0));
        let bar = top_bar(&viewer, "yard", LiveMark::Live).into_string();
        for (class, shape) in [("if-live", Glyph::Up), ("if-stale", Glyph::Warn)] {
            let mark = format!("<span class=\"{class}\">{}</span>", icon(shape).into_string());
            assert!(bar.contains(&mark), "{bar}");
        }
    }
}
