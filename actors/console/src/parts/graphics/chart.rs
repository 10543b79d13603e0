//! Charts of the server: up to three lines over time, named at their right ends.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::format::clock;
use crate::viewer::{Moment, Viewer};

const WIDTH: f64 = 560.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 488.0;
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

fn path(figure: &ChartFigure, values: &[f64]) -> String {
    let steps = values.len().saturating_sub(1).max(1) as f64;
    let mut path = String::from("M");
    for (index, value) in values.iter().enumerate() {
        let x = LEFT + index as f64 * (RIGHT - LEFT) / steps;
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

/// The chart. A table with the same figures stands beside it or behind a link.
pub fn chart(viewer: &Viewer, figure: &ChartFigure) -> Markup {
    let shown = |value: f64| format!("{value:.1}");
    let span = (figure.to.0 - figure.from.0).max(1) as f64;
    let steps = figure.axis.len().saturating_sub(1).max(1) as f64;
    let heights = label_heights(figure);
    html! {
        svg.chart viewBox={ "0 0 " (WIDTH) " 178" } role="img" aria-label=(figure.label) {
            @for (index, words) in figure.axis.iter().enumerate() {
                @let y = TOP + index as f64 * (BOTTOM - TOP) / steps;
                line.axis x1=(LEFT) x2=(RIGHT) y1=(shown(y)) y2=(shown(y)) {}
                text x=(LEFT - 6.0) y=(shown(y + 4.0)) text-anchor="end" { (words) }
            }
            @for step in 0..5_i64 {
                @let at = Moment(figure.from.0 + (figure.to.0 - figure.from.0) * step / 4);
                @let x = LEFT + step as f64 * (RIGHT - LEFT) / 4.0;
                @let anchor = match step { 0 => "start", 4 => "end", _ => "middle" };
                text x=(shown(x)) y="172" text-anchor=(anchor) { (clock(viewer, at).get(..5).unwrap_or_default()) }
            }
            @for (index, line) in figure.lines.iter().take(3).enumerate() {
                @if !line.values.is_empty() {
                    @let d = path(figure, &line.values);
                    @if index == 0 { path.a1 d={ (d) " L" (RIGHT) " " (BOTTOM) " L" (LEFT) " " (BOTTOM) "z" } {} }
                    path class={ "l" (index + 1) } d=(d) {}
                    text.lab x=(RIGHT + 8.0) y=(shown(heights.get(index).copied().unwrap_or(BOTTOM))) { (line.name) }
                }
            }
            @for mark in figure.marks.iter().take(MOST_MARKS) {
                @let x = LEFT + ((mark.at.0 - figure.from.0) as f64 / span).clamp(0.0, 1.0) * (RIGHT - LEFT);
                line.ann x1=(shown(x)) x2=(shown(x)) y1="8" y2=(BOTTOM) {}
                text.annt x=(shown(x - 5.0)) y="13" text-anchor="end" { (mark.word) }
            }
        }
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
}
