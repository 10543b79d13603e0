//! A state as shape, word and colour together.

use maud::{Markup, html};

use super::icon::{Glyph, shape};
use crate::text::{Language, Text};

/// The colour of a state or remark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No colour.
    #[default]
    Plain,
    /// As it should be.
    Ok,
    /// Needs a look soon.
    Warn,
    /// Broken now.
    Bad,
    /// Under way.
    Work,
    /// Stopped on purpose.
    Hold,
    /// Rising.
    Hot,
    /// Grey.
    Off,
}

impl Tone {
    /// The class of the style sheet.
    pub const fn class(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Ok => "ok",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
            Tone::Work => "work",
            Tone::Hold => "hold",
            Tone::Hot => "hot",
            Tone::Off => "off",
        }
    }

    /// The class of a filled part of a bar or chart.
    pub const fn fill(self) -> &'static str {
        match self {
            Tone::Plain => "f-disk",
            Tone::Ok => "f-ok",
            Tone::Warn => "f-warn",
            Tone::Bad => "f-bad",
            Tone::Work => "f-acc",
            Tone::Hold => "f-hold",
            Tone::Hot => "f-hot",
            Tone::Off => "f-n",
        }
    }
}

/// Shape, colour and word of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateMark {
    /// Shape.
    pub glyph: Glyph,
    /// Colour.
    pub tone: Tone,
    /// Name of the state, in both languages.
    pub word: Text,
}

impl StateMark {
    /// A mark of these three.
    pub const fn new(glyph: Glyph, tone: Tone, word: Text) -> StateMark {
        StateMark { glyph, tone, word }
    }
}

/// A state in a row or title.
pub fn state(language: Language, mark: StateMark) -> Markup {
    state_saying(mark.glyph, mark.tone, mark.word.of(language))
}

/// A state with words of its own beside the shape.
pub fn state_saying(glyph: Glyph, tone: Tone, words: &str) -> Markup {
    html! { span class={ "st " (tone.class()) } { (shape(glyph, "")) (words) } }
}

/// A small remark beside a name.
pub fn tag(glyph: Option<Glyph>, tone: Tone, words: &str) -> Markup {
    html! {
        span class={ "tag " (tone.class()) } {
            @if let Some(glyph) = glyph { (shape(glyph, "")) }
            (words)
        }
    }
}
