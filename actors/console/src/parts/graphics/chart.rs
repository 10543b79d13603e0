//! Charts of the server: up to three lines over time, named at their right ends.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::format::clock;
use crate::viewer::{Moment, Viewer};

/// Measures of a drawing, in units of its viewBox. The style stretches it to the width of the panel.
struct ChartSize {
    /// The style shows the drawing that fits the panel.
    class: &'static str,
    width: f64,
    /// The left end of the lines.
    left: f64,
    /// Their right end.
    right: f64,
    /// Parts of the span between instants with a label.
    spans: i64,
}

const SIZES: [ChartSize; 2] = [
    ChartSize { class: "chart wide", width: 560.0, left: 56.0, right: 488.0, spans: 4 },
    ChartSize { class: "chart narrow", width: 280.0, left: 60.0, right: 212.0, spans: 2 },
];

/// Marks nearer than this to the left end have their word at the right.
const ROOM_FOR_WORD: f64 = 100.0;

const TOP: f64 = 16.0;
const BOTTOM: f64 = 154.0;

/// At most this many marks are shown.
const MOST_MARKS: usize = 200;

/// A curve with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    /// Name with its last figure, at the right end.
    pub name: String,
    /// Values at even distances, oldest first.
    pub values: Vec<f64>,
}

/// A dashed upright with a word: a round, a drain, an election, a host that went down.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartMark {
    /// Instant.
    pub at: Moment,
    /// Text beside the upright.
    pub word: String,
}

/// A chart over time.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartFigure {
    /// The sentence that says what the chart shows.
    pub label: String,
    /// First instant.
    pub from: Moment,
    /// Last instant.
    pub to: Moment,
    /// The value at the upper edge.
    pub most: f64,
    /// Four labels of the axis, from the upper edge to 0, the first with its unit.
    pub axis: Vec<String>,
    /// At most three lines.
    pub lines: Vec<ChartLine>,
    /// Instants to point out, oldest first; at most 200 are shown.
    pub marks: Vec<ChartMark>,
}

fn y_of(figure: &ChartFigure, value: f64) -> f64 {
    let most = if figure.most > 0.0 { figure.most } else { 1.0 };
    let share = (value / most).clamp(0.0, 1.0);
    BOTTOM - if share.is_finite() { share } else { 0.0 } * (BOTTOM - TOP)
}

fn path(figure: &ChartFigure, size: &ChartSize, values: &[f64]) -> String {
    let steps = values.len().saturating_sub(1).max(1) as f64;
    let mut path = String::from("M");
    for (index, value) in values.iter().enumerate() {
        let x = size.left + index as f64 * (size.right - size.left) / steps;
        let gap = if index == 0 { "" } else { " " };
        // Writing to a String never fails.
        let _ = write!(path, "{gap}{x:.1} {:.1}", y_of(figure, *value));
    }
    path
}

/// Heights of the names at the right ends, at least 14 apart.
fn label_heights(figure: &ChartFigure) -> Vec<f64> {
    let mut heights: Vec<(usize, f64)> = Vec::new();
    for (index, line) in figure.lines.iter().enumerate() {
        heights.push((index, y_of(figure, line.values.last().copied().unwrap_or(0.0))));
    }
    heights.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut lowest = f64::MIN;
    let mut placed = vec![0.0; heights.len()];
    for (index, height) in heights {
        let free = height.max(lowest + 15.0);
        lowest = free;
        if let Some(place) = placed.get_mut(index) {
            *place = free + 4.0;
        }
    }
    placed
}

/// The chart, drawn for each size of panel. A table with the same figures stands beside it or behind a link.
pub fn chart(viewer: &Viewer, figure: &ChartFigure) -> Markup {
    html! { @for size in &SIZES { (drawing(viewer, figure, size)) } }
}

fn drawing(viewer: &Viewer, figure: &ChartFigure, size: &ChartSize) -> Markup {
    let ChartSize { class, width, left, right, spans } = *size;
    let shown = |value: f64| format!("{value:.1}");
    let steps = figure.axis.len().saturating_sub(1).max(1) as f64;
    let heights = label_heights(figure);
    html! {
        svg class=(class) viewBox={ "0 0 " (width) " 178" } role="img" aria-label=(figure.label) {
            @for (index, words) in figure.axis.iter().enumerate() {
                @let y = TOP + index as f64 * (BOTTOM - TOP) / steps;
                line.axis x1=(left) x2=(right) y1=(shown(y)) y2=(shown(y)) {}
                text x=(left - 6.0) y=(shown(y + 4.0)) text-anchor="end" { (words) }
            }
            @for step in 0..=spans {
                @let at = Moment(figure.from.0 + (figure.to.0 - figure.from.0) * step / spans);
                @let x = left + step as f64 * (right - left) / spans as f64;
                @let anchor = if step == 0 { "start" } else if step == spans { "end" } else { "middle" };
                text x=(shown(x)) y="172" text-anchor=(anchor) { (clock(viewer, at).get(..5).unwrap_or_default()) }
            }
            @for (index, line) in figure.lines.iter().take(3).enumerate() {
                @if !line.values.is_empty() {
                    @let d = path(figure, size, &line.values);
                    @if index == 0 { path.a1 d={ (d) " L" (right) " " (BOTTOM) " L" (left) " " (BOTTOM) "z" } {} }
                    path class={ "l" (index + 1) } d=(d) {}
                    text.lab x=(right + 8.0) y=(shown(heights.get(index).copied().unwrap_or(BOTTOM))) { (line.name) }
                }
            }
            @for mark in figure.marks.iter().take(MOST_MARKS) { (upright(figure, size, mark)) }
        }
    }
}

/// A mark with its word at the side that has room for it.
fn upright(figure: &ChartFigure, size: &ChartSize, mark: &ChartMark) -> Markup {
    let span = (figure.to.0 - figure.from.0).max(1) as f64;
    let share = ((mark.at.0 - figure.from.0) as f64 / span).clamp(0.0, 1.0);
    let x = size.left + share * (size.right - size.left);
    let (word, anchor) =
        if x < size.left + ROOM_FOR_WORD { (x + 5.0, "start") } else { (x - 5.0, "end") };
    html! {
        line.ann x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1="8" y2=(BOTTOM) {}
        text.annt x=(format!("{word:.1}")) y="13" text-anchor=(anchor) { (mark.word) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_lines_do_not_overlap() {
        let line = |value: f64| ChartLine { name: "x".into(), values: vec![value] };
        let figure = ChartFigure {
            label: String::new(),
            from: Moment(0),
            to: Moment(0),
            most: 0.0,
            axis: Vec::new(),
            lines: vec![line(1.0), line(1.0), line(f64::NAN)],
            marks: Vec::new(),
        };
        let mut heights = label_heights(&figure);
        heights.sort_by(f64::total_cmp);
        assert!(heights.windows(2).all(|pair| pair[1] - pair[0] >= 14.0), "{heights:?}");
    }

    #[test]
    fn the_word_of_a_mark_is_at_the_side_with_room() {
        let figure = ChartFigure {
            label: String::new(),
            from: Moment(0),
            to: Moment(1000),
            most: 0.0,
            axis: Vec::new(),
            lines: Vec::new(),
            marks: Vec::new(),
        };
        for size in &SIZES {
            for (at, anchor) in [(0, "start"), (1000, "end")] {
                let mark = ChartMark { at: Moment(at), word: "down".into() };
                let drawn = upright(&figure, size, &mark).into_string();
                assert!(drawn.contains(&format!("text-anchor=\"{anchor}\"")), "{drawn}");
            }
        }
    }
}
