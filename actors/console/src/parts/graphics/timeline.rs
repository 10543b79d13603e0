//! The time line of ends: columns over an axis that becomes denser to the right.

use maud::{Markup, html};

use crate::format::count;
use crate::text::{Text, shares};
use crate::viewer::Viewer;

const LEFT: f64 = 20.0;
const RIGHT: f64 = 700.0;
const GROUND: f64 = 112.0;

/// Columns of the time line.
pub const END_COLUMNS: usize = 45;

/// Hours at the marks of the axis, and their labels.
const MARKS: [(f64, Text); 6] = [
    (0.0, shares::AXIS_NOW),
    (1.0, shares::AXIS_HOUR),
    (6.0, shares::AXIS_SIX_HOURS),
    (24.0, shares::AXIS_DAY),
    (168.0, shares::AXIS_WEEK),
    (720.0, shares::AXIS_MONTH),
];

/// The share of the width at each mark.
const PLACES: [f64; 6] = [0.0, 0.18, 0.36, 0.54, 0.74, 1.0];

/// The hours from now at a share of the width.
pub fn hours_at(share: f64) -> f64 {
    let bounded = share.clamp(0.0, 1.0);
    for index in 1..PLACES.len() {
        if bounded <= PLACES[index] {
            let within = (bounded - PLACES[index - 1]) / (PLACES[index] - PLACES[index - 1]);
            return MARKS[index - 1].0 + within * (MARKS[index].0 - MARKS[index - 1].0);
        }
    }
    MARKS[MARKS.len() - 1].0
}

/// Links that end within the span of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndColumn {
    /// Number of links.
    pub links: u64,
    /// Address of these links.
    pub address: String,
}

/// The ends of the links of 30 days. `columns` has [`END_COLUMNS`] members of the spans of [`hours_at`].
pub fn end_timeline(viewer: &Viewer, columns: &[EndColumn], peak: &str) -> Markup {
    let language = viewer.language;
    let most = columns.iter().map(|column| column.links).max().unwrap_or(0).max(1) as f64;
    let wide = (RIGHT - LEFT) / columns.len().max(1) as f64;
    let shown = |value: f64| format!("{value:.1}");
    html! {
        div.tw tabindex="0" role="region" aria-label=(shares::TIMELINE_LABEL.of(language)) {
            svg.tl viewBox="0 0 720 140" role="group" aria-label=(shares::TIMELINE_LABEL.of(language)) {
                line.ax x1=(LEFT) x2=(RIGHT) y1=(GROUND) y2=(GROUND) {}
                @for (index, mark) in MARKS.iter().enumerate() {
                    @let x = LEFT + PLACES[index] * (RIGHT - LEFT);
                    line.ax x1=(shown(x)) x2=(shown(x)) y1="108" y2="117" {}
                    text x=(shown(x)) y="131" text-anchor="middle" { (mark.1.of(language)) }
                }
                @for (index, column) in columns.iter().enumerate().filter(|pair| pair.1.links > 0) {
                    @let height = (column.links as f64).ln_1p() / most.ln_1p() * 84.0 + 4.0;
                    @let x = LEFT + wide * index as f64;
                    @let soon = hours_at(index as f64 / columns.len() as f64) < 1.0;
                    a href=(column.address) aria-label=(shares::ENDING.fill(language, &[("n", &count(column.links))])) {
                        rect class=(if soon { "f-warn" } else { "f-disk" }) x=(shown(x + 2.0)) y=(shown(GROUND - height)) width=(shown(wide - 4.0)) height=(shown(height)) rx="1" {}
                    }
                }
                @if !peak.is_empty() { text.t1 x="700" y="14" text-anchor="end" { (peak) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_becomes_denser() {
        assert_eq!(hours_at(0.0), 0.0);
        assert_eq!(hours_at(0.36), 6.0);
        assert_eq!(hours_at(1.0), 720.0);
        assert_eq!(hours_at(9.0), 720.0);
        let mut last = 0.0;
        for step in 1..=100 {
            let hours = hours_at(f64::from(step) / 100.0);
            assert!(hours > last);
            last = hours;
        }
    }
}
