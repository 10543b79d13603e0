//! Small curves and marks of health, made by the server.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::parts::mark::Tone;

const HEIGHT: f64 = 20.0;

/// A curve of 64 pixels. The last point is a dot; the label says its figure.
pub fn spark(values: &[f32], tone: Tone, label: &str) -> Markup {
    sized_spark(values, 64.0, tone, label)
}

/// A curve of a width in pixels.
pub fn sized_spark(values: &[f32], width: f64, tone: Tone, label: &str) -> Markup {
    let points = points(values, width);
    let Some(last) = points.last().copied() else {
        return html! { span.muted { "–" } };
    };
    if points.len() == 1 {
        // One point is no curve.
        return html! {};
    }
    let mut line = String::from("M");
    for (index, (x, y)) in points.iter().enumerate() {
        let gap = if index == 0 { "" } else { " " };
        // Writing to a String never fails.
        let _ = write!(line, "{gap}{x:.1} {y:.1}");
    }
    let area = format!("{line} L{:.1} 19 L1 19z", last.0);
    html! {
        svg class={ "spark " (tone.class()) } viewBox={ "0 0 " (width) " 20" } role="img" aria-label=(label) {
            path.area d=(area) {}
            path d=(line) {}
            circle.dot cx={ (format!("{:.1}", last.0)) } cy={ (format!("{:.1}", last.1)) } r="2" {}
        }
    }
}

/// The points of a curve: the largest value is near the top, 0 near the bottom.
fn points(values: &[f32], width: f64) -> Vec<(f64, f64)> {
    let finite = |value: f32| if value.is_finite() { f64::from(value.max(0.0)) } else { 0.0 };
    let most = values.iter().map(|value| finite(*value)).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let steps = values.len().saturating_sub(1).max(1) as f64;
    let mut points = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let x = 1.0 + index as f64 * (width - 3.0) / steps;
        let y = HEIGHT - 2.0 - finite(*value) / most * (HEIGHT - 5.0);
        points.push((x, y));
    }
    points
}

/// The worst health of a host in half an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthSpan {
    /// Up all the time.
    Up,
    /// It answered slowly, or not always, for some of the time.
    Suspect,
    /// It did not answer for some of the time.
    Down,
    /// Nobody asked the host.
    NotAsked,
}

/// One mark for each span, the newest at the right.
pub fn health_marks(spans: &[HealthSpan], label: &str) -> Markup {
    let step = 100.0 / spans.len().max(1) as f64;
    let wide = step * 0.79;
    let percent = |value: f64| format!("{value:.2}%");
    html! {
        svg.health role="img" aria-label=(label) {
            @for (index, span) in spans.iter().enumerate() {
                @let x = index as f64 * step;
                @match span {
                    HealthSpan::Up => rect.f-ok x=(percent(x)) width=(percent(wide)) height="26" {}
                    HealthSpan::Suspect => {
                        rect.f-warn x=(percent(x)) y="13" width=(percent(wide)) height="13" {}
                    }
                    HealthSpan::Down => {
                        rect.f-bad x=(percent(x)) width=(percent(wide)) height="26" {}
                        rect.f-sur x=(percent(x + wide * 0.25)) y="11" width=(percent(wide / 2.0)) height="4" {}
                    }
                    HealthSpan::NotAsked => {
                        rect.f-n2 x=(percent(x)) y="24" width=(percent(wide)) height="2" {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_stays_within_its_box() {
        for values in [vec![0.0, 0.0], vec![1.0], vec![f32::NAN, f32::INFINITY, -4.0, 3.0e38]] {
            for (x, y) in points(&values, 64.0) {
                assert!((0.0..=64.0).contains(&x) && (0.0..=20.0).contains(&y), "{x} {y}");
            }
        }
        assert!(spark(&[], Tone::Plain, "none").into_string().contains('–'));
        assert_eq!(spark(&[3.0], Tone::Plain, "one").into_string(), "");
        assert!(spark(&[3.0, 4.0], Tone::Plain, "two").into_string().contains("<svg"));
    }
}
