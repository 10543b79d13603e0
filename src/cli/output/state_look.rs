//! Shapes and colours of states. A state has a shape, a word and a colour; each is enough alone.

use anstyle::{AnsiColor, Effects, Style};
use reelyard_console::parts::mark::Tone;

/// Shape and colour of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLook {
    /// One character. States of different meaning have different ones.
    pub shape: char,
    /// Colour of the shape and the word.
    pub tone: Tone,
}

const fn look(shape: char, tone: Tone) -> StateLook {
    StateLook { shape, tone }
}

/// Shape and colour of a state by its word, as lists of the command line show it.
pub fn look_of(word: &str) -> StateLook {
    match word {
        "up" | "placed" | "live" | "works" | "active" | "in use" | "whole" => look('●', Tone::Ok),
        "leased" | "held" => look('●', Tone::Work),
        "done" | "copied" | "released" | "cleaned" | "accepted" => look('✓', Tone::Ok),
        "working" | "copying" | "preparing" | "granted" => look('◐', Tone::Work),
        "free" => look('○', Tone::Ok),
        "ready" | "waiting" | "listed elsewhere" | "starting" | "sent by the leader" => {
            look('○', Tone::Plain)
        }
        "unknown" | "unchecked" => look('◌', Tone::Off),
        "backing off" | "probation" | "on probation" => look('◜', Tone::Warn),
        "suspect" | "over limit" | "no room" | "too big" | "name not supported" | "warn"
        | "due" | "hindered" | "not removed" | "no password" => look('▲', Tone::Warn),
        "down"
        | "failed"
        | "timeout"
        | "no master"
        | "master absent"
        | "lost"
        | "bad"
        | "host does not answer"
        | "refused"
        | "refused by its host"
        | "copy failed"
        | "copy timeout" => look('■', Tone::Bad),
        "draining" | "being removed" => look('◇', Tone::Hold),
        "maintenance" | "disabled" => look('▣', Tone::Hold),
        "quarantined" => look('⬣', Tone::Hold),
        "ignored" | "cancelled" | "ungraded" | "revoked" | "expired" | "ended" | "exhausted"
        | "copy cancelled" => look('⊘', Tone::Off),
        "removed" => look('⇥', Tone::Hold),
        _ => look('·', Tone::Plain),
    }
}

/// The colour in a terminal. Only colours that are readable on light and on dark grounds.
pub fn style_of(tone: Tone) -> Style {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Ok => color(AnsiColor::Green),
        Tone::Warn => color(AnsiColor::Yellow),
        Tone::Bad => color(AnsiColor::Red).effects(Effects::BOLD),
        Tone::Work => color(AnsiColor::Blue),
        Tone::Hold | Tone::Hot => color(AnsiColor::Magenta),
        Tone::Off => Style::new().effects(Effects::DIMMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_look_different_without_colour() {
        let words = ["up", "suspect", "down", "unknown", "draining", "maintenance", "quarantined"];
        let mut shapes: Vec<char> = words.iter().map(|word| look_of(word).shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        assert_eq!(shapes.len(), words.len());
    }
}
