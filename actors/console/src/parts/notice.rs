//! Notices, empty places, errors and toasts.

use maud::{Markup, html};

use super::act::{as_command, post_button};
use super::icon::{Glyph, icon};
use super::mark::Tone;
use crate::text::{Language, common};
use crate::viewer::Viewer;

/// A notice: its title states a fact, and its body names the next step.
pub fn notice(tone: Tone, title: &str, body: Markup, action: Markup) -> Markup {
    let glyph = match tone {
        Tone::Bad => Glyph::Down,
        Tone::Warn => Glyph::Warn,
        Tone::Ok => Glyph::Done,
        Tone::Work => Glyph::Work,
        _ => Glyph::Help,
    };
    let role = if tone == Tone::Bad { "alert" } else { "note" };
    html! {
        div class={ "note " (tone.class()) } role=(role) {
            (icon(glyph))
            div { b { (title) } (body) }
            div.acts { (action) }
        }
    }
}

/// A place without rows: the reason, and what to do.
pub fn empty(title: &str, body: &str, actions: Markup) -> Markup {
    let shown = actions.into_string();
    html! {
        div.empty {
            b { (title) }
            (body)
            @if !shown.is_empty() { div.acts { (maud::PreEscaped(shown)) } }
        }
    }
}

/// No row matches the filter. Names the filter, and has a link that clears it.
pub fn empty_by_filter(language: Language, title: &str, looked_through: &str, all: &str) -> Markup {
    let body = common::LOOKED_THROUGH.fill(language, &[("rows", looked_through)]);
    empty(title, &body, html! { a.btn.sm href=(all) { (common::CLEAR_FILTER.of(language)) } })
}

/// An answer to an action that was carried out or refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionOutcome {
    /// The action was carried out.
    pub is_done: bool,
    /// The result as one sentence.
    pub title: String,
    /// The next step in words; empty if there is nothing to do.
    pub detail: String,
    /// Words and address of the next step, such as "See them".
    pub next: Option<(String, String)>,
    /// The opposite action, if it takes this one back.
    pub undo: Option<UndoAction>,
}

/// An action that takes another one back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoAction {
    /// Address that carries it out by a post.
    pub action: String,
    /// Address of its dialog, which has its command lines.
    pub dialog: String,
}

/// The outcome of the action before: a toast if it was done, otherwise a notice that stays.
pub fn outcome(viewer: &Viewer, outcome: &ActionOutcome) -> Markup {
    let language = viewer.language;
    let next = html! {
        @if let Some((words, address)) = &outcome.next { a.btn.sm href=(address) { (words) } }
    };
    if !outcome.is_done {
        return html! {
            div.mb { (notice(Tone::Bad, &outcome.title, html! { p { (outcome.detail) } }, next)) }
        };
    }
    html! {
        div.toasts role="status" {
            div.toast data-toast {
                (icon(Glyph::Done))
                span { bdi { (outcome.title) } @if !outcome.detail.is_empty() { " " (outcome.detail) } }
                @if let Some((words, address)) = &outcome.next { a href=(address) { (words) } }
                @if let Some(undo) = &outcome.undo {
                    @let words = common::UNDO.of(language);
                    (post_button(&undo.action, "ib", html! { (words) }))
                    (as_command(viewer, words, &undo.dialog))
                }
                button.ib.js-only type="button" data-dismiss aria-label=(common::DISMISS.of(language)) {
                    (icon(Glyph::Cross))
                }
            }
        }
    }
}
