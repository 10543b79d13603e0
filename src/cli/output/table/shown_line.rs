//! Lines of output as parts with looks, for a plain terminal and for `reelyard top`.

use anstyle::Style;
use reelyard_console::parts::mark::Tone;

use crate::cli::output::state_look::style_of;
use crate::cli::output::style::PrintStyle;

/// The look of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartLook {
    /// Of no colour.
    Plain,
    /// A head or a remark.
    Dim,
    /// A heading.
    Strong,
    /// The shape and the word of a state, in its colour.
    State(Tone),
}

impl PartLook {
    /// The look in a terminal.
    fn style(self) -> Style {
        match self {
            PartLook::Plain => Style::new(),
            PartLook::Dim => Style::new().dimmed(),
            PartLook::Strong => Style::new().bold(),
            PartLook::State(tone) => style_of(tone),
        }
    }
}

/// A line of output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownLine {
    /// The parts of the line, from left to right.
    pub parts: Vec<(String, PartLook)>,
}

impl ShownLine {
    /// A line of one part.
    pub fn of(text: impl Into<String>, look: PartLook) -> Self {
        ShownLine { parts: vec![(text.into(), look)] }
    }

    /// Adds a part at the end.
    pub fn add(&mut self, text: impl Into<String>, look: PartLook) {
        self.parts.push((text.into(), look));
    }

    /// The line for a terminal, with its end.
    pub fn printed(&self, style: &PrintStyle) -> String {
        let mut line = String::new();
        for (text, look) in &self.parts {
            let color = if style.has_colors { look.style() } else { Style::new() };
            line.push_str(&format!("{color}{text}{color:#}"));
        }
        line.push('\n');
        line
    }
}
