//! The chart of the load of links, of one host or of all.

use reelyard_console::format::bit_rate;
use reelyard_console::parts::chart::{ChartFigure, ChartLine, ChartMark};
use reelyard_console::text::{Text, yard as words};
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::Millis;

use crate::http::overview::LinkSample;

/// Intervals of the vertical axis.
const STEPS: u64 = 3;

/// The chart of these samples, oldest first. Its label has the last figures in place of `{sent}` and `{received}`.
/// None before the second sample.
pub fn link_figure(
    samples: &[(Millis, LinkSample)],
    label: Text,
    marks: Vec<ChartMark>,
    viewer: &Viewer,
) -> Option<ChartFigure> {
    let (first, last) = (samples.first()?, samples.last()?);
    if first.0 == last.0 {
        return None;
    }
    let language = viewer.language;
    let most = samples.iter().map(|(_, sample)| sample.sent.max(sample.received)).max()?;
    let step = axis_step(most);
    let line = |name: Text, of: fn(&LinkSample) -> u64| ChartLine {
        name: name.of(language).to_owned(),
        values: samples.iter().map(|(_, sample)| of(sample) as f64).collect(),
    };
    let (sent, received) = (bit_rate(last.1.sent), bit_rate(last.1.received));
    Some(ChartFigure {
        label: label.fill(language, &[("sent", &sent), ("received", &received)]),
        from: Moment(first.0.0),
        to: Moment(last.0.0),
        most: step.saturating_mul(STEPS) as f64,
        axis: axis_labels(step),
        lines: vec![
            line(words::TRAFFIC_SENT, |sample| sample.sent),
            line(words::TRAFFIC_RECEIVED, |sample| sample.received),
            line(words::TRAFFIC_COPIES, |sample| sample.copies),
        ],
        marks,
    })
}

/// The labels of the axis from the top. Only the first one has the unit.
fn axis_labels(step: u64) -> Vec<String> {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let top = step as f64 * STEPS as f64;
    let (scale, unit) =
        units.into_iter().find(|(scale, _)| top >= *scale).unwrap_or((1.0, "bit/s"));
    let mut labels = vec![format!("{} {unit}", top / scale)];
    labels.extend((0..STEPS).rev().map(|mark| (step as f64 * mark as f64 / scale).to_string()));
    labels
}

/// The least 1, 2 or 5 with zeros of which [`STEPS`] reach `most`.
fn axis_step(most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for digit in [1, 2, 5] {
            let step = power.saturating_mul(digit);
            if step.saturating_mul(STEPS) >= most {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_reaches_the_highest_value_in_round_steps() {
        let steps = [(0, 1), (3, 1), (4, 2), (7, 5), (16, 10), (3_000_000_001, 2_000_000_000)];
        for (most, step) in steps {
            assert_eq!(axis_step(most), step, "{most}");
        }
        assert_eq!(axis_labels(500_000_000), ["1.5 Gbit/s", "1", "0.5", "0"]);
        assert!(axis_step(u64::MAX).saturating_mul(STEPS) == u64::MAX);
    }
}
