//! The verdict of the yard: one sentence, and a row for each trouble.

use maud::{Markup, html};

use super::icon::{Glyph, shape};
use super::mark::{StateMark, Tone, state};
use crate::format::with_running_age;
use crate::viewer::{Moment, Viewer};

/// How urgent a trouble is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Viewers or files are affected now.
    Bad,
    /// They will be, or it ends by itself.
    Warn,
}

/// A trouble, in words.
#[derive(Clone, Debug)]
pub struct VerdictRow {
    /// Shape, colour and word.
    pub mark: StateMark,
    /// The trouble and its begin, in one sentence.
    pub title: String,
    /// Things that depend on it, and the node's own answer to it.
    pub detail: String,
    /// The begin, which the title or the detail names.
    pub since: Option<Moment>,
    /// Words and address of at most two links; the last one is filled if it is the remedy.
    pub links: Vec<(String, String)>,
    /// The last link is the remedy.
    pub has_remedy: bool,
}

/// The sentences of a verdict.
#[derive(Clone, Debug)]
pub struct VerdictText {
    /// The colour of the whole.
    pub tone: Tone,
    /// One sentence.
    pub sentence: String,
    /// Whether viewers notice.
    pub remark: String,
    /// Rows, worst first.
    pub rows: Vec<VerdictRow>,
    /// Sentences below, such as what was looked at.
    pub checked: Vec<Markup>,
}

/// The verdict. Its id is `yard-verdict`, for live updates.
pub fn verdict(viewer: &Viewer, text: &VerdictText) -> Markup {
    let glyph = match text.tone {
        Tone::Bad => Glyph::Down,
        Tone::Warn => Glyph::Warn,
        Tone::Ok => Glyph::Done,
        _ => Glyph::Help,
    };
    html! {
        section #yard-verdict class={ "verdict " (text.tone.class()) } aria-labelledby="verdict-title" {
            header {
                (shape(glyph, "sig"))
                div {
                    h1 #verdict-title { (text.sentence) }
                    @if !text.remark.is_empty() { p { (text.remark) } }
                }
            }
            @if !text.rows.is_empty() {
                ul { @for row in &text.rows { (trouble_row(viewer, row)) } }
            }
            @if !text.checked.is_empty() {
                div.checked { @for sentence in &text.checked { span.soft { (sentence) } } }
            }
        }
    }
}

fn trouble_row(viewer: &Viewer, row: &VerdictRow) -> Markup {
    let last = row.links.len().saturating_sub(1);
    html! {
        li.trouble {
            (state(viewer.language, row.mark))
            div {
                p.what { (with_running_age(viewer, &row.title, row.since)) }
                p.then { (with_running_age(viewer, &row.detail, row.since)) }
            }
            div {
                div.acts {
                    @for (index, (words, address)) in row.links.iter().enumerate() {
                        a class={ "btn sm" @if row.has_remedy && index == last { " go" } } href=(address) { (words) }
                    }
                }
            }
        }
    }
}
